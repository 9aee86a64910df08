// storage/kv/testing/map_contract.h - what every ordered map must do, as a GoogleTest suite
// with the map as parameter. A library's tests include it and instantiate it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "storage/kv/bytes.h"
#include "storage/kv/changes.h"
#include "storage/kv/testing/harness.h"
#include "storage/kv/testing/rows_text.h"

namespace kv {

class MapContract : public testing::TestWithParam<MakeMap (*)()> {
  protected:
    void SetUp() override {
        make_ = GetParam()();
        reopen();
    }
    void TearDown() override { close(); }

    void close() {
        session_.reset();
        map_.reset();
    }
    void reopen() {
        close();
        map_ = make_();
        session_ = map_->session();
        for (const Table table : {kBefore, kTable, kBehind})
            map_->add_table(table, Kind::documents);
    }
    Map& map() { return *map_; }
    Session& session() { return *session_; }

    // Changes of the next call of apply().
    void put(Table table, std::string_view key, std::string_view value) {
        changes_.put(table, as_bytes(key), as_bytes(value));
    }
    void erase(Table table, std::string_view key) { changes_.erase(table, as_bytes(key)); }
    Changes& changes() { return changes_; }
    void apply() { apply(session(), changes_); }
    static void apply(Session& session, Changes& changes) {
        session.apply(changes);
        changes.clear();
    }
    static std::optional<std::string> get(Session& session, Table table, std::string_view key) {
        Bytes value;
        if (!session.get(table, as_bytes(key), &value)) return std::nullopt;
        return std::string(as_text(value));
    }
    std::optional<std::string> get(Table table, std::string_view key) {
        return get(session(), table, key);
    }
    // "key=value " of each row.
    static std::string rows(Session& session, Table table) {
        return rows_text(*session.cursor(table));
    }
    std::string rows(Table table) { return rows(session(), table); }

    static constexpr Table kTable{16}, kBefore{15}, kBehind{17};

