// The table of compatible modes, the upgrades, and a mixed load that a thread sanitizer can watch.

#include "storage/lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "bson/view.h"
#include "sched/operation.h"

namespace storage {
namespace {

// A thread that does one thing after the other on request.
class Actor {
  public:
    Actor() : thread_([this] { run(); }) {}
    ~Actor() {
        post(nullptr);
        thread_.join();
    }
    // Starts an action without waiting for its end.
    void post(std::function<void()> action) {
        const std::lock_guard lock(mutex_);
        actions_.push(std::move(action));
        changed_.notify_all();
    }
    void wait_until_idle() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return actions_.empty(); });
    }
    void run(std::function<void()> action) {
        post(std::move(action));
        wait_until_idle();
    }
    bool idle() {
        const std::lock_guard lock(mutex_);
        return actions_.empty();
    }

  private:
    void run() {
        for (;;) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return !actions_.empty(); });
            const std::function<void()> action = actions_.front();
            if (!action) return;
            lock.unlock();
            action();
            lock.lock();
            actions_.pop();
            changed_.notify_all();
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::queue<std::function<void()>> actions_;
    std::thread thread_;  // last: starts when the rest is there
};

int queued(const LockManager& manager, const char* kind) {
    bson::Builder out;
    manager.append_global_status(out);
    return out.doc()["currentQueue"].as_doc()[kind].as_int32();
}
void wait_for_queue(const LockManager& manager, const char* kind, int n) {
    while (queued(manager, kind) != n)
        std::this_thread::yield();
}
// Returns how many databases the manager knows by name.
int known(const LockManager& manager) {
    bson::Builder status;
    manager.append_lock_status(status);
    return status.doc().field_count() - 1;  // "." is the global one
}
bool is_writer(GlobalMode mode) {
    return mode == GlobalMode::w || mode == GlobalMode::W;
}

class LockTest : public testing::Test {
  protected:
    // Whether `asked` is granted while another thread holds `held`.
    bool compatible(GlobalMode asked, GlobalMode held) {
        first.run([&] { manager.lock_global(held); });
        second.post([&] { manager.lock_global(asked); });
        const char* kind = is_writer(asked) ? "writers" : "readers";
        while (!second.idle() && queued(manager, kind) == 0)
            std::this_thread::yield();
        const bool granted = second.idle();
        first.run([&] { manager.unlock_global(); });
        second.run([&] { manager.unlock_global(); });
        return granted;
    }

    LockManager manager;
    Actor first, second, third;
};

// Holds J11.
TEST_F(LockTest, CompatibilityTable) {
    using enum GlobalMode;
    const GlobalMode modes[] = {r, w, R, W};
    const bool expected[4][4] = {
        // held: r      w      R      W        asked:
        {true, true, true, false},     // r
        {true, true, false, false},    // w
        {true, false, true, false},    // R
        {false, false, false, false},  // W
    };
    for (int asked = 0; asked < 4; ++asked) {
        for (int held = 0; held < 4; ++held)
            EXPECT_EQ(compatible(modes[asked], modes[held]), expected[asked][held])
                << asked << " asked, held " << held;
    }
}

TEST_F(LockTest, AWaitingWriterIsNotOvertaken) {
    first.run([&] { manager.lock_global(GlobalMode::r); });
    second.post([&] { manager.lock_global(GlobalMode::W); });
    wait_for_queue(manager, "writers", 1);
    third.post([&] { manager.lock_global(GlobalMode::r); });
    wait_for_queue(manager, "readers", 1);
    first.run([&] {
        EXPECT_TRUE(manager.contended());
        manager.unlock_global();
    });
    second.wait_until_idle();
    EXPECT_FALSE(third.idle());
    second.run([&] { manager.unlock_global(); });
    third.wait_until_idle();
    third.run([&] { manager.unlock_global(); });
}

