// Transactions over several requests: one moment for all reads, no lost update, all or nothing,
// whatever thread works for them, and who yields to whom.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "sched/operation.h"
#include "storage/kv/engine.h"
#include "storage/kv/testing/memory_map.h"
#include "storage/write_unit.h"

namespace kv {
namespace {

using storage::Access;
using storage::DatabaseLock;
using storage::RecordId;
using storage::Transaction;

class LongTransactionTest : public testing::Test {
  protected:
    LongTransactionTest() {
        const DatabaseLock lock(engine.locks(), "test", true);
        make("test.c");
    }
    ~LongTransactionTest() override { engine.shutdown(); }

    storage::CollectionStore& make(const std::string& ns) {
        storage::CollectionStore& made = engine.create_database("test").create_collection(ns, {});
        made.finish_index(made.begin_index(
            bson::make("v", 1, "key", bson::make("a", 1), "name", "a_1", "ns", ns)));
        return made;
    }
    storage::CollectionStore& collection(const std::string& ns = "test.c") {
        return *engine.database("test")->collection(ns);
    }
    storage::RecordStore& records() { return collection().records(); }

    // Inserts a document with a unique key; REQUIRES: a lock to write.
    RecordId insert(int a) {
        const RecordId id = records().insert(bson::make("a", a));
        const auto inserted = collection().index(0).index->insert(bson::make("", a), id, false);
        return inserted == storage::InsertResult::inserted ? id : RecordId();
    }
    // Sets the value of a document, whose size stays.
    bool set(RecordId id, int a) {
        if (!records().lock_record(id)) return false;
        records().overwrite(id, bson::make("a", a));
        return true;
    }
    int value(RecordId id) { return records().get(id)["a"].to_int32(); }
    // Calls `work` in the transaction, by a thread of its own, under a lock to write.
    template <typename Work>
    void in(Transaction& transaction, const Work& work, Access access = Access::documents) {
        std::thread([&] {
            transaction.enter();
            {
                const DatabaseLock lock(engine.locks(), "test", access);
                work();
            }
            transaction.leave();
        }).join();
    }
    bool conflicts(Transaction& transaction, const std::function<void()>& work) {
        bool conflicts = false;
        in(transaction, [&] {
            try {
                work();
            } catch (const storage::WriteConflict&) {
                conflicts = true;
            }
        });
        return conflicts;
    }
    void commit(Transaction& transaction) {
        in(transaction, [&] { transaction.settle(); });
    }
    // Calls `work` under a lock of its own.
    template <typename Work>
    auto plain(const Work& work, Access access = Access::documents) {
        const DatabaseLock lock(engine.locks(), "test", access);
        return work();
    }
    int value_now(RecordId id) {
        return plain([&] { return value(id); }, Access::read);
    }

