#include "journal/section.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <string>

namespace journal {
namespace {

// Decides in this test binary which payloads are stored.
bool t_store = false;
const StoreRuleRegistration t_rule([](size_t, const FileFormat&) { return t_store; });

TEST(StoredPayload, PrefixMakesABlockThatSnappyDecodes) {
    for (const size_t size : {1, 60, 61, 127, 128, 256, 257, 16383, 16384, 65536, 65537, 3000000}) {
        std::string block(kPrefixMax, '\0');
        const size_t prefix = write_stored_prefix(reinterpret_cast<uint8_t*>(block.data()), size);
        EXPECT_EQ(prefix == kInPlacePrefix, size <= kInPlaceBytesMax) << size;
        block.resize(prefix);
        std::string raw(size, 'x');
        raw.back() = 'y';
        block += raw;
        std::string decoded;
        ASSERT_TRUE(snappy::Uncompress(block.data(), block.size(), &decoded)) << size;
        EXPECT_EQ(decoded, raw) << size;
    }
}

TEST(StoredPayload, SectionReadsBackAndSmallOnesAreNotMoved) {
    t_store = true;
    for (const uint32_t size : {10u, 5000u, 65000u, 200000u}) {
        OpBuffer ops;
        const std::string bytes(size, 'z');
        ops.basic_write("test", 0, 8192, bytes.data(), size);
        const std::vector<uint8_t> before(ops.ops().begin(), ops.ops().end());
        SectionWriter writer;
        const auto section = writer.write(ops, kClassicFormat, 7, 42);
        EXPECT_EQ(section.size() % kClassicFormat.unit, 0u);
        EXPECT_EQ(section.data() == ops.buffer().data(), before.size() <= kInPlaceBytesMax);
        EXPECT_TRUE(std::equal(before.begin(), before.end(), ops.ops().begin()));
        const SectionView view = view_section(section, 42);
        ASSERT_EQ(view.state, SectionState::complete);
        EXPECT_EQ(decode_payload(view.payload), before);
    }
    t_store = false;
}

TEST(StoredPayload, WithoutAnAgreeingRulePayloadsAreCompressed) {
    OpBuffer ops;
    const std::string bytes(5000, 'z');
    ops.basic_write("test", 0, 8192, bytes.data(), 5000);
    SectionWriter writer;
    const auto section = writer.write(ops, kClassicFormat, 7, 42);
    EXPECT_LT(view_section(section, 42).header.length, 1000u);
}

}  // namespace
}  // namespace journal
