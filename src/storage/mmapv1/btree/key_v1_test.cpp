#include "storage/mmapv1/btree/key_v1.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bson/compare.h"
#include "bson/testing/values.h"

namespace mmapv1 {
namespace {

using bson::Builder;

std::vector<uint8_t> from_hex(const std::string& hex) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += hex[i] == ' ' ? 1 : 2)
        if (hex[i] != ' ')
            bytes.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

std::vector<uint8_t> encode(bson::Doc doc) {
    const SearchKey key(doc);
    EXPECT_FALSE(key.too_long());
    return {key.encoded(), key.encoded() + key.size()};
}

template <typename Fill>
bson::Object doc(Fill fill) {
    Builder b;
    fill(b);
    return b.object();
}

struct Example {
    bson::Object key;
    std::string hex;
};

// The worked examples of mmapv1 spec 6.5.
std::vector<Example> examples() {
    const bson::ObjectId id{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
    const std::vector<uint8_t> five = {1, 2, 3, 4, 5};
    const std::vector<uint8_t> sixteen(16, 1);
    const std::vector<uint8_t> one = {1};
    const std::vector<uint8_t> nine(9, 0);
    return {
        {bson::make("", 1), "14 00 00 00 00 00 00 F0 3F"},
        {bson::make("", 1.5), "04 00 00 00 00 00 00 F8 3F"},
        {bson::make("", int64_t{5}), "24 00 00 00 00 00 00 14 40"},
        {bson::make("", (int64_t{1} << 53) - 1), "24 FF FF FF FF FF FF 3F 43"},
        {bson::make("", int64_t{1} << 53), "FF 0F 00 00 00 12 00 00 00 00 00 00 00 20 00 00"},
        {bson::make("", "abc"), "06 03 61 62 63"},
        {bson::make("", ""), "06 00"},
        {doc([](Builder& b) { b.append_null(""); }), "02"},
        {bson::make("", true), "0B"},
        {bson::make("", false), "0A"},
        {doc([](Builder& b) { b.append_min_key(""); }), "01"},
        {doc([](Builder& b) { b.append_max_key(""); }), "0E"},
        {bson::make("", id), "08 01 02 03 04 05 06 07 08 09 0A 0B 0C"},
        {doc([](Builder& b) { b.append_date("", 1388534400000); }), "0C 00 84 19 4B 43 01 00 00"},
        {doc([&](Builder& b) { b.append_binary("", 0, five); }), "07 50 01 02 03 04 05"},
        {doc([&](Builder& b) { b.append_binary("", 4, sixteen); }),
         "07 C4 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01"},
        {doc([&](Builder& b) { b.append_binary("", 0x80, one); }), "07 18 01"},
        {doc([&](Builder& b) { b.append_binary("", 0, nine); }),
         "FF 15 00 00 00 05 00 09 00 00 00 00 00 00 00 00 00 00 00 00 00 00"},
        {bson::make("", bson::make("x", 1)),
         "FF 13 00 00 00 03 00 0C 00 00 00 10 78 00 01 00 00 00 00 00"},
        {bson::make("", "a", "", 1), "46 01 61 14 00 00 00 00 00 00 F0 3F"},
        {doc([](Builder& b) { b.append("", 1).append_null("").append("", "z"); }),
         "54 00 00 00 00 00 00 F0 3F 42 06 01 7A"},
        {doc([](Builder& b) { b.append_undefined(""); }), "FF 07 00 00 00 06 00 00"},
    };
}

TEST(KeyV1, EncodesTheWorkedExamples) {
    for (const Example& e : examples())
        EXPECT_EQ(encode(e.key), from_hex(e.hex)) << e.hex;
}

TEST(KeyV1, DecodesTheWorkedExamples) {
    for (const Example& e : examples()) {
        const std::vector<uint8_t> bytes = from_hex(e.hex);
        uint8_t buffer[kDecodedKeyBytesMax];
        EXPECT_EQ(KeyView(bytes.data()).size(), bytes.size()) << e.hex;
        EXPECT_EQ(bson::Object(KeyView(bytes.data()).decode(buffer)).bytes(), e.key.bytes())
            << e.hex;
        EXPECT_EQ(checked_key_size(bytes.data(), bytes.size()), bytes.size()) << e.hex;
    }
}

TEST(KeyV1, RefusesDamagedBytes) {
    for (const Example& e : examples()) {
        std::vector<uint8_t> bytes = from_hex(e.hex);
        for (size_t cut = 0; cut < bytes.size(); ++cut)
            EXPECT_EQ(checked_key_size(bytes.data(), cut), 0U) << e.hex << " cut at " << cut;
    }
    // The last ones: integers that are no number, or too large.
    for (const char* hex : {"00", "03", "15 00 00 00 00 00 00 00 00", "80", "1E",
                            "14 00 00 00 00 00 00 F8 7F", "14 00 00 00 00 00 00 E0 41",
                            "24 00 00 00 00 00 00 F8 FF", "24 00 00 00 00 00 00 E0 43"}) {
        const std::vector<uint8_t> bytes = from_hex(hex);
        EXPECT_EQ(checked_key_size(bytes.data(), bytes.size()), 0U) << hex;
    }
}

TEST(KeyV1, KnowsTheLongestKey) {
    // A string of 1011 bytes is the longest that an index takes, 1012 is too long.
    EXPECT_EQ(SearchKey(bson::make("", std::string(1011, 'x'))).size(), kKeyBytesMax);
    EXPECT_TRUE(SearchKey(bson::make("", std::string(1012, 'x'))).too_long());
}

TEST(KeyV1, TakesACompactKeyOfExactlyTheLimit) {
    const auto four_strings = [](size_t last) {
        const std::string text(255, 'x');
        return bson::make("", text, "", text, "", text, "", std::string(last, 'y'));
    };
    const bson::Object longest = four_strings(1024 - 3 * 257 - 2);
    const SearchKey key(longest);
    EXPECT_EQ(key.size(), kKeyBytesMax);
    EXPECT_NE(key.compact(), nullptr);
    uint8_t buffer[kDecodedKeyBytesMax];
    EXPECT_EQ(bson::Object(KeyView(key.encoded()).decode(buffer)).bytes(), longest.bytes());
    EXPECT_TRUE(SearchKey(four_strings(1024 - 3 * 257 - 1)).too_long());
}

// The form depends on all elements: numbers may make the compact form too long where BSON would
// have fitted, and an element at the end may turn a key that was too long into a traditional one.
TEST(KeyV1, ChoosesTheFormByAllElements) {
    Builder compact_only;
    const std::string text(255, 'x');
    for (int i = 0; i < 3; ++i)
        compact_only.append("", text);
    for (int i = 0; i < 28; ++i)
        compact_only.append("", i);
    const bson::Object numbers = compact_only.object();
    EXPECT_LE(numbers.size() + 1, static_cast<int>(kKeyBytesMax));
    EXPECT_EQ(SearchKey(numbers).size(), 3U * 257 + 28 * 9);
    EXPECT_FALSE(SearchKey(numbers).too_long());

    Builder too_long;
    too_long.append_all(numbers).append("", 28);
    EXPECT_TRUE(SearchKey(too_long.doc()).too_long());
    EXPECT_EQ(SearchKey(too_long.doc()).size(), 3U * 257 + 29 * 9);

    Builder traditional;
    traditional.append_all(numbers).append("", 28).append_undefined("");
    const SearchKey key(traditional.doc());
    EXPECT_FALSE(key.too_long());
    EXPECT_EQ(key.encoded()[0], kTraditionalKeyMark);
}

TEST(KeyV1, EmptyKeyIsAPrefixOfAll) {
    const bson::Object empty;
    const SearchKey none(empty);
    const std::vector<uint8_t> one = encode(bson::make("", 1));
    EXPECT_EQ(none.compact(), nullptr);
    EXPECT_EQ(compare_prefix(none, KeyView(one.data()), 0), 0);
    EXPECT_LT(compare(none, KeyView(one.data()), 1), 0);
}

int sign(int c) {
    return (c > 0) - (c < 0);
}

// Any two keys, compact or not, compare as their BSON does.
TEST(KeyV1, OrderAgreesWithBson) {
    bson::TestValues values(20140501);
    const auto random_key = [&values] {
        Builder b;
        for (uint64_t n = 1 + values.below(3); n > 0; --n)
            values.append(b, "", 1);
        return b.object();
    };
    for (int round = 0; round < 50000; ++round) {
        const bson::Object a = random_key();
        const bson::Object b = random_key();
        const SearchKey ka(a);
        const SearchKey kb(b);
        if (ka.too_long() || kb.too_long()) continue;
        const auto descending = static_cast<uint32_t>(values.below(8));
        const int wanted = sign(bson::compare_keys(a, b, descending));
        ASSERT_EQ(sign(compare(KeyView(ka.encoded()), KeyView(kb.encoded()), descending)), wanted);
        ASSERT_EQ(sign(compare(ka, KeyView(kb.encoded()), descending)), wanted);

        uint8_t buffer[kDecodedKeyBytesMax];
        const bson::Object decoded(KeyView(ka.encoded()).decode(buffer));
        ASSERT_EQ(decoded.bytes(), a.bytes());
        ASSERT_EQ(checked_key_size(ka.encoded(), ka.size()), ka.size());
        ASSERT_EQ(KeyView(ka.encoded()).size(), ka.size());
    }
}

TEST(KeyV1, PrefixesCompareAsFarAsTheyGo) {
    const auto pair = encode(bson::make("", 5, "", "x"));
    for (const uint32_t descending : {0U, 1U, 2U, 3U}) {
        const int up = (descending & 1) != 0 ? -1 : 1;
        EXPECT_EQ(compare_prefix(SearchKey(bson::make("", 5)), KeyView(pair.data()), descending),
                  0);
        EXPECT_EQ(compare_prefix(SearchKey(bson::make("", 6)), KeyView(pair.data()), descending),
                  up);
        EXPECT_EQ(compare_prefix(SearchKey(bson::make("", int64_t{1} << 60)), KeyView(pair.data()),
                                 descending),
                  up);
        EXPECT_LT(compare(SearchKey(bson::make("", 5)), KeyView(pair.data()), descending), 0);
    }
}

}  // namespace
}  // namespace mmapv1
