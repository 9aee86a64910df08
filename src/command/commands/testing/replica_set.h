// command/commands/testing/replica_set.h - commands run by tests on a replica set of one member.
#pragma once

#include "base/testing/muted.h"
#include "command/commands/testing/service.h"
#include "oplog/log.h"
#include "replica/member.h"

namespace command {

class ReplicaSetTest : public ServiceTest {
  protected:
    explicit ReplicaSetTest(bool journal = false)
        : ReplicaSetTest(journal, journal ? TestEngine::mmapv1 : TestEngine::memory) {}
    ReplicaSetTest(bool journal, TestEngine engine) : ServiceTest(journal, engine) { join(); }
    ~ReplicaSetTest() override {
        session_ = nullptr;
        service_ = nullptr;
        member_ = nullptr;
        catalog_ = nullptr;
    }

    // Opens everything again as a start does it, over the data that is there.
    void restart() {
        session_ = nullptr;
        service_ = nullptr;
        member_ = nullptr;
        catalog_ = nullptr;
        log_ = nullptr;
        catalog_ = std::make_unique<catalog::Catalog>(*engine_, &expressions_);
        join();
        {
            const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
            member_->open();
        }
        service_ = std::make_unique<Service>(*catalog_, context_, all_families());
        open(*service_, 1);
    }
    void initiate() {
        const bson::Object reply = run(R"({"replSetInitiate": {}})", "admin");
        ASSERT_EQ(code(reply), 0) << bson::to_text(reply.doc());
    }
    // Tells the member, by a heartbeat, of another configuration, in which that member is the
    // primary, and this one not.
    void hear_of_primary(const std::string& host) {
        bson::Builder answer;
        {
            const std::shared_ptr<const replica::Config> config = member_->config();
            bson::Builder next = answer.sub_object("config");
            for (const bson::Element& e : config->document)
                if (e.name() == "version")
                    next.append("version", 7);
                else if (e.name() != "members")
                    next.append(e);
            bson::Builder members = next.sub_array("members");
            members.push(bson::make("_id", 0, "host", "here:27017", "priority", 0));
            members.push(bson::make("_id", 1, "host", host));
        }
        member_->peers().note_answer(host, answer.append("state", 1).append("v", 7).doc(), 1);
    }
    // Expects the codes of the command by OP_MSG, and by OP_QUERY.
    void expect_codes(const std::string& command, int by_msg, int by_query,
                      const std::string& db = "test") {
        EXPECT_EQ(code(run(command, db)), by_msg) << command;
        EXPECT_EQ(code(run_old(command, db)), by_query) << command;
    }
    // Returns the code that getLastError gives after an old message.
    int last_error() { return run_old(R"({"getlasterror": 1})")["code"].to_int32(); }
    // Returns a request of a transaction; `more`: further fields.
    static bson::Object of(const std::string& command, int64_t number, const SessionId& id,
                           const char* more = "") {
        bson::Builder out;
        out.append_all(bson::from_json(command));
        id.append_to(out, "lsid");
        out.append("txnNumber", number).append("autocommit", false);
        if (*more != '\0') out.append_all(bson::from_json(more));
        return out.object();
    }
    // Returns the text of a reply but for the time that each one of a member tells.
    static std::string without_time(const bson::Object& reply) {
        bson::Builder out;
        for (const bson::Element& e : reply)
            if (e.name() != "$clusterTime" && e.name() != "operationTime") out.append(e);
        return bson::to_text(out.doc());
    }
    static std::string concern_error(const bson::Object& reply) {
        EXPECT_EQ(reply["ok"].to_double(), 1.0);
        const bson::Element error = reply["writeConcernError"];
        return error ? bson::to_text(error) : std::string();
    }

    const base::MutedLog muted_;
    std::unique_ptr<oplog::Log> log_;
    std::unique_ptr<replica::Member> member_;

  private:
    void join() {
        log_ = std::make_unique<oplog::Log>(*engine_, *catalog_, oplog::Form::replica_set);
        member_ =
            std::make_unique<replica::Member>(*engine_, *catalog_, *log_,
                                              replica::Member::Options{.set_name = "rs0",
                                                                       .own_name = "here",
                                                                       .own_host = "here:27017",
                                                                       .port = 27017,
                                                                       .log_bytes = 1 << 20});
        context_.member = member_.get();
    }
};

}  // namespace command
