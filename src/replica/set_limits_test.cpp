// A primary takes long names and index keys once every member has said that it keeps them.
#include "replica/set_limits.h"

#include <gtest/gtest.h>

#include "base/testing/failure.h"
#include "base/testing/muted.h"
#include "bson/testing/json.h"
#include "replica/member.h"
#include "storage/contract/memory_engine.h"

namespace replica {
namespace {

constexpr const char* kOther = "there.example:27017";

// An engine that is asked by catalog and heartbeats as those over an ordered map are.
class LongEngine final : public storage::contract::MemoryEngine {
  public:
    explicit LongEngine(bool keeps) : MemoryEngine(false), keeps_(keeps) {}
    const storage::NameLimits& name_limits() const override {
        return keeps_ ? storage::kNameLimitsOfToday : storage::kOldNameLimits;
    }
    void refuse_long(bool refuses) override { refuses_ = refuses; }
    bool refuses_long() const override { return refuses_; }

  private:
    const bool keeps_;
    bool refuses_ = false;
};

class SetLimitsTest : public testing::Test {
  protected:
    SetLimitsTest() { start(); }

    void start() {
        member_ = nullptr;
        catalog_ = std::make_unique<catalog::Catalog>(engine_);
        log_ = std::make_unique<oplog::Log>(engine_, *catalog_, oplog::Form::replica_set);
        member_ = std::make_unique<Member>(engine_, *catalog_, *log_,
                                           Member::Options{.set_name = "rs0",
                                                           .own_name = "here.example",
                                                           .own_host = "here.example:27017",
                                                           .port = 27017,
                                                           .log_bytes = 1 << 20,
                                                           .answers_limit = {}});
        const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
        member_->open();
    }
    void add_other() {
        member_->reconfigure(bson::from_json(R"({"_id": "rs0", "version": 2, "members": [
                                 {"_id": 0, "host": "here.example:27017"},
                                 {"_id": 1, "host": "there.example:27017", "priority": 0}]})"),
                             false);
    }
    void hear(const bson::Object& answer) { member_->peers().note_answer(kOther, answer, 1); }
    static bson::Object answer(bool keeps_long) {
        return bson::make("state", 2, "v", 2, "keepsLong", keeps_long);
    }
    int create(size_t length) {
        const storage::DatabaseLock lock(engine_.locks(), "test", true);
        return base::failure([&] {
            catalog_->get_or_create("test").create("test." + std::string(length - 5, 'n'), {});
        });
    }

    const base::MutedLog muted_;
    LongEngine engine_{true};
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<oplog::Log> log_;
    std::unique_ptr<Member> member_;
};

TEST_F(SetLimitsTest, AMemberThatMayKeepNoneIsReasonEnoughToRefuse) {
    member_->initiate({});
    EXPECT_EQ(create(255), 0);
    EXPECT_EQ(create(256), base::kInvalidNamespace);
    add_other();
    EXPECT_TRUE(engine_.refuses_long());
    EXPECT_EQ(create(121), base::kInvalidNamespace);
    EXPECT_EQ(create(120), 0);
    hear(answer(true));
    EXPECT_FALSE(engine_.refuses_long());
    EXPECT_EQ(create(121), 0);
    member_->peers().note_no_answer(kOther, "it is away");
    EXPECT_FALSE(engine_.refuses_long()) << "it has said so before";
    hear(answer(false));
    EXPECT_TRUE(engine_.refuses_long());
    hear(bson::make("state", 2, "v", 2));
    EXPECT_TRUE(engine_.refuses_long()) << "a version before this one";
    hear(answer(true));
    start();
    EXPECT_TRUE(engine_.refuses_long()) << "a start knows nothing of the others";
}

// What the primary has taken must not be refused where it is applied.
TEST_F(SetLimitsTest, AMemberThatFollowsRefusesNothing) {
    member_->initiate({});
    add_other();
    ASSERT_TRUE(engine_.refuses_long());
    member_->adopt(kOther, bson::from_json(R"({"_id": "rs0", "version": 3, "members": [
                       {"_id": 0, "host": "here.example:27017", "priority": 0},
                       {"_id": 1, "host": "there.example:27017"}]})"),
                   {});
    ASSERT_TRUE(member_->role().follows());
    EXPECT_FALSE(engine_.refuses_long());
    hear(answer(false));
    EXPECT_FALSE(engine_.refuses_long());
}

TEST_F(SetLimitsTest, AHeartbeatSaysWhatTheEngineKeeps) {
    member_->initiate({});
    bson::Builder out;
    member_->peers().answer(bson::make("replSetHeartbeat", "rs0", "v", 1, "from", ""), out);
    EXPECT_TRUE(out.doc()["keepsLong"].truthy());
    LongEngine old(false);
    EXPECT_FALSE(SetLimits(old, member_->peers()).keeps_long());
}

}  // namespace
}  // namespace replica
