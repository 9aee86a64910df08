// While plans compete, the operation yields as a scan does.
#include "query/plan/plan_trial.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "bson/testing/json.h"
#include "query/plan/plan.h"
#include "sched/work_limit.h"
#include "storage/contract/memory_engine.h"
#include "storage/lock.h"

namespace query {
namespace {

void use_slice_up() {
    while (!sched::slice_over())
        sched::tick();
}

class PlanTrialTest : public testing::Test, protected sched::YieldPoint {
  protected:
    static constexpr int kDocuments = 50;

    PlanTrialTest() : lock_(locks_, storage::GlobalMode::W), store_("test.c", {}), own_(&op_) {
        op_.start();
        for (const char* spec : {R"({"key": {"a": 1}, "name": "a", "ns": "test.c"})",
                                 R"({"key": {"b": 1}, "name": "b", "ns": "test.c"})"})
            store_.finish_index(store_.begin_index(bson::parse_test_json(spec)));
        collection_.emplace(store_, durability_);
    }
    void fill() {
        for (int i = 0; i < kDocuments; ++i)
            ids_.push_back(collection_->insert(bson::make("a", i, "b", -i, "c", i % 2)));
    }

    // Lets the first plans for a filter compete, so many of them.
    Plan compete(const std::string& filter, size_t count) {
        const bson::Object parsed = bson::parse_test_json(filter);
        FindQuery::Parts parts;
        parts.filter = parsed;
        query_.canonicalise(parts);
        std::vector<Plan> plans = make_plans(*collection_, query_, options_, nullptr);
        EXPECT_GE(plans.size(), count);
        plans.erase(plans.begin() + static_cast<std::ptrdiff_t>(count), plans.end());
        rejected_.clear();
        return best_plan(*collection_, query_, options_, std::move(plans), rejected_, won_, this);
    }
    // Lets plans compete for the ranges of both indexes, which hold all documents.
    Plan compete_for_all() { return compete(R"({"a": {"$gte": 0}, "b": {"$lte": 0}, "c": 1})", 2); }

    bool should_yield() override {
        ++asked_;
        sched::Operation::check();
        return others_wait_;
    }
    bool yield() override {
        ++yields_;
        return during_yield_();
    }

    storage::LockManager locks_;
    const storage::GlobalLock lock_;
    storage::contract::MemoryCollection store_;
    storage::contract::MemoryDurability durability_{true};
    std::optional<catalog::Collection> collection_;
    std::vector<storage::RecordId> ids_;
    sched::Operation op_;
    const sched::Operation::Scope own_;
    FindQuery query_;
    Won won_;
    const ExecutorOptions options_;
    std::vector<Rejected> rejected_;
    bool others_wait_ = true;
    std::function<bool()> during_yield_ = [] { return true; };
    int asked_ = 0, yields_ = 0;
};

TEST_F(PlanTrialTest, YieldsAfterEachSlice) {
    fill();
    constexpr int kSlices = 5;
    during_yield_ = [this] {
        if (yields_ < kSlices) use_slice_up();
        return true;
    };
    use_slice_up();
    const Plan best = compete_for_all();
    EXPECT_GE(yields_, kSlices);
    // The result is the same as without a break.
    EXPECT_EQ(best.scans.at(0).index->name, "a");
    ASSERT_EQ(rejected_.size(), 1u);
    EXPECT_EQ(rejected_[0].returned, kDocuments / 2);
}

// There may be one for each clause of a filter of 16 MB.
TEST_F(PlanTrialTest, AReportShowsTheFirstScans) {
    Plan plan;
    EXPECT_EQ(summarise(plan), "COLLSCAN");
    plan.scans.resize(2);
    plan.scans[0].index = plan.scans[1].index = collection_->indexes()[0].get();
    EXPECT_EQ(summarise(plan), "IXSCAN { a: 1 }, IXSCAN { a: 1 }");
    plan.scans.resize(100'000, plan.scans[0]);
    const std::string text = summarise(plan);
    EXPECT_LT(text.size(), 10'000U);
    EXPECT_TRUE(text.ends_with("IXSCAN { a: 1 }, ..."));
}

TEST_F(PlanTrialTest, GoesOnWithoutWaiters) {
    fill();
    others_wait_ = false;
    use_slice_up();
    compete_for_all();
    EXPECT_GE(asked_, 1);
    EXPECT_EQ(yields_, 0);
}

// The places of both plans are among what goes.
TEST_F(PlanTrialTest, DoesNotSeeWhatWasRemovedDuringAYield) {
    fill();
    constexpr int kPieces = 5;  // of work, before the first of which it yields
    constexpr int kAdded = 7;
    during_yield_ = [this] {
        if (yields_ < kPieces) use_slice_up();
        if (yields_ != kPieces) return true;
        for (const storage::RecordId id : ids_)
            collection_->remove(id);
        for (int i = 0; i < kAdded; ++i)
            collection_->insert(bson::make("a", kDocuments + i, "b", -kDocuments - i, "c", 1));
        return true;
    };
    use_slice_up();
    compete_for_all();
    EXPECT_GE(yields_, kPieces);
    ASSERT_EQ(rejected_.size(), 1u);
    EXPECT_LE(rejected_[0].returned, kPieces + kAdded);
}

TEST_F(PlanTrialTest, EndsWhenTheCollectionHasGone) {
    fill();
    during_yield_ = [] { return false; };
    use_slice_up();
    try {
        compete_for_all();
        ADD_FAILURE() << "it goes on";
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), 17356) << error.what();
    }
    EXPECT_EQ(yields_, 1);
}

TEST_F(PlanTrialTest, EndsWhenItIsKilledDuringAYield) {
    fill();
    during_yield_ = [this] {
        op_.kill(op_.id());
        use_slice_up();
        return true;
    };
    use_slice_up();
    EXPECT_THROW(compete_for_all(), base::Error);
}

// One document is matched to its end, or to the limit of its work.
TEST_F(PlanTrialTest, DoesNotYieldInsideADocument) {
    bson::Builder doc;
    doc.append("a", 1).append("b", 1);
    {
        bson::Builder x = doc.sub_array("x");
        for (int i = 0; i < 300'000; ++i)
            x.push(1);
    }
    collection_->insert(doc.doc());
    const std::string filter = R"({"a": 1, "b": 1, "x": {"$elemMatch": {"$lt": 0}}})";
    sched::start_slice();
    compete(filter, 1);
    EXPECT_LE(yields_, 2);  // before it, and behind it

    sched::WorkLimit::set_limit(100'000);
    try {
        compete(filter, 1);
        ADD_FAILURE() << "it goes on";
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), base::kWorkLimitExceeded) << error.what();
    }
    sched::WorkLimit::set_limit(sched::WorkLimit::kDefaultTicks);
}

}  // namespace
}  // namespace query
