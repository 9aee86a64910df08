// The log of writes over each engine: what its entries say, that each is committed with its change,
// and what a start finds.
#include "oplog/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/testing/failure.h"
#include "bson/json.h"
#include "catalog/testing/each_engine.h"
#include "oplog/entry.h"
#include "storage/lock.h"
#include "storage/write_conflict.h"
#include "storage/write_unit.h"

namespace oplog {
namespace {

using base::failure;
using catalog::TestEngine;
using Texts = std::vector<std::string>;

TEST(OplogEntry, RisesFromOneToTheNext) {
    constexpr uint64_t kSecond = uint64_t{1} << 32;
    EXPECT_EQ(next_ts(0, 1000), 1000 * kSecond + 1);
    EXPECT_EQ(next_ts(1000 * kSecond + 1, 1000), 1000 * kSecond + 2);
    EXPECT_EQ(next_ts(1000 * kSecond + 7, 1001), 1001 * kSecond + 1);
    EXPECT_EQ(next_ts(1000 * kSecond + 7, 900), 1000 * kSecond + 8);
}

TEST(OplogEntry, HasTheFieldsOfItsKind) {
    bson::Buffer buffer;
    const bson::Object which = bson::make("_id", 1);
    const bson::Doc o2 = which.doc();
    const auto names = [&buffer](const Entry& entry, Form form = Form::master) {
        buffer.clear();
        std::string out;
        for (const bson::Element& e : write_entry(entry, form, buffer))
            out += std::string(e.name()) + " ";
        return out;
    };
    EXPECT_EQ(names({7, 'i', "test.c", which, nullptr}), "ts op ns o ");
    EXPECT_EQ(names({7, 'u', "test.c", which, &o2}), "ts op ns o2 o ");
    EXPECT_EQ(names({7, 'd', "test.c", which, nullptr}), "ts op ns b o ");
    EXPECT_EQ(names({7, 'c', "test.$cmd", which, nullptr}), "ts op ns o ");
    const bson::Doc entry(buffer.data());
    EXPECT_EQ(entry["ts"].as_timestamp(), 7U);
    EXPECT_EQ(entry["ns"].as_string(), "test.$cmd");
    EXPECT_EQ(names({7, 'u', "test.c", which, &o2, 3, 5}, Form::replica_set),
              "ts t h v op ns o2 o wall ");
    EXPECT_EQ(names({7, 'd', "test.c", which, nullptr, 3, 5}, Form::replica_set),
              "ts t h v op ns b o wall ");
    const bson::Doc of_set(buffer.data());
    EXPECT_EQ(of_set["t"].as_int64(), 3);
    EXPECT_EQ(of_set["h"].as_int64(), 5);
    EXPECT_EQ(of_set["v"].as_int32(), 2);
}

TEST(OplogEntry, TellsHistoriesApart) {
    EXPECT_EQ(next_hash(0, 1, 0), 17);
    EXPECT_EQ(next_hash(17, 2, 3), (17 * 131 + 2) * 17 + 3);
    EXPECT_NE(next_hash(17, 2, 3), next_hash(18, 2, 3));
    EXPECT_NE(next_hash(int64_t{1} << 62, 2, 3), 0);
    const auto entry = [](int64_t hash) {
        bson::Builder out;
        out.append_timestamp("ts", 2).append("h", hash);
        return out.object();
    };
    for (const int64_t before : {int64_t{17}, int64_t{-17}, int64_t{1} << 62}) {
        for (const int32_t member : {0, 7, kMemberIdMax})
            EXPECT_TRUE(comes_directly_after(before, entry(next_hash(before, 2, member))));
        EXPECT_FALSE(comes_directly_after(before, entry(next_hash(before, 2, kMemberIdMax + 1))));
        EXPECT_FALSE(comes_directly_after(before, entry(next_hash(before, 2, -1))));
        EXPECT_FALSE(comes_directly_after(before + 1, entry(next_hash(before, 2, 0))));
        EXPECT_FALSE(comes_directly_after(before, entry(next_hash(before, 1, 0))));
    }
    EXPECT_LT((Position{1, 9}), (Position{2, 3}));
    EXPECT_LT((Position{2, 3}), (Position{2, 4}));
}

class LogTest : public testing::Test, public catalog::EngineParam {
  protected:
    ~LogTest() override { close(); }

