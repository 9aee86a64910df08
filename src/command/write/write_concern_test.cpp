#include "command/write/write_concern.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bson/testing/json.h"
#include "replica/config.h"

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

TEST(WriteConcern, WhatASetOfOneMemberCanDo) {
    const auto config = replica::Config::parse(
        bson::from_json(R"({"_id": "s", "members": [{"_id": 0, "host": "h", "tags": {"dc": "a"}}],
                            "settings": {"getLastErrorModes":
                                {"here": {"dc": 1}, "twice": {"dc": 2}, "other": {"rack": 1}}}})"),
        {.set_name = "s"});
    const auto refusal = [&config](const char* options) {
        const auto error = WriteConcern::parse(bson::from_json(options)).refusal_by(config);
        return error ? error->code() : 0;
    };
    for (const char* options : {"{}", R"({"w": 0})", R"({"w": 1})", R"({"w": "majority"})",
                                R"({"w": "here"})", R"({"w": 1, "wtimeout": 5})"})
        EXPECT_EQ(refusal(options), 0) << options;
    for (const char* options : {R"({"w": 2})", R"({"w": 50})", R"({"w": "twice"})",
                                R"({"w": "other"})", R"({"w": 2, "wtimeout": 5})"})
        EXPECT_EQ(refusal(options), base::kUnsatisfiableWriteConcern) << options;
    EXPECT_EQ(refusal(R"({"w": "elsewhere"})"), base::kUnknownReplWriteConcern);
    // Only afterwards.
    EXPECT_EQ(code_of(R"({"w": 2})", true, true), 0);
    EXPECT_EQ(code_of(R"({"j": true})", false, true), base::kBadValue);
}

}  // namespace
}  // namespace command
