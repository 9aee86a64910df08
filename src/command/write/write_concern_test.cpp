#include "command/write/write_concern.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/testing/json.h"

namespace command {
namespace {

int code_of(const char* options, bool journaling, bool in_set = false) {
    try {
        WriteConcern::parse(bson::from_json(options)).check(journaling, in_set);
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

TEST(WriteConcern, DefaultsAndWaits) {
    EXPECT_EQ(WriteConcern::parse(bson::Doc()).w, 1);
    EXPECT_FALSE(WriteConcern::parse(bson::from_json("{}")).waits());
    EXPECT_TRUE(WriteConcern::parse(bson::from_json(R"({"j": 1})")).waits());
    EXPECT_TRUE(WriteConcern::parse(bson::from_json(R"({"w": 0})")).unacknowledged());
    EXPECT_FALSE(WriteConcern::parse(bson::from_json(R"({"w": 0, "j": true})")).unacknowledged());
}

TEST(WriteConcern, TypesAndCombinations) {
    EXPECT_TRUE(WriteConcern::parse(bson::from_json(R"({"j": "x"})")).journal);
    EXPECT_FALSE(WriteConcern::parse(bson::from_json(R"({"j": null})")).journal);
    EXPECT_EQ(code_of(R"({"j": "x"})", false), base::kBadValue);
    EXPECT_EQ(code_of(R"({"w": []})", true), base::kFailedToParse);
    EXPECT_EQ(code_of(R"({"j": true, "fsync": true})", true), base::kFailedToParse);
}

TEST(WriteConcern, WhatAStandaloneServerCanDo) {
    EXPECT_EQ(code_of(R"({"w": "majority"})", true), 0);
    EXPECT_EQ(code_of(R"({"w": 2})", true), base::kBadValue);
    EXPECT_EQ(code_of(R"({"w": "elsewhere"})", true), base::kBadValue);
    EXPECT_EQ(code_of(R"({"j": true})", false), base::kBadValue);
    EXPECT_EQ(code_of(R"({"fsync": true})", false), 0);
}

TEST(WriteConcern, WhatItAsksOfMembers) {
    const auto need = [](const char* options) {
        const replica::Need found = WriteConcern::parse(bson::from_json(options)).need();
        return fmt::format("{} {} {}", found.members, found.mode, found.durable);
    };
    EXPECT_EQ(need(R"({"w": 2, "wtimeout": 5})"), "2  false");
    EXPECT_EQ(need(R"({"w": 3, "j": true})"), "3  true");
    EXPECT_EQ(need(R"({"w": 3, "fsync": true})"), "3  true");
    EXPECT_EQ(need(R"({"w": "majority"})"), "1 majority false");
    EXPECT_TRUE(WriteConcern::parse(bson::from_json(R"({"w": 1, "j": 1})")).asks_for_one_member());
    EXPECT_FALSE(WriteConcern::parse(bson::from_json(R"({"w": "m"})")).asks_for_one_member());
    // A set finds out only afterwards.
    EXPECT_EQ(code_of(R"({"w": 2})", true, true), 0);
    EXPECT_EQ(code_of(R"({"j": true})", false, true), base::kBadValue);
}

}  // namespace
}  // namespace command
