// A directory of a 2.6 with indexes of places and words: they are written, compacted and repaired,
// and hold at each step what they would hold if they were built now.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "command/commands/testing/service.h"
#include "os/testing/fixture.h"

namespace command {
namespace {

constexpr const char* kDatabase = "atlas";

class OldDirectory : public ServiceTest {
  protected:
    OldDirectory()
        : ServiceTest([this] {
              os::unpack_fixture("mmapv1-2.6-geotext-clean.tar.xz", directory_.path());
              return catalog::make_test_engine(TestEngine::mmapv1, directory_.path(), false);
          }) {}

    bson::Object ask(const std::string& command) {
        bson::Object reply = run(command, kDatabase);
        EXPECT_EQ(code(reply), 0) << command << bson::to_text(reply);
        return reply;
    }

    // The collections with their indexes by name.
    using Names = std::vector<std::pair<std::string, std::vector<std::string>>>;
    Names names() {
        Names all;
        const bson::Object collections =
            ask(R"({"listCollections": 1, "nameOnly": true, "filter": {"type": "collection"}})");
        for (const bson::Element& one : collections.doc().at_path("cursor.firstBatch").as_doc()) {
            const std::string name(one.as_doc()["name"].as_string());
            all.push_back({name, {}});
            const bson::Object indexes = ask(fmt::format(R"({{"listIndexes": "{}"}})", name));
            for (const bson::Element& index : indexes.doc().at_path("cursor.firstBatch").as_doc())
                all.back().second.emplace_back(index.as_doc()["name"].as_string());
        }
        return all;
    }

    // The keys of all indexes, of the documents by their _id.
    std::vector<std::string> keys(const Names& names) {
        std::vector<std::string> all;
        for (const auto& [collection, indexes] : names)
            for (const std::string& index : indexes)
                all.push_back(
                    collection + '.' + index + ' ' +
                    bson::to_text(ask(fmt::format(R"({{"_indexKeys": "{}", "hint": "{}"}})",
                                                  collection, index))["keys"]));
        return all;
    }

    void expect_valid(const Names& names) {
        for (const auto& [collection, ignored] : names) {
            const bson::Object report =
                ask(fmt::format(R"({{"validate": "{}", "full": true}})", collection));
            EXPECT_TRUE(report["valid"].truthy()) << bson::to_text(report);
        }
    }

    // Takes each third document out, and puts it back.
    void rewrite(const std::string& collection) {
        const bson::Object found = ask(fmt::format(
            R"({{"find": "{}", "filter": {{"_id": {{"$mod": [3, 0]}}}}, "batchSize": 1000}})",
            collection));
        const bson::Doc batch = found.doc().at_path("cursor.firstBatch").as_doc();
        ask(fmt::format(R"({{"delete": "{}", "deletes": [{{"q": {{"_id": {{"$mod": [3, 0]}}}},
                            "limit": 0}}]}})",
                        collection));
        bson::Builder insert;
        insert.append("insert", collection);
        {
            bson::Builder documents = insert.sub_array("documents");
            for (const bson::Element& doc : batch)
                documents.push(doc.as_doc());
        }
        const bson::Object reply = run(insert.object(), kDatabase);
        EXPECT_EQ(reply["n"].to_int64(), static_cast<int64_t>(batch.field_count()))
            << bson::to_text(reply);
        EXPECT_GT(batch.field_count(), 10u) << collection;
    }
};

TEST_F(OldDirectory, KeepsItsKeysThroughWritesAndBuilds) {
    const Names all = names();
    ASSERT_GE(all.size(), 8u);
    const std::vector<std::string> before = keys(all);
    EXPECT_GE(before.size(), all.size() * 2);
    expect_valid(all);
    const auto is_kept = [&](const char* by) {
        EXPECT_EQ(keys(all), before) << by;
        expect_valid(all);
    };
    for (const auto& [collection, ignored] : all)
        rewrite(collection);
    is_kept("writes");
    for (const char* command : {"reIndex", "compact"}) {
        for (const auto& [collection, ignored] : all)
            ask(fmt::format(R"({{"{}": "{}"}})", command, collection));
        is_kept(command);
    }
    ask(R"({"repairDatabase": 1})");
    is_kept("repairDatabase");
}

}  // namespace
}  // namespace command