TEST_F(LockTest, AWaitingRStopsNewW) {
    first.run([&] { manager.lock_global(GlobalMode::w); });
    second.post([&] { manager.lock_global(GlobalMode::R); });
    wait_for_queue(manager, "readers", 1);
    third.post([&] { manager.lock_global(GlobalMode::w); });
    wait_for_queue(manager, "writers", 1);
    first.run([&] { manager.unlock_global(); });
    second.wait_until_idle();
    EXPECT_FALSE(third.idle());
    second.run([&] { manager.unlock_global(); });
    third.wait_until_idle();
    third.run([&] { manager.unlock_global(); });
}

TEST_F(LockTest, DowngradeLetsReadersIn) {
    first.run([&] { manager.lock_global(GlobalMode::W); });
    second.post([&] { manager.lock_global(GlobalMode::R); });
    wait_for_queue(manager, "readers", 1);
    first.run([&] {
        manager.downgrade_W_to_R();
        EXPECT_EQ(LockManager::mode(), GlobalMode::R);
    });
    second.wait_until_idle();
    first.run([&] { manager.unlock_global(); });
    second.run([&] { manager.unlock_global(); });
}

TEST_F(LockTest, UpgradeWaitsForReadersAndStopsNewOnes) {
    first.run([&] { manager.lock_global(GlobalMode::R); });
    second.run([&] { manager.lock_global(GlobalMode::r); });
    first.post([&] { manager.upgrade_R_to_W(); });
    second.run([&] {
        while (!manager.contended())
            std::this_thread::yield();
    });
    third.post([&] { manager.lock_global(GlobalMode::r); });
    wait_for_queue(manager, "readers", 1);
    EXPECT_FALSE(first.idle());
    second.run([&] { manager.unlock_global(); });
    first.wait_until_idle();
    EXPECT_FALSE(third.idle());
    first.run([&] {
        EXPECT_EQ(LockManager::mode(), GlobalMode::W);
        manager.unlock_global();
    });
    third.wait_until_idle();
    third.run([&] { manager.unlock_global(); });
}

TEST_F(LockTest, TwoUpgradesFromRBothGetThrough) {
    first.run([&] { manager.lock_global(GlobalMode::R); });
    second.run([&] { manager.lock_global(GlobalMode::R); });
    std::atomic<int> inside{0};
    const auto upgrade = [&] {
        manager.upgrade_R_to_W();
        EXPECT_EQ(++inside, 1);
        --inside;
        manager.unlock_global();
    };
    first.post(upgrade);
    second.post(upgrade);
    first.wait_until_idle();
    second.wait_until_idle();
}

TEST_F(LockTest, ExactlyOneOfTheUpgradersGetsX) {
    std::atomic<int> got{0}, refused{0}, inside{0};
    const auto upgrade = [&] {
        if (manager.w_to_X()) {
            EXPECT_EQ(LockManager::mode(), GlobalMode::X);
            EXPECT_EQ(++inside, 1);
            ++got;
            --inside;
            manager.X_to_w();
        } else {
            ++refused;
        }
        EXPECT_EQ(LockManager::mode(), GlobalMode::w);
        manager.unlock_global();
    };
    for (Actor* actor : {&first, &second, &third})
        actor->run([&] { manager.lock_global(GlobalMode::w); });
    for (Actor* actor : {&first, &second})
        actor->post(upgrade);
    EXPECT_EQ(got + refused, 0) << "the third has not given in yet";
    third.post(upgrade);
    for (Actor* actor : {&first, &second, &third})
        actor->wait_until_idle();
    EXPECT_EQ(got, 1);
    EXPECT_EQ(refused, 2);
}

TEST_F(LockTest, AnUpgradeDoesNotWaitForThoseWhoWaitForItsDatabase) {
    first.run([&] {
        manager.lock_global(GlobalMode::w);
        manager.lock_database("test", Access::all);
    });
    second.post([&] {
        manager.lock_global(GlobalMode::w);
        manager.lock_database("test", Access::all);
        EXPECT_EQ(LockManager::mode(), GlobalMode::w);
        manager.unlock_database();
        manager.unlock_global();
    });
    wait_for_queue(manager, "writers", 1);
    third.post([&] { const DatabaseLock lock(manager, "test", false); });
    wait_for_queue(manager, "readers", 1);
    first.run([&] {
        EXPECT_TRUE(manager.w_to_X());
        manager.X_to_w();
        manager.unlock_database();
        manager.unlock_global();
    });
    second.wait_until_idle();
    third.wait_until_idle();
}

