// Writes that come again by their number: answered as before and done once, also by a server that
// has been started anew; what is refused of them.
#include <fmt/core.h>

#include "base/error.h"
#include "command/commands/testing/replica_set.h"

namespace command {
namespace {

class RetryableWritesTest : public ReplicaSetTest, public catalog::EngineParam {
  protected:
    RetryableWritesTest() : ReplicaSetTest(false, GetParam()) { initiate(); }

    static bson::Object numbered(const std::string& command, int64_t number, const SessionId& id) {
        bson::Builder out;
        out.append_all(bson::from_json(command));
        id.append_to(out, "lsid");
        out.append("txnNumber", number);
        return out.object();
    }
    bson::Object write(const std::string& command, int64_t number) {
        return run(numbered(command, number, session_id_));
    }
    // Expects the same answer at once, again, and from a server that has been started in between.
    void expect_thrice(const std::string& command, const std::string& answer) {
        const int64_t number = ++number_;
        EXPECT_EQ(without_time(write(command, number)), answer) << command;
        const std::vector<bson::Object> before = all();
        const int64_t retried = member_->retries().retried_statements();
        EXPECT_EQ(without_time(write(command, number)), answer) << command;
        EXPECT_GT(member_->retries().retried_statements(), retried);
        restart();
        EXPECT_EQ(without_time(write(command, number)), answer) << command;
        EXPECT_GT(member_->retries().retried_statements(), 0);
        EXPECT_EQ(texts_of(all()), texts_of(before)) << command;
    }
    std::vector<bson::Object> all() { return query("test.c", "{}", 0); }
    static std::vector<std::string> texts_of(const std::vector<bson::Object>& docs) {
        std::vector<std::string> out;
        for (const bson::Object& doc : docs)
            out.push_back(bson::to_text(doc.doc()));
        return out;
    }
    std::string doc(int id) {
        return bson::to_text(query("test.c", fmt::format(R"({{"_id": {}}})", id), 1).at(0).doc());
    }
    static std::string label(const bson::Object& reply) {
        return reply["errorLabels"] ? bson::to_text(reply["errorLabels"]) : "";
    }

    const SessionId session_id_ = SessionId::random();
    int64_t number_ = 0;
};

TEST_P(RetryableWritesTest, AreAnsweredAsBeforeAndDoneOnce) {
    expect_thrice(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2, "a": 1}, {"_id": 3}]})",
                  "{ n: 3, ok: 1.0 }");
    expect_thrice(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 5}}},
                                                 {"q": {"_id": 2}, "u": {"$inc": {"a": 5}}}]})",
                  "{ nModified: 2, n: 2, ok: 1.0 }");
    EXPECT_EQ(doc(2), "{ _id: 2, a: 6 }");
    expect_thrice(R"({"update": "c", "updates": [
                          {"q": {"_id": 7}, "u": {"$inc": {"a": 1}}, "upsert": true},
                          {"q": {"_id": 7}, "u": {"$inc": {"a": 1}}, "upsert": true},
                          {"q": {"_id": 8}, "u": {"_id": 8, "a": 4}, "upsert": true},
                          {"q": {"_id": 9}, "u": {"a": 4}, "upsert": true}]})",
                  "{ nModified: 1, n: 4, upserted: [ { index: 0, _id: 7 }, { index: 2, _id: 8 }, "
                  "{ index: 3, _id: 9 } ], ok: 1.0 }");
    EXPECT_EQ(doc(7), "{ _id: 7, a: 2 }");
    expect_thrice(R"({"delete": "c", "deletes": [{"q": {"a": 4}, "limit": 1}]})",
                  "{ n: 1, ok: 1.0 }");
    EXPECT_EQ(all().size(), 5u);
}

