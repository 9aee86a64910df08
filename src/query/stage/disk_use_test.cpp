// With allowDiskUse results and their order are those of memory, however little there is of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "dialect/dialect.h"
#include "os/testing/bytes_written.h"
#include "os/testing/directory.h"
#include "query/stage/pipeline.h"
#include "sched/memory.h"
#include "spill/run.h"

namespace query {
namespace {

namespace fs = std::filesystem;

// In numbers, texts, documents and arrays, some missing; `g` is one of many, `few` one of few.
std::vector<bson::Object> documents(int count) {
    std::mt19937 generator(5);
    std::vector<bson::Object> docs;
    for (int i = 0; i < count; ++i) {
        const auto r = static_cast<int>(generator() % 1000);
        bson::Builder b;
        b.append("_id", i).append("few", r % 3).append("real", 0.1 * r + 1e10 / (r + 1));
        if (r % 10 != 0) b.append("n", r);
        // Equal values of two types are one group, with the value that came first.
        if (r % 2 == 0) {
            b.append("g", static_cast<double>(r % 700));
        } else {
            b.append("g", r % 700);
        }
        b.append("text", std::string(static_cast<size_t>(r % 60), 'x'));
        {
            bson::Builder list = b.sub_array("list");
            for (int k = 0; k < r % 4; ++k)
                list.push(bson::make("v", (r * 7 + k) % 11));
        }
        docs.push_back(b.object());
    }
    return docs;
}

class DiskUseTest : public testing::Test {
  protected:
    ~DiskUseTest() override { set_memory(sched::memory::kOperationBytes); }
    static void set_memory(int64_t bytes) {
        sched::memory::set_limits(bytes, sched::memory::kAllBytes);
    }

    std::vector<std::string> run(const std::string& stages, bool on_disk) {
        set_memory(on_disk ? 100'000 : sched::memory::kOperationBytes);
        PipelineContext context;
        context.allow_disk_use = true;
        context.dialect = dialect_;
        context.scratch_directory = folder_;
        const auto pipeline = Pipeline::parse(
            bson::parse_test_json("{\"p\": " + stages + "}")["p"].as_doc(), context);
        size_t at = 0;
        auto current = std::make_unique<bson::Object>();
        pipeline->set_source([&](bson::Doc* out) {
            current = nullptr;  // valid until the next one only
            if (at == input_.size()) return false;
            current = std::make_unique<bson::Object>(input_[at++]);
            *out = *current;
            return true;
        });
        std::vector<std::string> results;
        bson::Doc doc;
        used_disk_ = false;
        while (pipeline->next(&doc)) {
            results.push_back(bson::to_text(doc));
            used_disk_ |= spill::bytes_on_disk() > 0;
        }
        return results;
    }

    void check(const std::string& stages) {
        const auto expected = run(stages, false);
        EXPECT_FALSE(used_disk_) << stages;
        EXPECT_EQ(run(stages, true), expected) << stages;
        EXPECT_TRUE(used_disk_) << stages;
        EXPECT_EQ(spill::bytes_on_disk(), 0) << stages;
        EXPECT_TRUE(fs::is_empty(folder_)) << stages;
    }

    const os::TestDirectory home_;
    const std::string folder_ = os::join(home_.path(), "_tmp");
    std::vector<bson::Object> input_ = documents(5000);
    dialect::Dialect dialect_ = dialect::kV26;
    bool used_disk_ = false;
};

TEST_F(DiskUseTest, SortsAreTheSame) {
    for (const dialect::Dialect dialect : {dialect::kV26, dialect::kToday}) {
        dialect_ = dialect;
        for (const char* spec : {R"({"few": 1})", R"({"few": -1, "n": 1})", R"({"list.v": 1})",
                                 R"({"text": -1, "list": 1})", R"({"nowhere": 1})"}) {
            check(fmt::format(R"([{{"$sort": {}}}])", spec));
            check(fmt::format(R"([{{"$sort": {}}}, {{"$limit": 4000}}])", spec));
            check(fmt::format(R"([{{"$sort": {}}}, {{"$skip": 100}}, {{"$limit": 3000}}])", spec));
        }
    }
}

TEST_F(DiskUseTest, GroupsAreTheSame) {
    const std::string all = R"("s": {"$sum": "$real"}, "i": {"$sum": "$n"}, "a": {"$avg": "$real"},
        "first": {"$first": "$n"}, "last": {"$last": "$text"}, "min": {"$min": "$text"},
        "max": {"$max": "$list"}, "set": {"$addToSet": "$n"}, "push": {"$push": "$n"}, "count":
        {"$sum": 1})";
    for (const char* id : {R"("$g")", R"({"g": "$g", "few": "$few"})", R"("$_id")", R"("$list")"})
        check(fmt::format(R"([{{"$group": {{"_id": {}, {}}}}}])", id, all));
    // Few groups that grow: they have to leave memory.
    check(R"([{"$group": {"_id": "$few", "all": {"$push": "$$ROOT"}}}])");
    check(R"([{"$group": {"_id": "$few", "all": {"$addToSet": "$_id"}, "s": {"$sum": "$real"},
                          "f": {"$first": "$nowhere"}}}])");
}

