#include "storage/kv/overlay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "storage/kv/bytes.h"
#include "storage/kv/testing/memory_map.h"
#include "storage/kv/testing/rows_text.h"

namespace kv {
namespace {

constexpr Table kTable{16}, kOther{17};

class OverlayTest : public testing::Test {
  protected:
    using Model = std::map<std::string, std::string>;

    OverlayTest() {
        for (const Table table : {kTable, kOther})
            map.add_table(table, Kind::documents);
    }

    void put(std::string_view key, std::string_view value, Table table = kTable) {
        seen.put(table, as_bytes(key), as_bytes(value));
    }
    void erase(std::string_view key) { seen.erase(kTable, as_bytes(key)); }
    std::optional<std::string> get(std::string_view key) {
        Bytes value;
        if (!seen.get(kTable, as_bytes(key), &value)) return std::nullopt;
        return std::string(as_text(value));
    }
    static std::string rows(Overlay& of, Table table = kTable) {
        return rows_text(*of.cursor(table));
    }
    std::string rows() { return rows(seen); }

    // Walks at random, both ways, through rows that must be those of the model.
    void expect_walk(const Model& model, const std::string& from, std::mt19937& random) {
        const auto cursor = seen.cursor(kTable);
        auto at = model.lower_bound(from);
        const auto back = [&] { return at == model.begin() ? model.end() : std::prev(at); };
        const uint32_t place = random() % 3;
        if (place == 0) {
            cursor->seek(as_bytes(from));
        } else if (place == 1) {
            cursor->seek_before(as_bytes(from));
            at = back();
        } else {
            cursor->seek_to_last();
            at = model.end();
            at = back();
        }
        const uint32_t bias = random() % 4;  // to long ways and to many turns
        for (int moves = 0; moves < 12; ++moves) {
            ASSERT_EQ(cursor->at_end(), at == model.end());
            if (at == model.end()) return;
            ASSERT_EQ(as_text(cursor->key()), at->first);
            ASSERT_EQ(as_text(cursor->value()), at->second);
            if (random() % 4 < bias) {
                cursor->next();
                ++at;
            } else {
                cursor->previous();
                at = back();
            }
        }
    }