TEST_P(RetryableWritesTest, SoIsABulkWrite) {
    const std::string ops = R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.c"}], "ordered": false,
        "ops": [{"insert": 0, "document": {"_id": 1, "a": 1}},
                {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"a": 5}}},
                {"update": 0, "filter": {"_id": 7}, "updateMods": {"$inc": {"a": 1}},
                 "upsert": true},
                {"insert": 0, "document": {"_id": 3}}, {"delete": 0, "filter": {"_id": 3}}]%})";
    const auto bulk = [&](int64_t number, const std::string& more = "") {
        std::string command = ops;
        command.replace(command.find('%'), 1, more);
        return run(numbered(command, number, session_id_), "admin");
    };
    const std::string answer = without_time(bulk(1));
    EXPECT_NE(answer.find("nErrors: 0, nInserted: 2, nMatched: 1, nModified: 1, nUpserted: 1, "
                          "nDeleted: 1, ok: 1.0"),
              std::string::npos)
        << answer;
    EXPECT_NE(answer.find("upserted: { _id: 7 }"), std::string::npos);
    EXPECT_EQ(without_time(bulk(1)), answer);
    restart();
    EXPECT_EQ(without_time(bulk(1)), answer);
    EXPECT_EQ(texts_of(all()), (std::vector<std::string>{"{ _id: 1, a: 6 }", "{ _id: 7, a: 1 }"}));
    // Statements of their own: those that are done stay done.
    EXPECT_EQ(code(bulk(2, R"(, "stmtIds": [1, 2])")), base::kInvalidLength);
    bulk(2, R"(, "stmtIds": [10, 11, 12, 13, 14])");
    EXPECT_EQ(doc(1), "{ _id: 1, a: 11 }");
    EXPECT_EQ(code(run(numbered(R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.c"}],
                                    "ops": [{"delete": 0, "filter": {}, "multi": true}]})",
                                3, session_id_),
                       "admin")),
              base::kInvalidOptions);
    EXPECT_EQ(all().size(), 2u);
}

TEST_P(RetryableWritesTest, FindAndModifyShowsWhatItHasShown) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1, "b": [1, 2]}, {"_id": 2, "a": 9}]})");
    expect_thrice(R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"a": 1}}})",
                  "{ value: { _id: 1, a: 1, b: [ 1, 2 ] }, "
                  "lastErrorObject: { updatedExisting: true, n: 1 }, ok: 1.0 }");
    EXPECT_EQ(doc(1), "{ _id: 1, a: 2, b: [ 1, 2 ] }");
    expect_thrice(R"({"findAndModify": "c", "query": {"b": 2}, "update": {"$inc": {"a": 1}},
                      "new": true, "fields": {"a": 1}})",
                  "{ value: { _id: 1, a: 3 }, "
                  "lastErrorObject: { updatedExisting: true, n: 1 }, ok: 1.0 }");
    expect_thrice(R"({"findAndModify": "c", "query": {"_id": 5}, "update": {"$inc": {"a": 1}},
                      "upsert": true})",
                  "{ value: null, "
                  "lastErrorObject: { updatedExisting: false, n: 1, upserted: 5 }, ok: 1.0 }");
    expect_thrice(R"({"findAndModify": "c", "query": {"_id": 6}, "update": {"$inc": {"a": 1}},
                      "upsert": true, "new": true})",
                  "{ value: { _id: 6, a: 1 }, "
                  "lastErrorObject: { updatedExisting: false, n: 1, upserted: 6 }, ok: 1.0 }");
    expect_thrice(R"({"findAndModify": "c", "query": {"_id": 6}, "remove": true,
                      "fields": {"_id": 0, "a": 1}})",
                  "{ value: { a: 1 }, lastErrorObject: { n: 1 }, ok: 1.0 }");
    EXPECT_EQ(all().size(), 3u);
}

// The first answer to a command with a sort has a getLastError in it, which tells of the
// connection.
TEST_P(RetryableWritesTest, FindAndModifyWithASortShowsTheSame) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": [3, 1]}, {"_id": 2, "a": [9, 1]}]})");
    const std::string command = R"({"findAndModify": "c", "query": {"a": 1}, "sort": {"_id": -1},
                                    "fields": {"a.$": 1}, "remove": true})";
    const bson::Object first = write(command, 1);
    EXPECT_EQ(text(first, "value"), "{ _id: 2, a: [ 1 ] }");
    for (int again = 0; again < 2; ++again) {
        const bson::Object reply = write(command, 1);
        EXPECT_EQ(text(reply, "value"), text(first, "value"));
        EXPECT_EQ(text(reply, "lastErrorObject"), "{ n: 1 }");
        restart();
    }
    EXPECT_EQ(all().size(), 1u);
}

