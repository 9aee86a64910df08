// storage/rocksdb/table_key.h - the key of a row in the library: number of the table, 4 bytes,
// big-endian, then its key in the table.
#pragma once

#include <rocksdb/slice.h>

#include <string>

#include "storage/kv/map.h"

namespace rocks {

constexpr size_t kTableBytes = sizeof(uint32_t);

// Makes `row` what all keys of the table begin with.
inline void begin_row(kv::Table table, std::string& row) {
    const auto number = static_cast<uint32_t>(table);
    row.clear();
    for (int shift = 24; shift >= 0; shift -= 8)
        row.push_back(static_cast<char>(number >> shift));
}

inline std::string table_key(kv::Table table, kv::Bytes key = {}) {
    std::string out;
    out.reserve(kTableBytes + key.size());
    begin_row(table, out);
    return out.append(reinterpret_cast<const char*>(key.data()), key.size());
}

// Returns the key at which the rows of the next table begin.
inline std::string end_of(kv::Table table) {
    return table_key(kv::Table{static_cast<uint32_t>(table) + 1});
}

inline rocksdb::Slice as_slice(kv::Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline kv::Bytes as_bytes(const rocksdb::Slice& slice) {
    return {reinterpret_cast<const uint8_t*>(slice.data()), slice.size()};
}

}  // namespace rocks
