// fsync with lock from many threads at once, and in the way of a shutdown.
#include "storage/fsync_lock.h"

#include <thread>

#include "command/commands/testing/service.h"

namespace command {
namespace {

class FsyncLockTest : public ServiceTest {
  protected:
    FsyncLockTest() : ServiceTest(true) {}
    // The code of what lock() throws; 0: locked.
    static int lock(storage::FsyncLock& fsync_lock) {
        try {
            fsync_lock.lock();
            return 0;
        } catch (const base::Error& e) {
            return e.code();
        }
    }
    storage::FsyncLock& fsync_lock() { return service_->fsync_lock(); }
};

TEST_F(FsyncLockTest, ManyMayLockAndUnlockAtOnce) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([this, t] {
            for (int i = 0; i < 100; ++i) {
                if ((i + t) % 2 == 0) {
                    EXPECT_EQ(lock(fsync_lock()), 0);
                } else {
                    fsync_lock().unlock();
                }
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    while (fsync_lock().unlock())
        ;
    EXPECT_FALSE(fsync_lock().locked());
    EXPECT_EQ(
        code(run(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"j": true}})")), 0);
}

TEST_F(FsyncLockTest, AShutdownWaitsForALockThatIsUnderWay) {
    std::thread locking, ending;
    int result = -1;
    {
        const storage::DatabaseLock reader(engine_->locks(), "test", false);
        locking = std::thread([&] { result = lock(fsync_lock()); });
        while (!fsync_lock().busy())
            std::this_thread::yield();
        EXPECT_FALSE(fsync_lock().locked());
        EXPECT_FALSE(fsync_lock().unlock()) << "not locked yet";
        ending = std::thread([&] { fsync_lock().end(); });
    }
    ending.join();
    locking.join();
    EXPECT_EQ(result, 0);
    EXPECT_FALSE(fsync_lock().locked());
    EXPECT_EQ(lock(fsync_lock()), base::kInterruptedAtShutdown);
    fsync_lock().end();
}

// A cycle of the journal thread may itself wait, for a reader to give up its lock.
TEST_F(FsyncLockTest, ALockThatWaitsForACommitEndsWithItsRequest) {
    engine_->durability().lock_commits();
    sched::Operation request;
    request.start();
    int result = -1;
    std::thread locking([&] {
        const sched::Operation::Scope scope(&request);
        result = lock(fsync_lock());
    });
    while (!fsync_lock().busy())
        std::this_thread::yield();
    request.kill(request.id());
    locking.join();
    EXPECT_EQ(result, base::kInterrupted);
    EXPECT_FALSE(fsync_lock().busy());
    engine_->durability().unlock_commits();
    EXPECT_EQ(lock(fsync_lock()), 0);
    EXPECT_TRUE(fsync_lock().unlock());
}

TEST_F(FsyncLockTest, ALockLeavesDataFilesThatNeedNoJournal) {
    ASSERT_EQ(code(run(R"({"insert": "c", "documents": [{"_id": 1}]})")), 0);
    EXPECT_EQ(lock(fsync_lock()), 0);
    for (const std::string& name : os::real_file_system().list(directory_ / "journal"))
        EXPECT_FALSE(name.starts_with("j._")) << name;
    EXPECT_TRUE(fsync_lock().unlock());
}

// It would wait for the end of the lock to be recorded.
TEST_F(FsyncLockTest, AReadThatIsProfiledIsAnsweredWhileTheServerIsLocked) {
    ASSERT_EQ(code(run(R"({"insert": "c", "documents": [{"_id": 1}]})")), 0);
    ASSERT_EQ(code(run(R"({"profile": 2})")), 0);
    const auto recorded = [this] { return text(run(R"({"count": "system.profile"})"), "n"); };
    EXPECT_EQ(lock(fsync_lock()), 0);
    const std::string before = recorded();
    EXPECT_EQ(code(run(R"({"find": "c"})")), 0);
    EXPECT_EQ(recorded(), before);
    EXPECT_TRUE(fsync_lock().unlock());
    EXPECT_EQ(code(run(R"({"find": "c"})")), 0);
    EXPECT_NE(recorded(), before);
}

// Each lock needs an unlock: a client that has locked can rely on it until it unlocks.
TEST_F(FsyncLockTest, LocksCount) {
    const char* const kLock = R"({"fsync": 1, "lock": true})";
    const char* const kUnlock = R"({"fsyncUnlock": 1})";
    for (const char* count : {"1", "2"})
        EXPECT_EQ(text(run(kLock, "admin"), "lockCount"), count);
    const bson::Object old = run_old(kLock, "admin");
    EXPECT_EQ(code(old), 0);
    EXPECT_FALSE(old["lockCount"]);
    EXPECT_EQ(text(query("admin.$cmd.sys.unlock", "{}", -1).at(0), "lockCount"), "2");
    EXPECT_EQ(text(run(kUnlock, "admin"), "lockCount"), "1");
    EXPECT_TRUE(fsync_lock().locked());
    EXPECT_EQ(text(run(kUnlock, "admin"), "lockCount"), "0");
    EXPECT_FALSE(fsync_lock().busy());
    EXPECT_EQ(code(run(kUnlock, "admin")), base::kIllegalOperation);
    EXPECT_EQ(code(run(R"({"insert": "c", "documents": [{"_id": 1}]})")), 0);
}

// One that waits for another's becomes one of two.
TEST_F(FsyncLockTest, ALockThatComesWhileAnotherIsUnderWayCounts) {
    std::vector<std::thread> locking;
    {
        const storage::DatabaseLock reader(engine_->locks(), "test", false);
        for (int i = 0; i < 2; ++i)
            locking.emplace_back([&] { EXPECT_EQ(lock(fsync_lock()), 0); });
        while (!fsync_lock().busy())
            std::this_thread::yield();
    }
    for (std::thread& one : locking)
        one.join();
    EXPECT_EQ(fsync_lock().unlock(), 1);
    EXPECT_EQ(fsync_lock().unlock(), 0);
    EXPECT_EQ(fsync_lock().unlock(), std::nullopt);
}

TEST_F(FsyncLockTest, AShutdownUnlocks) {
    EXPECT_EQ(lock(fsync_lock()), 0);
    EXPECT_EQ(lock(fsync_lock()), 0);
    EXPECT_TRUE(fsync_lock().locked());
    fsync_lock().end();
    EXPECT_FALSE(fsync_lock().locked());
    EXPECT_FALSE(fsync_lock().unlock());
}

}  // namespace
}  // namespace command
