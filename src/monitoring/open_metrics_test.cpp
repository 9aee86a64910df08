#include "monitoring/open_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "bson/json.h"
#include "monitoring/metrics.h"

namespace monitoring {
namespace {

std::string text(const char* status) {
    return open_metrics(bson::from_json(status), std::nullopt);
}

bool has(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(OpenMetricsTest, ValuesOfOneKindShareANameAndDifferInALabel) {
    const std::string out = text(R"({"opcounters": {"insert": 3, "query": 4}})");
    EXPECT_TRUE(has(out, "# TYPE mongodb_opcounters counter")) << out;
    EXPECT_TRUE(has(out, R"(mongodb_opcounters_total{type="insert"} 3)")) << out;
    EXPECT_TRUE(has(out, R"(mongodb_opcounters_total{type="query"} 4)")) << out;
    EXPECT_EQ(out.find("update"), std::string::npos) << "what is not told is left out";
}

TEST(OpenMetricsTest, UnitsAreSecondsAndBytes) {
    const std::string out = text(
        R"({"uptimeMillis": 2500, "mem": {"resident": 2},
            "opLatencies": {"reads": {"latency": 1500000, "ops": 7}}})");
    EXPECT_TRUE(has(out, "# UNIT mongodb_uptime_seconds seconds")) << out;
    EXPECT_TRUE(has(out, "mongodb_uptime_seconds 2.5")) << out;
    EXPECT_TRUE(has(out, "mongodb_mem_resident_bytes 2097152")) << out;
    EXPECT_TRUE(has(out, R"(mongodb_op_latencies_seconds_total{type="reads"} 1.5)")) << out;
    EXPECT_TRUE(has(out, R"(mongodb_op_latencies_ops_total{type="reads"} 7)")) << out;
}

TEST(OpenMetricsTest, CommandsThatWereUsedAreCountedByName) {
    const std::string out = text(
        R"({"metrics": {"commands": {"<UNKNOWN>": 2, "find": {"failed": 1, "total": 5},
                                     "ping": {"failed": 0, "total": 0}}}})");
    EXPECT_TRUE(has(out, R"(mongodb_commands_total{command="find"} 5)")) << out;
    EXPECT_TRUE(has(out, R"(mongodb_commands_failed_total{command="find"} 1)")) << out;
    EXPECT_EQ(out.find("ping"), std::string::npos);
    EXPECT_EQ(out.find("UNKNOWN"), std::string::npos);
}

TEST(OpenMetricsTest, LargeNumbersStayExact) {
    const std::string out =
        text(R"({"network": {"bytesIn": {"$numberLong": "9007199254740993"}}})");
    EXPECT_TRUE(has(out, "mongodb_network_in_bytes_total 9007199254740993")) << out;
}

TEST(OpenMetricsTest, LabelsAreEscaped) {
    const std::string out = text(R"({"version": "2.6.12", "repl": {"setName": "a\"b\\c\nd"}})");
    EXPECT_NE(out.find(R"(set="a\"b\\c\nd"} 1)"), std::string::npos) << out;
}

TEST(OpenMetricsTest, ItEndsWithTheDiskAndTheEnd) {
    const std::string out = open_metrics(bson::Doc(), Disk{100, 40});
    EXPECT_TRUE(has(out, "mongodb_fs_size_bytes 100")) << out;
    EXPECT_TRUE(has(out, "mongodb_fs_used_bytes 40")) << out;
    EXPECT_TRUE(out.ends_with("\n# EOF\n")) << out;
}

TEST(OpenMetricsTest, NamesAreThoseOfTheFormat) {
    std::set<std::string> names;
    for (const Metric& metric : all_metrics()) {
        const std::string name = metric.name;
        EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
        EXPECT_TRUE(name.starts_with("mongodb_")) << name;
        EXPECT_FALSE(name.ends_with("_total")) << name;
        EXPECT_TRUE(std::ranges::all_of(name, [](char c) {
            return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        })) << name;
        EXPECT_TRUE(*metric.unit.name == '\0' ||
                    name.ends_with(std::string("_") + metric.unit.name))
            << name;
        EXPECT_TRUE(std::string(metric.help).ends_with(".")) << name;
    }
}

}  // namespace
}  // namespace monitoring
