// The tree against an ordered set, over random operations; the validator and the check of declared
// writes examine it again and again.
#include <algorithm>
#include <vector>

#include "base/testing/effort.h"
#include "bson/testing/values.h"
#include "storage/mmapv1/btree/testing/tree.h"

namespace mmapv1::test {
namespace {

// Random insertions and removals per model test: two to three million in all scenarios.
constexpr int kOperations = 120000;

enum class Pattern { random, ascending, descending, bulk_first };
enum class Keys { ints, short_text, long_text, mixed, few, pairs };

struct Scenario {
    const char* name;
    Keys keys;
    Pattern pattern;
    uint32_t descending;
};

class BTreeModel : public testing::TestWithParam<Scenario> {
  protected:
    bson::Object make_key(int step) {
        const Pattern pattern = GetParam().pattern;
        int v = static_cast<int>(values_.below(100000));
        if (pattern == Pattern::ascending) v = step;
        if (pattern == Pattern::descending) v = 1000000 - step;
        switch (GetParam().keys) {
            case Keys::ints:
                return int_key(v);
            case Keys::short_text:
                return text_key(v, 6 + values_.below(40));
            case Keys::long_text:
                return text_key(v, values_.below(1000));
            case Keys::few:
                return int_key(v % 5);
            case Keys::pairs:
                return bson::make("", v % 10, "", std::string(values_.below(30), 'q'));
            case Keys::mixed:
                break;
        }
        for (;;) {
            bson::Builder b;
            values_.append(b, "");
            values_.append(b, "");
            bson::Object key = b.object();
            if (!SearchKey(key).too_long()) return key;
        }
    }

    void insert(int step) {
        const RecordId id = record(values_.below(1000000));
        const bson::Object key = make_key(step);
        ASSERT_EQ(tree_.index->insert(key, id, true), InsertResult::inserted);
        if (model_.emplace(key, id).second) entries_.emplace_back(key, id);
    }

    void remove() {
        const size_t at = values_.below(entries_.size());
        std::swap(entries_[at], entries_.back());
        const auto [key, id] = entries_.back();
        entries_.pop_back();
        ASSERT_TRUE(tree_.index->remove(key, id));
        ASSERT_EQ(model_.erase({key, id}), 1U);
        ASSERT_FALSE(tree_.index->remove(key, id));
    }

    void build() {
        for (int i = 0; i < 3000; ++i) {
            const auto entry = std::make_pair(make_key(i), record(values_.below(1000000)));
            if (model_.insert(entry).second) entries_.push_back(entry);
        }
        auto builder = tree_.index->bulk_builder(true);
        for (const auto& [key, id] : model_)
            ASSERT_EQ(builder->add(key, id), InsertResult::inserted);
        builder->finish();
    }

    void look_up() {
        const bson::Object key = values_.below(2) == 0 || entries_.empty()
                                     ? make_key(static_cast<int>(values_.below(10000)))
                                     : entries_[values_.below(entries_.size())].first;
        const auto first = model_.lower_bound({key, RecordId{0}});
        const bool there = first != model_.end() && bson::compare_keys(first->first, key, 0) == 0;
        ASSERT_EQ(tree_.index->find_one(key), there ? first->second : RecordId{});

        auto forward = tree_.index->cursor(Direction::forward);
        forward->seek(key, false);
        expect_at(*forward, first);
        const auto behind = model_.upper_bound({key, RecordId{~uint64_t{0} >> 1}});
        forward->seek(key, true);
        expect_at(*forward, behind);
        auto backward = tree_.index->cursor(Direction::backward);
        backward->seek(key, false);
        expect_before(*backward, behind);
        backward->seek(key, true);
        expect_before(*backward, first);
    }

    void expect_at(IndexCursor& cursor, Model::const_iterator at) {
        ASSERT_EQ(cursor.at_end(), at == model_.end());
        if (at != model_.end()) {
            ASSERT_EQ(cursor.id(), at->second);
        }
    }
    void expect_before(IndexCursor& cursor, Model::const_iterator at) {
        ASSERT_EQ(cursor.at_end(), at == model_.begin());
        if (at != model_.begin()) {
            ASSERT_EQ(cursor.id(), std::prev(at)->second);
        }
    }