// A statement that did nothing is done when it comes again; those before it are not.
TEST_P(RetryableWritesTest, GoOnBehindWhatIsDone) {
    run(R"({"insert": "c", "documents": [{"_id": 2}]})");
    const std::string three =
        R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})";
    const bson::Object first = write(three, 1);
    EXPECT_EQ(first["n"].to_int32(), 1);
    EXPECT_EQ(first.doc().at_path("writeErrors.0.code").to_int32(), base::kDuplicateKey);
    run(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})");
    restart();
    EXPECT_EQ(without_time(write(three, 1)), "{ n: 3, ok: 1.0 }");
    const std::string update =
        R"({"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$inc": {"a": 1}}},
                                       {"q": {"_id": 1}, "u": {"$inc": {"a": 1}}}]})";
    EXPECT_EQ(without_time(write(update, 2)), "{ nModified: 1, n: 1, ok: 1.0 }");
    run(R"({"insert": "c", "documents": [{"_id": 9}]})");
    EXPECT_EQ(without_time(write(update, 2)), "{ nModified: 2, n: 2, ok: 1.0 }");
    EXPECT_EQ(doc(1), "{ _id: 1, a: 1 }");
    EXPECT_EQ(doc(9), "{ _id: 9, a: 1 }");
}

TEST_P(RetryableWritesTest, AreOfASessionAndANumber) {
    const std::string insert = R"({"insert": "c", "documents": [{"a": 1}]})";
    write(insert, 4);
    EXPECT_EQ(write(insert, 5)["n"].to_int32(), 1);
    run(numbered(insert, 4, SessionId::random()));
    EXPECT_EQ(all().size(), 3u);
    const bson::Object older = write(insert, 4);
    EXPECT_EQ(code(older), base::kTransactionTooOld);
    EXPECT_EQ(older["codeName"].as_string(), "TransactionTooOld");
    restart();
    EXPECT_EQ(code(write(insert, 4)), base::kTransactionTooOld);
    EXPECT_EQ(write(insert, 5)["n"].to_int32(), 1);
    EXPECT_EQ(all().size(), 3u);
    // The client has ended it.
    EXPECT_EQ(member_->retries().sessions(), 2u);
    bson::Builder ending;
    {
        bson::Builder list = ending.sub_array("endSessions");
        session_id_.append_to(list, list.next().view());
    }
    EXPECT_EQ(code(run(ending.object())), 0);
    EXPECT_EQ(member_->retries().sessions(), 1u);
}

TEST_P(RetryableWritesTest, AreNoOtherWrite) {
    write(R"({"insert": "c", "documents": [{"_id": 1}]})", 1);
    const auto error_of = [](const bson::Object& reply) {
        return reply.doc().at_path("writeErrors.0.code").to_int32();
    };
    EXPECT_EQ(error_of(write(R"({"delete": "c", "deletes": [{"q": {}, "limit": 1}]})", 1)), 40638);
    write(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}]})", 2);
    EXPECT_EQ(error_of(write(R"({"insert": "c", "documents": [{"_id": 5}]})", 2)), 40638);
    write(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})", 3);
    EXPECT_EQ(error_of(write(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"a": 1},
                                                            "upsert": true}]})",
                             3)),
              40638);
    EXPECT_EQ(all().size(), 0u);
}

TEST_P(RetryableWritesTest, OfManyDocumentsAreRefused) {
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
    const bson::Object update = write(
        R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}, "multi": true}]})", 1);
    EXPECT_EQ(update.doc().at_path("writeErrors.0.code").to_int32(), base::kInvalidOptions);
    const bson::Object removal = write(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})", 2);
    EXPECT_EQ(removal.doc().at_path("writeErrors.0.code").to_int32(), base::kInvalidOptions);
    EXPECT_EQ(texts_of(all()), (std::vector<std::string>{"{ _id: 1 }", "{ _id: 2 }"}));
}

TEST_P(RetryableWritesTest, AreRefusedInOtherForms) {
    const std::string insert = R"({"insert": "c", "documents": [{"a": 1}])";
    const auto with = [&](const char* more) { return code(run(insert + more + "}")); };
    constexpr const char* kSession =
        R"(, "lsid": {"id": {"$binary": "MDEyMzQ1Njc4OWFiY2RlZg==", "$type": "04"}})";
    EXPECT_EQ(with(R"(, "txnNumber": {"$numberLong": "1"})"), base::kInvalidOptions);
    EXPECT_EQ(with(R"(, "txnNumber": "1")"), base::kTypeMismatch);
    EXPECT_EQ(code(run(numbered(R"({"find": "c"})", 1, session_id_))), 50768);
    EXPECT_EQ(code(run(numbered(R"({"hello": 1})", 1, session_id_))), 50768);
    EXPECT_EQ(code(write(insert + "}", -1)), base::kInvalidOptions);
    EXPECT_EQ(with((std::string(kSession) + R"(, "startTransaction": true)").c_str()),
              base::kInvalidOptions);
    EXPECT_EQ(with((std::string(kSession) + R"(, "autocommit": false)").c_str()),
              base::kInvalidOptions);
    EXPECT_EQ(code(run_old(insert + R"(, "txnNumber": {"$numberLong": "1"}})")),
              base::kIllegalOperation);
    EXPECT_EQ(with(R"(, "txnNumber": null)"), 0);
    EXPECT_EQ(all().size(), 1u);
}

