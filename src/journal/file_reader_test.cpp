// The decisions of journal spec 4.5, as the head of file_reader.h lists them.

#include "journal/file_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.h"
#include "journal/section.h"
#include "os/testing/sim_file_system.h"

namespace journal {
namespace {

constexpr uint64_t kFileId = 0x5566778899aabbcc;

class FileReaderTest : public testing::Test {
  protected:
    FileReaderTest() {
        files.create_directory("/j");
        file = files.open("/j/j._0", {.access = os::Access::read_write, .create = true});
        FileHeader header{};
        header.magic[0] = 'j';
        header.magic[1] = header.lf4[1] = '\n';
        header.version = kClassicFormat.version;
        header.file_id = kFileId;
        put(0, header);
    }

    template <typename T>
    void put(uint64_t offset, const T& value) {
        file->write_at(offset, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
    }
    // A section of `units` units at the end of the file.
    void add_section(uint64_t sequence, int units = 1, uint64_t file_id = kFileId) {
        OpBuffer ops;
        std::string text;
        for (uint32_t i = 0, x = 3; i < static_cast<uint32_t>(units - 1) * 8192 + 100; ++i)
            text += static_cast<char>((x = x * 1103515245 + 12345) >> 16);
        ops.basic_write("test", 0, 0, text.data(), static_cast<uint32_t>(text.size()));
        const auto section = writer.write(ops, kClassicFormat, sequence, file_id);
        ASSERT_EQ(section.size(), static_cast<size_t>(units) * 8192);
        file->write_at(file->length(), section);
    }
    void flip(uint64_t offset) {
        uint8_t byte;
        file->read_at(offset, {&byte, 1});
        put(offset, static_cast<uint8_t>(byte ^ 0x10));
    }

    // Sections read before the end; minus the error code if reading ended with an error.
    int read(bool is_last) {
        int sections = 0;
        try {
            FileReader reader(files, "/j/j._0", is_last);
            FileReader::Section section;
            while (reader.next(section))
                ++sections;
            reason = reader.end_reason();
            return sections;
        } catch (const base::Error& e) {
            return -e.code();
        }
    }
    void expect(int as_last, int as_other) {
        EXPECT_EQ(read(true), as_last);
        EXPECT_EQ(read(false), as_other);
    }

    os::SimFileSystem files;
    std::unique_ptr<os::File> file;
    SectionWriter writer;
    std::string reason;
};

TEST_F(FileReaderTest, CleanEnd) {
    add_section(1);
    add_section(2, 3);
    add_section(3);
    expect(3, 3);
    EXPECT_TRUE(reason.empty());
}

TEST_F(FileReaderTest, HeaderOnly) {
    expect(0, 0);
}

TEST_F(FileReaderTest, ZerosOrForeignSectionsBehind) {
    add_section(1);
    file->truncate(file->length() + 5 * 8192);
    expect(1, -13535);
    EXPECT_FALSE(reason.empty());
}

// Holds J2.
TEST_F(FileReaderTest, SectionsOfAFormerLifeBehind) {
    add_section(1);
    add_section(7, 1, kFileId + 1);
    add_section(8, 1, kFileId + 1);
    expect(1, -13535);
}

// Holds J2.
TEST_F(FileReaderTest, SectionCutOffByTheEndOfTheFile) {
    add_section(1);
    add_section(2, 3);
    file->truncate(file->length() - 8192);
    expect(1, -13535);
}

// Holds J2.
TEST_F(FileReaderTest, TornPayloadAtTheEnd) {
    add_section(1);
    add_section(2, 2);
    flip(8192 + 8192 + 5000);
    expect(1, -13535);
}

// Holds J2.
TEST_F(FileReaderTest, TornFooterAtTheEnd) {
    add_section(1);
    SectionHeader header;
    file->read_at(8192, {reinterpret_cast<uint8_t*>(&header), sizeof header});
    flip(8192 + header.length - 1);
    expect(0, -13535);
}

// Holds J4. Each by itself is intact, so only their numbers tell.
TEST_F(FileReaderTest, SectionsOutOfOrderAreDamage) {
    add_section(5);
    add_section(7);
    add_section(6);
    expect(-13594, -13594);
    // One of them over a later one.
    file->truncate(8192);
    for (const uint64_t sequence : {5, 6, 5, 8})
        add_section(sequence);
    expect(-13594, -13594);
    // Sections of an old server that no flush lies between have the same number.
    file->truncate(8192);
    for (const uint64_t sequence : {0, 0, 5, 5})
        add_section(sequence);
    expect(4, 4);
}

TEST_F(FileReaderTest, NonsenseLengthAtTheEnd) {
    for (const uint32_t length : {0u, 20u, 40u, 51u, 52u, 0xffffffffu}) {
        file->truncate(8192);
        add_section(1);
        add_section(2);
        put(2 * 8192, length);
        SCOPED_TRACE(length);
        expect(1, -13535);
    }
}

// To look for an intact section among these takes the square of the length.
TEST_F(FileReaderTest, SectionsThatEachClaimTheRest) {
    constexpr uint64_t kUnits = 300;
    file->truncate((kUnits + 1) * 8192);
    for (uint64_t unit = 1; unit <= kUnits; ++unit)
        put(unit * 8192,
            SectionHeader{static_cast<uint32_t>((kUnits + 1 - unit) * 8192), unit, kFileId});
    expect(-13594, -13535);
    // A few may: what a section holds may look like one.
    file->truncate(8192);
    file->truncate((kUnits + 1) * 8192);
    for (uint64_t unit = 1; unit < 5; ++unit)
        put(unit * 8192,
            SectionHeader{static_cast<uint32_t>((kUnits + 1 - unit) * 8192), unit, kFileId});
    expect(0, -13535);
}

TEST_F(FileReaderTest, DamageInTheMiddleIsNotTakenForTheEnd) {
    for (const int units : {1, 3}) {
        for (const uint64_t damaged : {0u, 4u, 12u, 30u}) {  // length, sequence, file id, payload
            file->truncate(8192);
            add_section(1);
            add_section(2, units);
            add_section(3);
            flip(2 * 8192 + damaged);
            SCOPED_TRACE(damaged);
            expect(-13594, -13535);
        }
    }
}

TEST_F(FileReaderTest, WhatLiesFarBehindAnInvalidHeaderIsNotGivenUp) {
    constexpr uint64_t kLength = 8192 + (3 << 20);
    put(0, 'k');
    file->truncate(kLength);
    expect(0, -13535);
    put(kLength - 1, 'x');
    expect(-13537, -13535);
}

TEST_F(FileReaderTest, DamageInThePaddingIsIgnored) {
    add_section(1);
    add_section(2);
    flip(2 * 8192 - 1);
    expect(2, 2);
}

TEST_F(FileReaderTest, ShorterThanTheHeader) {
    file->truncate(8191);
    expect(0, -13535);
    file->truncate(0);
    expect(0, -13535);
}

TEST_F(FileReaderTest, InvalidHeader) {
    const std::function<void()> damages[] = {
        [this] { put(0, 'k'); },
        [this] { put(8191, 'x'); },
        [this] { put(156, uint64_t{0}); },
        [this] { put(0, FileHeader{}); },
    };
    for (const auto& damage : damages) {
        file->truncate(8192);
        damage();
        expect(0, -13535);
        file->truncate(4 * 8192);
        expect(0, -13535);
        put(3 * 8192, 'x');
        expect(-13537, -13535);
        file->truncate(0);
        FileHeader header{};
        header.magic[0] = 'j';
        header.lf4[1] = '\n';
        header.version = kClassicFormat.version;
        header.file_id = kFileId;
        put(0, header);
    }
}

TEST_F(FileReaderTest, TheSecondMagicByteIsNotChecked) {
    put(1, 'x');
    add_section(1);
    expect(1, 1);
}

TEST_F(FileReaderTest, OtherVersionsAreRefused) {
    for (const uint16_t version : {0x4147, 0x4148, 0x4160}) {
        put(2, version);
        expect(-13536, -13536);
    }
}

TEST_F(FileReaderTest, AnIntactSectionWithNonsenseInsideIsRefused) {
    // Header, a payload that is no Snappy block, and a footer that fits.
    std::vector<uint8_t> section(8192);
    const SectionHeader header{20 + 5 + 32, 1, kFileId};
    std::memcpy(section.data(), &header, sizeof header);
    std::memset(section.data() + 20, 0xff, 5);
    SectionFooter footer{kFooterSentinel, {}, 0, kSectionMagic};
    const Hash hash = checksum({section.data(), 25});
    std::memcpy(footer.hash, hash.data(), hash.size());
    std::memcpy(section.data() + 25, &footer, sizeof footer);
    file->write_at(8192, section);
    expect(-15874, -15874);
}

}  // namespace
}  // namespace journal
