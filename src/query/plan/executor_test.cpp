// Whole executions, of queries that are rare.
#include "query/plan/executor.h"

#include <gtest/gtest.h>

#include <optional>

#include "bson/testing/json.h"
#include "sched/operation.h"
#include "storage/contract/memory_engine.h"
#include "storage/lock.h"

namespace query {
namespace {

class ExecutorTest : public testing::Test {
  protected:
    ExecutorTest() : lock_(locks_, storage::GlobalMode::W), store_("test.c", {}), own_(&op_) {
        op_.start();
    }

    void build_index(const bson::Object& key) {
        store_.finish_index(
            store_.begin_index(bson::make("key", key.doc(), "name", "tested", "ns", "test.c")));
        collection_.emplace(store_, durability_);
    }
    std::unique_ptr<Executor> run(FindQuery query, const bson::Object& filter) {
        FindQuery::Parts parts;
        parts.filter = filter;
        query.canonicalise(parts);
        return make_executor(&*collection_, std::move(query), {}, nullptr);
    }
    static int count_rows(Executor& executor) {
        Row row;
        int n = 0;
        while (executor.next(&row))
            ++n;
        return n;
    }

    storage::LockManager locks_;
    const storage::GlobalLock lock_;
    storage::contract::MemoryCollection store_;
    storage::contract::MemoryDurability durability_{true};
    std::optional<catalog::Collection> collection_;
    sched::Operation op_;
    const sched::Operation::Scope own_;
};

// Its client asks whether there is more.
TEST_F(ExecutorTest, ATailableScanOfARangeStaysAtItsEnd) {
    build_index(bson::make("a", 1));
    for (int i = 0; i < 5; ++i)
        collection_->insert(bson::make("a", i));
    FindQuery query;
    query.tailable = true;
    query.min = bson::make("a", 3);
    const auto executor = run(std::move(query), bson::Object());
    EXPECT_EQ(count_rows(*executor), 2);
    EXPECT_EQ(count_rows(*executor), 0);
    EXPECT_EQ(count_rows(*executor), 0);
}

// Which no index needs, and every client can ask for.
TEST_F(ExecutorTest, AFieldThatIsTwiceInAnIndexIsBoundedTwice) {
    build_index(bson::make("a", 1, "a", 1));
    for (int i = 0; i < 5; ++i)
        collection_->insert(bson::make("a", i));
    FindQuery query;
    query.hint_name = "tested";
    const auto executor =
        run(std::move(query), bson::parse_test_json(R"({"$or": [{"a": 1}, {"a": 3}]})"));
    EXPECT_EQ(count_rows(*executor), 2);
}

}  // namespace
}  // namespace query
