#include "tools/journal_dump.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "journal/section.h"
#include "os/testing/directory.h"
#include "os/testing/fixture.h"
#include "os/testing/sim_file_system.h"

namespace tools {
namespace {

constexpr uint64_t kFileId = 0xa81cdfe96b0119ad;

class JournalDump : public testing::Test {
  protected:
    JournalDump() {
        files.create_directory("/db");
        files.create_directory("/db/journal");
        file = files.open(path, {.access = os::Access::read_write, .create = true});
        journal::FileHeader header{};
        header.magic[0] = 'j';
        header.lf4[1] = '\n';
        header.version = journal::kClassicFormat.version;
        header.file_id = kFileId;
        std::string("Nov 21 04:11:09").copy(header.created, sizeof header.created);
        file->write_at(0, {reinterpret_cast<const uint8_t*>(&header), sizeof header});
    }
    void add_section(uint64_t sequence) {
        journal::OpBuffer ops;
        ops.file_created("test.ns", 16777216);
        ops.basic_write("test", 0, 16552, "\0\0\0\0\xb0\x41\0\0", 8);
        journal::SectionWriter writer;
        file->write_at(file->length(),
                       writer.write(ops, journal::kClassicFormat, sequence, kFileId));
    }
    std::string dump(const DumpOptions& options = {}) {
        std::ostringstream out;
        result = dump_file(files, path, options, out);
        return out.str();
    }
    static bool has(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }

    const std::string path = "/db/journal/j._0";
    os::SimFileSystem files;
    std::unique_ptr<os::File> file;
    DumpResult result;
};

TEST_F(JournalDump, ShowsHeaderSectionsAndOperations) {
    add_section(59060);
    const std::string text = dump();
    EXPECT_TRUE(has(text, "version 4149")) << text;
    EXPECT_TRUE(has(text, "Nov 21 04:11:09")) << text;
    EXPECT_TRUE(has(text, "file id a81cdfe96b0119ad")) << text;
    EXPECT_TRUE(has(text, "seq 59060")) << text;
    EXPECT_TRUE(has(text, "checksum ok")) << text;
    EXPECT_TRUE(has(text, "created  test.ns  16777216 bytes")) << text;
    EXPECT_TRUE(has(text, "@16552")) << text;
    EXPECT_TRUE(has(text, "00000000b0410000")) << text;
    EXPECT_TRUE(has(text, "clean, at 16384")) << text;
    EXPECT_EQ(result.sections, 1u);
    EXPECT_EQ(result.disk_bytes, 8192u);
    EXPECT_FALSE(result.damaged);
    EXPECT_FALSE(has(dump({.operations = false}), "@16552"));
    EXPECT_TRUE(has(dump({.operations = true, .hex_bytes = 5}), "00000000b0.."));
}

TEST_F(JournalDump, ATornTailIsNoDamage) {
    add_section(1);
    add_section(2);
    file->write_at(16384 + 30, std::vector<uint8_t>{0xff});
    EXPECT_TRUE(has(dump(), "torn"));
    EXPECT_EQ(result.sections, 1u);
    EXPECT_FALSE(result.damaged);
}

TEST_F(JournalDump, ABadSectionBeforeAnIntactOneIs) {
    for (uint64_t i = 1; i <= 3; ++i)
        add_section(i);
    file->write_at(16384 + 30, std::vector<uint8_t>{0xff});
    EXPECT_TRUE(has(dump(), "DAMAGE"));
    EXPECT_EQ(result.sections, 2u);
    EXPECT_TRUE(result.damaged);
}

TEST_F(JournalDump, AFileThatWasCutOffSaysWhere) {
    EXPECT_TRUE(has(dump(), "clean, at 8192: a header and no section"));
    add_section(7);
    file->truncate(16384 - 8);
    EXPECT_TRUE(has(dump(), "end      at 16376, within the padding"));
    EXPECT_EQ(result.sections, 1u);
    file->truncate(8192 + 60);
    EXPECT_TRUE(has(dump(), "cut off        8192  seq 7")) << dump();
    EXPECT_TRUE(has(dump(), "end      at 8192; no intact section of this file follows"));
    file->truncate(8192 + 19);
    EXPECT_TRUE(has(dump(), "cut off        8192  19 bytes, less than the header")) << dump();
    file->truncate(8191);
    EXPECT_TRUE(has(dump(), "cut off  in the file header: 8191 of its 8192 bytes"));
    file->truncate(0);
    EXPECT_TRUE(has(dump(), "empty    not even a file header"));
    EXPECT_FALSE(result.damaged);
    EXPECT_TRUE(has(dump({.is_last = false}), "isn't the last journal file"));
    EXPECT_TRUE(result.damaged);
}

TEST_F(JournalDump, TellsZerosFromAFormerLife) {
    add_section(1);
    file->truncate(5 * 8192);
    EXPECT_TRUE(has(dump(), "zeros up to the end of the file"));
    file->write_at(16384 + 12, std::vector<uint8_t>{0x23, 1, 0, 0, 0, 0, 0, 0});
    EXPECT_TRUE(has(dump(), "the id there is 0000000000000123"));
    EXPECT_FALSE(result.damaged);
}

TEST_F(JournalDump, ABadHeaderIsDamageWhenDataFollows) {
    file->write_at(0, std::vector<uint8_t>{'x'});
    EXPECT_TRUE(has(dump(), "NOT VALID"));
    EXPECT_FALSE(result.damaged);
    add_section(1);
    EXPECT_TRUE(has(dump(), "DAMAGE   data follows"));
    EXPECT_TRUE(result.damaged);
}

TEST_F(JournalDump, FilesAreFoundFromTheirDirectoryOrTheDbpath) {
    const std::vector<std::string> expected{path};
    EXPECT_EQ(journal_files_at(files, path), expected);
    EXPECT_EQ(journal_files_at(files, "/db/journal"), expected);
    EXPECT_EQ(journal_files_at(files, "/db"), expected);
    EXPECT_THROW(journal_files_at(files, "/nowhere"), base::Error);
    files.remove(path);
    EXPECT_THROW(journal_files_at(files, "/db"), base::Error);
}

TEST(JournalDumpOfFixture, ReadsAJournalOf26) {
    const os::TestDirectory home;
    os::unpack_fixture("mmapv1-2.6-powercut.tar.xz", home.path());
    std::ostringstream out;
    const DumpResult result = dump_file(os::real_file_system(), home / "journal/j._0", {}, out);
    EXPECT_FALSE(result.damaged);
    EXPECT_EQ(result.disk_bytes, 6897664u - 8192);
    EXPECT_EQ(result.files_created, 8u);
}

}  // namespace
}  // namespace tools
