#include "bson/validate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "bson/builder.h"

namespace bson {
namespace {

using Bytes = std::vector<uint8_t>;

// Checks a copy whose end is the end of an allocation, so that a read behind it is noticed.
std::string check(const Bytes& bytes, size_t available) {
    const std::unique_ptr<uint8_t[]> copy(new uint8_t[available]);
    std::copy_n(bytes.begin(), available, copy.get());
    return validate(copy.get(), available);
}
std::string check(const Bytes& bytes) {
    return check(bytes, bytes.size());
}

// One element around `value`, as the only field "a" of a document.
Bytes document(uint8_t type, const Bytes& value) {
    Bytes bytes = {0, 0, 0, 0, type, 'a', 0};
    bytes.insert(bytes.end(), value.begin(), value.end());
    bytes.push_back(0);
    bytes[0] = static_cast<uint8_t>(bytes.size());
    return bytes;
}

Bytes copy(Doc doc) {
    return {doc.bytes().begin(), doc.bytes().end()};
}

Object all_types() {
    static const uint8_t blob[] = {1, 2, 3};
    Builder b;
    b.append_min_key("min").append("double", 1.5).append("string", "text").append("empty", "");
    {
        Builder sub = b.sub_object("object");
        sub.append("x", 1);
        Builder inner = sub.sub_array("list");
        inner.push(1).push("two").push(true);
    }
    b.append_binary("bin", 0, blob).append_undefined("undef").append("oid", ObjectId{});
    b.append("t", true).append("f", false).append_date("date", 1).append_null("null");
    b.append_regex("re", "a.b", "i").append_code("code", "f()").append_symbol("sym", "s");
    b.append("i", 7).append_timestamp("ts", 1).append("l", int64_t{8}).append_max_key("max");
    const Bytes pointer = {2, 0, 0, 0, 'x', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    b.bytes(Type::db_pointer, "ptr", pointer);
    const Bytes scoped = {22, 0, 0, 0, 2, 0, 0, 0, 'f', 0, 12, 0, 0, 0, 16, 'x', 0, 1, 0, 0, 0, 0};
    b.bytes(Type::code_with_scope, "cws", scoped);
    return b.object();
}

uint64_t touch(Doc doc);

// Reads everything the views offer; returns something that depends on every byte read.
uint64_t touch(const Element& e) {
    uint64_t sum = e.name().size() + e.size();
    for (uint8_t byte : e.value_bytes())
        sum += byte;
    switch (e.type()) {
        case Type::object:
        case Type::array:
            return sum + touch(e.as_doc());
        case Type::code_with_scope:
            return sum + e.code_text().size() + touch(e.code_scope());
        case Type::string:
        case Type::symbol:
        case Type::code:
            return sum + e.as_string().size();
        case Type::binary:
            return sum + e.binary_data().size() + e.binary_subtype();
        case Type::regex:
            return sum + e.regex_pattern().size() + e.regex_flags().size();
        default:
            return sum + static_cast<uint64_t>(e.to_int64());
    }
}

uint64_t touch(Doc doc) {
    uint64_t sum = 0;
    for (const Element& e : doc)
        sum += touch(e);
    return sum;
}

TEST(Validate, AcceptsEveryType) {
    EXPECT_EQ(check(copy(Object().doc())), "");
    EXPECT_EQ(check(copy(all_types().doc())), "");
}

TEST(Validate, IgnoresBytesBehindTheDocument) {
    Bytes bytes = copy(all_types().doc());
    bytes.insert(bytes.end(), {9, 9, 9});
    EXPECT_EQ(check(bytes), "");
}

TEST(Validate, RefusesEveryTruncation) {
    const Bytes bytes = copy(all_types().doc());
    for (size_t n = 0; n < bytes.size(); ++n)
        EXPECT_NE(check(bytes, n), "") << n;
}

TEST(Validate, RefusesBadDocumentSizes) {
    for (const Bytes& bytes : {Bytes{4, 0, 0, 0, 0}, Bytes{0, 0, 0, 0, 0}, Bytes{6, 0, 0, 0, 0},
                               Bytes{0xff, 0xff, 0xff, 0xff, 0}, Bytes{5, 0, 0, 0x80, 0},
                               Bytes{5, 0, 0, 0, 1}, Bytes{6, 0, 0, 0, 0, 0}})
        EXPECT_NE(check(bytes), "");
}

TEST(Validate, RefusesUnknownTypes) {
    for (int type = 1; type < 256; ++type) {
        const bool known = (type >= 1 && type <= 18) || type == 0x13 || type == 127 || type == 255;
        if (known) continue;
        EXPECT_NE(check(document(static_cast<uint8_t>(type), Bytes(16, 0))).find("unknown type"),
                  std::string::npos)
            << type;
    }
}

TEST(Validate, ChecksBooleans) {
    EXPECT_EQ(check(document(8, {0})), "");
    EXPECT_EQ(check(document(8, {1})), "");
    EXPECT_NE(check(document(8, {2})), "");
    EXPECT_NE(check(document(8, {})), "");
}

TEST(Validate, ChecksStrings) {
    EXPECT_EQ(check(document(2, {1, 0, 0, 0, 0})), "");
    EXPECT_EQ(check(document(2, {3, 0, 0, 0, 'x', 0, 0})), "");  // a NUL inside is fine
    EXPECT_NE(check(document(2, {0, 0, 0, 0})), "");
    EXPECT_NE(check(document(2, {0, 0, 0, 0, 0})), "");
    EXPECT_NE(check(document(2, {2, 0, 0, 0, 'x', 'y'})), "");
    EXPECT_NE(check(document(2, {0xff, 0xff, 0xff, 0xff, 0})), "");
    // The stated end would be the terminator of the document.
    EXPECT_NE(check(document(2, {2, 0, 0, 0, 'x'})), "");
    EXPECT_NE(check(document(14, {0xfe, 0xff, 0xff, 0xff, 'f', 0})), "");
}

TEST(Validate, ChecksBinary) {
    EXPECT_EQ(check(document(5, {1, 0, 0, 0, 0, 7})), "");
    EXPECT_EQ(check(document(5, {0, 0, 0, 0, 0})), "");
    EXPECT_NE(check(document(5, {2, 0, 0, 0, 0, 7})), "");
    EXPECT_NE(check(document(5, {0xff, 0xff, 0xff, 0xff, 0})), "");
    EXPECT_NE(check(document(5, {0, 0, 0, 0})), "");
}

TEST(Validate, ChecksCodeWithScope) {
    const Bytes good = {16, 0, 0, 0, 3, 0, 0, 0, 'f', 'g', 0, 5, 0, 0, 0, 0};
    EXPECT_EQ(check(document(15, good)), "");
    for (uint8_t wrong_total : {0, 8, 13, 14, 15, 17, 255}) {
        Bytes bad = good;
        bad[0] = wrong_total;
        EXPECT_NE(check(document(15, bad)), "") << int{wrong_total};
    }
    // A scope that stops before the stated total.
    EXPECT_NE(check(document(15, {17, 0, 0, 0, 3, 0, 0, 0, 'f', 'g', 0, 5, 0, 0, 0, 0, 0})), "");
}

TEST(Validate, ChecksNestedDocuments) {
    EXPECT_EQ(check(document(3, {5, 0, 0, 0, 0})), "");
    EXPECT_NE(check(document(3, {4, 0, 0, 0, 0})), "");
    EXPECT_NE(check(document(3, {6, 0, 0, 0, 0})), "");
    EXPECT_NE(check(document(3, {6, 0, 0, 0, 0, 0})), "");  // ends before its stated size
    EXPECT_NE(check(document(4, {0xe8, 3, 0, 0, 16, 'x', 0, 1, 0, 0, 0, 0})), "");
}

TEST(Validate, NamesTheOffset) {
    EXPECT_NE(check(document(8, {9})).find("at byte 7"), std::string::npos);
}

Bytes nested(int depth) {
    Bytes bytes = {5, 0, 0, 0, 0};
    for (int i = 1; i < depth; ++i) {
        const auto size = static_cast<uint32_t>(bytes.size() + 8);
        Bytes outer = {static_cast<uint8_t>(size),
                       static_cast<uint8_t>(size >> 8),
                       static_cast<uint8_t>(size >> 16),
                       static_cast<uint8_t>(size >> 24),
                       3,
                       'a',
                       0};
        outer.insert(outer.end(), bytes.begin(), bytes.end());
        outer.push_back(0);
        bytes = std::move(outer);
    }
    return bytes;
}

TEST(Validate, TakesDecimal128AndNoTypeBehindIt) {
    Bytes bytes = {24, 0, 0, 0, 0x13, 'a', 0};
    bytes.resize(24);
    Defect defect = Defect::damaged;
    EXPECT_EQ(validate(bytes.data(), bytes.size(), &defect), "");
    EXPECT_EQ(defect, Defect::none);
    Bytes cut = {23, 0, 0, 0, 0x13, 'a', 0};
    cut.resize(23);
    EXPECT_NE(validate(cut.data(), cut.size(), &defect), "");
    bytes[4] = 0x14;
    EXPECT_NE(validate(bytes.data(), bytes.size(), &defect), "");
    EXPECT_EQ(defect, Defect::damaged);
}

TEST(Validate, BoundsTheNesting) {
    Defect defect = Defect::damaged;
    Bytes bytes = nested(kDepthMax);
    EXPECT_EQ(validate(bytes.data(), bytes.size(), &defect), "");
    EXPECT_EQ(defect, Defect::none);
    bytes = nested(kDepthMax + 1);
    EXPECT_NE(validate(bytes.data(), bytes.size(), &defect), "");
    EXPECT_EQ(defect, Defect::too_deep);
    bytes = nested(3000);
    EXPECT_NE(validate(bytes.data(), bytes.size(), &defect), "");
    EXPECT_EQ(defect, Defect::too_deep);
}

TEST(Validate, ADocumentThatIsTooDeepIsCalledByItsName) {
    Bytes bytes = nested(kDepthMax);
    check_depth(Doc(bytes.data()), "a result");
    bytes = nested(kDepthMax + 1);
    try {
        check_depth(Doc(bytes.data()), "a result");
        FAIL() << "it is too deep";
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), base::kOverflow);
        EXPECT_STREQ(e.what(), "a result is nested deeper than 1024 levels");
    }
}

// Whatever passes can be read in full without leaving the bytes; the sanitizers watch.
TEST(Validate, MutatedDocumentsAreRefusedOrSafeToRead) {
    const Bytes original = copy(all_types().doc());
    std::mt19937 random(20140323);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    int accepted = 0;
    int refused = 0;
    uint64_t sum = 0;
    for (int round = 0; round < 60000; ++round) {
        Bytes bytes = original;
        const size_t changes = 1 + below(4);
        for (size_t i = 0; i < changes; ++i) {
            static constexpr uint8_t kNasty[] = {0, 1, 2, 3, 4, 5, 15, 18, 127, 128, 255};
            bytes[below(bytes.size())] =
                below(2) == 0 ? static_cast<uint8_t>(random()) : kNasty[below(std::size(kNasty))];
        }
        if (below(4) == 0) bytes.resize(below(bytes.size() + 1));
        const std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
        std::copy(bytes.begin(), bytes.end(), exact.get());
        if (validate(exact.get(), bytes.size()).empty()) {
            ++accepted;
            sum += touch(Doc(exact.get()));
        } else {
            ++refused;
        }
    }
    EXPECT_GT(accepted, 1000);
    EXPECT_GT(refused, 1000);
    EXPECT_NE(sum, 0u);
}

}  // namespace
}  // namespace bson
