// Programs describe themselves in hello; this tests who sees it.
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "command/commands/families.h"
#include "command/commands/testing/service.h"
#include "command/commands/wire_versions.h"
#include "sched/testing/shutdown.h"

namespace command {
namespace {

class HandshakeTest : public ServiceTest {
  protected:
    HandshakeTest() : ServiceTest(false, TestEngine::memory) {}

    // Sends a hello on a connection of its own.
    int greet(const std::string& client) {
        TestConnection connection;
        connection.open(*service_, ++number_);
        return code(connection.run(fmt::format(R"({{"hello": 1, "client": {}}})", client)));
    }
    int number_ = 10;
};

constexpr const char* kDriver =
    R"({"driver": {"name": "d", "version": "1"}, "os": {"type": "Linux"}})";

TEST_F(HandshakeTest, AProgramSaysWhatIsNeededAndNotMuchMore) {
    EXPECT_EQ(greet(kDriver), 0);
    EXPECT_EQ(greet("5"), base::kTypeMismatch);
    EXPECT_EQ(greet(R"({"driver": {"name": "d", "version": "1"}})"),
              base::kClientMetadataMissingField);
    EXPECT_EQ(greet(R"({"driver": {"name": "d"}, "os": {"type": "Linux"}})"),
              base::kClientMetadataMissingField);
    const auto named = [this](size_t name, size_t platform) {
        return greet(fmt::format(
            R"({{"driver": {{"name": "d", "version": "1"}}, "os": {{"type": "Linux"}},
                "application": {{"name": "{}"}}, "platform": "{}"}})",
            std::string(name, 'n'), std::string(platform, 'p')));
    };
    EXPECT_EQ(named(128, 100), 0);
    EXPECT_EQ(named(129, 100), base::kClientMetadataAppNameTooLarge);
    EXPECT_EQ(named(1, 512), base::kClientMetadataDocumentTooLarge);
}

TEST_F(HandshakeTest, ItIsShownAndStays) {
    const std::string hello =
        R"({"hello": 1, "client": {"driver": {"name": "d", "version": "1"},
            "os": {"type": "Linux"}, "application": {"name": "shop"}}})";
    EXPECT_EQ(code(run(hello)), 0);
    EXPECT_EQ(code(run(hello)), base::kClientMetadataCannotBeMutated);
    EXPECT_EQ(code(run(R"({"hello": 1})")), 0);
    TestConnection other;
    other.open(*service_, 3);
    const bson::Object seen = other.run(
        R"({"aggregate": 1, "cursor": {}, "pipeline": [
            {"$currentOp": {"idleConnections": true}}, {"$match": {"appName": "shop"}},
            {"$project": {"clientMetadata": 1}}]})",
        "admin");
    EXPECT_EQ(bson::to_text(seen.doc().at_path("cursor.firstBatch")),
              "[ { clientMetadata: { driver: { name: \"d\", version: \"1\" }, "
              "os: { type: \"Linux\" }, application: { name: \"shop\" } } } ]");
}

// Drivers ask for it in the form of the reply that they had.
TEST_F(HandshakeTest, WaitsForNewsAsLongAsItIsAskedTo) {
    const bson::Object first = run(R"({"hello": 1})");
    const bson::Doc version = first["topologyVersion"].as_doc();
    EXPECT_EQ(version["counter"].as_int64(), 0);
    const auto ask = [&](const char* command, const bson::Object& known, int await) {
        bson::Builder hello;
        hello.append(command, 1).append("topologyVersion", known).append("maxAwaitTimeMS", await);
        return run(hello.object());
    };
    EXPECT_EQ(suspensions_, 0);
    const bson::Object reply = ask("hello", bson::Object(version), 1);
    EXPECT_EQ(suspensions_, 1);
    EXPECT_EQ(text(reply, "topologyVersion"), text(first, "topologyVersion"));
    EXPECT_EQ(code(reply), 0);
    ask("isMaster", bson::Object(version), 1);
    EXPECT_EQ(suspensions_, 2);
    // It has news at once: of another server, or the client waits for nothing.
    EXPECT_EQ(code(ask("hello", bson::make("processId", bson::ObjectId(), "counter", int64_t{0}),
                       100'000'000)),
              0);
    EXPECT_EQ(code(ask("hello", bson::Object(version), 0)), 0);
    EXPECT_EQ(suspensions_, 2);
    const bson::ObjectId process = version["processId"].as_object_id();
    EXPECT_EQ(code(ask("hello", bson::make("processId", process, "counter", int64_t{1}), 1)),
              31382);
    EXPECT_EQ(code(ask("hello", bson::make("processId", process, "counter", 0), 1)),
              base::kTypeMismatch);
    EXPECT_EQ(code(ask("hello", bson::make("counter", int64_t{0}), 1)), 40414);
    EXPECT_EQ(code(ask("hello", bson::Object(version), -1)), 31373);
    EXPECT_EQ(code(run(R"({"hello": 1, "maxAwaitTimeMS": 5})")), 31368);
    EXPECT_EQ(code(run(R"({"hello": 1, "topologyVersion": {}})")), 31368);
    EXPECT_EQ(code(run(R"({"hello": 1, "topologyVersion": 5, "maxAwaitTimeMS": 5})")),
              base::kTypeMismatch);
    EXPECT_TRUE(run_old(R"({"isMaster": 1})")["topologyVersion"].is_object());
    sched::Operation::interrupt_all();
    EXPECT_EQ(code(ask("hello", bson::Object(version), 1)), base::kInterruptedAtShutdown);
    sched::test::end_shutdown();
    EXPECT_EQ(suspensions_, 2);
}

TEST_F(HandshakeTest, OlderServersHaveNoNews) {
    context_.max_wire_version = 8;
    EXPECT_FALSE(run(R"({"hello": 1})")["topologyVersion"]);
    // They do not wait.
    EXPECT_EQ(code(run(R"({"hello": 1, "maxAwaitTimeMS": 100000000})")), 0);
    EXPECT_EQ(suspensions_, 0);
}

TEST_F(HandshakeTest, NoPlansAreKept) {
    const auto ask = [this](const char* spec) {
        return run(fmt::format(
            R"({{"aggregate": "c", "cursor": {{}}, "pipeline": [{{"$planCacheStats": {}}}]}})",
            spec));
    };
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    EXPECT_EQ(bson::to_text(ask("{}").doc().at_path("cursor.firstBatch")), "[]");
    EXPECT_EQ(code(ask("{\"x\": 1}")), base::kFailedToParse);
    EXPECT_EQ(code(ask("5")), base::kFailedToParse);
}

// The promises of wire versions are compared with the commands that there are: with one of these
// commands here, the versions up to the next promise are announced.
TEST_F(HandshakeTest, AWireVersionPromisesOnlyWhatIsHere) {
    const std::span<const WirePromise> promises = wire_promises();
    EXPECT_TRUE(std::ranges::is_sorted(promises, {}, &WirePromise::wire_version));
    EXPECT_FALSE(first_unkept_promise(all_families()));
    for (const WirePromise& promise : promises)
        EXPECT_TRUE(is_kept(promise, all_families())) << promise.text();
    EXPECT_FALSE(is_kept({2, "update", "nosuch"}, all_families()));
    EXPECT_FALSE(is_kept({2, "nosuch"}, all_families()));
    // A server that has less announces less.
    const std::vector<Family> some = {find_commands()};
    ASSERT_TRUE(first_unkept_promise(some));
    EXPECT_EQ(first_unkept_promise(some)->wire_version, 2);
}

}  // namespace
}  // namespace command
