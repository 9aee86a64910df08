// Journals whose operations name what is no data file: refused as a whole, before anything changed.
#include "storage/mmapv1/commit/journal_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/error.h"
#include "journal/section.h"
#include "os/testing/sim_clock.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/commit/testing/core.h"

namespace mmapv1 {
namespace {

constexpr uint64_t kFileId = 77;

template <typename T>
void append(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
std::string z(const std::string& text) {
    return text + '\0';
}

std::string context(const std::string& prefix) {
    std::string op;
    append(op, journal::kOpDbContext);
    return op + z(prefix);
}
std::string write_of(uint32_t number, const std::string& bytes = "evil") {
    std::string op;
    append(op, static_cast<uint32_t>(bytes.size()));
    append(op, uint32_t{0});
    append(op, number);
    return op + bytes;
}
std::string created(const std::string& path, uint64_t length = 4096) {
    std::string op;
    append(op, journal::kOpFileCreated);
    append(op, uint64_t{0});
    append(op, uint64_t{0});
    append(op, length);
    return op + z(path);
}
std::string dropped(const std::string& db) {
    std::string op;
    append(op, journal::kOpDropDb);
    append(op, uint64_t{0});
    append(op, uint64_t{0});
    return op + z(db) + z("");
}

// A dbpath /db with one data file, one beside the dbpath, and a journal of the given sections.
class JournalCheck : public testing::Test {
  protected:
    JournalCheck() {
        for (const char* folder : {"/", "/db", "/db/journal", "/outside", "/db/test"})
            files_.create_directory(folder);
        for (const char* file : {"/db/test.0", "/db/test.ns", "/x.0", "/outside/x.0"})
            put(file, std::string(4096, 'o'));
    }

    void put(const std::string& path, const std::string& bytes) {
        files_.open(path, {.access = os::Access::read_write, .create = true, .truncate = true})
            ->write_at(0, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    }
    void put_journal(const std::vector<std::string>& sections, int number = 0) {
        journal::FileHeader header{};
        std::memcpy(header.magic, "j\n", 2);
        header.version = journal::kClassicFormat.version;
        header.lf4[1] = '\n';
        header.file_id = kFileId;
        std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
        for (size_t i = 0; i < sections.size(); ++i) {
            journal::OpBuffer ops;
            ops.buffer().append(sections[i].data(), sections[i].size());
            journal::SectionWriter writer;
            const auto section = writer.write(ops, journal::kClassicFormat, i + 1, kFileId);
            bytes.append(reinterpret_cast<const char*>(section.data()), section.size());
        }
        put("/db/journal/j._" + std::to_string(number), bytes);
    }
    std::map<std::string, std::string> tree() {
        std::map<std::string, std::string> result;
        for (const char* each : {"/db", "/db/journal", "/db/test", "/outside"}) {
            for (const std::string& name : files_.list(each)) {
                const std::string path = os::join(each, name);
                if (files_.is_directory(path)) continue;
                std::vector<uint8_t> bytes(files_.file_length(path));
                files_.open(path, {})->read_at(0, bytes);
                result[path].assign(bytes.begin(), bytes.end());
            }
        }
        return result;
    }
    // Expects that the check refuses the journal, with a text that has each of `words`.
    void expect_refused(const std::vector<std::string>& words, int code = 13546) {
        const auto before = tree();
        files_.clear_events();
        try {
            check_journal(files_, "/db/journal");
            ADD_FAILURE() << "accepted: " << words.back();
        } catch (const base::Error& error) {
            const std::string text = error.what();
            EXPECT_EQ(error.code(), code);
            for (const std::string& word : words)
                EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
            EXPECT_LT(text.size(), 600u);
        }
        for (const auto& event : files_.events())
            EXPECT_TRUE(event.call == os::SimFileSystem::Call::open ||
                        event.call == os::SimFileSystem::Call::read ||
                        event.call == os::SimFileSystem::Call::close)
                << event.path;
        EXPECT_EQ(tree(), before);
    }

    os::SimFileSystem files_;
};

TEST_F(JournalCheck, AcceptsWhatServersWrite) {
    check_journal(files_, "/db/nothing");
    check_journal(files_, "/db/journal");
    put_journal({created("test.0") + created("test/test.ns", 16 << 20) + context("test") +
                     write_of(0) + write_of(journal::kNsFile) + context("test/test") + write_of(3),
                 write_of(0 | journal::kLocalBit) + dropped("test"),
                 write_of(journal::kNsFile | journal::kLocalBit)});
    check_journal(files_, "/db/journal");
}

TEST_F(JournalCheck, NamesOfOtherPlacesAreRefused) {
    const std::string good = context("test") + write_of(0);
    const std::string overlong(100, 'x');
    for (const std::string& name :
         {std::string("../x"), std::string("../outside/x"), std::string("/outside/x"),
          std::string(".."), std::string("test/../../x"), std::string("test/test/test"),
          std::string("other/test"), std::string("a b"), std::string("journal/journal"),
          std::string("_tmp/_tmp"), std::string("x.y"), overlong, std::string("")}) {
        put_journal({good, context(name) + write_of(0)});
        expect_refused({"/db/journal/j._0", "offset 16384", name + ".0"});
        put_journal({good + context(name) + write_of(0)});
        expect_refused({"/db/journal/j._0", "offset 8192", name + ".0"});
    }
    for (const std::string& path :
         {std::string("../x.0"), std::string("/x.0"), std::string("mongod.lock"),
          std::string("storage.bson"), std::string("journal/lsn"), std::string("journal/j._0"),
          std::string("test.0/../../x.0"), std::string("test.00"), std::string("test.16000"),
          std::string("."), std::string("..")}) {
        put_journal({good, good, created(path)});
        expect_refused({"/db/journal/j._0", "offset 24576", "creates '" + path + "'"});
    }
    for (const std::string& db : {std::string("../x"), std::string(".."), std::string("/outside"),
                                  std::string("te st"), overlong}) {
        put_journal({dropped(db)});
        expect_refused({"/db/journal/j._0", "offset 8192", "drops '" + db + "'"});
    }
}

TEST_F(JournalCheck, NumbersAndLengthsThatNoFileHasAreRefused) {
    for (const uint32_t number : {16000u, 0x7ffffffeu, 0x10000000u}) {
        put_journal({context("test") + write_of(number)});
        expect_refused({"offset 8192", "test." + std::to_string(number)});
    }
    for (const uint64_t length :
         {uint64_t{0}, uint64_t{1} << 31, uint64_t{1} << 60, ~uint64_t{0}}) {
        put_journal({created("test.1", length)});
        expect_refused({"offset 8192", "test.1", std::to_string(length)});
    }
}

// A few bytes of a journal name files as large as they like.
TEST_F(JournalCheck, FilesThatTheDiskHasNoRoomForAreRefused) {
    constexpr uint64_t kLarge = 0x7ff00000;
    files_.set_free_bytes(kLarge + 10000);
    put_journal({created("test.1", kLarge) + created("test.0", 8192)});
    check_journal(files_, "/db/journal");
    put_journal({created("test.1", kLarge) + created("test.1", kLarge) + dropped("test") +
                 created("test/test.1", kLarge) + dropped("test") + created("other.1", kLarge)});
    check_journal(files_, "/db/journal");
    put_journal({created("test.1", kLarge), created("other.0", 16 << 20)});
    expect_refused({"2063 MB"}, base::kOutOfDiskSpace);
    put_journal({created("new/new.1", kLarge) + created("new2/new2.0", 16 << 20)});
    expect_refused({"2063 MB"}, base::kOutOfDiskSpace);
}

TEST_F(JournalCheck, MoreFilesThanAnyServerMakesAreRefused) {
    std::string operations;
    for (int i = 0; i < kDataFilesMax; ++i)
        operations += created("test.1") + dropped("test");
    put_journal({operations});
    check_journal(files_, "/db/journal");
    put_journal({operations, created("test.1")});
    expect_refused({"offset 57344", "more than 32000 files"});
}

TEST_F(JournalCheck, StreamsThatDoNotDecodeAreNamedToo) {
    const std::string unending(300, 'x');
    std::string nameless;
    append(nameless, journal::kOpDbContext);
    for (const std::string& stream : {context(unending) + write_of(0), nameless + unending,
                                      write_of(0), std::string("\1\0\0\0", 4)}) {
        put_journal({context("test") + write_of(0), stream});
        expect_refused({"/db/journal/j._0", "offset 16384", "cannot be read"});
    }
}

TEST_F(JournalCheck, LaterFilesAreLookedAtToo) {
    put_journal({context("test") + write_of(0)}, 0);
    put_journal({context("test") + write_of(0), context("../x") + write_of(0)}, 1);
    expect_refused({"/db/journal/j._1", "offset 16384", "../x.0"});
}

// The second net: recovery asks again, by the same function.
TEST_F(JournalCheck, RecoveryItselfAppliesNoneOfThem) {
    for (const std::string& section :
         {context("../outside/x") + write_of(0), context("../x") + write_of(0),
          created("../outside/x.0"), created("/outside/x.0"), dropped("../outside/x"),
          dropped("..")}) {
        put_journal({section});
        const auto before = tree();
        os::SimClock clock;
        Core core(files_, clock);
        EXPECT_THROW(core.recover(), base::Error);
        EXPECT_EQ(tree(), before);
    }
}

// Replays operations that servers write, old ones too.
class ReplayedOperations : public JournalCheck {
  protected:
    std::string replayed(const std::string& path) {
        os::SimClock clock;
        Core core(files_, clock);
        core.recover();
        return files_.exists(path) ? tree()[path] : "none";
    }
};

TEST_F(ReplayedOperations, WritesGoToTheFilesThatTheyName) {
    put("/db/other.0", std::string(4096, 'o'));
    put_journal({context("test") + write_of(0, "1") + context("other") + write_of(0, "2"),
                 context("test") + write_of(journal::kNsFile, "3")});
    EXPECT_EQ(replayed("/db/test.0").substr(0, 2), "1o");
    EXPECT_EQ(tree()["/db/other.0"].substr(0, 2), "2o");
    EXPECT_EQ(tree()["/db/test.ns"].substr(0, 2), "3o");
}

TEST_F(ReplayedOperations, AFileThatIsMadeAnewGetsWhatIsWrittenLater) {
    put_journal({context("test") + write_of(0, "old"),
                 created("test.0", 8192) + context("test") + write_of(0, "n")});
    EXPECT_EQ(replayed("/db/test.0"), "n" + std::string(8191, '\0'));
}

TEST_F(ReplayedOperations, ADropTakesAllFilesOfItsDatabaseAndNoOther) {
    for (const char* file : {"/db/test.1", "/db/test.kept", "/db/tester.0", "/db/tes.0"})
        put(file, "o");
    put_journal({context("test") + write_of(0, "old") + dropped("test")});
    EXPECT_EQ(replayed("/db/test.0"), "none");
    for (const char* gone : {"/db/test.1", "/db/test.ns"})
        EXPECT_FALSE(files_.exists(gone)) << gone;
    for (const char* kept : {"/db/test.kept", "/db/tester.0", "/db/tes.0"})
        EXPECT_TRUE(files_.exists(kept)) << kept;
}

}  // namespace
}  // namespace mmapv1