    MakeMap make_;
    std::unique_ptr<Map> map_;
    std::unique_ptr<Session> session_;
    Changes changes_;
};

TEST_P(MapContract, ChangesAreSeenOnceTheyAreApplied) {
    const auto other = map().session();
    put(kTable, "a", "1");
    put(kTable, "b", "2");
    apply();
    for (Session* const each : {&session(), other.get()}) {
        EXPECT_EQ(rows(*each, kTable), "a=1 b=2 ");
        EXPECT_EQ(get(*each, kTable, "a"), "1");
    }
    put(kTable, "b", "3");
    erase(kTable, "a");
    EXPECT_EQ(rows(kTable), "a=1 b=2 ");
    apply();
    for (Session* const each : {&session(), other.get()}) {
        EXPECT_EQ(rows(*each, kTable), "b=3 ");
        EXPECT_EQ(get(*each, kTable, "a"), std::nullopt);
        EXPECT_EQ(each->size_of(kTable, as_bytes("a")), std::nullopt);
    }
    put(kTable, "a", "");
    apply(*other, changes());
    EXPECT_EQ(session().size_of(kTable, as_bytes("a")), 0U);
    EXPECT_EQ(rows(kTable), "a= b=3 ");
}

TEST_P(MapContract, TheLastChangeOfARowCounts) {
    erase(kTable, "never there");
    put(kTable, "a", "1");
    put(kTable, "b", "1");
    put(kTable, "a", "2");
    erase(kTable, "b");
    put(kTable, "c", "1");
    erase(kTable, "c");
    put(kTable, "c", "2");
    apply();
    EXPECT_EQ(rows(kTable), "a=2 c=2 ");
}

// The contract of maps that keep old rows for as long as they are asked to.
class SnapshotContract : public MapContract {};

TEST_P(SnapshotContract, ASnapshotSeesTheRowsOfThatMoment) {
    put(kTable, "a", "1");
    put(kTable, "b", "1");
    put(kTable, "d", "1");
    apply();
    const auto other = map().session();
    other->begin_snapshot();
    const std::string before = "a=1 b=1 d=1 ";
    EXPECT_EQ(rows(*other, kTable), before);
    for (int round = 0; round < 3; ++round) {
        put(kTable, "a", "2");
        erase(kTable, "b");
        put(kTable, "c", "2");
        apply();
        if (round == 1) map().checkpoint(true);
        EXPECT_EQ(rows(*other, kTable), before) << round;
        EXPECT_EQ(get(*other, kTable, "a"), "1");
        EXPECT_EQ(get(*other, kTable, "b"), "1");
        EXPECT_EQ(get(*other, kTable, "c"), std::nullopt);
        EXPECT_EQ(other->size_of(kTable, as_bytes("b")), 1U);
        erase(kTable, "a");
        put(kTable, "b", "three");
        erase(kTable, "d");
        apply();
        EXPECT_EQ(rows(*other, kTable), before) << round;
        const auto cursor = other->cursor(kTable);
        cursor->seek_to_last();
        EXPECT_EQ(as_text(cursor->key()), "d");
        cursor->seek_before(as_bytes("d"));
        EXPECT_EQ(as_text(cursor->key()), "b");
    }
    other->end_snapshot();
    EXPECT_EQ(rows(*other, kTable), "b=three c=2 ");
    other->begin_snapshot();
    erase(kTable, "c");
    apply();
    EXPECT_EQ(rows(*other, kTable), "b=three c=2 ");
    other->end_snapshot();
    // It can be changed again.
    put(kTable, "e", "5");
    apply(*other, changes());
    EXPECT_EQ(rows(kTable), "b=three e=5 ");
}

// Readers go from an index to records in the same manner, while others write both.
TEST_P(SnapshotContract, TwoTablesAgreeInASnapshot) {
    std::atomic<bool> is_done = false;
    std::thread writer([&] {
        const auto writing = map().session();
        Changes made;
        for (int i = 0; i < 500; ++i) {
            const auto key = big_endian(i), old = big_endian(i - 1);
            for (const Table table : {kTable, kBehind}) {
                made.put(table, key, as_bytes("value"));
                made.erase(table, old);
            }
            apply(*writing, made);
        }
        is_done = true;
    });
    int checks = 0;
    while (!is_done || checks == 0) {
        session().begin_snapshot();
        EXPECT_EQ(rows(kTable), rows(kBehind));
        EXPECT_EQ(rows(kTable), rows(kTable));
        session().end_snapshot();
        ++checks;
    }
    writer.join();
}

TEST_P(MapContract, AViewLivesUntilTheNextGet) {
    const std::string first(300, 'f'), second(300, 's');
    put(kTable, "a", first);
    apply();
    map().checkpoint(true);
    Bytes value;
    ASSERT_TRUE(session().get(kTable, as_bytes("a"), &value));
    EXPECT_EQ(session().size_of(kTable, as_bytes("a")), first.size());
    EXPECT_EQ(rows(kTable), "a=" + first + " ");
    changes().put(kTable, as_bytes("b"), value);
    put(kTable, "a", second);
    apply();
    EXPECT_EQ(as_text(value), first);
    erase(kTable, "a");
    apply();
    map().checkpoint(true);
    EXPECT_EQ(as_text(value), first);
    EXPECT_EQ(get(kTable, "b"), first);
}

// Rows whose keys are numbers, as records are read: one after the other, back, and with gaps.
TEST_P(SnapshotContract, RowsAreFoundInWhateverOrder) {
    constexpr int kRows = 60;
    const auto text_of = [](int number) { return "value " + std::to_string(number); };
    const auto is_there = [](int number) { return number % 7 != 3 && number < kRows; };
    for (int i = 0; i < kRows; ++i) {
        if (is_there(i)) changes().put(kTable, big_endian(uint64_t(i)), as_bytes(text_of(i)));
        changes().put(kBehind, big_endian(uint64_t(i)), as_bytes("other"));
    }
    apply();
    map().checkpoint(true);
    const auto other = map().session();
    std::mt19937 random(5);
    for (int round = 0; round < 50; ++round) {
        other->begin_snapshot();
        // What comes later is not of the snapshot.
        changes().put(kTable, big_endian(uint64_t(3)), as_bytes("later"));
        changes().erase(kTable, big_endian(uint64_t(4)));
        apply();
        int number = 0;
        std::string last;
        Bytes value;
        for (int step = 0; step < 200; ++step) {
            const int by = static_cast<int>(random() % 8);
            number = by < 6 ? number + by : static_cast<int>(random() % kRows);
            if (by == 5) number = std::max(0, number - 10);
            if (number > kRows + 5) number = 0;
            const bool found = other->get(kTable, big_endian(uint64_t(number)), &value);
            ASSERT_EQ(found, is_there(number)) << number;
            if (!found) continue;
            EXPECT_EQ(as_text(value), text_of(number));
            last = text_of(number);
            EXPECT_EQ(other->size_of(kTable, big_endian(uint64_t(number))), last.size());
            EXPECT_EQ(as_text(value), last);
        }
        ASSERT_TRUE(other->get(kTable, big_endian(uint64_t(0)), &value));
        ASSERT_TRUE(other->get(kTable, big_endian(uint64_t(1)), &value));
        ASSERT_TRUE(other->get(kTable, big_endian(uint64_t(2)), &value));
        other->end_snapshot();
        changes().erase(kTable, big_endian(uint64_t(3)));
        changes().put(kTable, big_endian(uint64_t(4)), as_bytes(text_of(4)));
        changes().put(kTable, big_endian(uint64_t(2)), as_bytes("now"));
        apply();
        EXPECT_EQ(as_text(value), text_of(2)) << "until the next get";
        ASSERT_TRUE(other->get(kTable, big_endian(uint64_t(2)), &value));
        EXPECT_EQ(as_text(value), "now");
        changes().put(kTable, big_endian(uint64_t(2)), as_bytes(text_of(2)));
        apply();
        if (round % 2 == 0) other->end_cursors();
    }
}

TEST_P(MapContract, AKeyMayLieInWhatGetHasGiven) {
    put(kTable, "a", "b");
    put(kTable, "b", "2");
    apply();
    Bytes value;
    ASSERT_TRUE(session().get(kTable, as_bytes("a"), &value));
    ASSERT_TRUE(session().get(kTable, value, &value));
    EXPECT_EQ(as_text(value), "2");
}

TEST_P(MapContract, TablesDoNotMix) {
    const std::string first(1, '\0'), last(5, '\xff');
    for (const bool is_written : {false, true}) {
        for (const Table table : {kBefore, kTable, kBehind})
            for (const std::string& key : {first, std::string("m"), last})
                put(table, key, std::to_string(static_cast<uint32_t>(table)));
        apply();
        if (is_written) map().checkpoint(true);
        const auto cursor = session().cursor(kTable);
        cursor->seek({});
        EXPECT_EQ(as_text(cursor->key()), first);
        EXPECT_EQ(as_text(cursor->value()), "16");
        cursor->previous();
        EXPECT_TRUE(cursor->at_end());
        cursor->seek_to_last();
        EXPECT_EQ(as_text(cursor->key()), last);
        EXPECT_EQ(as_text(cursor->value()), "16");
        cursor->next();
        EXPECT_TRUE(cursor->at_end());
        cursor->seek_before({});
        EXPECT_TRUE(cursor->at_end());
        cursor->seek_before(as_bytes("n"));
        EXPECT_EQ(as_text(cursor->key()), "m");
        cursor->seek_before(as_bytes("m"));
        EXPECT_EQ(as_text(cursor->key()), first);
        cursor->seek(as_bytes(last + "x"));
        EXPECT_TRUE(cursor->at_end());
    }
}

TEST_P(MapContract, RowsOfATableThatIsDroppedAreGoneForGood) {
    const auto fill = [&](Table table, int rows) {
        for (int i = 0; i < rows; ++i) {
            const auto key = big_endian(i);
            changes().put(table, key, as_bytes("value"));
        }
    };
    for (const int rows_of_table : {3, 5000}) {
        for (const Table table : {kBefore, kTable, kBehind})
            fill(table, rows_of_table);
        apply();
        map().checkpoint(true);
        fill(kTable, rows_of_table + 1);
        apply();
        map().drop(kTable);
        EXPECT_EQ(rows(kTable), "");
        for (int i = 0; i < 2; ++i) {
            map().checkpoint(i == 0);
            EXPECT_EQ(rows(kTable), "");
            EXPECT_FALSE(rows(kBefore).empty());
            EXPECT_EQ(rows(kBefore), rows(kBehind));
            reopen();
        }
        // Its number may be given again.
        map().add_table(kTable, Kind::entries);
        fill(kTable, 1);
        apply();
        map().checkpoint(true);
        map().checkpoint(true);
        EXPECT_FALSE(rows(kTable).empty());
        reopen();
        EXPECT_FALSE(rows(kTable).empty());
    }
}

// Against a std::map, with checkpoints and restarts.
TEST_P(MapContract, CursorsWalkInTheOrderOfKeys) {
    std::mt19937 random(7);
    const auto pick = [&random](uint32_t count) { return static_cast<int>(random() % count); };
    const auto some_key = [&] {
        std::string key;
        for (int length = 1 + pick(3); length > 0; --length)
            key.push_back("\x00\x01m\xfe\xff"[pick(5)]);
        return key;
    };
    std::map<std::string, std::string> model;
    for (int step = 0; step < 3000; ++step) {
        const std::string key = some_key();
        const int what = pick(20);
        if (what < 8) {
            const std::string value = std::to_string(step);
            put(kTable, key, value);
            put(kBehind, key, "other");
            apply();
            model[key] = value;
        } else if (what < 13) {
            erase(kTable, key);
            apply();
            model.erase(key);
        } else if (what == 13) {
            if (pick(10) == 0) map().checkpoint(true);
            if (pick(20) == 0) reopen();
        }
        const auto cursor = session().cursor(kTable);
        // Unsigned, as compared by both.
        auto at = model.begin();
        const std::string from = pick(10) == 0 ? "" : some_key();
        const int way = pick(3);
        if (way == 0) {
            cursor->seek(as_bytes(from));
            at = model.lower_bound(from);
        } else if (way == 1) {
            cursor->seek_before(as_bytes(from));
            at = model.lower_bound(from);
            at = at == model.begin() ? model.end() : std::prev(at);
        } else {
            cursor->seek_to_last();
            at = model.empty() ? model.end() : std::prev(model.end());
        }
        const bool turns_round = pick(2) == 0;
        for (int moves = 0; moves < 6; ++moves) {
            ASSERT_EQ(cursor->at_end(), at == model.end()) << step;
            if (at == model.end()) break;
            ASSERT_EQ(as_text(cursor->key()), at->first) << step;
            ASSERT_EQ(as_text(cursor->value()), at->second) << step;
            if ((way == 0) != (turns_round && moves > 2)) {
                cursor->next();
                ++at;
            } else {
                cursor->previous();
                at = at == model.begin() ? model.end() : std::prev(at);
            }
        }
        const auto there = model.find(key);
        ASSERT_EQ(get(kTable, key),
                  there == model.end() ? std::nullopt : std::optional(there->second));
    }
}

TEST_P(MapContract, ACursorMayGoAfterItsSession) {
    put(kTable, "a", "1");
    apply();
    auto at_row = session().cursor(kTable), unused = session().cursor(kTable);
    session().cursor(kTable)->seek({});
    at_row->seek({});
    EXPECT_FALSE(at_row->at_end());
    session().end_cursors();
    const auto later = session().cursor(kTable);
    at_row.reset();
    later->seek({});
    EXPECT_EQ(as_text(later->key()), "a");
    session().end_cursors();
    session_.reset();
    unused.reset();
}

TEST_P(MapContract, SyncsPausesAndGoesOn) {
    put(kTable, "a", "1");
    apply();
    map().sync_log();
    map().checkpoint(true);
    map().checkpoint(false);
    map().pause();
    EXPECT_EQ(rows(kTable), "a=1 ");
    map().resume();
    put(kTable, "b", "2");
    apply();
    map().checkpoint(true);
    reopen();
    EXPECT_EQ(rows(kTable), "a=1 b=2 ");
}

}  // namespace kv
