// Shows what the recorded cases do not: changes in place, touched paths, large values.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "dialect/dialect.h"
#include "query/update/update.h"
#include "query/update/update_base.h"

namespace query {
namespace {

struct Applied {
    std::unique_ptr<Update> update;  // owns the bytes of the patches
    UpdateResult result;
    bson::Buffer out;
};

Applied apply(const char* update, const char* doc, int64_t position = -1,
              dialect::Dialect dialect = dialect::kToday) {
    Applied applied;
    MatchDetails details;
    details.has_index = position >= 0;
    details.array_index = static_cast<uint32_t>(position);
    applied.update = Update::parse(bson::parse_test_json(update), {.dialect = dialect});
    applied.result = applied.update->apply(bson::parse_test_json(doc), details, applied.out);
    return applied;
}

int error_of(const char* update, const char* doc, dialect::Dialect dialect = dialect::kToday) {
    try {
        apply(update, doc, -1, dialect);
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

TEST(Update, FixedWidthChangesArePatches) {
    const Applied applied = apply(R"({"$inc": {"a.b": {"$numberInt": "2"}}})",
                                  R"({"_id": 1, "a": {"b": {"$numberInt": "40"}}})");
    EXPECT_TRUE(applied.result.changed);
    EXPECT_TRUE(applied.result.in_place);
    ASSERT_EQ(applied.result.patches.size(), 1U);
    EXPECT_EQ(applied.result.patches[0].size, 4);
    EXPECT_EQ(bson::load<int32_t>(applied.result.patches[0].bytes), 42);
    EXPECT_EQ(applied.result.touched_paths, std::vector<std::string>{"a.b"});
    EXPECT_EQ(applied.out.size(), 0U);
}

TEST(Update, ChangesOfTypeAreNoPatches) {
    const Applied applied = apply(R"({"$inc": {"a": {"$numberInt": "1"}}})",
                                  R"({"_id": 1, "a": {"$numberInt": "2147483647"}})");
    EXPECT_TRUE(applied.result.changed);
    EXPECT_FALSE(applied.result.in_place);
    EXPECT_TRUE(applied.result.patches.empty());
    const bson::Element a = bson::Doc(applied.out.data())["a"];
    EXPECT_EQ(a.type(), bson::Type::int64);
    EXPECT_EQ(a.as_int64(), 2147483648);
}

TEST(Update, LongValuesOfOneSizeArePatches) {
    const auto update = Update::parse(
        bson::parse_test_json(R"({"$set": {"a": "0123456789abcdefghij", "b": {"c": "y"}}})"), {});
    const bson::Object doc =
        bson::parse_test_json(R"({"_id": 1, "a": "jihgfedcba9876543210", "b": {"c": "x"}})");
    bson::Buffer out;
    const UpdateResult result = update->apply(doc, MatchDetails(), out);
    EXPECT_TRUE(result.in_place);
    ASSERT_EQ(result.patches.size(), 2U);
    std::vector<uint8_t> bytes(doc.bytes().begin(), doc.bytes().end());
    for (const bson::Patch& patch : result.patches) {
        std::copy_n(patch.bytes, patch.size, bytes.begin() + patch.offset);
    }
    const bson::Doc now(bytes.data());
    EXPECT_EQ(now["a"].as_string(), "0123456789abcdefghij");
    EXPECT_EQ(now["b"].as_doc()["c"].as_string(), "y");
}

TEST(Update, ValuesOfOneSizeAreStillChecked) {
    const char* update = R"({"$set": {"a": {"$x": 1}}})";
    const char* doc = R"({"_id": 1, "a": {"yy": 1}})";
    EXPECT_EQ(error_of(update, doc, dialect::kV26), base::kDollarPrefixedFieldName);
    EXPECT_EQ(error_of(update, doc), 0);
}

TEST(Update, PatchesInsideArraysAtThePosition) {
    const Applied applied =
        apply(R"({"$set": {"a.$": {"$numberInt": "9"}}})",
              R"({"_id": 1, "a": [{"$numberInt": "1"}, {"$numberInt": "2"}]})", 1);
    EXPECT_TRUE(applied.result.in_place);
    EXPECT_EQ(applied.result.touched_paths, std::vector<std::string>{"a.1"});
}

TEST(Update, OneUpdateFollowsThePositionOfEachDocument) {
    const auto update =
        Update::parse(bson::parse_test_json(R"({"$set": {"a.$": "x"}})"), {true, false});
    EXPECT_TRUE(update->needs_details());
    for (const uint32_t index : {0U, 2U, 1U}) {
        MatchDetails details;
        details.has_index = true;
        details.array_index = index;
        bson::Buffer out;
        update->apply(bson::parse_test_json(R"({"_id": 1, "a": [[], [], []]})"), details, out);
        EXPECT_EQ(bson::Doc(out.data()).at_path("a." + std::to_string(index)).as_string(), "x");
    }
}

TEST(Update, NothingToDoLeavesTheBufferAlone) {
    bson::Buffer out;
    out.append_byte(7);
    const auto update = Update::parse(bson::parse_test_json(R"({"$unset": {"b": 1}})"), {});
    EXPECT_FALSE(update->apply(bson::parse_test_json(R"({"_id": 1})"), {}, out).changed);
    EXPECT_EQ(out.size(), 1U);
}

TEST(Update, EmptyModifiersAreAnErrorUnlessTakenForNothing) {
    EXPECT_EQ(error_of(R"({"$set": {}})", R"({"_id": 1})", dialect::kV26), base::kFailedToParse);
    const auto update =
        Update::parse(bson::parse_test_json(R"({"$set": {}, "$setOnInsert": {}, "$push": {}})"),
                      {.dialect = dialect::kToday});
    bson::Buffer out;
    EXPECT_FALSE(update->apply(bson::parse_test_json(R"({"_id": 1, "a": 2})"), {}, out).changed);
    update->build_upsert(*Matcher::parse(bson::parse_test_json(R"({"_id": 5, "a": 1})")), out);
    EXPECT_EQ(
        bson::compare_docs(bson::Doc(out.data()), bson::parse_test_json(R"({"_id": 5, "a": 1})")),
        0);
}

TEST(Update, PullsByBitsWhatKnowsThem) {
    const char* old = R"({"_id": 1, "a": [1, 2, 3, "x"], "o": [{"b": 1}, {"b": 2}]})";
    const auto pulled = [&](const char* update) {
        const Applied applied = apply(update, old);
        return bson::to_text(bson::Doc(applied.out.data()));
    };
    EXPECT_EQ(pulled(R"({"$pull": {"a": {"$bitsAllSet": 2}}})"),
              R"({ _id: 1, a: [ 1, "x" ], o: [ { b: 1 }, { b: 2 } ] })");
    EXPECT_EQ(pulled(R"({"$pull": {"o": {"b": {"$bitsAnyClear": [0]}}}})"),
              R"({ _id: 1, a: [ 1, 2, 3, "x" ], o: [ { b: 1 } ] })");
    for (const char* update : {R"({"$pull": {"a": {"$bitsAllSet": 2}}})",
                               R"({"$pull": {"o": {"b": {"$bitsAllSet": 2}}}})"})
        EXPECT_NE(error_of(update, old, dialect::kV26), 0) << update;
    EXPECT_EQ(error_of(R"({"$pull": {"a": {"$bitsAllSet": -2}}})", old), base::kFailedToParse);
}

TEST(Update, DecimalsAreKeptAsGiven) {
    const char* old = R"({"_id": 1, "a": 1, "d": {"$numberDecimal": "1.5"}})";
    EXPECT_TRUE(apply(R"({"$set": {"a": {"$numberDecimal": "1.00"}}})", old).result.changed);
    EXPECT_TRUE(apply(R"({"$set": {"d": {"$numberDecimal": "1.50"}}})", old).result.changed);
    EXPECT_FALSE(apply(R"({"$set": {"d": {"$numberDecimal": "1.5"}}})", old).result.changed);
    EXPECT_FALSE(apply(R"({"$max": {"d": {"$numberDecimal": "1.4"}}})", old).result.changed);
    EXPECT_TRUE(apply(R"({"$min": {"d": {"$numberDecimal": "1.4"}}})", old).result.changed);
    for (const char* update : {R"({"$inc": {"d": 1}})", R"({"$mul": {"d": 1}})",
                               R"({"$inc": {"a": {"$numberDecimal": "1"}}})",
                               R"({"$inc": {"none": {"$numberDecimal": "1"}}})",
                               R"({"$mul": {"none": {"$numberDecimal": "1"}}})"})
        EXPECT_NE(error_of(update, old, dialect::kV26), 0) << update;
}

TEST(Update, DecimalsAreCalculatedWithForClientsOfToday) {
    const char* old = R"({"_id": 1, "a": 1, "d": {"$numberDecimal": "1.50"}, "s": "x",
                             "r": {"$numberDouble": "0.5"}})";
    struct Case {
        const char* update;
        const char* field;
        const char* now;
    };
    for (const Case& c :
         {Case{R"("$inc": {"d": 1})", "d", "2.50"},
          {R"("$inc": {"a": {"$numberDecimal": "1.0"}})", "a", "2.0"},
          {R"("$mul": {"r": {"$numberDecimal": "3"}})", "r", "1.500000000000000"},
          {R"("$inc": {"n": {"$numberDecimal": "1E+3"}})", "n", "1E+3"},
          {R"("$mul": {"n": {"$numberDecimal": "1.5"}})", "n", "0.0"},
          {R"("$mul": {"d": {"$numberDouble": "-1.5"}})", "d", "-2.2500000000000000"}}) {
        // A new field, so that the document is written anew.
        const std::string update = "{" + std::string(c.update) + R"(, "$set": {"z": 1}})";
        const Applied applied = apply(update.c_str(), old);
        const bson::Doc now(applied.out.data());
        EXPECT_EQ(bson::to_text(now[c.field]), "NumberDecimal('" + std::string(c.now) + "')")
            << update;
    }
    EXPECT_TRUE(apply(R"({"$inc": {"d": 1}})", old).result.in_place);
    EXPECT_FALSE(apply(R"({"$inc": {"d": 0}})", old).result.changed);
    EXPECT_FALSE(apply(R"({"$mul": {"d": {"$numberDecimal": "1"}}})", old).result.changed);
    EXPECT_TRUE(apply(R"({"$inc": {"d": {"$numberDecimal": "0.000"}}})", old).result.changed);
    EXPECT_EQ(error_of(R"({"$inc": {"s": {"$numberDecimal": "1"}}})", old), base::kTypeMismatch);
}

TEST(Update, NestingIsLimited) {
    std::string path = "a";
    for (int i = 0; i < bson::kDepthMax + 50; ++i)
        path += ".a";
    const std::string update = R"({"$set": {")" + path + R"(": 1}})";
    EXPECT_EQ(error_of(update.c_str(), R"({"_id": 1})"), base::kOverflow);
}

TEST(Update, PaddingIsLimited) {
    for (const char* array : {"[]", "[1]", "[1, 2, 3, 4]"}) {
        const std::string doc = R"({"_id": 1, "a": )" + std::string(array) + "}";
        EXPECT_EQ(error_of(R"({"$set": {"a.1500000": 1}})", doc.c_str()), 0);
        EXPECT_EQ(error_of(R"({"$set": {"a.1500001": 1}})", doc.c_str()),
                  base::kCannotBackfillArray);
    }
}

TEST(Update, FailuresHaveOneCodeByTheOldMessages) {
    constexpr int kAnyFailure = 16837;
    const char* doc = R"({"_id": 1, "a": 5, "b": [1]})";
    for (const char* update :
         {R"({"$set": {"a.b": 1}})", R"({"$push": {"a": 1}})", R"({"$set": {"b.1500001": 1}})",
          R"({"$set": {"b": 1, "b.0": 2}})", R"({"$set": {"b.$": 2}})", R"({"_id": 2})"})
        EXPECT_EQ(error_of(update, doc, dialect::kV26), kAnyFailure) << update;
    EXPECT_EQ(error_of(R"({"$set": {"a.b": 1}})", doc), base::kPathNotViable);
    EXPECT_EQ(error_of(R"({"_id": 2})", doc), base::kImmutableField);
    // A fault of the result keeps its own code.
    EXPECT_EQ(error_of(R"({"$set": {"c": {"$x": 1}}})", doc, dialect::kV26),
              base::kDollarPrefixedFieldName);
    EXPECT_EQ(error_of(R"({"$set": {"_id": 2}})", doc, dialect::kV26), base::kImmutableField);
}

// tests/reports/writes.jsonl has what they do to documents.
TEST(Update, PlacesOfArrayFilters) {
    const auto filtered = [](const char* update, const char* filters, const char* doc) {
        const bson::Object given = bson::parse_test_json(filters);
        Applied applied;
        applied.update = Update::parse(bson::parse_test_json(update),
                                       {.dialect = dialect::kToday, .array_filters = given["f"]});
        applied.result =
            applied.update->apply(bson::parse_test_json(doc), MatchDetails(), applied.out);
        return applied;
    };
    const char* doc = R"({"_id": 1, "a": [{"n": 1}, {"n": 2}, {"n": 3}]})";
    const Applied some =
        filtered(R"({"$inc": {"a.$[x].n": 5}})", R"({"f": [{"x.n": {"$gte": 2}}]})", doc);
    EXPECT_TRUE(some.result.in_place);
    EXPECT_EQ(some.result.patches.size(), 2U);
    EXPECT_EQ(some.result.touched_paths, std::vector<std::string>{"a.1.n"});
    const Applied none =
        filtered(R"({"$inc": {"a.$[x].n": 5}})", R"({"f": [{"x.n": {"$gt": 3}}]})", doc);
    EXPECT_FALSE(none.result.changed);
    // One update, other documents.
    const Applied all = filtered(R"({"$set": {"a.$[].m": true}})", "{}", doc);
    EXPECT_EQ(bson::to_text(bson::Doc(all.out.data())),
              "{ _id: 1, a: [ { n: 1, m: true }, { n: 2, m: true }, { n: 3, m: true } ] }");
    bson::Buffer out;
    all.update->apply(bson::parse_test_json(R"({"a": [{}], "b": 1})"), MatchDetails(), out);
    EXPECT_EQ(bson::to_text(bson::Doc(out.data())), "{ a: [ { m: true } ], b: 1 }");
    // The old messages take it for the name of a field.
    EXPECT_EQ(error_of(R"({"$set": {"a.$[].b": 1}})", R"({"_id": 1})"), base::kBadValue);
    EXPECT_EQ(error_of(R"({"$set": {"a.$[x]": 1}})", R"({"_id": 1})", dialect::kV26),
              error_of(R"({"$set": {"a.$y": 1}})", R"({"_id": 1})", dialect::kV26));
}

TEST(Update, NamesWithDollarsOnTheWayAreRefused) {
    const char* doc = R"({"_id": 1, "a": {"b": 1}, "$d": {"b": 1}})";
    for (const char* path : {"$x.b", "$d.b", "a.$x.b", "$d", "a.$x"}) {
        const std::string update = fmt::format(R"({{"$set": {{"{}": 2}}}})", path);
        EXPECT_EQ(error_of(update.c_str(), doc), base::kDollarPrefixedFieldName) << path;
    }
    EXPECT_EQ(error_of(R"({"$set": {"$.b": 2}})", doc), base::kBadValue);
    EXPECT_EQ(error_of(R"({"$set": {"$": 2}})", doc), base::kBadValue);
    EXPECT_EQ(error_of(R"({"$unset": {"$.b": 2}})", doc), base::kBadValue);
    EXPECT_EQ(error_of(R"({"$rename": {"a": "$x.b"}})", doc), base::kDollarPrefixedFieldName);
    EXPECT_EQ(error_of(R"({"$set": {"a.$id.b": 2}})", doc), base::kInvalidDBRef);
    // The old messages check only the last name.
    EXPECT_EQ(error_of(R"({"$set": {"$x.b": 2}})", doc, dialect::kV26), 0);
}

TEST(Update, ClausesThatAddToSetIgnoresAreRefusedByName) {
    const char* doc = R"({"_id": 1, "a": [1, 2]})";
    for (const char* update : {R"({"$addToSet": {"a": {"$each": [3], "$slice": 1}}})",
                               R"({"$addToSet": {"a": {"$each": [3], "x": 1}}})"}) {
        EXPECT_EQ(error_of(update, doc), base::kBadValue) << update;
        EXPECT_EQ(error_of(update, doc, dialect::kV26), 0) << update;
    }
    EXPECT_EQ(error_of(R"({"$addToSet": {"a": {"$each": [3]}}})", doc), 0);
}

TEST(Update, ResultIsLimited) {
    const std::string big(10 * 1024 * 1024, 'x');
    const std::string doc = R"({"_id": 1, "a": ")" + big + "\"}";
    const std::string update = R"({"$set": {"b": ")" + big + "\"}}";
    EXPECT_EQ(error_of(update.c_str(), doc.c_str()), 17419);
}

