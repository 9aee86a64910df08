#include "options/option.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "options/memory_limit.h"
#include "options/parameters.h"
#include "options/storage.h"
#include "options/testing/reset.h"

namespace options {
namespace {

class OptionTest : public testing::Test {
  protected:
    static std::string refusal(Option& option, std::string_view text,
                               Source source = Source::start_up) {
        try {
            option.set_text(text, source);
        } catch (const base::Error& error) {
            EXPECT_EQ(error.code(), base::kBadValue);
            return error.what();
        }
        return "accepted";
    }

    Flag flag_{{.name = "testFlag", .parameter = Parameter::always}};
    Integer count_{{.name = "testCount",
                    .value_name = "N",
                    .default_value = 3,
                    .range = Range{1, 9},
                    .parameter_range = Range{1, 20},
                    .help = "{low} to {high}, default {default}",
                    .parameter = Parameter::at_runtime}};
    Number delay_{{.name = "testDelay",
                   .value_name = "S",
                   .default_value = 0.5,
                   .range = Range{0, 60},
                   .range_error = "{name}: {low}..{high}, not {value}",
                   .parameter = Parameter::always,
                   .parameter_name = "testDelaySeconds"}};
    Text mode_{{.name = "testMode",
                .value_name = "MODE",
                .default_value = "two",
                .choices = {"one", "two", "three"},
                .parameter = Parameter::read_only}};
    Integer unit_{{.name = "testUnit",
                   .value_name = "BYTES",
                   .default_value = 8192,
                   .choices = {"4096", "8192"}}};
};

TEST_F(OptionTest, HoldsItsDefaultUntilSet) {
    EXPECT_FALSE(count_.is_set());
    EXPECT_EQ(count_.get(), 3);
    EXPECT_EQ(delay_.get(), 0.5);
    EXPECT_EQ(mode_.get(), "two");
    EXPECT_EQ(mode_.choice(), 1);
    count_.set(7);
    EXPECT_TRUE(count_.is_set());
    EXPECT_EQ(count_.get(), 7);
    reset(count_);
    EXPECT_FALSE(count_.is_set());
    EXPECT_EQ(count_.get(), 3);
    EXPECT_EQ(find("testCount"), &count_);
    EXPECT_EQ(find("testCounts"), nullptr);
}

TEST_F(OptionTest, ChecksRangesAndKeepsItsValue) {
    EXPECT_EQ(refusal(count_, "0"), "--testCount must be between 1 and 9");
    EXPECT_EQ(refusal(count_, "10"), "--testCount must be between 1 and 9");
    EXPECT_EQ(refusal(count_, "10", Source::parameter), "accepted");
    EXPECT_EQ(refusal(count_, "21", Source::parameter),
              "parameter testCount must be between 1 and 20");
    EXPECT_EQ(count_.get(), 10);
    EXPECT_EQ(refusal(delay_, "61"), "testDelay: 0..60, not 61");
    EXPECT_EQ(refusal(delay_, "-0.5", Source::parameter),
              "parameter testDelaySeconds must be between 0 and 60");
    EXPECT_EQ(delay_.get(), 0.5);
}

// setParameter can bring such a number.
TEST_F(OptionTest, WhatIsNoNumberIsInNoRange) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    for (const Source source : {Source::start_up, Source::parameter})
        EXPECT_THROW(delay_.set(Value(none), source), base::Error);
    EXPECT_EQ(delay_.get(), 0.5);
}

TEST_F(OptionTest, NamesItsChoices) {
    EXPECT_EQ(refusal(mode_, "four"), "testMode must be one, two or three, not \"four\"");
    EXPECT_EQ(refusal(unit_, "512"), "testUnit must be 4096 or 8192, not \"512\"");
    EXPECT_EQ(refusal(unit_, "4k"), "testUnit must be 4096 or 8192, not \"4k\"");
    EXPECT_EQ(refusal(unit_, "4096"), "accepted");
    EXPECT_EQ(unit_.get(), 4096);
    EXPECT_EQ(refusal(mode_, "three"), "accepted");
    EXPECT_EQ(mode_.choice(), 2);
}

TEST_F(OptionTest, NumbersAreDecimal) {
    for (const char* bad : {"0x10", " 8", "8 ", "8k", "inf", "nan", "", "99999999999999999999"})
        EXPECT_FALSE(parse_value(count_, bad)) << bad;
    for (const char* bad : {"0x10", " 8", "8k", "inf", "nan", ""})
        EXPECT_FALSE(parse_value(delay_, bad)) << bad;
    EXPECT_EQ(parse_value(delay_, "1e1"), Value(10.0));
    EXPECT_EQ(parse_value(count_, "+8"), Value(8));
    EXPECT_EQ(refusal(count_, "x"), "the argument ('x') for option '--testCount' is invalid");
    EXPECT_EQ(refusal(flag_, "yes", Source::parameter), "bad value 'yes' for parameter testFlag");
    EXPECT_EQ(refusal(flag_, "", Source::parameter), "bad value '' for parameter testFlag");
}

TEST_F(OptionTest, TellsItsFollower) {
    std::vector<int64_t> told;
    count_.follow([&](const Value& value) { told.push_back(std::get<int64_t>(value)); });
    count_.set(4);
    EXPECT_NE(refusal(count_, "0"), "accepted");
    reset(count_);
    count_.follow({});
    count_.set(5);
    EXPECT_EQ(told, (std::vector<int64_t>{3, 4, 3}));
}

TEST(OptionOfMemory, TakesItsDefaultFromIt) {
    Integer option({.name = "testMemory",
                    .default_value = 64,
                    .default_of_memory = [](int64_t bytes) -> Value { return bytes / 10; },
                    .range = Range{1, 100}});
    EXPECT_EQ(option.get(), 64);
    std::vector<int64_t> told;
    option.follow([&](const Value& value) { told.push_back(std::get<int64_t>(value)); });
    take_defaults_of(200);
    EXPECT_EQ(option.get(), 20);
    EXPECT_FALSE(option.is_set());
    EXPECT_EQ(told, (std::vector<int64_t>{64, 20}));
    EXPECT_THROW(option.take_default_of(2000), base::Error) << "out of range";
    option.set(7);
    take_defaults_of(300);
    EXPECT_EQ(option.get(), 7);
    option.follow({});
}

TEST(OptionOfMemory, LimitsOfOperationsAreAThird) {
    constexpr int64_t kMB = 1 << 20;
    EXPECT_EQ(memory_limit_of(64 * 1024 * kMB), 1024);
    EXPECT_EQ(memory_limit_of(1023 * kMB), 255);
    EXPECT_EQ(memory_limit_of(300 * kMB), 75);
    EXPECT_EQ(memory_limit_of(64 * kMB), 32);
}

TEST_F(OptionTest, FillsWordsIn) {
    EXPECT_EQ(fill_in(count_, count_.description().help), "1 to 9, default 3");
    EXPECT_EQ(fill_in(mode_, "{choices}: {name} {default} {value}", "x"),
              "one, two or three: testMode two x");
    EXPECT_EQ(default_text(flag_), "off");
}

TEST_F(OptionTest, ParametersAreFoundByTheirNames) {
    EXPECT_EQ(find_parameter("testDelaySeconds"), &delay_);
    EXPECT_EQ(find_parameter("testDelay"), nullptr);
    EXPECT_EQ(find_parameter("testUnit"), nullptr) << "none";
    EXPECT_EQ(find_parameter(""), nullptr);
    const auto all = all_parameters();
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const Option* a, const Option* b) {
        return a->parameter_name() < b->parameter_name();
    }));
}