    std::shared_ptr<MemoryMap::Rows> rows = std::make_shared<MemoryMap::Rows>();
    MemoryMap* map = new MemoryMap(rows);
    Engine engine{std::unique_ptr<Map>(map), EngineOptions{.name = "ordered"}};
    std::unique_ptr<Transaction> one = engine.begin_transaction();
    std::unique_ptr<Transaction> other = engine.begin_transaction();
};

TEST_F(LongTransactionTest, KeepsItsChangesOverThreadsAndShowsThemAtItsCommitAlone) {
    RecordId id;
    in(*one, [&] { id = insert(1); });
    in(*one, [&] {
        EXPECT_EQ(value(id), 1);
        EXPECT_EQ(collection().index(0).index->find_one(bson::make("", 1)), id);
        EXPECT_EQ(records().count(), 1);
        EXPECT_TRUE(set(id, 2));
    });
    EXPECT_TRUE(plain([&] { return records().first_id().is_null(); }, Access::read));
    EXPECT_EQ(plain([&] { return records().count(); }, Access::read), 0);
    commit(*one);
    EXPECT_EQ(value_now(id), 2);
    EXPECT_EQ(plain([&] { return records().count(); }, Access::read), 1);
}

TEST_F(LongTransactionTest, IsGoneAsAWhole) {
    RecordId id;
    in(*one, [&] { id = insert(1); });
    one.reset();
    EXPECT_TRUE(plain([&] { return records().first_id().is_null(); }, Access::read));
    EXPECT_EQ(plain([&] { return records().count(); }, Access::read), 0);
    EXPECT_FALSE(plain([&] { return insert(1); }).is_null());
}

// Also where each of its requests yields.
TEST_F(LongTransactionTest, ReadsOfOneMoment) {
    const RecordId id = plain([&] { return insert(1); });
    in(
        *one, [&] { EXPECT_EQ(value(id), 1); }, Access::read);
    EXPECT_TRUE(plain([&] { return set(id, 2); }));
    in(
        *one, [&] { EXPECT_EQ(value(id), 1); }, Access::read);
    one->enter();
    {
        DatabaseLock lock(engine.locks(), "test", Access::documents);
        EXPECT_EQ(value(id), 1);
        lock.yield();
        EXPECT_EQ(value(id), 1);
        engine.durability().commit_if_needed();
        EXPECT_EQ(value(id), 1);
    }
    one->leave();
    EXPECT_EQ(value_now(id), 2);
}

TEST_F(LongTransactionTest, LosesNoUpdate) {
    const RecordId id = plain([&] { return insert(1); });
    in(*one, [&] { EXPECT_EQ(value(id), 1); });
    EXPECT_TRUE(plain([&] { return set(id, 2); }));
    EXPECT_TRUE(conflicts(*one, [&] { set(id, 5); }));
    one.reset();
    EXPECT_EQ(value_now(id), 2);
}

// A row that is as it was is no conflict, whatever it has been in between.
TEST_F(LongTransactionTest, ComparesRowsByTheirValues) {
    const RecordId id = plain([&] { return insert(1); });
    in(*one, [&] { EXPECT_EQ(value(id), 1); });
    EXPECT_TRUE(plain([&] { return set(id, 2); }));
    EXPECT_TRUE(plain([&] { return set(id, 1); }));
    EXPECT_FALSE(conflicts(*one, [&] { set(id, 5); }));
    commit(*one);
    EXPECT_EQ(value_now(id), 5);
}

TEST_F(LongTransactionTest, MeetsAnotherAndGivesWay) {
    const RecordId id = plain([&] { return insert(1); });
    in(*one, [&] { EXPECT_TRUE(set(id, 2)); });
    EXPECT_TRUE(conflicts(*other, [&] { set(id, 3); }));
    commit(*one);
    EXPECT_TRUE(conflicts(*other, [&] { set(id, 3); }));
    EXPECT_EQ(value_now(id), 2);
}

TEST_F(LongTransactionTest, KeepsItsLocksUntilItsCommitIsMade) {
    const RecordId id = plain([&] { return insert(1); });
    in(*one, [&] { EXPECT_TRUE(set(id, 2)); });
    bool is_first = true;
    map->on_commit = [&] {
        if (!std::exchange(is_first, false)) return;
        in(*other, [&] { EXPECT_THROW(set(id, 3), storage::WriteConflict); });
    };
    commit(*one);
    EXPECT_FALSE(is_first);
    map->on_commit = [] {};
    EXPECT_EQ(value_now(id), 2);
}

TEST_F(LongTransactionTest, GetsAUniqueKeyAloneOrConflicts) {
    in(*one, [&] { EXPECT_TRUE(records().first_id().is_null()); });
    EXPECT_FALSE(plain([&] { return insert(7); }).is_null());
    // It is there now, and not at its moment: no duplicate, since it would not see which.
    EXPECT_TRUE(conflicts(*one, [&] { insert(7); }));
    one = engine.begin_transaction();
    in(*one, [&] { EXPECT_TRUE(insert(7).is_null()); });
    in(*other, [&] { EXPECT_FALSE(insert(8).is_null()); });
    EXPECT_TRUE(conflicts(*one, [&] { insert(8); }));
}

// Who has the database alone does not wait.
TEST_F(LongTransactionTest, IsWoundedByWhoCannotWait) {
    const RecordId id = plain([&] { return insert(1); });
    in(*one, [&] { EXPECT_TRUE(set(id, 2)); });
    in(*other, [&] { insert(9); });
    EXPECT_TRUE(plain([&] { return set(id, 3); }, Access::all));
    EXPECT_TRUE(one->is_wounded());
    EXPECT_FALSE(other->is_wounded());
    EXPECT_TRUE(conflicts(*one, [&] { set(id, 4); }));
    one.reset();
    EXPECT_EQ(value_now(id), 3);
    EXPECT_FALSE(plain([&] { return insert(9); }, Access::all).is_null());
    EXPECT_TRUE(other->is_wounded());
}

TEST_F(LongTransactionTest, OverwritesAndRemovalsUnderAllWoundToo) {
    const RecordId id = plain([&] { return insert(1); });
    for (const auto& change : std::vector<std::function<void()>>{
             [&] { records().overwrite(id, bson::make("a", 4)); },
             [&] {
                 records().overwrite_range(id, 7, std::vector<uint8_t>{5, 0, 0, 0});
             },
             [&] { records().remove(id); }}) {
        const auto parked = engine.begin_transaction();
        in(*parked, [&] { EXPECT_TRUE(set(id, 2)); });
        plain(change, Access::all);
        EXPECT_TRUE(parked->is_wounded());
    }
}

TEST_F(LongTransactionTest, LetsWritersThatHaveDoneNothingComeAgain) {
    const RecordId id = plain([&] { return insert(1); });
    in(*one, [&] { EXPECT_TRUE(set(id, 2)); });
    const DatabaseLock lock(engine.locks(), "test", Access::documents);
    EXPECT_THROW(set(id, 3), storage::WriteConflict);
    EXPECT_FALSE(engine.locks().await_conflict(true));
    EXPECT_FALSE(one->is_wounded());
    EXPECT_THROW(set(id, 3), storage::WriteConflict);
    EXPECT_TRUE(engine.locks().await_conflict(false));
    EXPECT_TRUE(one->is_wounded());
    EXPECT_TRUE(set(id, 3));
}

// A thread works for it: that is soon over.
TEST_F(LongTransactionTest, LetsWritersWaitWhileAThreadWorksForIt) {
    const RecordId id = plain([&] { return insert(1); });
    std::thread writer;
    in(*one, [&] {
        EXPECT_TRUE(set(id, 2));
        std::atomic<bool> is_refused{false};
        writer = std::thread([&] {
            const DatabaseLock lock(engine.locks(), "test", Access::documents);
            EXPECT_THROW(set(id, 3), storage::WriteConflict);
            is_refused = true;
            is_refused.notify_all();
            EXPECT_FALSE(engine.locks().await_conflict(true));
        });
        is_refused.wait(false);
    });
    writer.join();
    EXPECT_FALSE(one->is_wounded());
}

TEST_F(LongTransactionTest, SeesWhetherACollectionIsTheSame) {
    plain([&] { make("test.gone"); }, Access::all);
    const auto sees = [&](const std::string& ns) {
        bool sees = false;
        in(*one, [&] { sees = one->sees(ns); });
        return sees;
    };
    EXPECT_TRUE(sees("test.c"));
    EXPECT_TRUE(sees("test.none"));
    EXPECT_TRUE(sees("test.gone"));
    plain([&] { collection().set_multikey(0); }, Access::all);
    EXPECT_TRUE(sees("test.c"));
    plain([&] { make("test.none"); }, Access::all);
    EXPECT_TRUE(sees("test.none"));  // empty
    plain([&] { engine.database("test")->drop_collection("test.gone"); }, Access::all);
    EXPECT_FALSE(sees("test.gone"));
    plain([&] { make("test.gone"); }, Access::all);
    EXPECT_FALSE(sees("test.gone"));
    plain([&] { engine.database("test")->rename_collection("test.c", "test.d", false); },
          Access::all);
    EXPECT_FALSE(sees("test.c"));
    EXPECT_FALSE(sees("test.d"));
    plain([&] { collection("test.none").drop_index(0); }, Access::all);
    EXPECT_TRUE(sees("test.none"));
    other.reset();
    other = engine.begin_transaction();
    in(*other, [&] { EXPECT_TRUE(other->sees("test.none")); });
    plain([&] { collection("test.none").replace_options(bson::make("validator", 1)); },
          Access::all);
    in(*other, [&] { EXPECT_FALSE(other->sees("test.none")); });
}

TEST_F(LongTransactionTest, TakesBackAFailedChangeAndKeepsTheOthers) {
    RecordId id;
    in(*one, [&] { id = insert(1); });
    in(*one, [&] {
        storage::WriteUnit unit(engine.durability());
        const storage::WriteUnit::EngineUndo undo(unit);
        set(id, 2);
        EXPECT_EQ(value(id), 2);
    });
    in(*one, [&] { EXPECT_EQ(value(id), 1); });
    commit(*one);
    EXPECT_EQ(value_now(id), 1);
}

// Transfers between accounts by transactions whose steps are made by any thread, beside plain
// writers and such as have the database alone: the sum of each snapshot is the same.
TEST_F(LongTransactionTest, KeepsTheSumOfABank) {
    constexpr int kAccounts = 12, kThreads = 4, kSteps = 400, kEach = 1000;
    std::vector<RecordId> accounts;
    plain([&] {
        for (int i = 0; i < kAccounts; ++i)
            accounts.push_back(records().insert(bson::make("a", kEach)));
    });
    struct Transfer {
        std::mutex mutex;
        std::unique_ptr<Transaction> transaction;
        int steps = 0;
    };
    std::vector<Transfer> transfers(6);
    std::atomic<int> commits{0}, conflicts{0}, audits{0};
    const auto step = [&](Transfer& transfer, std::mt19937& random) {
        const std::lock_guard guard(transfer.mutex);
        if (transfer.transaction == nullptr) {
            transfer.transaction = engine.begin_transaction();
            transfer.steps = 0;
        }
        Transaction& transaction = *transfer.transaction;
        bool is_over = false;
        transaction.enter();
        try {
            const DatabaseLock lock(engine.locks(), "test", Access::documents);
            if (++transfer.steps == 4) {
                is_over = true;
                if (!transaction.is_wounded()) {
                    transaction.settle();
                    ++commits;
                }
            } else if (transfer.steps == 1) {
                int sum = 0;
                for (const RecordId id : accounts)
                    sum += value(id);
                EXPECT_EQ(sum, kAccounts * kEach);
                ++audits;
            } else {
                const RecordId from = accounts[random() % kAccounts];
                const RecordId to = accounts[random() % kAccounts];
                set(from, value(from) - 1);
                set(to, value(to) + 1);
            }
        } catch (const storage::WriteConflict&) {
            is_over = true;
            ++conflicts;
        }
        transaction.leave();
        if (is_over) transfer.transaction.reset();
    };
    // Takes from one and gives to another in one hold of the lock.
    const auto move_alone = [&](std::mt19937& random) {
        const DatabaseLock lock(engine.locks(), "test", Access::all);
        const RecordId from = accounts[random() % kAccounts], to = accounts[random() % kAccounts];
        records().overwrite(from, bson::make("a", value(from) - 5));
        records().overwrite(to, bson::make("a", value(to) + 5));
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            for (int i = 0; i < kSteps; ++i) {
                if (random() % 16 == 0) move_alone(random);
                step(transfers[random() % transfers.size()], random);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (Transfer& transfer : transfers)
        transfer.transaction.reset();
    int sum = 0;
    plain(
        [&] {
            for (const RecordId id : accounts)
                sum += value(id);
        },
        Access::read);
    EXPECT_EQ(sum, kAccounts * kEach);
    EXPECT_GT(commits, 10);
    EXPECT_GT(audits, 10);
    EXPECT_GT(conflicts, 0);
}

}  // namespace
}  // namespace kv
