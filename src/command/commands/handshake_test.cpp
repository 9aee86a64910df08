// What programs say of themselves in hello, and who sees it.
#include <fmt/core.h>

#include "base/error.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

class HandshakeTest : public ServiceTest {
  protected:
    HandshakeTest() : ServiceTest(false, TestEngine::memory) {}

    // On a connection of its own.
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
    EXPECT_EQ(code(run(R"({"bulkWrite": 1, "ops": [], "nsInfo": []})", "admin")),
              base::kCommandNotFound);
}

}  // namespace
}  // namespace command
