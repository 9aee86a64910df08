// Worked examples of mmapv1 spec 6.3 and 6.9.
#include "catalog/index_keys.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "catalog/value_hash.h"
#include "sched/operation.h"

namespace catalog {
namespace {

using bson::make;
using bson::Object;

template <typename... Values>
Object array(const Values&... values) {
    bson::Builder b;
    (b.push(values), ...);
    return b.object();
}

// Returns {name: [values]}.
Object with_array(std::string_view name, const Object& values) {
    bson::Builder b;
    b.append_array(name, values);
    return b.object();
}

// An array of documents.
template <typename... Docs>
Object documents(const Docs&... docs) {
    return array(docs...);
}

struct Generated {
    KeySet keys;

    // The values of the first key field, missing if there are fewer keys.
    bson::Element operator[](size_t i) const {
        return i < keys.size() ? keys[i].first() : bson::Element();
    }
    std::vector<int> ints() const {
        std::vector<int> result;
        for (size_t i = 0; i < keys.size(); ++i)
            result.push_back(keys[i].first().to_int32());
        return result;
    }
};

Generated generate(const Object& pattern, const Object& doc, bool sparse = false) {
    const Object spec = make("key", pattern, "sparse", sparse);
    Generated result;
    KeyGenerator::make(spec)->keys(doc, result.keys);
    return result;
}

int error_code(const Object& pattern, const Object& doc) {
    try {
        generate(pattern, doc);
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

using Ints = std::vector<int>;

TEST(IndexKeys, ScalarsGiveOneKey) {
    const Generated g = generate(make("a", 1, "b.c", 1), make("b", make("c", 2), "a", "x"));
    ASSERT_EQ(g.keys.size(), 1u);
    EXPECT_EQ(bson::compare_docs(g.keys[0], make("", "x", "", 2)), 0);
    EXPECT_FALSE(g.keys.multikey());
}

TEST(IndexKeys, MissingFieldsAreNull) {
    const Generated g = generate(make("a.b", 1), make("a", 5));
    ASSERT_EQ(g.keys.size(), 1u);
    EXPECT_EQ(g[0].type(), bson::Type::null);
}

TEST(IndexKeys, ArraysAreExpandedInKeyOrderWithoutRepeats) {
    const Object doc = with_array("a", array(3, 1, 1.0, 2));
    EXPECT_EQ(generate(make("a", 1), doc).ints(), (Ints{1, 2, 3}));
    EXPECT_EQ(generate(make("a", -1), doc).ints(), (Ints{3, 2, 1}));
    EXPECT_TRUE(generate(make("a", 1), doc).keys.multikey());
    EXPECT_FALSE(generate(make("a", 1), with_array("a", array(1, 1.0))).keys.multikey());
}

TEST(IndexKeys, EmptyArrays) {
    EXPECT_EQ(generate(make("a", 1), with_array("a", array()))[0].type(), bson::Type::undefined);
    EXPECT_EQ(generate(make("a.b", 1), with_array("a", array()))[0].type(), bson::Type::null);
}

TEST(IndexKeys, ElementsThatAreArraysCountWhole) {
    bson::Builder b;
    {
        bson::Builder outer = b.sub_array("a");
        outer.append_array("0", array(1, 2));
    }
    const Generated g = generate(make("a", 1), b.object());
    ASSERT_EQ(g.keys.size(), 1u);
    EXPECT_TRUE(g[0].is_array());
}

TEST(IndexKeys, PathsGoOnInElementDocuments) {
    const Object doc = with_array("a", array(make("b", 2), 5, make("b", 1)));
    const Generated g = generate(make("a.b", 1), doc);
    ASSERT_EQ(g.keys.size(), 3u);
    EXPECT_EQ(g[0].type(), bson::Type::null);  // of the 5
    EXPECT_EQ(g[1].to_int32(), 1);
    EXPECT_EQ(g[2].to_int32(), 2);
}

TEST(IndexKeys, FieldsOfTheSameArrayGoTogether) {
    const Object doc = with_array("a", documents(make("b", 1, "c", 10), make("b", 2, "c", 20)));
    const Generated g = generate(make("a.b", 1, "a.c", 1), doc);
    ASSERT_EQ(g.keys.size(), 2u);
    EXPECT_EQ(bson::compare_docs(g.keys[0], make("", 1, "", 10)), 0);
    EXPECT_EQ(bson::compare_docs(g.keys[1], make("", 2, "", 20)), 0);
}

TEST(IndexKeys, ParallelArraysAreRefused) {
    bson::Builder b;
    b.append_array("a", array(1));
    b.append_array("b", array(2));
    EXPECT_EQ(error_code(make("a", 1, "b", 1), b.object()), 10088);
}

TEST(IndexKeys, IndexesInPaths) {
    const Object doc = with_array("a", documents(make("b", 1), make("b", 2)));
    EXPECT_EQ(generate(make("a.1.b", 1), doc).ints(), Ints{2});
    EXPECT_EQ(generate(make("a.7.b", 1), doc)[0].type(), bson::Type::null);
    EXPECT_EQ(error_code(make("a.0.b", 1), with_array("a", documents(make("0", 1)))), 16746);
}

TEST(IndexKeys, SparseLeavesOutDocumentsWithNothing) {
    EXPECT_TRUE(generate(make("a", 1, "b", 1), make("c", 1), true).keys.empty());
    EXPECT_EQ(generate(make("a", 1, "b", 1), make("b", 1), true).keys.size(), 1u);
    EXPECT_EQ(generate(make("a", 1), make("c", 1), false).keys.size(), 1u);
}

TEST(IndexKeys, AKeySetIsReused) {
    const auto generator = KeyGenerator::make(make("key", make("a", 1)));
    KeySet keys;
    generator->keys(with_array("a", array(1, 2)), keys);
    EXPECT_TRUE(keys.multikey());
    generator->keys(make("a", 7), keys);
    EXPECT_FALSE(keys.multikey());
    ASSERT_EQ(keys.size(), 1u);
    EXPECT_EQ(keys[0].first().to_int32(), 7);
}

TEST(IndexKeys, ArraysNamedByIndexAreParallelToo) {
    bson::Builder b;
    {
        bson::Builder outer = b.sub_array("a");
        outer.sub_array("0").append("0", 1).append("1", 2);
        outer.sub_array("1").append("0", 3);
    }
    const Object doc = b.object();
    EXPECT_EQ(error_code(make("a.0", 1, "a.1", 1), doc), 10088);
    EXPECT_EQ(error_code(make("a.0", 1), doc), 0);
}

// Returns {a: [[members], ...others]}.
Object with_array_in_front(const Object& members, const Object& others) {
    bson::Builder b;
    {
        bson::Builder outer = b.sub_array("a");
        outer.append_array(outer.next().view(), members);
        for (const bson::Element& e : others)
            outer.push_element(e);
    }
    return b.object();
}

Object many(int count, const bson::Object& each) {
    bson::Builder b;
    for (int i = 0; i < count; ++i)
        b.push(each);
    return b.object();
}

TEST(IndexKeys, AnArrayNamedByIndexComesWithEachElementThatHasAField) {
    const Object inner = documents(make("x", 1), make("x", 2));
    const Object outer = array(7, make("y", 3), 8, make("y", 4), make("z", 5));
    const Generated g = generate(make("a.y", 1, "a.0.x", 1), with_array_in_front(inner, outer));
    std::vector<std::string> found;
    for (size_t i = 0; i < g.keys.size(); ++i)
        found.push_back(bson::key_to_text(g.keys[i]));
    EXPECT_EQ(found, (std::vector<std::string>{"{ : null, : 1 }", "{ : null, : 2 }", "{ : 3, : 1 }",
                                               "{ : 3, : 2 }", "{ : 4, : 1 }", "{ : 4, : 2 }"}));
    EXPECT_EQ(generate(make("a.0.x", 1), with_array_in_front(inner, outer)).ints(), (Ints{1, 2}));
    // Each is examined all the same.
    EXPECT_EQ(error_code(make("a.0.x", 1), with_array_in_front(inner, array(1, 2, make("0", 1)))),
              16746);
}

// Each element of an array leads to all of another one: no document has time for that.
TEST(IndexKeys, StepsAreLimited) {
    constexpr int kMany = 5000;
    static_assert(int64_t{kMany} * kMany > kKeyStepsMax);
    const Object pattern = make("a.y", 1, "a.0.x", 1);
    const Object nothing = make("n", 1);
    const Object numbers = many(kMany, make("y", 1));
    EXPECT_EQ(error_code(pattern, with_array_in_front(many(kMany, nothing), numbers)),
              base::kExceededMemoryLimit);
    EXPECT_EQ(generate(pattern, with_array_in_front(many(kMany, nothing), many(kMany, nothing)))
                  .keys.size(),
              1u);
}

TEST(HashedKeys, ChecksOfTheFormat) {
    const Object values = make("int", 42, "long", int64_t{42}, "fraction", 42.9, "text", "abc",
                               "true", true, "four", make("b", 4), "more", make("b", 4.1));
    EXPECT_EQ(hash_value(values["int"], 0), -944302157085130861);
    EXPECT_EQ(hash_value(values["long"], 0), -944302157085130861);
    EXPECT_EQ(hash_value(values["fraction"], 0), -944302157085130861);
    EXPECT_EQ(hash_value(values["text"], 0), 8478485326885698097);
    EXPECT_EQ(hash_value(values["true"], 0), 6405873908747105701);
    EXPECT_EQ(hash_value(values["four"], 0), -8549175576357386275);
    EXPECT_EQ(hash_value(values["more"], 0), -8549175576357386275);
    EXPECT_EQ(hash_value(bson::Element(), 0), 2338878944348059895);
    EXPECT_EQ(hash_value(with_array("a", array(1, 2))["a"], 0), 8312708174902235769);
}

TEST(IndexKeys, AKeyOfTooManyFieldsIsRefusedForEachKind) {
    for (const char* kind : {"", "2d", "2dsphere"}) {
        bson::Builder pattern;
        if (*kind != 0) pattern.append("place", kind);
        for (size_t i = *kind != 0 ? 1 : 0; i <= KeyGenerator::kFieldsMax; ++i)
            pattern.append("f" + std::to_string(i), 1);
        const Object key = pattern.object();
        EXPECT_EQ(error_code(key, make("x", 1)), base::kCannotCreateIndex) << kind;
    }
}

TEST(HashedKeys, Generation) {
    const Object pattern = make("a.b", "hashed");
    EXPECT_EQ(generate(pattern, make("a", make("b", 42)))[0].to_int64(), -944302157085130861);
    EXPECT_EQ(generate(pattern, make("x", 1))[0].to_int64(), 2338878944348059895);
    EXPECT_TRUE(generate(pattern, make("x", 1), true).keys.empty());
    EXPECT_EQ(error_code(pattern, with_array("a", array(1))), 16766);
    EXPECT_EQ(error_code(make("a", "hashed", "b", 1), make("a", 1)), 16763);
    EXPECT_THROW(KeyGenerator::make(make("key", make("a", "hashed"), "hashVersion", 1)),
                 base::Error);
}

// Long work on one document ends when its operation is interrupted.
TEST(KeyGenerator, APartialIndexHasKeysOfWhatMatches) {
    for (const Object& pattern : {make("a", 1), make("a", "hashed"), make("a", -1, "c", 1)}) {
        const Object spec = make("key", pattern);
        const Object partial =
            make("key", pattern, "partialFilterExpression", make("b.c", make("$gt", 5), "d", 1));
        const auto all = KeyGenerator::make(spec);
        const auto some = KeyGenerator::make(partial);
        EXPECT_EQ(all->filter(), nullptr);
        EXPECT_EQ(some->fields(), all->fields());
        EXPECT_EQ(some->descending_bits(), all->descending_bits());
        EXPECT_EQ(some->hashed(), all->hashed());
        EXPECT_EQ(some->filter_paths(), (std::vector<std::string>{"d", "b.c"}));
        const Object in = make("a", 7, "b", make("c", 6), "d", 1);
        KeySet wanted;
        KeySet keys;
        all->keys(in, wanted);
        some->keys(in, keys);
        ASSERT_EQ(keys.size(), 1U);
        EXPECT_EQ(bson::compare_docs(keys[0], wanted[0]), 0);
        some->keys(make("a", 7, "b", make("c", 5), "d", 1), keys);
        EXPECT_TRUE(keys.empty());
    }
}

TEST(KeyGenerator, IsInterrupted) {
    bson::Builder many;
    for (int i = 0; i < 200'000; ++i)
        many.push(i * 7919 % 200'000);
    const Object array_of_many = many.object();
    bson::Builder wide;
    for (int i = 0; i < 200'000; ++i)
        wide.append_null("f");
    wide.append("h", array_of_many.doc());
    const Object doc = wide.object();
    const Object holder = with_array("a", array_of_many);
    const auto hashed = KeyGenerator::make(make("key", make("h", "hashed")));
    KeySet unsorted;
    KeyGenerator::make(make("key", make("b", 1)))->keys(doc, unsorted);
    for (uint32_t i = 0; i < 1000; ++i)
        unsorted.add(0);

    sched::Operation operation;
    operation.start();
    operation.kill(operation.id());
    const sched::Operation::Scope scope(&operation);
    KeySet keys;
    EXPECT_THROW(KeyGenerator::make(make("key", make("x", 1)))->keys(doc, keys), base::Error);
    EXPECT_THROW(unsorted.normalise(0), base::Error);
    EXPECT_THROW(hash_value(holder["a"], 0), base::Error);
    EXPECT_THROW(hashed->keys(doc, keys), base::Error);
}

}  // namespace
}  // namespace catalog
