// Updates and deletes by _id while pages come from the disk: they look before they lock, and do the
// same as ever.
#include <fmt/core.h>

#include "command/commands/testing/service.h"
#include "sched/fault_point.h"

namespace command {
namespace {

int g_passed = 0;

class MissingPages : public EachEngineTest {
  protected:
    MissingPages() {
        const bson::Object insert =
            bson::from_json(R"({"insert": "c", "documents": [{"_id": 3, "a": 3}, {"_id": 4}]})");
        EXPECT_EQ(code(run(insert)), 0);
    }
    ~MissingPages() override { sched::FaultPoint::set_hook(nullptr); }

    // How often a command comes to data; what it answers goes into n_.
    int passes(const bson::Object& command) {
        sched::FaultPoint::set_hook([] { ++g_passed; });
        const int before = g_passed;
        const bson::Object reply = run(command);
        sched::FaultPoint::set_hook(nullptr);
        EXPECT_EQ(code(reply), 0);
        n_ = reply["n"].to_int32();
        return g_passed - before;
    }
    static bson::Object update(const char* filter) {
        return bson::from_json(fmt::format(
            R"({{"update": "c", "updates": [{{"q": {}, "u": {{"$inc": {{"b": 1}}}}}}]}})", filter));
    }
    static bson::Object remove(const char* filter) {
        return bson::from_json(
            fmt::format(R"({{"delete": "c", "deletes": [{{"q": {}, "limit": 1}}]}})", filter));
    }

    int n_ = -1;
};

TEST_P(MissingPages, AWriteByIdLooksOnceMore) {
    const int other = passes(update(R"({"a": 3})"));
    EXPECT_EQ(n_, 1);
    EXPECT_EQ(passes(update(R"({"_id": 3})")), other + 1);
    EXPECT_EQ(n_, 1);
    EXPECT_EQ(passes(remove(R"({"_id": 3})")), other + 1);
    EXPECT_EQ(n_, 1);
}

TEST_P(MissingPages, WhatIsNotThereIsNotFound) {
    for (const char* filter : {R"({"_id": 99})", R"({"_id": "x"})"}) {
        passes(update(filter));
        EXPECT_EQ(n_, 0);
        passes(remove(filter));
        EXPECT_EQ(n_, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(engines, MissingPages, kTestEngines, engine_name);

}  // namespace
}  // namespace command
