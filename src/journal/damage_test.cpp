// Damaged journals: what is read is what was written, or reading ends with an error that says why.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/testing/damage.h"
#include "base/testing/effort.h"
#include "journal/file_reader.h"
#include "journal/section.h"
#include "os/testing/sim_file_system.h"

namespace journal {
namespace {

constexpr uint64_t kFileId = 0x5566778899aabbcc;
constexpr int kSections = 3;

OpBuffer some_ops() {
    OpBuffer ops;
    const std::string text(3000, 't');
    ops.file_created("test.ns", 1 << 20);
    ops.basic_write("test", 0, 4096, text.data(), 3000);
    ops.basic_write("test", kNsFile, 17, text.data(), 5);
    ops.basic_write("local", 2, 100, text.data(), 100);
    return ops;
}

// The checksum of a section keeps damaged operations from here; the reader does not rely on it.
TEST(DamagedJournal, OperationsAreReadInsideTheirBytes) {
    std::mt19937 random(62);
    const OpBuffer written = some_ops();
    int read = 0, refused = 0;
    for (int i = base::test_effort(50000); i > 0; --i) {
        std::vector<uint8_t> bytes(written.ops().begin(), written.ops().end());
        if (random() % 8 == 0) bytes.resize(random() % bytes.size());
        // Most damage shall meet the entries, not the text.
        base::damage(std::span(bytes).first(std::min<size_t>(bytes.size(), 64)), random);
        bytes.shrink_to_fit();
        const uint8_t* const end = bytes.data() + bytes.size();
        try {
            OpReader reader(bytes);
            Op op;
            while (reader.next(op)) {
                if (op.bytes.empty()) continue;
                ASSERT_GE(op.bytes.data(), bytes.data());
                ASSERT_LE(op.bytes.data() + op.bytes.size(), end);
            }
            ++read;
        } catch (const base::Error& e) {
            EXPECT_STRNE(e.what(), "");
            ++refused;
        }
    }
    EXPECT_GT(read, 0);
    EXPECT_GT(refused, 0);
}

// Holds J2.
TEST(DamagedJournal, FilesGiveWholeSectionsOrAnError) {
    std::mt19937 random(63);
    SectionWriter writer;
    std::vector<uint8_t> original(8192, 0);
    FileHeader header{};
    header.magic[0] = 'j';
    header.magic[1] = header.lf4[1] = '\n';
    header.version = kClassicFormat.version;
    header.file_id = kFileId;
    std::memcpy(original.data(), &header, sizeof header);
    std::vector<uint8_t> payload;
    for (uint64_t sequence = 1; sequence <= kSections; ++sequence) {
        OpBuffer ops = some_ops();
        payload.assign(ops.ops().begin(), ops.ops().end());
        const auto section = writer.write(ops, kClassicFormat, sequence, kFileId);
        original.insert(original.end(), section.begin(), section.end());
    }
    int whole = 0, ended = 0, refused = 0;
    for (int i = base::test_effort(2000); i > 0; --i) {
        std::vector<uint8_t> bytes = original;
        // Damage where something stands: the head of a unit, or anywhere.
        const size_t unit = random() % (bytes.size() / 8192) * 8192;
        base::damage(random() % 2 == 0 ? std::span(bytes).subspan(unit, 64) : std::span(bytes),
                     random);
        if (random() % 8 == 0) bytes.resize(random() % bytes.size());
        os::SimFileSystem files;
        files.create_directory("/j");
        files.open("/j/j._0", {.access = os::Access::read_write, .create = true})
            ->write_at(0, bytes);
        int sections = 0;
        try {
            FileReader reader(files, "/j/j._0", random() % 2 == 0);
            FileReader::Section section;
            while (reader.next(section)) {
                ++sections;
                // The format's checksum covers up to 15 bytes at the end only in part: it shifts
                // them through 64 bits, and a byte of 0x80 or more hides those before it.
                const size_t end = section.offset + section.header.length - sizeof(SectionFooter);
                if (!std::equal(&bytes[end - 15], &bytes[end], &original[end - 15])) continue;
                ASSERT_EQ(std::vector<uint8_t>(section.ops.begin(), section.ops.end()), payload)
                    << "a damaged section passed, step " << i;
            }
            ++(sections == kSections ? whole : ended);
        } catch (const base::Error& e) {
            EXPECT_NE(std::string(e.what()).find("j._0"), std::string::npos) << e.what();
            ++refused;
        }
    }
    EXPECT_GT(whole, 0);
    EXPECT_GT(ended, 0);
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace journal