// Another request of the session waits for the one that runs; time and killOp end that.
TEST_P(RetryableWritesTest, WaitForTheFirstTry) {
    auto running = member_->retries().begin({session_id_.uuid, session_id_.owner}, 1);
    const std::string insert = R"({"insert": "c", "documents": [{"a": 1}], "maxTimeMS": 1})";
    EXPECT_EQ(code(write(insert, 1)), base::kExceededTimeLimit);
    EXPECT_GT(suspensions_, 0);
    EXPECT_EQ(all().size(), 0u);
    running = nullptr;
    EXPECT_EQ(code(write(R"({"insert": "c", "documents": [{"a": 1}]})", 1)), 0);
    EXPECT_EQ(all().size(), 1u);
}

// The log does not say any more what came of the write.
TEST_P(RetryableWritesTest, WhoseEntryIsGoneFail) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})");
    const std::string upsert =
        R"({"update": "c", "updates": [{"q": {"_id": 7}, "u": {"a": 1}, "upsert": true}]})";
    const std::string modify =
        R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"a": 1}}})";
    const std::string insert = R"({"insert": "c", "documents": [{"_id": 2}]})";
    const SessionId two = SessionId::random();
    const SessionId three = SessionId::random();
    write(upsert, 1);
    run(numbered(modify, 1, two));
    run(numbered(insert, 1, three));
    const std::string pad(10000, 'x');
    for (int i = 0; i < 150; ++i)
        run(fmt::format(R"({{"insert": "pad", "documents": [{{"_id": {}, "a": "{}"}}]}})", i, pad));
    const bson::Object gone = write(upsert, 1);
    EXPECT_EQ(gone.doc().at_path("writeErrors.0.code").to_int32(),
              base::kIncompleteTransactionHistory);
    EXPECT_EQ(code(run(numbered(modify, 1, two))), base::kIncompleteTransactionHistory);
    EXPECT_EQ(run(numbered(insert, 1, three))["n"].to_int32(), 1);
    EXPECT_EQ(doc(1), "{ _id: 1, a: 2 }");
}

TEST_P(RetryableWritesTest, AreCountedInServerStatus) {
    write(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})", 1);
    write(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})", 1);
    EXPECT_EQ(
        text(run(R"({"serverStatus": 1})"), "transactions")
            .substr(
                0, std::string_view("{ retriedCommandsCount: 1, retriedStatementsCount: 2").size()),
        "{ retriedCommandsCount: 1, retriedStatementsCount: 2");
}

// The server says which failures a client may try again.
TEST_F(ReplicaSetTest, LabelsWhatIsWorthARetry) {
    const auto insert = [this](const char* more) {
        return run(std::string(R"({"insert": "c", "documents": [{"_id": 1}])") + more + "}");
    };
    constexpr const char* kNumbered =
        R"(, "lsid": {"id": {"$binary": "MDEyMzQ1Njc4OWFiY2RlZg==", "$type": "04"}},
           "txnNumber": {"$numberLong": "1"})";
    const bson::Object refused = insert(kNumbered);
    EXPECT_EQ(code(refused), base::kNotWritablePrimary);
    EXPECT_EQ(text(refused, "errorLabels"), R"([ "RetryableWriteError" ])");
    EXPECT_FALSE(insert("")["errorLabels"]);
    initiate();
    EXPECT_EQ(code(insert(kNumbered)), 0);
    const bson::Object other = run(std::string(R"({"find": "c")") + kNumbered + "}");
    EXPECT_EQ(code(other), 50768);
    EXPECT_FALSE(other["errorLabels"]);
}

INSTANTIATE_TEST_SUITE_P(engines, RetryableWritesTest, kTestEngines, engine_name);

}  // namespace
}  // namespace command