TEST_F(LockTest, DatabasesAreIndependent) {
    first.run([&] {
        manager.lock_global(GlobalMode::w);
        manager.lock_database("a", Access::all);
        EXPECT_EQ(LockManager::database(), "a");
        EXPECT_TRUE(LockManager::holds_database_write());
    });
    second.run([&] { const DatabaseLock lock(manager, "b", true); });
    third.post([&] { const DatabaseLock lock(manager, "a", false); });
    wait_for_queue(manager, "readers", 1);
    first.run([&] {
        EXPECT_TRUE(manager.contended());
        manager.unlock_database();
        manager.unlock_global();
        EXPECT_EQ(LockManager::mode(), GlobalMode::none);
    });
    third.wait_until_idle();
}

// A writer that commits in the middle of its work has to wait for all others: not for one that
// waits for the log.
TEST_F(LockTest, WritersOfOtherDatabasesHaveTheLogToo) {
    manager.set_log_database("log");
    first.run([&] {
        manager.lock_global(GlobalMode::w);
        manager.lock_database("a", Access::all);
        EXPECT_TRUE(LockManager::may_write("a"));
        EXPECT_TRUE(LockManager::may_write("log"));
        EXPECT_FALSE(LockManager::may_write("b"));
        EXPECT_EQ(LockManager::database(), "a");
        EXPECT_FALSE(manager.contended());
    });
    second.post([&] { const DatabaseLock lock(manager, "b", true); });
    wait_for_queue(manager, "writers", 1);
    third.post([&] { const DatabaseLock lock(manager, "log", false); });
    wait_for_queue(manager, "readers", 1);
    first.run([&] {
        EXPECT_TRUE(manager.contended());
        EXPECT_TRUE(manager.w_to_X());
        manager.X_to_w();
        manager.unlock_database();
        manager.unlock_global();
    });
    second.wait_until_idle();
    third.wait_until_idle();
    // Readers have nothing to do with it, and its own writers have it once.
    first.run([&] {
        const DatabaseLock lock(manager, "log", true);
        EXPECT_TRUE(LockManager::may_write("log"));
        EXPECT_FALSE(LockManager::may_write("a"));
    });
    first.run([&] {
        manager.lock_global(GlobalMode::r);
        manager.lock_database("a", Access::read);
        EXPECT_FALSE(LockManager::may_read("log"));
    });
    second.run([&] { const DatabaseLock lock(manager, "log", true); });
    first.run([&] {
        manager.unlock_database();
        manager.unlock_global();
    });
}

TEST_F(LockTest, DocumentsHaveTheDatabaseAloneWhereTheEngineDoesNotKeepThemApart) {
    first.run([&] {
        const DatabaseLock lock(manager, "a", Access::documents);
        EXPECT_TRUE(LockManager::holds_database_write());
        EXPECT_FALSE(LockManager::is_concurrent());
    });
}

TEST_F(LockTest, DocumentsAreWrittenBesideReadersAndEachOther) {
    manager.allow_concurrent_changes();
    std::optional<DatabaseLock> writer, reader;
    first.run([&] {
        writer.emplace(manager, "a", Access::documents);
        EXPECT_TRUE(LockManager::is_concurrent());
        EXPECT_TRUE(LockManager::may_write("a"));
        EXPECT_FALSE(LockManager::may_write("b"));
        EXPECT_FALSE(LockManager::holds_database_write());
    });
    second.run([&] {
        reader.emplace(manager, "a", Access::read);
        EXPECT_TRUE(LockManager::is_concurrent());
        EXPECT_FALSE(LockManager::may_write("a"));
    });
    third.run([&] { const DatabaseLock lock(manager, "a", Access::documents); });
    third.post([&] {
        const DatabaseLock lock(manager, "a", Access::all);
        EXPECT_TRUE(LockManager::holds_database_write());
        EXPECT_FALSE(LockManager::is_concurrent());
    });
    wait_for_queue(manager, "writers", 1);
    first.run([&] {
        EXPECT_TRUE(writer->should_yield());
        writer.reset();
        EXPECT_FALSE(LockManager::is_concurrent());
    });
    EXPECT_FALSE(third.idle());
    second.run([&] { reader.reset(); });
    third.wait_until_idle();
}

