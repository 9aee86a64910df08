// The table of journal spec 4.1.

#include "storage/mmapv1/mapping/dbpath_lock.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "os/process.h"
#include "os/testing/sim_file_system.h"

namespace mmapv1 {
namespace {

class DbpathLockTest : public testing::Test {
  protected:
    DbpathLockTest() {
        files.create_directory("/db");
        files.sync_directory("/");
    }
    void add_file(const std::string& path, std::string_view text = "") {
        const auto file = files.open(path, {.access = os::Access::read_write, .create = true});
        file->write_at(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    }
    // Error code of starting that way, or 0.
    int start(bool journaling, bool repair = false) {
        DbpathLock lock(files, "/db");
        try {
            lock.check(journaling, repair);
            return 0;
        } catch (const base::Error& e) {
            return e.code();
        }
    }
    uint64_t lock_length() { return files.file_length("/db/mongod.lock"); }
    void crash_before() { add_file("/db/mongod.lock", "4711\n"); }
    void add_journal(const std::string& name) {
        files.create_directory("/db/journal");
        add_file(os::join("/db/journal", name));
    }
    void add_database() { add_file("/db/test.ns"); }

    os::SimFileSystem files;
};

TEST_F(DbpathLockTest, CleanDirectory) {
    EXPECT_EQ(start(true), 0);
    EXPECT_EQ(start(false), 0);
    add_database();
    EXPECT_EQ(start(true), 0);
    EXPECT_EQ(start(false), 0);
}

TEST_F(DbpathLockTest, UncleanWithJournalFilesRecovers) {
    crash_before();
    add_database();
    add_journal("j._0");
    EXPECT_EQ(start(true), 0);
    EXPECT_EQ(start(true, true), 12596) << "recover first, then repair";
    EXPECT_EQ(lock_length(), 5u);
}

TEST_F(DbpathLockTest, UncleanWithoutAnyJournalFile) {
    crash_before();
    EXPECT_EQ(start(true), 0) << "there is nothing to lose";
    add_database();
    EXPECT_EQ(start(true), 12596);
    files.create_directory("/db/journal");
    EXPECT_EQ(start(true), 12596);
    EXPECT_EQ(lock_length(), 5u) << "the mark stays";
    add_journal("prealloc.0");
    EXPECT_EQ(start(true), 12596) << "a server without a journal leaves it as it was";
    add_journal("lsn");
    EXPECT_EQ(start(true), 0);
}

TEST_F(DbpathLockTest, DatabasesInDirectoriesCount) {
    crash_before();
    files.create_directory("/db/test");
    add_file("/db/test/test.ns");
    EXPECT_EQ(start(true), 12596);
}

TEST_F(DbpathLockTest, UncleanWithoutJournalingNeedsARepair) {
    crash_before();
    EXPECT_EQ(start(false), 12596);
    EXPECT_EQ(start(false, true), 0);
}

TEST_F(DbpathLockTest, JournalFilesForbidStartingWithoutJournaling) {
    add_journal("j._3");
    EXPECT_EQ(start(false), 13597);
    crash_before();
    EXPECT_EQ(start(false), 13597);
    EXPECT_EQ(start(true), 0) << "the journal files alone trigger recovery";
}

// Emptied, it would say that all is well once the journal is gone.
TEST_F(DbpathLockTest, AStartThatIsRefusedKeepsTheMarkOfAnUncleanEnd) {
    add_database();
    add_journal("j._3");
    crash_before();
    EXPECT_EQ(start(false), 13597);
    EXPECT_GT(lock_length(), 0u);
    files.remove("/db/journal/j._3");
    EXPECT_EQ(start(true), 12596);
    EXPECT_EQ(start(false), 12596);
}

TEST_F(DbpathLockTest, MarksARunningServerAndACleanEnd) {
    DbpathLock lock(files, "/db");
    EXPECT_FALSE(lock.unclean());
    lock.mark_running();
    std::vector<uint8_t> text(32);
    text.resize(files.open("/db/mongod.lock", {})->read_at(0, text));
    EXPECT_EQ(std::string(text.begin(), text.end()), std::to_string(os::process_id()) + "\n");
    lock.clear();
    EXPECT_EQ(lock_length(), 0u);
}

TEST_F(DbpathLockTest, TheMarkIsNeverEmptyWhileItIsWrittenAnew) {
    add_file("/db/mongod.lock", "1234567890\n");
    DbpathLock lock(files, "/db");
    int calls = 0;
    files.set_observer([&](const os::SimFileSystem::Event&) {
        ++calls;
        EXPECT_GT(lock_length(), 0u);
    });
    lock.mark_running();
    files.set_observer(nullptr);
    EXPECT_GT(calls, 2);
    EXPECT_EQ(lock_length(), std::to_string(os::process_id()).size() + 1);
}

TEST_F(DbpathLockTest, TheMarkSurvivesAPowerCut) {
    DbpathLock lock(files, "/db");
    lock.mark_running();
    os::EveryChoice nothing_unsynced_survives;
    const auto after = files.power_cut(nothing_unsynced_survives, 512);
    ASSERT_TRUE(after->exists("/db/mongod.lock"));
    EXPECT_GT(after->file_length("/db/mongod.lock"), 0u);
}

TEST_F(DbpathLockTest, OneServerPerDirectory) {
    const DbpathLock lock(files, "/db");
    try {
        const DbpathLock second(files, "/db");
        FAIL();
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), 10310);
    }
}

TEST_F(DbpathLockTest, TheDirectoryMustExist) {
    try {
        const DbpathLock lock(files, "/elsewhere");
        FAIL();
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), 10296);
        EXPECT_NE(std::string(e.what()).find("/elsewhere"), std::string::npos);
    }
}

}  // namespace
}  // namespace mmapv1
