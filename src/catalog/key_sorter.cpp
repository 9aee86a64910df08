#include "catalog/key_sorter.h"

#include "bson/compare.h"

namespace catalog {

namespace {

constexpr size_t kIdBytes = sizeof(uint64_t);

}  // namespace

bool KeySorter::Order::before(const uint8_t* a, const uint8_t* b) const {
    const int order =
        bson::compare_keys(bson::Doc(a + kIdBytes), bson::Doc(b + kIdBytes), descending);
    return order != 0 ? order < 0 : bson::load<uint64_t>(a) < bson::load<uint64_t>(b);
}

void KeySorter::add(bson::Doc key, storage::RecordId id) {
    sorter_.add({reinterpret_cast<const uint8_t*>(&id.value), kIdBytes}, key.bytes());
}

bool KeySorter::next(bson::Doc* key, storage::RecordId* id) {
    const auto* const entry = sorter_.next();
    if (entry == nullptr) return false;
    id->value = bson::load<uint64_t>(*entry);
    *key = bson::Doc(*entry + kIdBytes);
    return true;
}

}  // namespace catalog