    void open(int64_t bytes = 1 << 20) {
        if (engine_ == nullptr)
            engine_ = catalog::make_test_engine(GetParam(), directory_.path(), true);
        catalog_ = std::make_unique<catalog::Catalog>(*engine_);
        log_ = std::make_unique<Log>(*engine_, *catalog_, form_);
        if (bytes == 0) return;
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->open(bytes);
    }
    void close() {
        catalog_ = nullptr;
        log_ = nullptr;
        if (engine_ != nullptr) engine_->shutdown();
        engine_ = nullptr;
    }
    // An engine that keeps its data in memory is not opened again.
    void open_again() {
        catalog_ = nullptr;
        log_ = nullptr;
        if (GetParam() == TestEngine::mmapv1) close();
        open();
    }

    template <typename Work>
    void write(const char* db, Work&& work) {
        const storage::DatabaseLock lock(engine_->locks(), db, true);
        work(catalog_->get_or_create(db));
    }
    void insert(int first, int count, size_t pad = 0) {
        write("test", [&](catalog::Database& db) {
            for (int i = first; i < first + count; ++i)
                db.get_or_create("test.c").insert(
                    bson::make("_id", i, "pad", std::string(pad, 'x')));
        });
    }
    // An insert beside those of other threads, kept or taken back.
    void change_concurrently(int id, bool is_kept) {
        const storage::DatabaseLock lock(engine_->locks(), "test", storage::Access::documents);
        catalog::Collection& c = *catalog_->collection("test.c");
        while (true) {
            try {
                storage::WriteUnit unit(engine_->durability());
                const storage::WriteUnit::EngineUndo undo(unit);
                c.insert(bson::make("_id", id));
                if (is_kept) unit.keep();
                return;
            } catch (const storage::WriteConflict&) {
                engine_->locks().await_conflict();
            }
        }
    }
    std::vector<bson::Object> entries() {
        std::vector<bson::Object> found;
        const storage::DatabaseLock lock(engine_->locks(), "local", false);
        const auto cursor =
            catalog_->collection(ns())->records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next())
            found.emplace_back(record->doc);
        return found;
    }
    // "i test.c { _id: 1 }"
    Texts texts() {
        Texts out;
        for (const bson::Object& entry : entries()) {
            const std::string named =
                entry["o2"] ? bson::to_text(entry["o2"]) + " -> " : std::string();
            out.push_back(std::string(entry["op"].as_string()) + " " +
                          std::string(entry["ns"].as_string()) + " " + named +
                          bson::to_text(entry["o"]));
        }
        return out;
    }
    void expect_rising() {
        uint64_t last = 0;
        for (const bson::Object& entry : entries()) {
            const uint64_t ts = entry["ts"].as_timestamp();
            EXPECT_GT(ts, last);
            last = ts;
        }
    }

    std::string ns() const { return std::string(form_ == Form::master ? kMasterLog : kSetLog); }

