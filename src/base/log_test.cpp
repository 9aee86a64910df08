#include "base/log.h"

#include <gtest/gtest.h>

#include <regex>
#include <thread>

namespace base::log {
namespace {

class LogTest : public testing::Test {
  protected:
    LogTest() {
        set_sink([this](Severity, std::string_view line) { lines_.emplace_back(line); });
        set_context("conn7");
    }
    ~LogTest() override {
        set_sink({});
        set_verbosity(0);
        set_timestamp_format(TimestampFormat::iso8601_local);
    }
    // The last line without its time stamp.
    std::string last() const {
        const std::string& line = lines_.back();
        return line.substr(line.find(" [") + 1);
    }
    std::vector<std::string> lines_;
};

TEST_F(LogTest, AMessageStaysOneLine) {
    info("{}", "a\nb\r\tc\x1b[0m\x7f\u00e9");
    EXPECT_EQ(last(), "[conn7] a\\nb\\r\tc\\x1b[0m\\x7f\u00e9");
    // A terminal would obey these: controls of 8 bits, ends of lines, directions, what is no UTF-8.
    info("{}", "\u009b2J\u0085\u2028\u202e\u2066\u200b\ufeff");
    EXPECT_EQ(last(),
              "[conn7] \\xc2\\x9b2J\\xc2\\x85\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xe2\\x81\\xa6"
              "\\xe2\\x80\\x8b\\xef\\xbb\\xbf");
    info("{}", "\x9b\xc3(\xe2\x82\xff\xc0\x80\xed\xa0\x80\xf5\x80\x80\x80");
    EXPECT_EQ(last(),
              "[conn7] \\x9b\\xc3(\\xe2\\x82\\xff\\xc0\\x80\\xed\\xa0\\x80\\xf5\\x80\\x80\\x80");
    info("{}", "\u20ac \u65e5 \U0001f600 \xe2");
    EXPECT_EQ(last(), "[conn7] \u20ac \u65e5 \U0001f600 \\xe2");
    info("{}", std::string(30000, 'x') + "\nend");
    EXPECT_TRUE(
        last().starts_with("[conn7] warning: log line attempted (29k) over max size (10k): xxx"))
        << last().substr(0, 100);
    EXPECT_TRUE(last().ends_with("xxx\\nend"));
    EXPECT_LT(last().size(), 10U * 1024 + 200);
}

TEST_F(LogTest, LinesHaveTimeContextAndSeverity) {
    info("number {}", 7);
    EXPECT_TRUE(std::regex_match(
        lines_.back(),
        std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4} \[conn7\] number 7)")))
        << lines_.back();
    warning("w");
    EXPECT_EQ(last(), "[conn7] warning: w");
    error("e");
    EXPECT_EQ(last(), "[conn7] ERROR: e");
    write(Severity::severe, "s");
    EXPECT_EQ(last(), "[conn7] SEVERE: s");
}

TEST_F(LogTest, TimeStampsHaveThreeForms) {
    set_timestamp_format(TimestampFormat::iso8601_utc);
    info("x");
    EXPECT_TRUE(std::regex_match(
        lines_.back(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[conn7\] x)")));
    set_timestamp_format(TimestampFormat::ctime);
    info("x");
    EXPECT_TRUE(std::regex_match(
        lines_.back(),
        std::regex(R"([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\.\d{3} \[conn7\] x)")))
        << lines_.back();
}

TEST_F(LogTest, VerbosityDecidesAboutDebugLines) {
    debug(1, "hidden");
    EXPECT_TRUE(lines_.empty());
    set_verbosity(2);
    debug(2, "shown");
    debug(3, "hidden");
    ASSERT_EQ(lines_.size(), 1u);
    EXPECT_EQ(last(), "[conn7] shown");
}

TEST_F(LogTest, LongLinesShowBeginningAndEnd) {
    const std::string fits(10 * 1024, 'x');
    write(Severity::info, fits);
    EXPECT_EQ(last(), "[conn7] " + fits);
    const std::string text = "begin" + std::string(50'000, 'x') + "end";
    write(Severity::info, text);
    EXPECT_LT(lines_.back().size(), 10'500u);
    EXPECT_NE(last().find("begin"), std::string::npos);
    EXPECT_EQ(last().substr(last().size() - 3), "end");
    EXPECT_NE(last().find("attempted (48k)"), std::string::npos);
}

// All lines that are kept go into one answer.
TEST_F(LogTest, WhatIsWrittenOutCountsAsItIsWritten) {
    constexpr size_t kMany = 10'000;
    for (const std::string_view part : {"\x01", "\u2028", "\xc3(", "a\x02"}) {
        std::string text;
        while (text.size() + part.size() <= kMany)
            text += part;
        info("{}", text);
        EXPECT_LT(lines_.back().size(), 11'500u);
        EXPECT_EQ(last().find_first_of("\x01\x02"), std::string::npos);
    }
}

TEST_F(LogTest, RemembersTheLastLines) {
    const int64_t before = recent_lines().total;
    for (int i = 0; i < 1100; ++i)
        info("line {}", i);
    const Ring ring = recent_lines();
    EXPECT_EQ(ring.total, before + 1100);
    ASSERT_EQ(ring.lines.size(), 1024u);
    EXPECT_NE(ring.lines.back().find("line 1099"), std::string::npos);
    const size_t warnings = startup_warnings().lines.size();
    startup_warning("beware");
    ASSERT_EQ(startup_warnings().lines.size(), warnings + 1);
    EXPECT_NE(startup_warnings().lines.back().find("beware"), std::string::npos);
    EXPECT_EQ(last(), "[conn7] beware");
}

TEST_F(LogTest, ContextsBelongToThreads) {
    std::thread([] {
        set_context("journal");
        info("x");
    }).join();
    EXPECT_EQ(last(), "[journal] x");
    EXPECT_EQ(context(), "conn7");
}

}  // namespace
}  // namespace base::log