    MemoryMap map;
    Overlay seen{map.session()};
    Overlay other{map.session()};
};

TEST_F(OverlayTest, AThreadSeesItsChangesAndOthersThoseThatAreCommitted) {
    put("a", "1");
    put("b", "2");
    EXPECT_EQ(rows(), "a=1 b=2 ");
    EXPECT_EQ(get("a"), "1");
    EXPECT_EQ(rows(other), "");
    EXPECT_EQ(map.commits, 0);
    seen.commit();
    EXPECT_EQ(map.commits, 1);
    EXPECT_EQ(rows(other), "a=1 b=2 ");
    put("b", "3");
    erase("a");
    EXPECT_EQ(rows(), "b=3 ");
    EXPECT_EQ(get("a"), std::nullopt);
    EXPECT_EQ(seen.size_of(kTable, as_bytes("a")), std::nullopt);
    EXPECT_EQ(rows(other), "a=1 b=2 ");
    put("a", "");
    EXPECT_EQ(seen.size_of(kTable, as_bytes("a")), 0U);
    seen.commit();
    seen.commit();
    EXPECT_EQ(map.commits, 2);
    EXPECT_EQ(rows(other), "a= b=3 ");
}

// Against std::map: changes, marks and commits in whatever order, and cursors in between.
TEST_F(OverlayTest, ItShowsWhatAModelShows) {
    for (uint32_t seed = 1; seed <= 60; ++seed) {
        std::mt19937 random(seed);
        const auto some_key = [&] {
            std::string key;
            for (uint32_t length = 1 + random() % 2; length > 0; --length)
                key.push_back("\x00\x01m\xfe\xff"[random() % 5]);
            return key;
        };
        Model model, committed;
        map.drop(kTable);
        map.add_table(kTable, Kind::documents);
        std::vector<Model> marks;
        // Some histories are read seldom, so that most changes are not in order at a roll-back.
        const uint32_t reads = 1 + random() % 20;
        for (int step = 0; step < 400; ++step) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
            const std::string key = some_key();
            const uint32_t what = random() % 24;
            if (what < 9) {
                const std::string value = std::to_string(step);
                put(key, value);
                put(key, "other", kOther);
                model[key] = value;
            } else if (what < 15) {
                erase(key);
                model.erase(key);
            } else if (what < 18) {
                seen.mark();
                marks.push_back(model);
            } else if (what < 20 && !marks.empty()) {
                seen.roll_back();
                model = marks.back();
                marks.pop_back();
            } else if (what == 20 && !marks.empty()) {
                seen.forget_mark();
                marks.pop_back();
            } else if (what == 21 && marks.empty()) {
                seen.commit();
                committed = model;
            }
            if (random() % reads != 0) continue;
            expect_walk(model, random() % 8 == 0 ? "" : some_key(), random);
            const auto there = model.find(key);
            const auto value = there == model.end() ? std::nullopt : std::optional(there->second);
            ASSERT_EQ(get(key), value);
            ASSERT_EQ(seen.size_of(kTable, as_bytes(key)),
                      value ? std::optional(value->size()) : std::nullopt);
            Bytes outside;
            ASSERT_EQ(other.get(kTable, as_bytes(key), &outside), committed.contains(key));
        }
        for (; !marks.empty(); marks.pop_back())
            seen.forget_mark();
        seen.commit();
    }
}

// Whether the changes are read before a roll-back or not.
TEST_F(OverlayTest, ARollBackGoesToTheLastMark) {
    for (const bool is_read : {false, true}) {
        const auto expect = [&](const std::string& all) {
            if (!is_read) return;
            EXPECT_EQ(rows(), all);
        };
        put("a", "1");
        seen.commit();
        seen.mark();
        put("a", "2");
        put("b", "1");
        seen.mark();
        seen.mark();
        expect("a=2 b=1 ");
        put("b", "2");
        erase("a");
        put("c", "1");
        expect("b=2 c=1 ");
        seen.roll_back();
        expect("a=2 b=1 ");
        put("c", "2");
        seen.forget_mark();
        expect("a=2 b=1 c=2 ");
        seen.mark();
        erase("b");
        seen.roll_back();
        EXPECT_EQ(rows(other), "a=1 ");
        seen.roll_back();
        EXPECT_EQ(seen.changed_bytes(), 0U);
        EXPECT_EQ(rows(), "a=1 ");
        seen.mark();
        put("a", "3");
        seen.forget_mark();
        seen.commit();
        EXPECT_EQ(rows(other), "a=3 ");
    }
}

TEST_F(OverlayTest, ChangedBytesCountWhatIsNotCommitted) {
    EXPECT_EQ(seen.changed_bytes(), 0U);
    put("a", std::string(1000, 'x'));
    EXPECT_GE(seen.changed_bytes(), 1000U);
    seen.commit();
    EXPECT_EQ(seen.changed_bytes(), 0U);
    erase("a");
    EXPECT_GT(seen.changed_bytes(), 0U);
}

TEST_F(OverlayTest, AViewLivesUntilTheNextGet) {
    const std::string first(300, 'f'), second(300, 's');
    for (const bool is_committed : {true, false}) {
        put("a", first);
        if (is_committed) seen.commit();
        seen.mark();
        Bytes value;
        ASSERT_TRUE(seen.get(kTable, as_bytes("a"), &value));
        EXPECT_EQ(seen.size_of(kTable, as_bytes("a")), first.size());
        EXPECT_EQ(rows(), "a=" + first + " ");
        // The new value may lie in the old one.
        seen.put(kTable, as_bytes("b"), value);
        put("a", second);
        EXPECT_EQ(as_text(value), first);
        seen.roll_back();
        seen.put(kTable, as_bytes("b"), value);
        erase("a");
        seen.commit();
        put("c", second);
        EXPECT_EQ(as_text(value), first);
        EXPECT_EQ(get("b"), first);
        erase("b");
        erase("c");
        seen.commit();
    }
}

TEST_F(OverlayTest, AKeyMayLieInWhatGetHasGiven) {
    put("a", "b");
    put("b", "2");
    Bytes value;
    ASSERT_TRUE(seen.get(kTable, as_bytes("a"), &value));
    ASSERT_TRUE(seen.get(kTable, value, &value));
    EXPECT_EQ(as_text(value), "2");
}

// A query walks through one collection while the thread changes others.
TEST_F(OverlayTest, ChangesOfOtherTablesLeaveACursorWhereItIs) {
    for (const std::string_view key : {"a", "c"})
        put(key, "1");
    seen.commit();
    const auto unchanged = seen.cursor(kTable);
    unchanged->seek({});
    put("0", "1", kOther);
    EXPECT_EQ(as_text(unchanged->key()), "a");
    put("b", "1");
    const auto changed = seen.cursor(kTable);
    changed->seek({});
    for (uint32_t table = 20; table < 120; ++table) {
        map.add_table(Table{table}, Kind::entries);
        put("0", "1", Table{table});
        EXPECT_EQ(rows(seen, Table{table}), "0=1 ");
    }
    std::string walked;
    for (; !changed->at_end(); changed->next())
        walked.append(as_text(changed->key()));
    EXPECT_EQ(walked, "abc");
}

TEST_F(OverlayTest, ASnapshotIsOfOneMoment) {
    put("a", "1");
    seen.commit();
    other.begin_snapshot();
    put("a", "2");
    put("b", "2");
    seen.commit();
    EXPECT_EQ(rows(other), "a=1 ");
    other.end_snapshot();
    EXPECT_EQ(rows(other), "a=2 b=2 ");
}

}  // namespace
}  // namespace kv