TEST_F(LockTest, ALogOfChangesIsSharedByThoseWhoChangeDocumentsConcurrently) {
    manager.allow_concurrent_changes();
    manager.set_log_database("log");
    std::optional<DatabaseLock> writer;
    first.run([&] {
        writer.emplace(manager, "a", Access::documents);
        EXPECT_TRUE(LockManager::is_concurrent());
        EXPECT_FALSE(LockManager::holds_database_write());
        EXPECT_TRUE(LockManager::may_write("log"));
    });
    second.run([&] {
        const DatabaseLock other(manager, "a", Access::documents);
        EXPECT_TRUE(LockManager::is_concurrent());
    });
    second.run([&] { const DatabaseLock reader(manager, "log", Access::read); });
    second.post([&] {
        const DatabaseLock alone(manager, "b", Access::all);
        EXPECT_FALSE(LockManager::is_concurrent());
    });
    wait_for_queue(manager, "writers", 1);
    first.run([&] {
        EXPECT_TRUE(manager.contended());
        writer.reset();
    });
    second.wait_until_idle();
}

TEST_F(LockTest, UnderGlobalLocksADatabaseIsCovered) {
    const GlobalLock global(manager, GlobalMode::W);
    const DatabaseLock covered(manager, "a", true);
    EXPECT_EQ(LockManager::mode(), GlobalMode::W);
    EXPECT_EQ(LockManager::database(), "");
}

TEST_F(LockTest, YieldLetsAnotherWriterThrough) {
    std::atomic<bool> passed{false};
    first.run([&] {
        DatabaseLock lock(manager, "a", true);
        second.post([&] {
            const DatabaseLock other(manager, "a", true);
            passed = true;
        });
        while (!manager.contended())
            std::this_thread::yield();
        EXPECT_FALSE(passed);
        while (!passed)
            lock.yield();
    });
    second.wait_until_idle();
}

struct Hooks : LockHooks {
    void before_write_lock() override {
        EXPECT_EQ(LockManager::mode(), GlobalMode::none);
        ++locks;
    }
    void before_write_unlock() override {
        EXPECT_NE(LockManager::mode(), GlobalMode::none);
        EXPECT_EQ(LockManager::database(), "");
        ++unlocks;
    }
    void before_unlock() override {
        told += std::string(LockManager::database()) + (LockManager::may_write() ? "! " : "? ");
    }
    std::atomic<int> locks{0}, unlocks{0};
    std::string told;
};

// Holds J12.
TEST_F(LockTest, HooksRunForWritersOnly) {
    Hooks hooks;
    manager.set_hooks(&hooks);
    { const DatabaseLock lock(manager, "a", false); }
    { const GlobalLock lock(manager, GlobalMode::R); }
    EXPECT_EQ(hooks.locks + hooks.unlocks, 0);
    { const DatabaseLock lock(manager, "a", true); }
    { const GlobalLock lock(manager, GlobalMode::W); }
    EXPECT_EQ(hooks.locks, 2);
    EXPECT_EQ(hooks.unlocks, 2);
}

