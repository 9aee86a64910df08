// Filters with scripts: while one goes on, others have the lock, and change what they like.
#include "query/plan/detached_match.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bson/testing/json.h"
#include "sched/work_limit.h"
#include "storage/contract/memory_engine.h"
#include "storage/lock.h"

namespace query {
namespace {

using Script = std::function<bool(bson::Doc)>;

class ScriptParser final : public WhereParser {
  public:
    explicit ScriptParser(Script script) : script_(std::move(script)) {}
    std::unique_ptr<const MatchExpression> parse(const bson::Element&) const override {
        class Where final : public MatchExpression {
          public:
            explicit Where(Script script) : script_(std::move(script)) {}
            bool matches(bson::Doc doc) const override { return script_(doc); }
            void append_result(bson::Doc, std::string_view, bson::Builder&) const override {}
            bson::Doc implied() const override { return {}; }
            bson::Doc implied_ranges() const override { return {}; }
            bool runs_scripts() const override { return true; }

          private:
            const Script script_;
        };
        return std::make_unique<Where>(script_);
    }

  private:
    const Script script_;
};

struct Shape {
    const char* name;
    const char* filter;
    const char* sort;
};

class DetachedMatchTest : public testing::TestWithParam<Shape>, protected sched::YieldPoint {
  protected:
    static constexpr int kDocuments = 5;

    DetachedMatchTest() : own_(&op_), store_("test.c", {}) {
        op_.start();
        lock_.emplace(locks_, storage::GlobalMode::W);
        for (const char* spec : {R"({"key": {"a": 1}, "name": "a", "ns": "test.c"})",
                                 R"({"key": {"b": 1}, "name": "b", "ns": "test.c"})",
                                 R"({"key": {"c": 1, "d": 1}, "name": "cd", "ns": "test.c"})"})
            store_.finish_index(store_.begin_index(bson::parse_test_json(spec)));
        collection_.emplace(store_, durability_);
        for (int i = 0; i < kDocuments; ++i)
            ids_.push_back(collection_->insert(bson::make("a", i, "b", i, "c", 1)));
    }

    bool should_yield() override { return false; }
    bool yield() override { return true; }
    bool may_give_up() override { return !is_kept_; }
    void give_up() override {
        lock_.reset();
        ++given_up_;
    }
    bool take_back() override {
        lock_.emplace(locks_, storage::GlobalMode::W);
        return others_();
    }

    // A script that takes long.
    void go_on() {
        const int before = given_up_;
        for (int i = 0; i < 100'000'000 && given_up_ == before; ++i)
            sched::tick();
        EXPECT_GT(given_up_, before);
    }

    // The values of `a` that are found.
    std::vector<int> find(const Script& script, bool for_write = false) {
        const bson::Object filter = bson::parse_test_json(GetParam().filter);
        const bson::Object sort = bson::parse_test_json(GetParam().sort);
        const ScriptParser where(script);
        FindQuery query;
        FindQuery::Parts parts;
        parts.filter = filter;
        parts.sort = sort;
        parts.where = &where;
        query.canonicalise(parts);
        ExecutorOptions options;
        options.for_write = for_write;
        const auto executor = make_executor(&*collection_, std::move(query), options, this);
        std::vector<int> found;
        Row row;
        while (executor->next(&row)) {
            EXPECT_TRUE(lock_.has_value());
            found.push_back(row.doc["a"].as_int32());
        }
        return found;
    }
    void change(size_t i, const bson::Object& doc) {
        ids_[i] = collection_->update(ids_[i], doc, {}).id;
    }

