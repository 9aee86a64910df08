// Operations that write a collection once more commit it in pieces, by bytes, however large its
// documents are and however many: no section of the journal has more than one commit may carry.
#include <fmt/core.h>

#include "command/commands/testing/service.h"
#include "journal/file_reader.h"
#include "journal/journal.h"
#include "os/testing/failing_file_system.h"
#include "storage/mmapv1/testing/small_engine.h"

namespace crash {
namespace {

using bson::make;

constexpr uint64_t kBytesMax = uint64_t{200} << 20;  // WriteAdmission's
constexpr size_t kAllBytes = 225'000'000;   // of the collection: more than one commit may have
constexpr size_t kLargeBytes = 15'000'000;  // of a document
constexpr int kLargeCount = kAllBytes / kLargeBytes;
constexpr size_t kSmallBytes = 60'000;

// Real files without syncs. A base of the test, in front of command::ServiceTest.
struct QuickDisk {
    QuickDisk() { disk.skip_syncs(); }
    os::FailingFileSystem disk{os::real_file_system()};
};

class BoundedCommits : private QuickDisk, public command::ServiceTest {
  protected:
    BoundedCommits() : command::ServiceTest([this] { return make_engine(); }) {}

    // Fills test.c, runs the command, and examines all that was committed.
    void expect_bounded(size_t document_bytes, const std::string& command,
                        const std::string& db = "test") {
        SCOPED_TRACE(fmt::format("{} with documents of {} bytes", command, document_bytes));
        const auto count = static_cast<int>(kAllBytes / document_bytes);
        const std::string text = text_of(document_bytes);
        for (int i = 0; i < count; ++i) {
            bson::Builder insert;
            insert.append("insert", "c")
                .append_array("documents", make("0", make("_id", i, "t", text)));
            ASSERT_EQ(code(run(insert.object())), 0);
        }
        commit();
        engine_->durability().lock_commits();  // only the command itself commits
        const bson::Object reply = run(command, db);
        engine_->durability().unlock_commits();
        ASSERT_EQ(code(reply), 0) << bson::to_text(reply);
        commit();
        EXPECT_GE(journaled(directory_ / "journal"), 2 * kAllBytes) << "it has written no copy";
    }
    int64_t count(const std::string& collection, const std::string& db) {
        return run(make("count", collection), db)["n"].to_int64();
    }

  private:
    std::unique_ptr<storage::Engine> make_engine() {
        mmapv1::EngineOptions options = mmapv1::small_engine_options(directory_.path());
        options.durable.sync_delay_seconds = 0;  // no flush lets files of the journal go
        return mmapv1::open_engine(options, disk);
    }
    // Returns a text with a period, which is quickly compressed and decompressed.
    static std::string text_of(size_t bytes) {
        std::string text;
        while (text.size() < bytes)
            text += "what a document has, over and over, in a collection of large ones; ";
        text.resize(bytes);
        return text;
    }
    void commit() {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        engine_->durability().commit_now();
    }
    // Bytes in all sections so far; none has too many.
    static uint64_t journaled(const std::string& folder) {
        uint64_t sum = 0;
        const auto found = journal::find_journal_files(os::real_file_system(), folder);
        for (const auto& file : found) {
            journal::FileReader reader(os::real_file_system(), file.path, &file == &found.back());
            for (journal::FileReader::Section section; reader.next(section);) {
                EXPECT_LE(section.ops.size(), kBytesMax);
                sum += section.ops.size();
            }
        }
        return sum;
    }
};

// Holds J20.
TEST_F(BoundedCommits, CompactCommitsByBytes) {
    expect_bounded(kLargeBytes, R"({"compact": "c"})");
    EXPECT_EQ(count("c", "test"), kLargeCount);
}

// Holds J20.
TEST_F(BoundedCommits, RepairCommitsByBytes) {
    expect_bounded(kLargeBytes, R"({"repairDatabase": 1})");
    EXPECT_EQ(count("c", "test"), kLargeCount);
}

// Holds J20.
TEST_F(BoundedCommits, RenamingToAnotherDatabaseCommitsByBytes) {
    expect_bounded(kLargeBytes, R"({"renameCollection": "test.c", "to": "other.c"})", "admin");
    EXPECT_EQ(count("c", "other"), kLargeCount);
}

TEST_F(BoundedCommits, RenamingSmallDocumentsToAnotherDatabaseCommitsByBytes) {
    expect_bounded(kSmallBytes, R"({"renameCollection": "test.c", "to": "other.c"})", "admin");
}

// Holds J20.
TEST_F(BoundedCommits, OutCommitsByBytes) {
    expect_bounded(kLargeBytes,
                   R"({"aggregate": "c", "pipeline": [{"$out": "out"}], "cursor": {}})");
    EXPECT_EQ(count("out", "test"), kLargeCount);
}

// Holds J20.
TEST_F(BoundedCommits, ConvertingToCappedCommitsByBytes) {
    expect_bounded(kLargeBytes, R"({"convertToCapped": "c", "size": 400000000})");
    EXPECT_EQ(count("c", "test"), kLargeCount);
}

// The records of a ring lie side by side.
TEST_F(BoundedCommits, ConvertingSmallDocumentsToCappedCommitsByBytes) {
    expect_bounded(kSmallBytes, R"({"convertToCapped": "c", "size": 400000000})");
}

// One operation, all documents in their place.
TEST_F(BoundedCommits, UpdatingAllDocumentsCommitsByBytes) {
    expect_bounded(kLargeBytes,
                   R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}},
                        "multi": true}]})");
}

}  // namespace
}  // namespace crash