    Form form_ = Form::master;
    os::TestDirectory directory_;
    std::unique_ptr<storage::Engine> engine_;
    std::unique_ptr<Log> log_;
    std::unique_ptr<catalog::Catalog> catalog_;
};

TEST_P(LogTest, TellsEachChangeInTurn) {
    open();
    write("test", [](catalog::Database& db) {
        catalog::Collection& c = db.get_or_create("test.c");
        const storage::RecordId id = c.insert(bson::make("_id", 1));
        c.update(id, bson::make("_id", 1, "a", 2));
        db.create_index(c, bson::make("key", bson::make("a", 1), "name", "a"));
        c.remove(c.id_index()->store->find_one(bson::make("", 1)));
        db.drop("test.c");
    });
    write("local", [](catalog::Database& db) {
        db.get_or_create("local.own").insert(bson::make("_id", 1));
    });
    EXPECT_EQ(texts(),
              (Texts{"n  {}", "c test.$cmd { create: \"c\" }", "i test.c { _id: 1 }",
                     "u test.c { _id: 1 } -> { _id: 1, a: 2 }",
                     "i test.system.indexes { v: 1, key: { a: 1 }, name: \"a\", ns: \"test.c\" }",
                     "d test.c { _id: 1 }", "c test.$cmd { drop: \"c\" }"}));
    expect_rising();
}

TEST_P(LogTest, GoesOnWhereItEnded) {
    open();
    insert(1, 3);
    const uint64_t last = entries().back()["ts"].as_timestamp();
    open_again();
    EXPECT_EQ(entries().size(), 5U);
    insert(4, 3);
    EXPECT_EQ(entries().size(), 8U);
    EXPECT_GT(entries().back()["ts"].as_timestamp(), last);
    expect_rising();
}

// The oldest entries go, and no commit comes between a change and its entry for it: the checks of
// WriteUnit say so where there are any.
TEST_P(LogTest, GoesRound) {
    open(256 << 10);
    for (int i = 0; i < 20; ++i)
        insert(i * 100, 100, 500);
    const std::vector<bson::Object> kept = entries();
    EXPECT_LT(kept.size(), 700U);
    EXPECT_GT(kept.size(), 100U);
    EXPECT_EQ(kept.back()["o"].as_doc()["_id"].as_int32(), 1999);
    expect_rising();
}

TEST_P(LogTest, RefusesAChangeWhoseEntryHasNoRoom) {
    open(256 << 10);
    write("test", [&](catalog::Database& db) {
        catalog::Collection& c = db.get_or_create("test.c");
        EXPECT_EQ(
            failure([&] { c.insert(bson::make("_id", 1, "pad", std::string(1 << 20, 'x'))); }),
            10334);
        EXPECT_EQ(c.records().count(), 0);
        c.insert(bson::make("_id", 2));
    });
    EXPECT_EQ(texts().back(), "i test.c { _id: 2 }");
}

TEST_P(LogTest, IsWrittenByNothingElse) {
    open();
    insert(1, 1);
    write("local", [&](catalog::Database& db) {
        catalog::Collection& ring = *db.collection(ns());
        const auto cursor = ring.records().cursor(storage::Direction::forward);
        const auto first = cursor->next();
        const storage::RecordId id = first->id;
        const bson::Object doc(first->doc);
        EXPECT_EQ(failure([&] { ring.insert(bson::make("_id", 1)); }), base::kIllegalOperation);
        EXPECT_EQ(failure([&] { ring.update(id, doc); }), base::kIllegalOperation);
        EXPECT_EQ(failure([&] { ring.remove(id); }), base::kIllegalOperation);
        EXPECT_EQ(failure([&] { ring.patch(id, {}); }), base::kIllegalOperation);
        EXPECT_EQ(failure([&] { db.drop(ns()); }), base::kIllegalOperation);
        EXPECT_EQ(failure([&] { db.rename(ns(), "local.x", false); }), base::kIllegalOperation);
        EXPECT_EQ(failure([&] { db.truncate(ring); }), base::kIllegalOperation);
        EXPECT_EQ(failure([&] {
                      db.create_index(ring, bson::make("key", bson::make("a", 1), "name", "a"));
                  }),
                  base::kIllegalOperation);
    });
    const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
    EXPECT_EQ(failure([&] { catalog_->drop_database("local"); }), base::kIllegalOperation);
    EXPECT_EQ(failure([&] { catalog_->close_database("local"); }), base::kIllegalOperation);
}

// The entry is there before the database goes.
TEST_P(LogTest, EndsADropThatWasCutShort) {
    open();
    insert(1, 1);
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->prepare(0);
        log_->command("test", bson::make("dropDatabase", 1), nullptr);
    }
    open_again();
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        EXPECT_EQ(catalog_->database("test"), nullptr);
    }
    EXPECT_EQ(texts().back(), "c test.$cmd { dropDatabase: 1 }");
    // Nor one that was begun anew.
    insert(1, 1);
    open_again();
    const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
    EXPECT_NE(catalog_->database("test"), nullptr);
}

