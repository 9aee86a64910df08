#include "catalog/index_spec.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"

namespace catalog {
namespace {

std::string normalised(const char* spec) {
    return bson::to_text(normalise_index_spec(bson::from_json(spec), "db.c").doc());
}

int code_of(const char* spec, std::string_view ns = "db.c") {
    try {
        check_key_kind(normalise_index_spec(bson::from_json(spec), ns));
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

TEST(IndexSpec, StoredFormHasVersionUniqueKeyAndNameFirst) {
    EXPECT_EQ(
        normalised(R"({"name": "n", "unique": 1, "foo": 2, "key": {"a": 1}, "sparse": true})"),
        R"({ v: 1, unique: true, key: { a: 1 }, name: "n", ns: "db.c", foo: 2, sparse: true })");
    EXPECT_EQ(
        normalised(R"({"name": "n", "key": {"a": 1}, "sparse": true, "ns": "x.y", "foo": 2})"),
        R"({ v: 1, key: { a: 1 }, name: "n", sparse: true, ns: "db.c", foo: 2 })")
        << "one that was given keeps its place";
    EXPECT_EQ(
        normalised(R"({"_id": 7, "ns": "x.y", "key": {"a": 1}, "name": "n", "unique": false})"),
        R"({ v: 1, key: { a: 1 }, name: "n", ns: "db.c" })");
}

TEST(IndexSpec, IdIndexIsAlwaysTheSame) {
    const std::string id = R"({ v: 1, key: { _id: 1 }, name: "_id_", ns: "db.c" })";
    EXPECT_EQ(normalised(R"({"key": {"_id": -1}, "name": "mine", "unique": true})"), id);
    EXPECT_EQ(normalised(R"({"key": {"_id": true}, "name": "x"})"), id);
    EXPECT_NE(normalised(R"({"key": {"_id": 5}, "name": "x"})"), id);
}

TEST(IndexSpec, NoNameHoldsANul) {
    EXPECT_EQ(code_of(R"({"key": {"a": 1}, "name": "a\u0000b"})"), base::kCannotCreateIndex);
}

TEST(IndexSpec, KeyRules) {
    EXPECT_EQ(code_of(R"({"key": {}, "name": "n"})"), 67);
    EXPECT_EQ(code_of(R"({"name": "n"})"), 67);
    EXPECT_EQ(code_of(R"({"key": {"a": 1}})"), 67);
    EXPECT_EQ(code_of(R"({"key": {"a": "fancy"}, "name": "n"})"), 67);
    EXPECT_EQ(code_of(R"({"key": {"a": {}}, "name": "n"})"), 67);
    EXPECT_EQ(code_of(R"({"key": {"a..b": 1}, "name": "n"})"), 67);
    EXPECT_EQ(code_of(R"({"key": {"$id": 1}, "name": "n"})"), 67);
    EXPECT_EQ(code_of(R"({"key": {"a.$id": 1}, "name": "n"})"), 0);
    EXPECT_EQ(code_of(R"({"key": {"a": null}, "name": "n"})"), 0);
    EXPECT_EQ(code_of(R"({"key": {"a": "hashed"}, "name": "n", "unique": true})"), 16764);
}

TEST(IndexSpec, Versions) {
    EXPECT_EQ(code_of(R"({"key": {"a": 1}, "name": "n", "v": 2})"), 0);
    EXPECT_EQ(code_of(R"({"key": {"a": 1}, "name": "n", "v": 3})"), 14803);
    EXPECT_EQ(code_of(R"({"key": {"a": 1}, "name": "n", "v": "1"})"), 13118);
}

TEST(IndexSpec, OptionsThatWouldChangeTheKeysAreRefused) {
    const auto with = [](const std::string& option) {
        return code_of((R"({"key": {"a": 1}, "name": "n", )" + option + "}").c_str());
    };
    EXPECT_EQ(with(R"("wildcardProjection": {"a": 1})"), 67);
    EXPECT_EQ(with(R"("prepareUnique": true)"), 67);
    EXPECT_EQ(with(R"("collation": {"locale": "de"})"), 0);
    EXPECT_EQ(with(R"("collation": {"locale": "nosuch"})"), 2);
    EXPECT_EQ(with(R"("collation": {"locale": "simple"})"), 0);
    // An index that names it is the same as one that does not.
    const bson::Object simple = normalise_index_spec(
        bson::from_json(R"({"key": {"a": 1}, "name": "a", "collation": {"locale": "simple"}})"),
        "db.c");
    EXPECT_FALSE(simple.doc().has("collation"));
}

TEST(IndexSpec, InACollectionWithACollationEachNamesItsOwn) {
    const auto german = collation::Collator::make(bson::from_json(R"({"locale": "de"})"));
    const auto shown = [&german](const char* spec) {
        const bson::Object stored = normalise_index_spec(bson::from_json(spec), "db.c", german);
        return bson::to_text(stored["collation"].as_doc()["locale"]);
    };
    EXPECT_EQ(shown(R"({"key": {"a": 1}, "name": "n"})"), "\"de\"");
    EXPECT_EQ(shown(R"({"key": {"a": 1}, "name": "n", "collation": {}})"), "\"de\"");
    EXPECT_EQ(shown(R"({"key": {"a": 1}, "name": "n", "collation": "odd"})"), "\"de\"");
    EXPECT_EQ(shown(R"({"key": {"a": 1}, "name": "n", "collation": {"locale": "simple"}})"),
              "\"simple\"");
    EXPECT_EQ(shown(R"({"key": {"a": 1}, "name": "n", "collation": {"locale": "en"}})"), "\"en\"");
    EXPECT_EQ(shown(R"({"key": {"a": "hashed"}, "name": "n",
                        "collation": {"locale": "simple"}})"),
              "\"simple\"");
}

// Members of a set therefore have the same bytes, and a copy of a copy is one.
TEST(IndexSpec, WhatIsStoredStaysAsItIs) {
    const auto german = collation::Collator::make(bson::from_json(R"({"locale": "de"})"));
    for (const auto& inherited : {std::shared_ptr<const collation::Collator>(), german}) {
        for (const char* given :
             {R"({"key": {"a": 1}, "name": "n"})",
              R"({"ns": "x.y", "name": "n", "key": {"a": 1, "b": -1}, "unique": 1, "sparse": 1})",
              R"({"collation": {"locale": "simple"}, "key": {"a": 1}, "ns": "x.y", "name": "n"})",
              R"({"key": {"a": 1}, "name": "n", "collation": {"locale": "en"}, "z": 1})",
              R"({"key": {"a": 1}, "z": 1, "name": "n", "expireAfterSeconds": 1.5, "v": 0})",
              R"({"key": {"a": 1}, "name": "n", "hidden": 1, "collation": {}, "q": {"r": 1}})",
              R"({"key": {"a": 1}, "name": "n", "partialFilterExpression": {"a": 1}})",
              R"({"key": {"_id": 1}, "name": "other"})"}) {
            const bson::Object once =
                normalise_index_spec(bson::from_json(given), "db.c", inherited);
            for (const bson::Object& copy : {once, spec_to_copy(once)}) {
                const bson::Object again = normalise_index_spec(copy, "db.c", inherited);
                EXPECT_EQ(bson::to_text(again.doc()), bson::to_text(once.doc())) << given;
            }
            // And makes the same one elsewhere.
            if (inherited != nullptr || once["name"].as_string() == "_id_") continue;
            const bson::Object elsewhere = normalise_index_spec(spec_to_copy(once), "db.c", german);
            EXPECT_EQ(collator_of(elsewhere) == nullptr, collator_of(once) == nullptr) << given;
        }
    }
}

TEST(IndexSpec, PartialAndHiddenOnes) {
    const auto with = [](const std::string& key, const std::string& option) {
        return R"({"key": )" + key + R"(, "name": "n", )" + option + "}";
    };
    const char* partial = R"("partialFilterExpression": {"b": {"$gt": 1}})";
    EXPECT_EQ(normalised(with(R"({"a": 1})", partial).c_str()),
              R"({ v: 1, key: { a: 1 }, name: "n", ns: "db.c", )"
              R"(partialFilterExpression: { b: { $gt: 1 } } })");
    EXPECT_EQ(normalised(with(R"({"a": 1})", R"("hidden": 1, "x": 2)").c_str()),
              R"({ v: 1, key: { a: 1 }, name: "n", ns: "db.c", hidden: true, x: 2 })");
    EXPECT_EQ(normalised(with(R"({"a": 1})", R"("hidden": false)").c_str()),
              R"({ v: 1, key: { a: 1 }, name: "n", ns: "db.c" })");
    EXPECT_EQ(code_of(with(R"({"a": "hashed"})", partial).c_str()), 0);
    EXPECT_EQ(code_of(with(R"({"_id": 1})", partial).c_str()), 67);
    EXPECT_EQ(code_of(with(R"({"_id": 1})", R"("hidden": true)").c_str()), 67);
    // The mark of one on disk is no kind that a client may ask for.
    EXPECT_EQ(code_of(with(R"({"_partial": "partial", "a": 1})", partial).c_str()), 67);
}

TEST(IndexSpec, TheCatalogueItselfHasNoIndexes) {
    for (const char* ns : {"db.system.indexes", "db.system.namespaces"})
        EXPECT_EQ(code_of(R"({"key": {"a": 1}, "name": "n"})", ns), 67) << ns;
    EXPECT_EQ(code_of(R"({"key": {"a": 1}, "name": "n"})", "db.system.users"), 0);
}

TEST(IndexSpec, NameCountsWithTheNamespace) {
    const std::string fits = R"({"key": {"a": 1}, "name": ")" + std::string(121, 'n') + "\"}";
    const std::string long_one = R"({"key": {"a": 1}, "name": ")" + std::string(122, 'n') + "\"}";
    EXPECT_EQ(code_of(fits.c_str()), 0);
    EXPECT_EQ(code_of(long_one.c_str()), 67);
}

}  // namespace
}  // namespace catalog
