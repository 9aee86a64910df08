#pragma once

#include "mongo/skeleton.h"

namespace mongo {

// Not Snappy: a mark, then the bytes. Tests only ask which of two ways was taken.
inline void rawCompress(const char* in, size_t n, char* out, size_t* length) {
    out[0] = 'C';
    memcpy(out + 1, in, n);
    *length = n + 1;
}
inline size_t maxCompressedLength(size_t n) { return 32 + n + n / 6; }

}  // namespace mongo
