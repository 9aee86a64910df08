// A tree that gets no more buckets: an insertion is refused whole, a removal needs none.
#include "bson/testing/values.h"
#include "storage/mmapv1/btree/testing/tree.h"

namespace mmapv1::test {
namespace {

// Every insertion that fails leaves the tree as it was, however deep the split would have gone.
TEST(BTreeOnAFullDisk, AnInsertionThatGetsNoBucketChangesNothing) {
    for (int64_t capacity = 1; capacity < 60; ++capacity) {
        Tree tree(0, true);
        Model model{KeyLess{0}};
        tree.store.set_capacity(capacity);
        bson::TestValues values(static_cast<uint64_t>(capacity));
        int refused = 0;
        for (int i = 0; refused < 10; ++i) {
            const bson::Object key =
                text_key(static_cast<int>(values.below(100000)), 300 + values.below(700));
            try {
                ASSERT_EQ(tree.index->insert(key, record(static_cast<uint64_t>(i)), true),
                          InsertResult::inserted);
                model.emplace(key, record(static_cast<uint64_t>(i)));
            } catch (const base::Error&) {
                ++refused;
                expect_equal(tree, model);
                if (HasFatalFailure()) return;
            }
        }
    }
}

// The entry that takes the place of a removed key may be longer, and the bucket may be full. The
// test does nothing but removals and insertions that still fit, so that buckets become as full as
// they can.
TEST(BTreeOnAFullDisk, ARemovalNeedsNoBucket) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
        Tree tree(0, true);
        Model model{KeyLess{0}};
        std::vector<std::pair<bson::Object, RecordId>> entries;
        bson::TestValues values(seed);
        const int64_t capacity = 10 + static_cast<int64_t>(seed) * 15;
        tree.store.set_capacity(capacity);
        for (uint64_t i = 0; i < 20000; ++i) {
            if (entries.empty() || values.below(5) < 3) {
                // Among short keys hardly a long one is replaced; so half of the trees have none.
                const size_t width = seed % 2 == 1          ? 300 + values.below(700)
                                     : values.below(2) == 0 ? 900 + values.below(100)
                                                            : 6;
                const auto entry = std::make_pair(
                    text_key(static_cast<int>(values.below(100000)), width), record(i));
                try {
                    ASSERT_EQ(tree.index->insert(entry.first, entry.second, true),
                              InsertResult::inserted);
                    model.insert(entry);
                    entries.push_back(entry);
                } catch (const base::Error&) {
                }
                continue;
            }
            std::swap(entries[values.below(entries.size())], entries.back());
            // Others have by now what earlier removals have given back.
            tree.store.set_capacity(0);
            ASSERT_TRUE(tree.index->remove(entries.back().first, entries.back().second));
            tree.store.set_capacity(capacity);
            model.erase(entries.back());
            entries.pop_back();
            if (i % 500 == 0) expect_equal(tree, model);
            if (HasFatalFailure()) return;
        }
        expect_equal(tree, model);
    }
}

}  // namespace
}  // namespace mmapv1::test