// The entry is taken back in the same hold of the lock.
TEST_P(LogTest, TakesTheEntryOfADropThatFailedBack) {
    open();
    insert(1, 1);
    const Texts before = texts();
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->prepare(0);
        log_->command("test", bson::make("dropDatabase", 1), nullptr);
        log_->take_command_back();
    }
    EXPECT_EQ(texts(), before);
    insert(2, 1);
    open_again();
    EXPECT_EQ(texts().back(), "i test.c { _id: 2, pad: \"\" }");
    expect_rising();
    const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
    EXPECT_NE(catalog_->database("test"), nullptr);
}

// A member of a set that has not been initiated.
TEST_P(LogTest, UntilItIsOpenedThereAreNoEntries) {
    form_ = Form::replica_set;
    open(0);
    EXPECT_FALSE(log_->is_open());
    insert(1, 3);
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        EXPECT_EQ(catalog_->collection(ns()), nullptr);
        catalog_->drop_database("test");
        log_->open(1 << 20);
        EXPECT_TRUE(log_->is_open());
        EXPECT_EQ(log_->last(), (Position{0, 0}));
        log_->begin_term(1, 0, bson::make("msg", "initiating set"));
    }
    insert(1, 1);
    EXPECT_EQ(texts(), (Texts{"n  { msg: \"initiating set\" }", "c test.$cmd { create: \"c\" }",
                              "i test.c { _id: 1, pad: \"\" }"}));
}

TEST_P(LogTest, OfASetSaysWhichTermWroteIt) {
    form_ = Form::replica_set;
    open();
    const auto begin = [this](int64_t term) {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->begin_term(term, 2, bson::make("msg", "new primary"));
    };
    begin(7);
    insert(1, 2);
    EXPECT_EQ(log_->last().term, 7);
    open_again();
    EXPECT_EQ(log_->last().term, 7);
    EXPECT_EQ(log_->last().ts, entries().back()["ts"].as_timestamp());
    begin(8);
    insert(3, 1);
    const std::vector<bson::Object> all = entries();
    ASSERT_EQ(all.size(), 6U);
    int64_t hash = 0;
    for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i]["t"].as_int64(), i < 4 ? 7 : 8);
        hash = next_hash(hash, all[i]["ts"].as_timestamp(), 2);
        EXPECT_EQ(all[i]["h"].as_int64(), hash) << i;
    }
}

// Only the entries of documents name the statement, so that a start knows of them.
TEST_P(LogTest, SaysWhichStatementMadeAChange) {
    form_ = Form::replica_set;
    open();
    const auto begin = [this](int64_t term) {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->begin_term(term, 0, bson::make("msg", "new primary"));
    };
    begin(1);
    const SessionKey session{{1, 2, 3}, {4, 5, 6}};
    const bson::Object shown = bson::make("shown", std::string(3000, 'x'));
    {
        const auto turn = log_->retries().begin(session, 7);
        {
            const Statement statement(turn.get(), 3);
            insert(1, 1);
        }
        {
            Statement statement(turn.get(), 4);
            statement.show(shown);
            write("test", [](catalog::Database& db) {
                catalog::Collection& c = *db.collection("test.c");
                c.remove(c.id_index()->store->find_one(bson::make("", 1)));
            });
        }
        insert(2, 1);
    }
    const std::vector<bson::Object> all = entries();
    ASSERT_EQ(all.size(), 6U);
    for (const size_t plain : {0, 1, 5})
        EXPECT_FALSE(statement_of(all[plain])) << bson::to_text(all[plain].doc());
    const auto expect = [&](const bson::Object& entry, const char* op, int32_t number) {
        EXPECT_EQ(entry["op"].as_string(), op);
        const std::optional<StatementId> id = statement_of(entry);
        ASSERT_TRUE(id);
        EXPECT_EQ(id->session, session);
        EXPECT_EQ(id->txn_number, 7);
        EXPECT_EQ(id->statement, number);
    };
    expect(all[2], "i", 3);
    expect(all[3], "n", 4);
    EXPECT_EQ(bson::to_text(all[3]["o"]), bson::to_text(shown.doc()));
    expect(all[4], "d", 4);
    open_again();
    EXPECT_EQ(log_->retries().sessions(), 1U);
    begin(2);
    const auto turn = log_->retries().begin(session, 7);
    ASSERT_EQ(turn->all_done().size(), 2U);
    EXPECT_EQ(turn->done(3)->op, 'i');
    EXPECT_EQ(turn->done(3)->ts, all[2]["ts"].as_timestamp());
    EXPECT_EQ(turn->done(4)->op, 'd');
    EXPECT_EQ(turn->done(4)->ts, all[3]["ts"].as_timestamp());
    EXPECT_EQ(turn->done(5), nullptr);
}