TEST_F(LockTest, AHookRunsWhileAllIsStillLocked) {
    Hooks hooks;
    manager.set_hooks(&hooks);
    { const DatabaseLock lock(manager, "a", false); }
    { const DatabaseLock lock(manager, "b", true); }
    {
        const GlobalLock lock(manager, GlobalMode::W);
        const DatabaseLock covered(manager, "c", true);
    }
    { const GlobalLock lock(manager, GlobalMode::R); }
    EXPECT_EQ(hooks.told, "a? b! ! ? ");
    manager.lock_global(GlobalMode::W);
    manager.downgrade_W_to_R();
    EXPECT_EQ(hooks.told, "a? b! ! ? ! ");
    manager.unlock_global();
    EXPECT_EQ(hooks.told, "a? b! ! ? ! ? ");
}

TEST_F(LockTest, StatusShowsTimesPerLock) {
    { const DatabaseLock lock(manager, "a", true); }
    bson::Builder out;
    manager.append_lock_status(out);
    const bson::Doc status = out.doc();
    EXPECT_TRUE(status["."].as_doc()["timeLockedMicros"].as_doc()["W"]);
    EXPECT_TRUE(status["a"].as_doc()["timeAcquiringMicros"].as_doc()["w"]);
}

// Each thread does everything; plain variables stand for the data, so that a race is one.
TEST(LockStress, ExclusionHolds) {
    LockManager manager;
    int everything = 0;        // written under W, X or both database locks
    int database[2] = {0, 0};  // written under the database's lock
    std::atomic<int64_t> written{0};
    constexpr int kThreads = 6, kRounds = 1500;
    const auto work = [&](unsigned seed) {
        std::mt19937 random(seed);
        int64_t seen = 0;
        for (int i = 0; i < kRounds; ++i) {
            const int which = static_cast<int>(random() % 2);
            const char* name = which == 0 ? "a" : "b";
            switch (random() % 8) {
                case 0: {
                    const GlobalLock lock(manager, GlobalMode::W);
                    ++everything, ++database[0], ++database[1];
                    written += 3;
                    break;
                }
                case 1: {
                    const GlobalLock lock(manager, GlobalMode::R);
                    seen += everything + database[0] + database[1];
                    break;
                }
                case 2: {
                    manager.lock_global(GlobalMode::W);
                    ++everything, ++written;
                    manager.downgrade_W_to_R();
                    seen += everything + database[0];
                    manager.upgrade_R_to_W();
                    ++everything, ++written;
                    manager.unlock_global();
                    break;
                }
                case 3: {
                    const DatabaseLock lock(manager, name, true);
                    ++database[which], ++written;
                    if (manager.w_to_X()) {
                        ++everything, ++database[1 - which];
                        written += 2;
                        manager.X_to_w();
                    }
                    ++database[which], ++written;
                    break;
                }
                case 4:
                case 5: {
                    const DatabaseLock lock(manager, name, true);
                    ++database[which], ++written;
                    break;
                }
                default: {
                    const DatabaseLock lock(manager, name, false);
                    seen += database[which];
                }
            }
        }
        return seen;
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i)
        threads.emplace_back([&, i] { work(i); });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(everything + database[0] + database[1], written);
}

TEST(LockManager, SaysWhatTheThreadMayTouch) {
    LockManager locks;
    const auto may = [](std::string_view db) {
        return std::string(LockManager::may_read(db) ? "r" : "-") +
               (LockManager::may_write(db) ? "w" : "-");
    };
    EXPECT_EQ(may("a"), "--");
    {
        const DatabaseLock lock(locks, "a", false);
        EXPECT_EQ(may("a"), "r-");
        EXPECT_EQ(may("b"), "--");
        EXPECT_FALSE(LockManager::may_write());
    }
    {
        const DatabaseLock lock(locks, "a", true);
        EXPECT_EQ(may("a"), "rw");
        EXPECT_EQ(may("b"), "--");
        EXPECT_TRUE(LockManager::may_write());
        ASSERT_TRUE(locks.w_to_X());
        EXPECT_EQ(may("b"), "rw");
        locks.X_to_w();
        EXPECT_EQ(may("b"), "--");
    }
    {
        const GlobalLock lock(locks, GlobalMode::R);
        EXPECT_EQ(may("a"), "r-");
    }
    {
        const GlobalLock lock(locks, GlobalMode::W);
        EXPECT_EQ(may("a"), "rw");
    }
    // The intent alone covers no database.
    const GlobalLock lock(locks, GlobalMode::w);
    EXPECT_EQ(may("a"), "--");
    EXPECT_FALSE(LockManager::may_write());
}

