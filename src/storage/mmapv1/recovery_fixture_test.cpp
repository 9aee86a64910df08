// A journal written by MongoDB 2.6, with data files as they were at the last flush.

#include <gtest/gtest.h>

#include "bson/view.h"
#include "journal/file_reader.h"
#include "journal/journal.h"
#include "os/testing/directory.h"
#include "os/testing/fixture.h"
#include "storage/mmapv1/commit/durable.h"
#include "storage/mmapv1/mapping/dbpath_lock.h"

namespace mmapv1 {
namespace {

// The header of a data file in which every byte of the last commit counts: the space handed out and
// the space left always add up (mmapv1 spec 2.1).
void expect_valid_data_file(const MappedFile& file) {
    const auto field = [&](int offset) { return bson::load<int32_t>(file.view() + offset); };
    EXPECT_EQ(field(0), 4) << file.path();
    EXPECT_EQ(field(8), file.length()) << file.path();
    EXPECT_EQ(field(16) + field(20) + 16, file.length()) << file.path();
}

TEST(RecoveryOfFixture, ReplaysAJournalOf26) {
    const os::TestDirectory home;
    os::unpack_fixture("mmapv1-2.6-powercut.tar.xz", home.path());
    os::FileSystem& files = os::real_file_system();
    ASSERT_FALSE(files.exists(home / "born-in-journal.ns"));

    DbpathLock lock(files, home.path());
    EXPECT_TRUE(lock.unclean());
    lock.check(true, false);
    storage::LockManager locks;
    Durable durable({.dbpath = home.path(),
                     .journal_file_bytes = journal::kSmallLimitBytes,
                     .no_prealloc_journal = true},
                    locks);
    durable.recover();

    EXPECT_FALSE(journal::has_journal_files(files, home / "journal"));
    EXPECT_EQ(files.open(home / "journal/lsn", {})->length(), 0u);
    EXPECT_FALSE(files.exists(home / "_tmp"));
    for (const char* name : {"shop", "second-db", "born-in-journal", "local"}) {
        const std::string ns = std::string(name) + ".ns";
        EXPECT_EQ(durable.views().open(ns).length(), 16 << 20) << ns;
        expect_valid_data_file(durable.views().open(std::string(name) + ".0"));
    }
    durable.shutdown();
}

TEST(RecoveryOfFixture, EverySectionOf26ReadsAndAddsUp) {
    const os::TestDirectory home;
    os::unpack_fixture("mmapv1-2.6-powercut.tar.xz", home.path());
    journal::FileReader reader(os::real_file_system(), home / "journal/j._0", true);
    journal::FileReader::Section section;
    int sections = 0, created = 0, writes = 0;
    uint64_t last_sequence = 0;
    while (reader.next(section)) {
        ++sections;
        EXPECT_GE(section.header.sequence, last_sequence);
        last_sequence = section.header.sequence;
        journal::Op op;
        for (journal::OpReader ops(section.ops); ops.next(op);)
            ++(op.kind == journal::Op::Kind::file_created ? created : writes);
    }
    // 6897664 bytes of file: the header and sections up to the very end.
    EXPECT_EQ(reader.offset(), 6897664u);
    EXPECT_TRUE(reader.end_reason().empty()) << reader.end_reason();
    EXPECT_GT(sections, 100);
    EXPECT_GT(created, 1);
    EXPECT_GT(writes, 10000);
}

// Holds J7.
TEST(RecoveryOfFixture, ScanOnlyChangesNothing) {
    const os::TestDirectory home;
    os::unpack_fixture("mmapv1-2.6-powercut.tar.xz", home.path());
    storage::LockManager locks;
    Durable durable({.dbpath = home.path(), .journal_options = kScanOnly}, locks);
    try {
        durable.recover();
        FAIL() << "scan only must end the start";
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), 13545);
    }
    EXPECT_TRUE(os::real_file_system().exists(home / "journal/j._0"));
    EXPECT_FALSE(os::real_file_system().exists(home / "born-in-journal.ns"));
}

}  // namespace
}  // namespace mmapv1