    Tree tree_{GetParam().descending, true};
    Model model_{KeyLess{GetParam().descending}};
    std::vector<std::pair<bson::Object, RecordId>> entries_;
    bson::TestValues values_{7};
};

TEST_P(BTreeModel, HoldsWhatTheModelHolds) {
    if (GetParam().pattern == Pattern::bulk_first) build();
    expect_equal(tree_, model_);
    const int count = base::test_effort(kOperations);
    // Phases of growth and decline, so that every size is met in both directions.
    const int phase = std::min(count / 4, 100000);
    for (int step = 0; step < count; ++step) {
        const bool growing = (step / phase) % 2 == 0;
        if (entries_.empty() || values_.below(10) < (growing ? 8U : 2U)) {
            insert(step);
        } else {
            remove();
        }
        if (step % 7 == 0) look_up();
        if (step % 4000 == 0) expect_equal(tree_, model_);
        if (HasFatalFailure()) FAIL() << "at step " << step;
    }
    while (!entries_.empty()) {
        remove();
        if (entries_.size() % 4000 == 0) expect_equal(tree_, model_);
        if (HasFatalFailure()) FAIL() << "with " << entries_.size() << " entries left";
    }
    expect_equal(tree_, model_);
}

// Cursors that were saved while the tree changed go on where they were.
TEST_P(BTreeModel, SavedCursorsKeepTheirPlace) {
    if (GetParam().pattern == Pattern::bulk_first) build();
    for (int i = 0; i < 2000; ++i)
        insert(i);
    for (const Direction direction : {Direction::forward, Direction::backward}) {
        auto cursor = tree_.index->cursor(direction);
        cursor->seek_to_start();
        while (!cursor->at_end()) {
            const std::pair<bson::Object, RecordId> here{bson::Object(cursor->key()), cursor->id()};
            cursor->save();
            for (uint64_t n = values_.below(40); n > 0 && !entries_.empty(); --n)
                remove();
            for (uint64_t n = values_.below(30); n > 0; --n)
                insert(5000);
            const bool there = model_.count(here) != 0;
            ASSERT_EQ(cursor->restore(), there);
            const auto next = model_.lower_bound(here);
            if (there || direction == Direction::forward) {
                expect_at(*cursor, next);
            } else {
                expect_before(*cursor, next);
            }
            if (HasFatalFailure()) return;
            for (int n = 0; n < 20 && !cursor->at_end(); ++n)
                cursor->next();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Scenarios, BTreeModel,
    testing::Values(Scenario{"ints", Keys::ints, Pattern::random, 0},
                    Scenario{"ints_descending_index", Keys::ints, Pattern::random, 1},
                    Scenario{"ints_up", Keys::ints, Pattern::ascending, 0},
                    Scenario{"ints_down", Keys::ints, Pattern::descending, 0},
                    Scenario{"ints_bulk", Keys::ints, Pattern::bulk_first, 0},
                    Scenario{"short_text", Keys::short_text, Pattern::random, 0},
                    Scenario{"long_text", Keys::long_text, Pattern::random, 0},
                    Scenario{"long_text_bulk", Keys::long_text, Pattern::bulk_first, 0},
                    Scenario{"long_text_up", Keys::long_text, Pattern::ascending, 1},
                    Scenario{"few", Keys::few, Pattern::random, 0},
                    Scenario{"few_bulk", Keys::few, Pattern::bulk_first, 1},
                    Scenario{"pairs", Keys::pairs, Pattern::random, 2},
                    Scenario{"mixed", Keys::mixed, Pattern::random, 0},
                    Scenario{"mixed_descending", Keys::mixed, Pattern::random, 2},
                    Scenario{"mixed_bulk", Keys::mixed, Pattern::bulk_first, 1}),
    [](const auto& scenario) { return scenario.param.name; });

}  // namespace
}  // namespace mmapv1::test