TEST_F(OptionTest, ParametersSayWhenTheyMayBeSet) {
    EXPECT_TRUE(settable_at_runtime(count_));
    EXPECT_FALSE(settable_at_runtime(mode_));
    EXPECT_THROW(set_parameter_at_start("testCount", "2"), base::Error);
    EXPECT_THROW(set_parameter_at_start("testMode", "one"), base::Error);
    EXPECT_THROW(set_parameter_at_start("testNoSuch", "one"), base::Error);
    set_parameter_at_start("testDelaySeconds", "2");
    EXPECT_EQ(delay_.get(), 2);
}

TEST_F(OptionTest, ParametersOfAnotherEngineAreNone) {
    Flag files(
        {.name = "testFiles", .group = Group::added_to_journal, .parameter = Parameter::always});
    const Flag commits({.name = "testCommits",
                        .group = Group::added_to_journal,
                        .of_each_engine = true,
                        .parameter = Parameter::always});
    EXPECT_TRUE(parameter_value(files));
    storage_engine.set("rocksdb");
    EXPECT_FALSE(parameter_value(files));
    EXPECT_TRUE(parameter_value(commits));
    try {
        set_parameter(files, true);
        ADD_FAILURE() << "taken";
    } catch (const base::Error& error) {
        EXPECT_STREQ(error.what(),
                     "testFiles is a parameter of storage engine mmapv1, and not of rocksdb");
    }
    reset(storage_engine);
}

TEST_F(OptionTest, ParametersConvertWhatCommandsGive) {
    const auto code_of = [](Option& option, const Value& value) {
        try {
            set_parameter(option, value);
        } catch (const base::Error& error) {
            return error.code();
        }
        return 0;
    };
    EXPECT_EQ(code_of(flag_, 2.0), 0);
    EXPECT_TRUE(flag_.get());
    EXPECT_EQ(code_of(flag_, 0), 0);
    EXPECT_FALSE(flag_.get());
    EXPECT_EQ(code_of(count_, true), 0);
    EXPECT_EQ(count_.get(), 1);
    EXPECT_EQ(code_of(count_, 15.0), 0);
    EXPECT_EQ(count_.get(), 15);
    EXPECT_EQ(code_of(delay_, 3), 0);
    EXPECT_EQ(delay_.get(), 3.0);
    EXPECT_EQ(code_of(count_, 1.5), base::kTypeMismatch);
    EXPECT_EQ(code_of(count_, 1e10), base::kTypeMismatch);
    EXPECT_EQ(code_of(count_, "1"), base::kTypeMismatch);
    Integer bytes({.name = "testBytes", .default_value = 0, .range = Range{0, 1e12}});
    EXPECT_EQ(code_of(bytes, int64_t{1} << 34), 0);
    EXPECT_EQ(bytes.get(), int64_t{1} << 34);
    EXPECT_EQ(code_of(bytes, 1e11 + 0.5), base::kTypeMismatch);
    EXPECT_EQ(code_of(mode_, 1), base::kTypeMismatch);
    EXPECT_EQ(code_of(count_, 21), base::kBadValue);
}

TEST(Options, TwoOfOneNameEndTheProgram) {
    const Flag first({.name = "testTwice"});
    EXPECT_EXIT(Flag({.name = "testTwice"}), testing::ExitedWithCode(base::kExitAbrupt), "");
}

}  // namespace
}  // namespace options
