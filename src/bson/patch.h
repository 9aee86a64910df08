// bson/patch.h - a change inside a document that keeps its size.
#pragma once

#include <cstdint>

namespace bson {

struct Patch {
    int32_t offset = 0;  // from the document's first byte
    int32_t size = 0;
    const uint8_t* bytes = nullptr;  // what stands there afterwards
};

}  // namespace bson