    sched::Operation op_;
    const sched::Operation::Scope own_;
    storage::LockManager locks_;
    std::optional<storage::GlobalLock> lock_;
    storage::contract::MemoryCollection store_;
    storage::contract::MemoryDurability durability_{true};
    std::optional<catalog::Collection> collection_;
    std::vector<storage::RecordId> ids_;
    std::function<bool()> others_ = [] { return true; };
    int given_up_ = 0;
    bool is_kept_ = false;
};

TEST_P(DetachedMatchTest, ALongScriptGivesTheLockUp) {
    const auto script = [this](bson::Doc doc) {
        go_on();
        return doc["a"].as_int32() != 2;
    };
    EXPECT_EQ(find(script), (std::vector{0, 1, 3, 4}));
    EXPECT_GE(given_up_, kDocuments);
    EXPECT_EQ(find(script, true), (std::vector{0, 1, 3, 4}));
}

TEST_P(DetachedMatchTest, AShortOneKeepsIt) {
    sched::start_slice();
    EXPECT_EQ(find([](bson::Doc doc) { return doc["a"].as_int32() > 2; }), (std::vector{3, 4}));
    EXPECT_EQ(given_up_, 0);
}

// The document, the one before it and the one behind it.
TEST_P(DetachedMatchTest, WhatIsRemovedIsNotFound) {
    others_ = [this] {
        for (const size_t i : {1, 2, 3})
            if (ids_[i]) collection_->remove(std::exchange(ids_[i], {}));
        return true;
    };
    const auto found = find([this](bson::Doc doc) {
        if (doc["a"].as_int32() == 2) go_on();
        return true;
    });
    EXPECT_EQ(found.back(), 4);
    for (const int a : found)
        EXPECT_TRUE(a != 2 && a != 3) << a;
}

// The script refuses it, or the rest of the filter does.
TEST_P(DetachedMatchTest, WhatIsChangedIsMatchedAnew) {
    others_ = [this] {
        change(2, bson::make("a", 2, "b", 2, "c", 1, "refused", true));
        change(3, bson::make("a", 3, "b", 3, "c", 0));
        return true;
    };
    const auto script = [this](bson::Doc doc) {
        if (!doc["refused"] && doc["c"].as_int32() == 1 && doc["a"].as_int32() >= 2) go_on();
        return !doc["refused"];
    };
    EXPECT_EQ(find(script), (std::vector{0, 1, 4}));
    EXPECT_EQ(find(script, true), (std::vector{0, 1, 4}));
}

// Then the script has a limit instead of the lock's end.
TEST_P(DetachedMatchTest, WhatChangesEachTimeIsMatchedWithTheLock) {
    int changes = 0;
    others_ = [&] {
        change(2, bson::make("a", 2, "b", 2, "c", 1, "changes", ++changes));
        return true;
    };
    int runs = 0;
    bool goes_on = false;
    const auto script = [&](bson::Doc doc) {
        if (doc["a"].as_int32() != 2) return true;
        if (++runs % 4 != 0) go_on();
        while (goes_on && runs % 4 == 0) {
            sched::tick();
            sched::WorkLimit::check_script();
        }
        return true;
    };
    EXPECT_EQ(find(script), (std::vector{0, 1, 2, 3, 4}));
    EXPECT_EQ(runs % 4, 0);
    goes_on = true;
    EXPECT_THROW(find(script), base::Error);
}

TEST_P(DetachedMatchTest, AnErrorFindsTheLockTakenBack) {
    const auto script = [this](bson::Doc) -> bool {
        go_on();
        base::fail(16722, "thrown");
    };
    try {
        find(script);
        ADD_FAILURE() << "it goes on";
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), 16722);
    }
    EXPECT_TRUE(lock_.has_value());
}

TEST_P(DetachedMatchTest, EndsWhenTheCollectionHasGone) {
    others_ = [] { return false; };
    try {
        find([this](bson::Doc) {
            go_on();
            return true;
        });
        ADD_FAILURE() << "it goes on";
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), 17356);
    }
}

TEST_P(DetachedMatchTest, ALockThatIsKeptLimitsAScript) {
    is_kept_ = true;
    const auto script = [](bson::Doc) {
        for (;;) {
            sched::tick();
            sched::WorkLimit::check_script();
        }
        return true;
    };
    try {
        find(script);
        ADD_FAILURE() << "it goes on";
    } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), base::kWorkLimitExceeded);
        EXPECT_NE(std::string(error.what()).find("a twentieth"), std::string::npos);
    }
    EXPECT_EQ(given_up_, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, DetachedMatchTest,
    testing::Values(
        Shape{"Scan", R"({"c": 1, "$where": "1"})", R"({})"},
        Shape{"Index", R"({"a": {"$gte": 0}, "c": 1, "$where": "1"})", R"({})"},
        Shape{"Sorted", R"({"c": 1, "$where": "1"})", R"({"d": 1, "c": 1})"},
        Shape{"Merged", R"({"c": {"$in": [1, 2]}, "$where": "1"})", R"({"d": 1})"},
        Shape{"Clauses", R"({"$or": [{"a": {"$gte": 0}}, {"b": 7}], "c": 1, "$where": "1"})",
              R"({})"},
        Shape{"Trial", R"({"a": {"$gte": 0}, "b": {"$gte": 0}, "c": 1, "$where": "1"})", R"({})"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace query