TEST_P(LogTest, RefusesAChangeWhoseStatementShowsTooMuch) {
    form_ = Form::replica_set;
    open(256 << 10);
    insert(1, 1);
    const auto turn = log_->retries().begin({}, 1);
    const bson::Object shown = bson::make("shown", std::string(1 << 20, 'x'));
    {
        Statement statement(turn.get(), 0);
        statement.show(shown);
        EXPECT_EQ(failure([&] { insert(2, 1); }), 10334);
    }
    EXPECT_EQ(turn->done(0), nullptr);
    EXPECT_EQ(texts().back(), "i test.c { _id: 1, pad: \"\" }");
}

TEST_P(LogTest, WakesThoseWhoWait) {
    open();
    int woken = 0;
    std::shared_ptr<void> wait;
    {
        const storage::DatabaseLock lock(engine_->locks(), "local", false);
        wait = catalog_->collection(ns())->waiters().add([&woken] { ++woken; });
    }
    insert(1, 1);
    EXPECT_EQ(woken, 1);
}

// A member that follows has the entries of the primary, byte for byte, each with its change.
TEST_P(LogTest, OfAFollowerHasTheEntriesOfThePrimary) {
    form_ = Form::replica_set;
    open();
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->follow();
    }
    bson::Buffer buffer;
    const auto entry = [&buffer](uint64_t ts, char op, std::string_view ns, const bson::Object& o) {
        buffer.clear();
        return bson::Object(write_entry({ts, op, ns, o, nullptr, 3, static_cast<int64_t>(ts) * 7},
                                        Form::replica_set, buffer));
    };
    std::vector<bson::Object> told;
    const auto change = [&](uint64_t ts, char op, const bson::Object& o, auto&& work) {
        told.push_back(entry(ts, op, op == 'n' ? "" : op == 'c' ? "test.$cmd" : "test.c", o));
        ForeignChange foreign(*log_, told.back());
        write("test", work);
        foreign.finish();
    };
    change(5, 'c', bson::make("create", "c"),
           [](catalog::Database& db) { db.create("test.c", bson::Doc()); });
    change(9, 'i', bson::make("_id", 1),
           [](catalog::Database& db) { db.collection("test.c")->insert(bson::make("_id", 1)); });
    change(10, 'n', bson::make("msg", "a note"), [](catalog::Database&) {});
    // One entry may tell of several changes.
    change(11, 'c', bson::make("all", 1), [](catalog::Database& db) {
        db.collection("test.c")->insert(bson::make("_id", 2));
        db.collection("test.c")->insert(bson::make("_id", 3));
    });
    {
        const ForeignChange copy(*log_);
        write("test", [](catalog::Database& db) {
            db.get_or_create("test.copied").insert(bson::make("_id", 1));
        });
    }
    const auto expect_told = [&] {
        const std::vector<bson::Object> all = entries();
        ASSERT_EQ(all.size(), told.size());
        for (size_t i = 0; i < all.size(); ++i)
            EXPECT_EQ(all[i].bytes(), told[i].bytes()) << bson::to_text(all[i].doc());
    };
    expect_told();
    EXPECT_EQ(log_->last(), (Position{3, 11}));
    EXPECT_EQ(failure([&] { const ForeignChange again(*log_, told.back()); }),
              base::kIllegalOperation);
    EXPECT_EQ(failure([&] { const ForeignChange none(*log_, bson::Doc()); }),
              base::kIllegalOperation);
    // No other change is made, but to what is the server's own.
    EXPECT_EQ(failure([this] { insert(7, 1); }), base::kInterruptedDueToReplStateChange);
    write("local", [](catalog::Database& db) {
        db.get_or_create("local.own").insert(bson::make("_id", 1));
    });
    expect_told();

    open_again();
    EXPECT_EQ(log_->last(), (Position{3, 11}));
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        EXPECT_EQ(log_->last_hash(), 77);
        log_->follow();
        log_->begin_term(4, 1, bson::make("msg", "new primary"));
    }
    insert(8, 1);
    EXPECT_EQ(texts().back(), "i test.c { _id: 8, pad: \"\" }");
    EXPECT_EQ(log_->last().term, 4);
    expect_rising();
}

