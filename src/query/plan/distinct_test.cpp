#include "query/plan/distinct.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/testing/json.h"

namespace query {
namespace {

TEST(Distinct, ValuesInOrderOfAppearance) {
    DistinctValues values("a.b");
    for (const char* doc : {R"({"a": {"b": 2}})", R"({"a": [{"b": [1, 2]}, {"b": null}, 7]})",
                            R"({"a.b": "x"})", R"({"c": 1})"}) {
        values.add(bson::parse_test_json(doc));
    }
    values.add_key(bson::make("", 2.0)[""]);
    bson::Builder array;
    values.append_to(array);
    EXPECT_EQ(bson::compare_docs(array.doc(),
                                 bson::parse_test_json(R"({"0": 2, "1": null, "2": 1, "3": "x"})")),
              0);
    EXPECT_EQ(values.size(), 4);
}

TEST(Distinct, ValuesCanBePutInOrder) {
    DistinctValues values("a");
    for (const char* doc : {R"({"a": ["x", 2]})", R"({"a": [null, 1]})", R"({"a": {"b": 1}})"})
        values.add(bson::parse_test_json(doc));
    values.sort();
    bson::Builder array;
    values.append_to(array);
    EXPECT_EQ(bson::compare_docs(
                  array.doc(),
                  bson::parse_test_json(R"({"0": null, "1": 1, "2": 2, "3": "x", "4": {"b": 1}})")),
              0);
    values.add(bson::parse_test_json(R"({"a": [2, 0]})"));
    EXPECT_EQ(values.size(), 6);
}

TEST(Distinct, NumbersNameElements) {
    DistinctValues values("a.1");
    values.add(bson::parse_test_json(R"({"a": [5, [6, 7], {"1": 8}]})"));
    EXPECT_EQ(values.size(), 2);
}

TEST(Distinct, TooMuch) {
    DistinctValues values("a");
    EXPECT_THROW(
        {
            for (int i = 0; i < 20; ++i)
                values.add(bson::make("a", std::to_string(i) + std::string(1 << 20, 'x')));
        },
        base::Error);
}

}  // namespace
}  // namespace query