TEST_F(DiskUseTest, OtherStagesAreTheSame) {
    check(R"([{"$sortByCount": "$_id"}])");
    check(R"([{"$facet": {"a": [{"$limit": 3}], "b": [{"$match": {"few": 1}}, {"$sort": {"n": 1}}],
                          "c": [{"$group": {"_id": "$g", "n": {"$sum": 1}}}]}}])");
    check(R"([{"$sort": {"n": 1}}, {"$group": {"_id": "$g", "f": {"$first": "$_id"}}},
              {"$sort": {"f": -1}}])");
}

// A document that is large among others is written once, however often its run is merged.
TEST_F(DiskUseTest, LargeDocumentsAreTheSame) {
    input_.clear();
    int64_t bytes = 0;
    for (int i = 0; i < 80; ++i) {
        const size_t size = i % 10 == 0 ? 100 : 200'000 + static_cast<size_t>(i);
        input_.push_back(bson::make("_id", i, "n", i * 7 % 23, "g", i % 5, "few", i % 3, "text",
                                    std::string(size, static_cast<char>('a' + i % 26))));
        bytes += input_.back().doc().size();
    }
    int64_t before = os::bytes_written_by_this_thread();
    const auto written = [&] { return os::bytes_written_by_this_thread() - before; };
    check(R"([{"$sort": {"few": 1, "n": -1}}])");
    EXPECT_LT(written(), bytes + bytes / 50);
    check(R"([{"$sort": {"nowhere": 1, "n": -1}}, {"$limit": 70}])");
    before = os::bytes_written_by_this_thread();
    check(R"([{"$group": {"_id": "$n", "all": {"$push": "$text"}}}])");
    EXPECT_LT(written(), 2 * bytes + bytes / 25);
    check(
        R"([{"$group": {"_id": "$g", "first": {"$first": "$$ROOT"}, "max": {"$max": "$text"}}}])");
}

TEST_F(DiskUseTest, FilesGoWhenThePipelineFails) {
    set_memory(100'000);
    PipelineContext context;
    context.allow_disk_use = true;
    context.scratch_directory = folder_;
    size_t given = 0;
    {
        const auto pipeline = Pipeline::parse(
            bson::parse_test_json(R"({"p": [{"$sort": {"n": 1}}]})")["p"].as_doc(), context);
        pipeline->set_source([&](bson::Doc* out) {
            if (++given == input_.size()) base::fail(base::kInterrupted, "interrupted");
            *out = input_[given];
            return true;
        });
        bson::Doc doc;
        EXPECT_THROW(pipeline->next(&doc), base::Error);
        EXPECT_FALSE(fs::is_empty(folder_));
    }
    EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace query
