// A journal of several files in which bits are flipped, bytes overwritten, pieces cut off or
// missing: recovery applies a prefix that ends between two sections and says where, or it refuses
// with a sentence and leaves the journal.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/log.h"
#include "base/testing/damage.h"
#include "base/testing/effort.h"
#include "journal/section.h"
#include "os/testing/directory.h"
#include "storage/mmapv1/commit/testing/server.h"

namespace mmapv1 {
namespace {

constexpr int kFiles = 3;
constexpr int kSectionsPerFile = 8;
constexpr int kSections = kFiles * kSectionsPerFile;
constexpr int64_t kStride = 4096;  // each section writes in a page of its own

class DamagedJournals : public testing::Test {
  protected:
    DamagedJournals() {
        base::log::set_sink([this](base::log::Severity, std::string_view line) {
            lines_ += line;
            lines_ += '\n';
        });
        for (int number = 0; number < kFiles; ++number)
            whole_.push_back(journal_file(number));
    }
    ~DamagedJournals() override { base::log::set_sink(nullptr); }

    // Returns the text at the beginning of a section's page; so much follows it that sections have
    // several lengths.
    static std::string text(int section) { return fmt::format("section {:05} ", section); }

    static std::vector<uint8_t> journal_file(int number) {
        std::vector<uint8_t> file(journal::kFileHeaderBytes, 0);
        journal::FileHeader header{};
        header.magic[0] = 'j';
        header.magic[1] = header.lf4[1] = '\n';
        header.version = journal::kClassicFormat.version;
        header.file_id = 0x1122334455667700 + static_cast<uint64_t>(number);
        std::memcpy(file.data(), &header, sizeof header);
        journal::SectionWriter writer;
        std::mt19937 random(static_cast<unsigned>(number));
        for (int i = 0; i < kSectionsPerFile; ++i) {
            const int section = number * kSectionsPerFile + i;
            std::string content = text(section);
            // Not to be compressed: some sections are longer than a unit.
            while (content.size() < static_cast<size_t>(100 + section % 5 * 700))
                content += static_cast<char>(random());
            journal::OpBuffer ops;
            ops.basic_write("test", 0, static_cast<uint32_t>(section * kStride), content.data(),
                            static_cast<uint32_t>(content.size()));
            // A section of a few units now and then.
            std::string filler(section % 4 == 0 ? 20000 : 1, '\0');
            for (char& each : filler)
                each = static_cast<char>(random());
            ops.basic_write("test", 0, static_cast<uint32_t>(kSections * kStride), filler.data(),
                            static_cast<uint32_t>(filler.size()));
            const auto bytes = writer.write(ops, journal::kClassicFormat,
                                            static_cast<uint64_t>(section) + 1, header.file_id);
            file.insert(file.end(), bytes.begin(), bytes.end());
        }
        return file;
    }

    static std::string name(int number) { return fmt::format("journal/j._{}", number); }
    // A dbpath with a data file of zeros and that journal.
    void lay_out(const std::vector<std::vector<uint8_t>>& files) {
        std::filesystem::remove_all(dbpath());
        std::filesystem::create_directories(dbpath() + "/journal");
        std::ofstream(dbpath() + "/test.0").close();
        std::filesystem::resize_file(dbpath() + "/test.0", kFileBytes);
        for (size_t i = 0; i < files.size(); ++i)
            put(static_cast<int>(i), files[i]);
    }
    void put(int number, const std::vector<uint8_t>& bytes) {
        std::ofstream out(dbpath() + "/" + name(number), std::ios::binary);
        out.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
    }
    std::string dbpath() const { return home_ / "db"; }

    // Recovers; returns why not, empty when it did.
    std::string recover() {
        lines_.clear();
        try {
            Server server(dbpath(), kNoCheckSpace);
            server.durable.recover();
        } catch (const base::Error& error) {
            return fmt::format("{} {}", error.code(), error.what());
        }
        return {};
    }
    // How many sections are in the data file, all of them from the first on; -1: others.
    int applied() const {
        std::ifstream in(dbpath() + "/test.0", std::ios::binary);
        int count = 0;
        bool gap = false;
        for (int section = 0; section < kSections; ++section) {
            const std::string wanted = text(section);
            std::string found(wanted.size(), '?');
            in.seekg(section * kStride);
            in.read(found.data(), static_cast<std::streamsize>(found.size()));
            if (found == wanted && !gap)
                ++count;
            else if (found == std::string(wanted.size(), '\0'))
                gap = true;
            else
                return -1;
        }
        return count;
    }
    // Whether the log says of a file how many of its sections were applied.
    bool said(int number, int sections) const {
        return lines_.find(fmt::format("{}: {} sections, up to offset", name(number), sections)) !=
               std::string::npos;
    }