TEST(Update, TwoSpellingsOfOneIndexConflict) {
    EXPECT_EQ(error_of(R"({"$set": {"a.0": 1, "a.00": 2}})", R"({"_id": 1, "a": [5]})"),
              base::kConflictingUpdateOperators);
    EXPECT_EQ(error_of(R"({"$set": {"a.0": 1, "a.00": 2}})", R"({"_id": 1, "a": {}})"), 0);
}

TEST(Update, ReplacementByTheSameBytesChangesNothing) {
    const char* doc = R"({"_id": 1, "x": "y"})";
    EXPECT_FALSE(apply(doc, doc).result.changed);
    // Without the _id the old server counted a change.
    EXPECT_TRUE(apply(R"({"x": "y"})", doc).result.changed);
}

// A replacement is copied in pieces around its `_id`s.
TEST(Update, ReplacementHasItsIdFirstAndOnce) {
    bson::Builder source, expected;
    expected.append("_id", int32_t{1});
    for (int i = 0; i < 10'000; ++i) {  // 190 KB
        if (i % 4'000 == 0) source.append("_id", int32_t{1});
        const std::string name = "field" + std::to_string(i);
        source.append(name, 0.5 * i);
        expected.append(name, 0.5 * i);
    }
    source.append("_id", int32_t{1});
    bson::Buffer out;
    const std::unique_ptr<Update> update = Update::parse(source.object(), {});
    EXPECT_TRUE(update->apply(bson::parse_test_json(R"({"_id": 1})"), {}, out).changed);
    EXPECT_TRUE(std::ranges::equal(bson::Doc(out.data()).bytes(), expected.object().doc().bytes()));
    out.clear();
    update->build_upsert(*Matcher::parse(bson::parse_test_json("{}")), out);
    EXPECT_TRUE(std::ranges::equal(bson::Doc(out.data()).bytes(), expected.object().doc().bytes()));
    out.clear();
    const std::unique_ptr<Update> nothing = Update::parse(bson::Doc(), {});
    EXPECT_TRUE(nothing->apply(bson::parse_test_json(R"({"_id": 1, "a": 1})"), {}, out).changed);
    EXPECT_EQ(bson::to_text(bson::Doc(out.data())), "{ _id: 1 }");
}

TEST(FixForInsert, LeavesGoodDocumentsAlone) {
    bson::Buffer out;
    EXPECT_FALSE(fix_for_insert(bson::parse_test_json(R"({"_id": 1, "a": 1})"), true, out));
    EXPECT_FALSE(fix_for_insert(bson::parse_test_json(R"({"a": 1})"), false, out));
    EXPECT_EQ(out.size(), 0U);
}

TEST(FixForInsert, TimestampsGrow) {
    const uint64_t first = next_timestamp();
    EXPECT_LT(first, next_timestamp());
}

// A name ends at a NUL: what follows would be read as the value.
TEST(Update, NoPathHoldsANul) {
    for (const char* update :
         {R"({"$rename": {"a": "b\u0000c"}})", R"({"$rename": {"a": "\u0000"}})",
          R"({"$rename": {"a": "b.c\u0000"}})"})
        EXPECT_EQ(error_of(update, R"({"_id": 1, "a": 1})"), base::kBadValue) << update;
}

std::string renamed(const char* update, const char* doc,
                    dialect::Dialect dialect = dialect::kToday) {
    const Applied applied = apply(update, doc, -1, dialect);
    return applied.result.changed ? bson::to_text(bson::Doc(applied.out.data())) : "unchanged";
}

// The old server moved what there was of the path, here all of `a`.
TEST(Update, RenamesOfMissingFieldsChangeNothing) {
    const char* doc = R"({"_id": 1, "a": {"x": 2}, "l": [{"k": 1}, 5]})";
    for (const char* update : {R"({"$rename": {"a.new.k": "b"}})", R"({"$rename": {"a.new": "b"}})",
                               R"({"$rename": {"a.new": "x"}})", R"({"$rename": {"b.new": "c"}})",
                               R"({"$rename": {"b": "a.x"}})", R"({"$rename": {"a.new": "a.y"}})",
                               R"({"$rename": {"a.new.k": "a.y.z"}})",
                               R"({"$rename": {"l.7": "b"}})", R"({"$rename": {"l.0.new": "b"}})"})
        EXPECT_EQ(renamed(update, doc), "unchanged") << update;
    // Through a value that holds nothing, and out of an array.
    EXPECT_EQ(error_of(R"({"$rename": {"a.x.y": "b"}})", doc), base::kPathNotViable);
    EXPECT_EQ(error_of(R"({"$rename": {"l.0.k": "b"}})", doc), base::kBadValue);
    EXPECT_EQ(renamed(R"({"$rename": {"a.new": "b"}, "$set": {"c": 1}})", doc),
              renamed(R"({"$set": {"c": 1}})", doc));
}

TEST(Update, RenamesSeeWhatModifiersBeforeThemLeft) {
    const char* doc = R"({"_id": 1, "a": {"x": 2}, "c": 3})";
    // The first finds nothing, and so does not stand in the way of the second.
    EXPECT_EQ(renamed(R"({"$rename": {"a.new": "b", "a.x": "b"}})", doc, dialect::kV26),
              renamed(R"({"$rename": {"a.x": "b"}})", doc, dialect::kV26));
    EXPECT_EQ(error_of(R"({"$rename": {"a.new": "b", "a.x": "b"}})", doc),
              base::kConflictingUpdateOperators);
    EXPECT_EQ(renamed(R"({"$set": {"a.y": 1}, "$rename": {"a.new": "b"}})", doc),
              renamed(R"({"$set": {"a.y": 1}})", doc));
    EXPECT_EQ(error_of(R"({"$set": {"n": 1}, "$rename": {"n": "b"}})", doc),
              base::kConflictingUpdateOperators);
}

// The old messages ask that a path of $setOnInsert leads somewhere in what the operators before it
// made, even if nothing is inserted; by OP_MSG it must not touch those of others.
TEST(Update, SetOnInsertBehindWhatClosesItsPath) {
    const char* doc = R"({"_id": 1, "a": {"x": {"y": 2}}, "b": 3, "l": [1, [2]]})";
    for (const char* before :
         {R"("$set": {"a": 3})", R"("$set": {"a.x": "s"})", R"("$set": {"a": [1]})",
          R"("$min": {"a": 0})", R"("$max": {"a.x": {"$date": {"$numberLong": "1"}}})",
          R"("$currentDate": {"a": true})", R"("$rename": {"b": "a"})"}) {
        const std::string insert = R"("$setOnInsert": {"n": 1, "a.x.y": 1})";
        for (const std::string& update : {"{" + std::string(before) + ", " + insert + "}",
                                          "{" + insert + ", " + before + "}"}) {
            const bool comes_first = update.starts_with("{\"$setOnInsert");
            EXPECT_EQ(error_of(update.c_str(), doc, dialect::kV26), comes_first ? 0 : kUpdateFailed)
                << update;
            EXPECT_EQ(error_of(update.c_str(), doc), base::kConflictingUpdateOperators) << update;
        }
    }
    for (const char* fine : {R"({"$set": {"a": {"x": 1}}, "$setOnInsert": {"a.z": 1}})",
                             R"({"$unset": {"a": 1}, "$setOnInsert": {"a.x": 1}})",
                             R"({"$set": {"a": 3}, "$setOnInsert": {"a": 1}})",
                             R"({"$set": {"a.x": 3}, "$setOnInsert": {"a": 1}})",
                             R"({"$rename": {"a": "c"}, "$setOnInsert": {"a.x.y.z": 1}})",
                             R"({"$pop": {"l": 1}, "$setOnInsert": {"l.1.0": 1}})"}) {
        EXPECT_EQ(error_of(fine, doc, dialect::kV26), 0) << fine;
        EXPECT_EQ(error_of(fine, doc), base::kConflictingUpdateOperators) << fine;
    }
    for (const char* fine :
         {R"({"$set": {"a.x": 3}, "$setOnInsert": {"a.z.u": 1}})",
          R"({"$set": {"b": 4}, "$setOnInsert": {"a.x.z": 1}})", R"({"$setOnInsert": {"a.z": 1}})"})
        EXPECT_EQ(error_of(fine, doc), 0) << fine;
    const char* closed = R"({"$setOnInsert": {"b.x": 1}})";
    EXPECT_EQ(error_of(closed, doc, dialect::kV26), kUpdateFailed);
    EXPECT_EQ(error_of(closed, doc), 0);
}

TEST(Update, ReplacementsFillTimestamps) {
    const char* zero = R"({"$timestamp": {"t": 0, "i": 0}})";
    const std::string update = std::string(R"({"_id": 1, "x": 1, "t": )") + zero + R"(, "u": )" +
                               zero + R"(, "n": {"t": )" + zero + "}}";
    const Applied applied = apply(update.c_str(), R"({"_id": 1})");
    const bson::Doc now(applied.out.data());
    EXPECT_GT(now["t"].as_timestamp(), 0U);
    EXPECT_GT(now["u"].as_timestamp(), now["t"].as_timestamp());
    EXPECT_EQ(now["n"].as_doc()["t"].as_timestamp(), 0U);
    bson::Buffer out;
    applied.update->build_upsert(*Matcher::parse(bson::parse_test_json(R"({"_id": 1})")), out);
    EXPECT_GT(bson::Doc(out.data())["t"].as_timestamp(), 0U);
    // A modifier's operand is a value like any other.
    const Applied set =
        apply((std::string(R"({"$set": {"t": )") + zero + "}}").c_str(), R"({"_id": 1, "t": 5})");
    EXPECT_EQ(bson::Doc(set.out.data())["t"].as_timestamp(), 0U);
}

TEST(Update, NewFieldsComeInTheOrderOfTheirNames) {
    struct {
        const char* update;
        const char* now;
        const char* before;
    } const cases[] = {
        {R"({"$set": {"z": 1, "y": 2}})", "{ m: 0, y: 2, z: 1 }", "{ m: 0, z: 1, y: 2 }"},
        {R"({"$set": {"z": 1}, "$inc": {"b": 1}})", "{ m: 0, b: 1, z: 1 }", "{ m: 0, z: 1, b: 1 }"},
        {R"({"$set": {"o.z": 1, "m": 5, "o.a": 2, "a": 3}})", "{ m: 5, a: 3, o: { a: 2, z: 1 } }",
         "{ m: 5, o: { z: 1, a: 2 }, a: 3 }"},
        {R"({"$set": {"o.10": 1, "o.9": 2, "o.x": 3, "o.1a": 4}})",
         "{ m: 0, o: { 9: 2, 10: 1, 1a: 4, x: 3 } }", "{ m: 0, o: { 10: 1, 9: 2, x: 3, 1a: 4 } }"},
        {R"({"$set": {"a.b": 1, "a-b": 2}})", "{ m: 0, a: { b: 1 }, a-b: 2 }",
         "{ m: 0, a: { b: 1 }, a-b: 2 }"},
        {R"({"$rename": {"m": "z"}, "$set": {"y": 1}})", "{ z: 0, y: 1 }", "{ z: 0, y: 1 }"},
    };
    for (const auto& c : cases) {
        for (const dialect::Dialect dialect : {dialect::kToday, dialect::kV26}) {
            const Applied applied = apply(c.update, R"({"m": 0})", -1, dialect);
            EXPECT_EQ(bson::to_text(bson::Doc(applied.out.data())),
                      dialect.is_today() ? c.now : c.before)
                << c.update;
        }
    }
}

TEST(Update, SetOfAnEqualNumberOfAnotherTypeCountsToday) {
    const char* update = R"({"$set": {"a": {"$numberLong": "1"}}})";
    EXPECT_FALSE(apply(update, R"({"_id": 1, "a": 1})", -1, dialect::kV26).result.changed);
    EXPECT_TRUE(apply(update, R"({"_id": 1, "a": 1})").result.changed);
    EXPECT_FALSE(apply(update, R"({"_id": 1, "a": {"$numberLong": "1"}})").result.changed);
}

TEST(Update, PullTakesLogicalConditionsToday) {
    const char* doc = R"({"_id": 1, "a": [{"x": 1}, {"x": 2}, {"x": 3}]})";
    for (const char* condition :
         {R"({"$or": [{"x": 1}, {"x": 2}]})", R"({"$nor": [{"x": 3}]})",
          R"({"$and": [{"x": {"$lt": 3}}]})", R"({"$comment": "c", "x": {"$lte": 2}})"}) {
        const std::string update = fmt::format(R"({{"$pull": {{"a": {}}}}})", condition);
        Applied applied = apply(update.c_str(), doc);
        const bson::Doc now =
            updated_document(bson::parse_test_json(doc), applied.result, applied.out);
        EXPECT_EQ(now["a"].as_doc().field_count(), 1) << condition;
    }
    EXPECT_TRUE(
        apply(R"({"$pull": {"a": {"$eq": 1}}})", R"({"_id": 1, "a": [1, 2]})").result.changed);
}

TEST(Update, OneIdAndTimestampsOfToday) {
    bson::Buffer out;
    const bson::Object twice = bson::parse_test_json(R"({"_id": 1, "a": 1, "_id": 2})");
    EXPECT_FALSE(fix_for_insert(twice, true, out));
    EXPECT_THROW(fix_for_insert(twice, true, out, dialect::kToday), base::Error);
    const bson::Object stamp =
        bson::parse_test_json(R"({"_id": 1, "a": {"$timestamp": {"t": 0, "i": 0}}})");
    EXPECT_FALSE(fix_for_insert(stamp, true, out, dialect::kToday, false));
    out.clear();
    EXPECT_TRUE(fix_for_insert(stamp, true, out, dialect::kToday));
}

TEST(Update, UpsertByAListOfOneValueToday) {
    const auto made = [](const char* filter, dialect::Dialect dialect) {
        const auto matcher = Matcher::parse(bson::parse_test_json(filter));
        bson::Buffer out;
        Update::parse(bson::parse_test_json(R"({"$set": {"b": 1}})"), {.dialect = dialect})
            ->build_upsert(*matcher, out);
        return bson::to_text(bson::Doc(out.data()));
    };
    EXPECT_EQ(made(R"({"_id": 1, "a": {"$in": [5]}})", dialect::kToday), "{ _id: 1, a: 5, b: 1 }");
    EXPECT_EQ(made(R"({"_id": 1, "a": {"$in": [5]}})", dialect::kV26), "{ _id: 1, b: 1 }");
    EXPECT_EQ(made(R"({"_id": 1, "a": {"$in": [5, 6]}})", dialect::kToday), "{ _id: 1, b: 1 }");
    EXPECT_THROW(made(R"({"_id.x": 1})", dialect::kToday), base::Error);
}

}  // namespace
}  // namespace query
