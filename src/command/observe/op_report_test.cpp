#include "command/observe/op_report.h"

#include <gtest/gtest.h>

#include <string>

#include "bson/json.h"
#include "bson/texts.h"
#include "sched/operation.h"
#include "sched/testing/failing_memory.h"

namespace command {
namespace {

constexpr int64_t kShown = 1000;

// {find: "c", documents: [three long texts], comment: <bytes>}
bson::Object request(size_t bytes) {
    bson::Builder out;
    out.append("find", "c");
    {
        bson::Builder list = out.sub_array("documents");
        for (int i = 1; i <= 3; ++i)
            list.push(std::string(kShown, 'd'));
    }
    return out.append("comment", std::string(bytes, 'x')).object();
}

std::string shown(const bson::Object& whole) {
    return bson::to_text(shown_request(whole, kShown).doc());
}

TEST(ShownRequest, IsWholeOrCountedOrLeftOut) {
    EXPECT_EQ(shown(bson::make("find", "c")), R"({ find: "c" })");
    EXPECT_EQ(shown(request(3)), R"({ find: "c", documents: 3, comment: "xxx" })");
    const bson::Object large = request(kShown);
    EXPECT_EQ(shown(large),
              "{ $msg: \"" + std::to_string(large.size()) + " bytes are too many to show here\" }");
}

TEST(ShownRequest, ItsSizeIsLimitedToTheByte) {
    const auto size = [](size_t bytes) { return shown_request(request(bytes), kShown).size(); };
    const auto rest = static_cast<size_t>(kShown - size(0));
    EXPECT_EQ(size(rest), kShown);
    EXPECT_LT(size(rest + 1), kShown / 2);
}

// Of many large requests currentOp shows that they are there.
TEST(ShownRequest, IsNotCopiedInOrderToBeLeftOut) {
    constexpr size_t kLarge = 1 << 20;
    const bson::Object large = request(kLarge);
    sched::Operation operation;
    operation.start();
    const sched::Operation::Scope scope(&operation);
    sched::test::fail_allocation(1, kLarge / 2);
    EXPECT_NO_THROW(shown(large));
    EXPECT_FALSE(sched::test::fail_allocation(0));
}

// A client that sends what is no text cannot keep others from reading what is going on.
TEST(ReportDocument, IsReadableByAllClients) {
    const bson::Object request =
        bson::make("a\xff", "\xfe", "b", bson::make("c", bson::make("\xc0", "d\xe2\x82")));
    EXPECT_EQ(shown(request), R"({ a?: "?", b: { c: { ?: "d??" } } })");
    FinishedOp finished;
    finished.op = "query";
    finished.ns = "te\xffst.c";
    OpReport report;
    report.request = report.update = request;
    report.has_request = report.has_update = true;
    report.plan = "IXSCAN { \xff: 1 }";
    EXPECT_TRUE(bson::texts_are_utf8(report_document(finished, report)));
}

// Also of what is not to be shown as a whole.
TEST(ReportDocument, StaysSmall) {
    const bson::Object large = bson::make("a", std::string(1 << 20, 'x'));
    FinishedOp finished;
    finished.op = "query";
    OpReport report;
    report.request = report.update = large;
    report.has_request = report.has_update = true;
    for (const char* ns : {"test.c", "admin.system.users"}) {
        finished.ns = ns;
        EXPECT_LT(report_document(finished, report).size(), 100'000) << ns;
    }
}

// An item of an update by OP_MSG.
TEST(Report, WhatCameAsACommandIsShownAsOne) {
    const bson::Object item = bson::make("q", bson::make("a", 1), "limit", 0);
    FinishedOp finished;
    finished.op = "remove";
    finished.ns = "test.c";
    OpReport report;
    report.request = item;
    report.has_request = true;
    EXPECT_EQ(bson::to_text(report_document(finished, report)["query"]),
              "{ q: { a: 1 }, limit: 0 }");
    EXPECT_EQ(report_line(finished, report).rfind("remove test.c query: { q: ", 0), 0U);
    report.as_command = true;
    const bson::Object shown = report_document(finished, report);
    EXPECT_EQ(bson::to_text(shown["command"]), "{ q: { a: 1 }, limit: 0 }");
    EXPECT_FALSE(shown.doc().has("query"));
    EXPECT_EQ(report_line(finished, report).rfind("remove test.c command: { q: ", 0), 0U);
}

}  // namespace
}  // namespace command
