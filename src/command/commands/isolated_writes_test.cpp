// Updates that change much while others read the same documents.
#include <fmt/core.h>

#include <atomic>
#include <thread>

#include "command/commands/testing/service.h"

namespace command {
namespace {

using bson::make;

class SharedUpdates : public EachEngineTest {
  protected:
    SharedUpdates() { other_.open(*service_, 2); }

    int64_t count(TestConnection& client, const bson::Object& query) {
        return client.run(make("count", "c", "query", query))["n"].to_int64();
    }
    void insert(int documents) {
        constexpr int kBatch = 10'000;
        for (int done = 0; done < documents; done += kBatch) {
            bson::Builder insert;
            insert.append("insert", "c");
            {
                bson::Builder list = insert.sub_array("documents");
                for (int n = done; n < done + kBatch; ++n)
                    list.push(make("_id", n, "a", 0));
            }
            ASSERT_EQ(code(run(insert.object())), 0);
        }
    }
    // Whether, while all documents are changed or go, only one of the first and the last one is
    // seen to be as it was.
    bool is_seen_in_part(const bson::Object& change) {
        std::atomic<bool> done = false;
        bool seen = false;
        const bson::Object ends = bson::from_json(
            fmt::format(R"({{"_id": {{"$in": [0, {}]}}, "a": 0}})", kDocuments - 1));
        std::thread reader([&] {
            while (!done)
                seen = seen || count(other_, ends) == 1;
        });
        EXPECT_EQ(query("test.$cmd", change, -1).at(0)["ok"].to_double(), 1);
        done = true;
        reader.join();
        return seen;
    }

    static constexpr int kDocuments = 100'000;
    TestConnection other_;
};

bson::Object write_all(const char* command, const char* list, const bson::Object& one) {
    bson::Builder out;
    out.append(command, "c").sub_array(list).push(one);
    return out.object();
}

// Semantics of the old server, by its messages: such a write is not interleaved with others.
TEST_P(SharedUpdates, AnIsolatedUpdateIsNotSeenInPart) {
    insert(kDocuments);
    const bson::Object one =
        make("q", make("$isolated", 1), "u", make("$set", make("a", 1)), "multi", true);
    EXPECT_FALSE(is_seen_in_part(write_all("update", "updates", one)));
    EXPECT_EQ(count(*this, make("a", 1)), kDocuments);
}

TEST_P(SharedUpdates, AnIsolatedDeleteIsNotSeenInPart) {
    insert(kDocuments);
    const bson::Object one = make("q", make("$atomic", true), "limit", 0);
    EXPECT_FALSE(is_seen_in_part(write_all("delete", "deletes", one)));
    EXPECT_EQ(count(*this, bson::Object()), 0);
}

INSTANTIATE_TEST_SUITE_P(engines, SharedUpdates, kTestEngines, engine_name);

}  // namespace
}  // namespace command
