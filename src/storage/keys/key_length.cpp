#include "storage/keys/key_length.h"

#include <algorithm>
#include <cmath>

namespace keys {

namespace {

using bson::Element;
using bson::Type;

// Returns the length of a value in the compact form; 0 for a value that has none.
size_t compact_length(const Element& e) {
    switch (e.type()) {
        case Type::min_key:
        case Type::max_key:
        case Type::null:
        case Type::boolean:
            return 1;
        case Type::number_double:
            return std::isnan(e.as_double()) ? 0 : 9;
        case Type::int32:
        case Type::date:
            return 9;
        case Type::int64: {
            constexpr int64_t kExactDoubleLimit = int64_t{1} << 53;
            const int64_t v = e.as_int64();
            return v > -kExactDoubleLimit && v < kExactDoubleLimit ? 9 : 0;
        }
        case Type::object_id:
            return 1 + sizeof(bson::ObjectId);
        case Type::string: {
            constexpr size_t kLongestText = 255;
            const size_t bytes = e.as_string().size();
            return bytes <= kLongestText ? 2 + bytes : 0;
        }
        case Type::binary: {
            constexpr size_t kLengths[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32};
            const size_t bytes = e.binary_data().size();
            const uint8_t subtype = e.binary_subtype();
            const bool known =
                (subtype <= 0x07 && subtype != 0x02) || (subtype >= 0x80 && subtype <= 0x87);
            return known && std::ranges::find(kLengths, bytes) != std::end(kLengths) ? 2 + bytes
                                                                                     : 0;
        }
        default:
            return 0;
    }
}

}  // namespace

size_t key_length(bson::Doc key) {
    size_t compact = 0, as_document = 1 + sizeof(int32_t) + 1;
    bool all_compact = !key.empty();
    for (const Element& e : key) {
        const size_t length = compact_length(e);
        all_compact = all_compact && length != 0;
        compact += length;
        as_document += 2 + e.value_size();
    }
    return all_compact ? compact : as_document;
}

}  // namespace keys