    const os::TestDirectory home_;
    std::vector<std::vector<uint8_t>> whole_;
    std::string lines_;
};

TEST_F(DamagedJournals, AWholeOneIsAppliedWhole) {
    lay_out(whole_);
    EXPECT_EQ(recover(), "");
    EXPECT_EQ(applied(), kSections);
    for (int number = 0; number < kFiles; ++number)
        EXPECT_TRUE(said(number, kSectionsPerFile)) << lines_;
}

TEST_F(DamagedJournals, GiveAPrefixThatIsNamedOrARefusal) {
    std::mt19937 random(64);
    int whole = 0, shorter = 0, refused = 0;
    for (int round = base::test_effort(200); round > 0; --round) {
        auto files = whole_;
        const size_t hit = random() % files.size();
        std::vector<uint8_t>& file = files[hit];
        const auto kind = random() % 6;
        const size_t unit = random() % (file.size() / 8192) * 8192;
        switch (kind) {
            case 0:
                file[random() % file.size()] ^= static_cast<uint8_t>(1U << random() % 8);
                break;
            case 1:  // where something stands: the head of a unit
                base::damage(std::span(file).subspan(unit, 64), random);
                break;
            case 2:
                base::damage(file, random);
                break;
            case 3:
                file.resize(random() % file.size());
                break;
            case 4:  // a unit that never reached the disk
                std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(unit), 8192, uint8_t{0});
                break;
            default:  // a sector of it
                std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(unit + random() % 16 * 512),
                            512, static_cast<uint8_t>(random()));
        }
        SCOPED_TRACE(fmt::format("round {}: {} of kind {} at {}", round,
                                 name(static_cast<int>(hit)), kind, unit));
        lay_out(files);
        const std::string refusal = recover();
        const int count = applied();
        ASSERT_GE(count, 0) << "no prefix\n" << lines_;
        if (!refusal.empty()) {
            ++refused;
            EXPECT_NE(refusal.find("j._"), std::string::npos) << refusal;
            for (int number = 0; number < kFiles; ++number)
                EXPECT_TRUE(std::filesystem::exists(dbpath() + "/" + name(number))) << number;
            // Refusing again is the same: nothing was given up by the first try.
            EXPECT_EQ(recover(), refusal);
            EXPECT_EQ(applied(), count);
            continue;
        }
        ++(count == kSections ? whole : shorter);
        ASSERT_GE(count, kSections - kSectionsPerFile) << "files before the last are whole";
        EXPECT_TRUE(said(kFiles - 1, count - (kSections - kSectionsPerFile))) << lines_;
    }
    EXPECT_GT(whole, 0);
    EXPECT_GT(shorter, 0);
    EXPECT_GT(refused, 0);
}

TEST_F(DamagedJournals, CutAtEverySectionAndOneByteBesideIt) {
    std::vector<size_t> ends = {journal::kFileHeaderBytes};
    for (int i = 0; i < kSectionsPerFile; ++i) {
        uint32_t length = 0;
        std::memcpy(&length, &whole_.back()[ends.back()], sizeof length);
        ends.push_back(ends.back() + journal::round_up(length, journal::kClassicFormat.unit));
    }
    ASSERT_EQ(ends.back(), whole_.back().size());
    for (size_t i = 0; i < ends.size(); ++i) {
        for (const int beside : {-1, 0, 1}) {
            auto files = whole_;
            files.back().resize(std::min(ends[i] + static_cast<size_t>(beside), ends.back()));
            SCOPED_TRACE(fmt::format("cut at {}", files.back().size()));
            lay_out(files);
            EXPECT_EQ(recover(), "");
            const int count = applied() - (kSections - kSectionsPerFile);
            // The padding behind a section may be missing.
            EXPECT_TRUE(count == static_cast<int>(i) ||
                        (beside < 0 && count + 1 == static_cast<int>(i)))
                << count;
            EXPECT_TRUE(said(kFiles - 1, count)) << lines_;
        }
    }
}

TEST_F(DamagedJournals, AFileThatIsMissingInBetweenIsRefused) {
    lay_out(whole_);
    std::filesystem::remove(dbpath() + "/" + name(1));
    const std::string refusal = recover();
    EXPECT_TRUE(refusal.starts_with("13532 ")) << refusal;
    EXPECT_EQ(applied(), 0);
}

}  // namespace
}  // namespace mmapv1
