#include "command/observe/op_report.h"

#include <gtest/gtest.h>

#include <memory>
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

// currentOp shows of many large requests that they are there.
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

// The document stays small also where the request is not to be shown as a whole.
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

// ---- what came by an old message is described as by the old server ----

constexpr int64_t kHeadBytes = 16;

FinishedOp finished_op(const char* op, int64_t locked_read, int64_t locked_write) {
    FinishedOp finished;
    finished.op = op;
    finished.ns = "test.c";
    finished.client = "127.0.0.1:5";
    finished.locks = {locked_read, locked_write, 0, 0};
    return finished;
}

std::string names(const bson::Object& entry) {
    std::string all;
    for (const bson::Element& e : entry)
        all += std::string(all.empty() ? "" : " ") + std::string(e.name());
    return all;
}

OpReport query_report(const bson::Object& query) {
    OpReport report;
    report.request = query;
    report.has_request = true;
    report.plan = "COLLSCAN";
    report.to_return = -3;
    report.to_skip = 0;
    report.scanned = report.scanned_objects = 3;
    report.returned = 3;
    report.reply_bytes = 350 + kHeadBytes;
    return report;
}

TEST(OldReport, OfAQuery) {
    const bson::Object all;
    const OpReport report = query_report(all);
    const FinishedOp finished = finished_op("query", 7, 0);
    EXPECT_EQ(report_line(finished, report),
              "query test.c planSummary: COLLSCAN ntoskip:0 nscanned:3 nscannedObjects:3 "
              "keyUpdates:0 numYields:0 locks(micros) r:7 nreturned:3 reslen:350 0ms");
    const bson::Object entry = report_document(finished, report);
    EXPECT_EQ(names(entry),
              "op ns query ntoreturn ntoskip nscanned nscannedObjects keyUpdates numYield "
              "lockStats nreturned responseLength millis execStats ts client allUsers user");
    EXPECT_EQ(entry["responseLength"].to_int64(), 350);
    EXPECT_TRUE(entry["execStats"].as_doc().empty());
}

TEST(OldReport, StagesAreShown) {
    const bson::Object all;
    OpReport report = query_report(all);
    report.stages = std::make_shared<const bson::Object>(bson::make("type", "COLLSCAN"));
    EXPECT_EQ(bson::to_text(report_document(finished_op("query", 7, 0), report)["execStats"]),
              "{ type: \"COLLSCAN\" }");
}

TEST(OldReport, OfAFailedQuery) {
    const bson::Object query = bson::make("a", 1);
    OpReport report = query_report(query);
    report.plan.clear();
    report.to_return = 0;
    report.to_skip = report.returned = OpReport::kNone;
    report.failed(17007, "bad hint");
    EXPECT_EQ(report_line(finished_op("query", 0, 0), report),
              "query test.c query: { a: 1 } ntoreturn:0 keyUpdates:0 exception: bad hint "
              "code:17007 numYields:0 locks(micros) r:0 reslen:350 0ms");
    EXPECT_EQ(assertion_line("test.c", report),
              "assertion 17007 bad hint ns:test.c query:{ a: 1 }");
    EXPECT_FALSE(is_refused(finished_op("query", 0, 0), report));
}

OpReport update_report(const bson::Object& query, const bson::Object& update) {
    OpReport report;
    report.request = query;
    report.update = update;
    report.has_request = report.has_update = true;
    report.plan = "IDHACK";
    report.id_hack = report.fast_mod = true;
    report.scanned = report.scanned_objects = 1;
    report.matched = report.modified = 1;
    return report;
}

TEST(OldReport, OfAnUpdate) {
    const bson::Object query = bson::make("_id", 3);
    const bson::Object update = bson::make("$set", bson::make("z", 1));
    OpReport report = update_report(query, update);
    const FinishedOp finished = finished_op("update", 0, 5);
    EXPECT_EQ(report_line(finished, report),
              "update test.c query: { _id: 3 } update: { $set: { z: 1 } } nscanned:1 "
              "nscannedObjects:1 nMatched:1 nModified:1 keyUpdates:0 numYields:0 "
              "locks(micros) w:5 0ms");
    report.moved = 1;
    report.key_updates = 5;
    report.last_key_updates = 2;
    const bson::Object entry = report_document(finished, report);
    EXPECT_EQ(names(entry),
              "op ns query updateobj nscanned nscannedObjects moved nmoved nMatched nModified "
              "keyUpdates numYield lockStats millis execStats ts client allUsers user");
    EXPECT_EQ(entry["keyUpdates"].to_int64(), 2);
    EXPECT_NE(report_line(finished, report).find("nscannedObjects:1 nmoved:1 nMatched"),
              std::string::npos);
}

TEST(OldReport, OfAnUpsert) {
    const auto line = [](const bson::Object& query, const bson::Object& update) {
        OpReport report = update_report(query, update);
        report.matched = report.modified = report.scanned = report.scanned_objects = 0;
        report.upsert = true;
        return report_line(finished_op("update", 0, 5), report);
    };
    const bson::Object set = bson::make("$set", bson::make("z", 1));
    EXPECT_NE(line(bson::make("a", 8, "_id", 5), set)
                  .find("nMatched:1 nModified:0 fastmodinsert:1 upsert:1"),
              std::string::npos);
    EXPECT_NE(line(bson::make("_id", 5), set).find("nMatched:1 nModified:0 upsert:1"),
              std::string::npos);
    EXPECT_NE(line(bson::make("a", 8), bson::make("z", 1)).find("nModified:0 upsert:1"),
              std::string::npos);
}

