// Queries by the old opcodes: what their flags and modifiers do beyond the recorded conversations.
#include <fmt/core.h>

#include "server/test_service.h"

namespace server {
namespace {

class OldQueriesTest : public ServiceTest {};

// The first batch is as large as asked for, the further ones as large as may be.
TEST_F(OldQueriesTest, ExhaustStreamsBatchesOfLimitedSize) {
    const std::string megabyte(1 << 20, 'x');
    for (int i = 0; i < 11; ++i)
        insert_old("test.c", {fmt::format(R"({{"_id": {}, "x": "{}"}})", i, megabyte)});
    const std::vector<uint8_t> replies = query_bytes("test.c", "{}", 2, wire::kExhaust);
    std::vector<int32_t> counts;
    for (size_t at = 0; at < replies.size();) {
        counts.push_back(bson::load<int32_t>(replies.data() + at + 32));
        at += static_cast<size_t>(bson::load<int32_t>(replies.data() + at));
    }
    EXPECT_EQ(counts, (std::vector<int32_t>{2, 4, 4, 1}));
}

TEST_F(OldQueriesTest, RecordsTellTheirPlace) {
    insert_old("test.c", {R"({"_id": 1, "a": 1})", R"({"_id": 2, "a": 2})"});
    int32_t last = -1;
    for (const bson::Object& doc : query("test.c", R"({"$query": {}, "$showDiskLoc": true})", 0)) {
        const bson::Doc place = doc["$diskLoc"].as_doc();
        EXPECT_EQ(place["file"].as_int32(), 0);
        EXPECT_GT(place["offset"].as_int32(), last);
        last = place["offset"].as_int32();
        EXPECT_EQ(doc.doc().field_count(), 3);
    }
    EXPECT_GT(last, 0);
    const bson::Object newer =
        run(R"({"find": "c", "projection": {"a": 1}, "showRecordId": true})");
    EXPECT_EQ(newer.doc().at_path("cursor.firstBatch.1.$recordId").to_int64(), last);
}

}  // namespace
}  // namespace server