// Should it become the primary, nothing has to be read before it takes writes.
TEST_P(LogTest, OfAFollowerKeepsWhatMayComeAgain) {
    form_ = Form::replica_set;
    open();
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->follow();
    }
    const SessionKey session{{1, 2, 3}, {4, 5, 6}};
    Retries elsewhere;
    const auto there = elsewhere.begin(session, 7);
    bson::Buffer buffer;
    const auto tell = [&](uint64_t ts, char op, int32_t statement, bool counts = true) {
        const bson::Object o = bson::make("_id", static_cast<int32_t>(ts));
        buffer.clear();
        Entry written{ts, op, op == 'n' ? "" : "test.c", o, nullptr, 3, 1};
        written.turn = there.get();
        written.statement = statement;
        const bson::Object entry(write_entry(written, Form::replica_set, buffer));
        ForeignChange foreign(*log_, entry);
        if (counts) return foreign.finish();
        const storage::DatabaseLock lock(engine_->locks(), "test", true);
        storage::WriteUnit unit(engine_->durability());
        unit.admit(log_->prepare(0));
        const storage::WriteUnit::EngineUndo undo(unit);
        log_->inserted("test.c", o);
    };
    tell(5, 'i', 0);
    tell(6, 'i', 1);
    tell(7, 'n', 2);
    tell(8, 'd', 2);
    tell(9, 'i', 3, false);  // what is undone has not been done
    const auto become = [&](int64_t term) {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->begin_term(term, 1, bson::make("msg", "new primary"));
    };
    EXPECT_EQ(log_->last(), (Position{3, 8}));
    become(4);
    const auto turn = log_->retries().begin(session, 7);
    ASSERT_NE(turn, nullptr);
    EXPECT_EQ(turn->done(1)->last, 1);
    EXPECT_EQ(turn->done(1)->ts, 5U);
    EXPECT_EQ(turn->done(2)->op, 'd');
    EXPECT_EQ(turn->done(2)->ts, 7U);
    EXPECT_EQ(turn->done(3), nullptr);
}

// A follower takes it back as a primary does for its own drop that failed.
TEST_P(LogTest, OfAFollowerTakesTheEntryOfADropBack) {
    form_ = Form::replica_set;
    open();
    bson::Buffer buffer;
    const bson::Object drop_fields = bson::make("dropDatabase", 1);
    const bson::Object drop(
        write_entry({5, 'c', "test.$cmd", drop_fields, nullptr, 3, 1}, Form::replica_set, buffer));
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->follow();
        const ForeignChange foreign(*log_, drop);
        log_->prepare(0);
        log_->command("test", drop_fields, nullptr);
        log_->take_command_back();
    }
    EXPECT_TRUE(entries().empty());
    EXPECT_EQ(log_->last(), Position());
    ForeignChange(*log_, drop).finish();
    EXPECT_EQ(entries().size(), 1U);
}

