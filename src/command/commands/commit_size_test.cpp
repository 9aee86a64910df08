// One document may change at most what one commit carries: a larger change is refused before
// anything is changed.
#include <fmt/core.h>

#include "command/commands/testing/service.h"
#include "sched/work_limit.h"

namespace command {
namespace {

using bson::make;

class CommitSizeTest : public ServiceTest {
  protected:
    // One document's work is not what these are about.
    CommitSizeTest() : ServiceTest(true) { sched::WorkLimit::set_limit(int64_t{1} << 40); }
    ~CommitSizeTest() override { sched::WorkLimit::set_limit(sched::WorkLimit::kDefaultTicks); }

    int insert(const bson::Object& doc) {
        const bson::Object list = make("0", doc);
        bson::Builder command;
        command.append("insert", "ring").append_array("documents", list);
        const bson::Object reply = run(command.object());
        if (code(reply) != 0) return code(reply);
        const bson::Element errors = reply["writeErrors"];
        return errors.missing() ? 0 : errors.as_doc()["0"].as_doc()["code"].to_int32();
    }
    int64_t count() { return run(R"({"count": "ring"})")["n"].to_int64(); }
};

// Holds J20. Its oldest documents would be gone by the time an index refuses the new one.
TEST_F(CommitSizeTest, ARingLosesNothingToADocumentWithTooManyKeys) {
    constexpr int kElements = 20000;
    constexpr int kIndexes = 30;
    ASSERT_EQ(code(run(R"({"create": "ring", "capped": true, "size": 400000})")), 0);
    const std::string filler(30000, 'x');
    for (int i = 0; i < 30; ++i)
        ASSERT_EQ(insert(make("_id", i, "t", filler)), 0);
    const int64_t before = count();
    ASSERT_LT(before, 30) << "the ring has not come round";
    const int64_t oldest = query("test.ring", "{}", 1).at(0)["_id"].to_int64();
    // Each key holds the text: thirty times 18 MB of keys for a document of 260 KB.
    for (int i = 0; i < kIndexes; ++i) {
        const std::string command = fmt::format(
            R"({{"createIndexes": "ring", "indexes": [{{"key": {{"a": 1, "s": 1, "f{0}": 1}},)"
            R"( "name": "i{0}"}}]}})",
            i);
        ASSERT_EQ(code(run(command)), 0);
    }
    bson::Builder doc;
    doc.append("_id", 1000).append("s", std::string(900, 's'));
    {
        bson::Builder array = doc.sub_array("a");
        for (int i = 0; i < kElements; ++i)
            array.append(std::to_string(i), i);
    }
    EXPECT_EQ(insert(doc.object()), base::kOperationFailed);
    EXPECT_EQ(count(), before);
    EXPECT_EQ(query("test.ring", "{}", 1).at(0)["_id"].to_int64(), oldest);
    EXPECT_EQ(insert(make("_id", 31, "a", 1)), 0);
    EXPECT_TRUE(run(R"({"validate": "ring", "full": true})")["valid"].truthy());
}

}  // namespace
}  // namespace command