// Clients may ask for databases that are not there, and there is no end of names.
TEST(LockManager, NamesWithoutEndCostNoMemoryWithoutEnd) {
    LockManager manager;
    for (int i = 0; i < 30'000; ++i) {
        const std::string name = "db" + std::to_string(i);
        const DatabaseLock lock(manager, name, i % 2 == 0);
        EXPECT_EQ(LockManager::database(), name);
        EXPECT_TRUE(LockManager::may_read(name));
        EXPECT_FALSE(LockManager::may_read("other"));
    }
    EXPECT_LE(known(manager), 10'000);
    bson::Builder status;
    manager.append_global_status(status);
}

// Some requests lock before the name is checked.
TEST(LockManager, WhatIsNoNameOfADatabaseIsNotKept) {
    LockManager manager;
    const std::string names[] = {
        std::string(64, 'x'), std::string(1 << 20, 'x'), "", "a b", {"a\0b", 3}};
    for (const std::string& name : names) {
        const DatabaseLock lock(manager, name, true);
        EXPECT_EQ(LockManager::database(), name);
        EXPECT_TRUE(LockManager::may_write(name));
    }
    EXPECT_EQ(known(manager), 0);
}

// Overload is checked before it is known whether the client may use the database.
TEST(LockManager, AskingForOverloadTakesNoLock) {
    LockManager manager;
    std::vector<std::thread> waiting;
    std::optional<DatabaseLock> held(std::in_place, manager, "a", true);
    for (int i = 0; i < LockManager::kWaitingThreads; ++i)
        waiting.emplace_back([&] { const DatabaseLock lock(manager, "a", false); });
    wait_for_queue(manager, "readers", LockManager::kWaitingThreads);
    EXPECT_TRUE(manager.overloaded("a", false));
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(manager.overloaded("b" + std::to_string(i), false));
        EXPECT_FALSE(manager.overloaded(std::string(100, 'b') + std::to_string(i), true));
    }
    EXPECT_EQ(known(manager), 1);
    held.reset();
    for (std::thread& each : waiting)
        each.join();
}

// While it waits, it blocks later requests.
TEST(LockManager, AWaitForTheWholeServerEndsWithItsOperation) {
    LockManager manager;
    manager.lock_global(GlobalMode::R);
    for (const GlobalMode mode : {GlobalMode::W, GlobalMode::w}) {
        Actor waiting;
        waiting.run([&] {
            sched::Operation operation;
            const sched::Operation::Scope scope(&operation);
            operation.start();
            operation.kill(operation.id());
            try {
                if (mode == GlobalMode::W)
                    const GlobalLock lock(manager, mode);
                else
                    const DatabaseLock lock(manager, "db", true);
                ADD_FAILURE() << "it has the lock";
            } catch (const base::Error& error) {
                EXPECT_EQ(error.code(), base::kInterrupted);
            }
            EXPECT_EQ(LockManager::mode(), GlobalMode::none);
            const DatabaseLock reading(manager, "db", false);
        });
    }
    manager.unlock_global();
}

// A commit cannot stop before it is whole.
TEST(LockManager, WhatMayNotEndWaitsOn) {
    LockManager manager;
    manager.lock_global(GlobalMode::R);
    Actor waiting;
    waiting.post([&] {
        sched::Operation operation;
        const sched::Operation::Scope scope(&operation);
        operation.start();
        operation.kill(operation.id());
        const sched::Uninterruptible whole;
        const GlobalLock lock(manager, GlobalMode::W);
    });
    while (!manager.contended())
        std::this_thread::yield();
    manager.unlock_global();
    waiting.wait_until_idle();
}

}  // namespace
}  // namespace storage