// Entries are taken back with their changes; readers who look for a time then find what is there.
TEST_P(LogTest, TakesBackWhatAUnitDoesNotKeep) {
    open();
    insert(1, 3);
    const Texts before = texts();
    const Position last = log_->last();
    const int64_t hash = log_->last_hash();
    catalog::Collection* ring = nullptr;
    write("test", [&](catalog::Database& db) {
        catalog::Collection& c = *db.collection("test.c");
        ring = catalog_->collection(ns());
        ring->marks().note_all_walked();
        EXPECT_TRUE(ring->marks().find(0).id.is_null());  // from now on there are marks
        const Position own = Log::written();
        storage::WriteUnit unit(engine_->durability());
        const storage::WriteUnit::EngineUndo undo(unit);
        c.insert(bson::make("_id", 10));
        c.remove(c.id_index()->store->find_one(bson::make("", 1)));
        EXPECT_GT(log_->last(), last);
        EXPECT_GT(Log::written(), own);
    });
    EXPECT_EQ(texts(), before);
    EXPECT_EQ(log_->last(), last);
    EXPECT_EQ(log_->last_hash(), hash);
    EXPECT_EQ(Log::written(), last);
    EXPECT_TRUE(ring->marks().find(~uint64_t{0}).id.is_null());
    insert(4, 1);
    EXPECT_EQ(texts().size(), before.size() + 1);
    expect_rising();
    open_again();
    EXPECT_EQ(texts().size(), before.size() + 1);
}

// A reader sees at each moment a log without gaps, in which each thread's changes stand in the
// order in which it has made them, and a unit that is not kept leaves nothing there.
TEST_P(LogTest, OfConcurrentChangesHasNoGapForAnyReader) {
    constexpr int kThreads = 6, kEach = 60;
    form_ = Form::replica_set;
    open(4 << 20);
    {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        log_->begin_term(1, 3, bson::make("msg", "new primary"));
    }
    insert(-1, 1);  // makes the collection
    const auto expect_whole = [](const std::vector<bson::Object>& found) {
        for (size_t i = 1; i < found.size(); ++i) {
            EXPECT_LT(found[i - 1]["ts"].as_timestamp(), found[i]["ts"].as_timestamp());
            EXPECT_TRUE(comes_directly_after(found[i - 1]["h"].as_int64(), found[i]));
        }
    };
    const size_t before = entries().size();
    std::atomic<int> writing{kThreads};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&, thread] {
            Log::forget_written();
            for (int i = 0; i < kEach; ++i)
                change_concurrently(thread * kEach + i, i % 5 != 0);
            EXPECT_GT(Log::written(), Position());
            EXPECT_LE(Log::written(), log_->last());
            --writing;
        });
    size_t seen = before;
    while (writing > 0) {
        const Position last = log_->last();
        const std::vector<bson::Object> found = entries();
        expect_whole(found);
        EXPECT_GE(found.size(), seen);
        // A thread that is alone shows its entry before it lets readers in.
        if (GetParam() == TestEngine::kv) {
            EXPECT_LE(last, position_of(found.back()));
        }
        seen = found.size();
    }
    for (std::thread& thread : threads)
        thread.join();
    const std::vector<bson::Object> found = entries();
    expect_whole(found);
    EXPECT_EQ(found.size(), before + kThreads * kEach * 4 / 5);
    EXPECT_EQ(log_->last(), position_of(found.back()));
    EXPECT_EQ(log_->last_hash(), found.back()["h"].as_int64());
    std::vector<int> next(kThreads, 0);
    for (size_t i = before; i < found.size(); ++i) {
        const int id = found[i]["o"].as_doc()["_id"].as_int32();
        int& of_thread = next[static_cast<size_t>(id / kEach)];
        EXPECT_GE(id % kEach, of_thread);
        of_thread = id % kEach + 1;
    }
    insert(-2, 1);  // alone again
    expect_whole(entries());
}

INSTANTIATE_TEST_SUITE_P(engines, LogTest, catalog::kTestEngines, catalog::engine_name);

}  // namespace
}  // namespace oplog
