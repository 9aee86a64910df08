#pragma once

#include "mongo/skeleton.h"

namespace mongo {

class AlignedBuilder {
public:
    explicit AlignedBuilder(unsigned) {}
    void reset(unsigned n) {
        _bytes.assign(n + 65536, 0);
        _len = 0;
    }
    template <typename T>
    void appendStruct(const T& s) {
        memcpy(cur(), &s, sizeof(T));
        _len += sizeof(T);
    }
    void appendBytes(const void* data, unsigned n) {
        memcpy(cur(), data, n);
        _len += n;
    }
    void skip(unsigned n) { _len += n; }
    char* cur() { return &_bytes[_len]; }
    const char* buf() const { return &_bytes[0]; }
    char* at(unsigned offset) { return &_bytes[offset]; }
    unsigned len() const { return _len; }

private:
    static const unsigned Alignment = 8192;
    std::vector<char> _bytes;
    unsigned _len;
};

}  // namespace mongo
