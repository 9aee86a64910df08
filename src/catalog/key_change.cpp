#include "catalog/key_change.h"

#include <algorithm>
#include <numeric>

#include "bson/compare.h"

namespace catalog {

namespace {

bool same_bytes(bson::Doc a, bson::Doc b) {
    return std::ranges::equal(a.bytes(), b.bytes());
}

}  // namespace

void KeyChange::compare(uint32_t descending_bits) {
    removed.clear();
    added.clear();
    uint32_t b = 0;
    uint32_t a = 0;
    while (b < before.size() || a < after.size()) {
        int order = 0;
        if (b == before.size()) {
            order = 1;
        } else if (a == after.size()) {
            order = -1;
        } else {
            order = bson::compare_keys(before[b], after[a], descending_bits);
            // A key that is equal to the old one need not be equal to what the index holds, if a
            // key before that one was kept for it (bson/compare.h). The key is therefore written as
            // it is.
            if (order == 0 && !same_bytes(before[b], after[a])) {
                removed.push_back(b);
                added.push_back(a);
            }
        }
        if (order < 0) removed.push_back(b);
        if (order > 0) added.push_back(a);
        if (order <= 0) ++b;
        if (order >= 0) ++a;
    }
}

void KeyChange::take_all() {
    removed.resize(before.size());
    std::iota(removed.begin(), removed.end(), 0U);
    added.resize(after.size());
    std::iota(added.begin(), added.end(), 0U);
}

}  // namespace catalog