TEST(OldReport, OfAFailedUpdate) {
    const bson::Object query = bson::make("_id", 3);
    const bson::Object update = bson::make("$inc", bson::make("s", 1));
    OpReport report = update_report(query, update);
    report.matched = report.modified = OpReport::kNone;
    report.failed(16837, "no number");
    EXPECT_EQ(report_line(finished_op("update", 0, 5), report),
              "update test.c query: { _id: 3 } update: { $inc: { s: 1 } } nModified:0 "
              "keyUpdates:0 exception: no number code:16837 numYields:0 locks(micros) w:5 0ms");
    EXPECT_FALSE(is_refused(finished_op("update", 0, 5), report));
    EXPECT_TRUE(is_refused(finished_op("update", 0, 0), report));
    report.as_command = true;
    EXPECT_FALSE(is_refused(finished_op("update", 0, 0), report));
}

TEST(OldReport, OfARefusedRemove) {
    const bson::Object query = bson::make("a", 1);
    OpReport report;
    report.request = query;
    report.has_request = true;
    report.failed(2, "unknown operator");
    EXPECT_EQ(report_line(finished_op("remove", 0, 0), report),
              "remove test.c query: { a: 1 } keyUpdates:0 exception: unknown operator code:2 "
              "numYields:0  0ms");
}

TEST(OldReport, OfAnInsert) {
    const bson::Object document = bson::make("_id", 1);
    OpReport report;
    report.inserted = 4;
    const FinishedOp finished = finished_op("insert", 0, 5);
    EXPECT_EQ(report_line(finished, report),
              "insert test.c ninserted:4 keyUpdates:0 numYields:0 locks(micros) w:5 0ms");
    report.failed(11000, "there is one");
    EXPECT_EQ(report_line(finished, report),
              "insert test.c keyUpdates:0 exception: there is one code:11000 numYields:0 "
              "locks(micros) w:5 0ms");
    report.request = document;  // by a command
    report.has_request = true;
    report.inserted = OpReport::kNone;
    EXPECT_EQ(report_line(finished, report),
              "insert test.c query: { _id: 1 } ninserted:0 keyUpdates:0 exception: there is one "
              "code:11000 numYields:0 locks(micros) w:5 0ms");
}

TEST(OldReport, OfACommand) {
    bson::Builder items;
    items.push(bson::make("q", bson::Doc(), "limit", 1));
    items.push(bson::make("q", bson::Doc(), "limit", 0));
    bson::Builder command;
    command.append("delete", "c").append_array("deletes", items.doc());
    const bson::Object request = command.object();
    OpReport report;
    report.request = request;
    report.has_request = true;
    report.command_name = "delete";
    report.scanned = report.scanned_objects = 5;
    report.reply_bytes = 40 + kHeadBytes;
    EXPECT_EQ(report_line(finished_op("command", 0, 5), report),
              "command test.c command: delete { delete: \"c\", deletes: 2 } "
              "keyUpdates:0 numYields:0 locks(micros) w:5 reslen:40 0ms");
    const bson::Object count = bson::make("count", "c");
    report.request = count;
    report.command_name = "count";
    report.plan = "COUNT { a: 1 }";
    EXPECT_EQ(report_line(finished_op("command", 5, 0), report),
              "command test.c command: count { count: \"c\" } planSummary: COUNT { a: 1 } "
              "keyUpdates:0 numYields:0 locks(micros) r:5 reslen:40 0ms");
    const bson::Object asked = bson::make("getlasterror", 1);
    report.request = asked;
    report.command_name = "getLastError";
    report.plan.clear();
    EXPECT_EQ(report_line(finished_op("command", 0, 0), report),
              "command test.c command: getLastError { getlasterror: 1 } keyUpdates:0 numYields:0  "
              "reslen:40 0ms");
}

// Today's clients see what they have always seen.
TEST(Report, ByOpMsgNothingIsLeftOut) {
    const bson::Object query = bson::make("_id", 3);
    const bson::Object update = bson::make("$set", bson::make("z", 1));
    OpReport report = update_report(query, update);
    report.as_command = true;
    report.moved = 1;
    report.key_updates = 5;
    report.reply_bytes = 60;
    EXPECT_EQ(report_line(finished_op("update", 0, 5), report),
              "update test.c command: { _id: 3 } planSummary: IDHACK update: { $set: { z: 1 } } "
              "nscanned:1 nscannedObjects:1 idhack:1 nmoved:1 nMatched:1 nModified:1 fastmod:1 "
              "keyUpdates:5 numYields:0 locks(micros) w:5 reslen:60 0ms");
    const bson::Object entry = report_document(finished_op("update", 0, 5), report);
    EXPECT_EQ(bson::to_text(entry["execStats"]), "{ summary: \"IDHACK\" }");
    EXPECT_EQ(names(entry),
              "op ns command updateobj nscanned nscannedObjects idhack nmoved nMatched nModified "
              "fastmod keyUpdates numYield lockStats responseLength millis execStats ts client "
              "allUsers user");
}

}  // namespace
}  // namespace command
