// Several connections at once, rings that run over their readers, replies and sorts at their
// limits: no recorded case can show these.
#include <fmt/core.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "base/testing/effort.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

using bson::make;

class ConcurrentClientsTest : public ServiceTest {
  protected:
    ConcurrentClientsTest() : ServiceTest(true) {}

    bool valid(const std::string& collection) {
        const bson::Object reply = run(make("validate", collection, "full", true));
        return reply["valid"].truthy();
    }
};

// A client that follows a ring, and begins again when the writer has run over its place.
class Follower {
  public:
    explicit Follower(Service& service) { connection_.open(service, 2); }

    // Reads up to the document {_id: last}.
    void follow(int64_t last) {
        while (seen_ < last) {
            const bson::Object first = connection_.run(
                R"({"find": "ring", "tailable": true, "awaitData": true, "batchSize": 3})");
            take(first.doc().at_path("cursor.firstBatch"));
            int64_t id = first.doc().at_path("cursor.id").to_int64();
            while (id != 0 && seen_ < last) {
                const bson::Object more = connection_.run(
                    make("getMore", id, "collection", "ring", "batchSize", 3, "maxTimeMS", 60000));
                if (TestConnection::code(more) != 0) {
                    EXPECT_EQ(TestConnection::code(more), 17406) << bson::to_text(more);
                    anew_ = true;
                    break;
                }
                take(more.doc().at_path("cursor.nextBatch"));
                id = more.doc().at_path("cursor.id").to_int64();
            }
        }
    }

  private:
    // Documents come one after the other within the life of a cursor; a new one begins at the
    // oldest that is left.
    void take(const bson::Element& batch) {
        for (const bson::Element& e : batch.as_doc()) {
            const int64_t id = e.as_doc()["_id"].to_int64();
            if (!anew_) {
                EXPECT_EQ(id, place_ + 1);
            }
            anew_ = false;
            place_ = id;
            seen_ = std::max(seen_, id);
        }
    }

    TestConnection connection_;
    int64_t place_ = -1;
    int64_t seen_ = -1;
    bool anew_ = true;
};

TEST_F(ConcurrentClientsTest, TailableCursorsSeeEachDocumentOfARingOnceOrDie) {
    run(R"({"create": "ring", "capped": true, "size": 8192})");
    run(R"({"insert": "ring", "documents": [{"_id": 0}]})");
    const int last = base::test_effort(4000);
    const std::string text(100, 'x');
    Follower follower(*service_);
    std::thread reader([&] { follower.follow(last); });
    for (int i = 1; i <= last; ++i)
        insert_old("test.ring", {fmt::format(R"({{"_id": {}, "text": "{}"}})", i, text)});
    reader.join();
    EXPECT_TRUE(valid("ring"));
}

TEST_F(ConcurrentClientsTest, ARingThatRunsOverItsReaderEndsTheCursor) {
    run(R"({"create": "ring", "capped": true, "size": 4096})");
    for (int i = 0; i < 10; ++i)
        insert_old("test.ring", {fmt::format(R"({{"_id": {}}})", i)});
    const bson::Object first = run(R"({"find": "ring", "tailable": true, "batchSize": 5})");
    const int64_t id = first.doc().at_path("cursor.id").to_int64();
    ASSERT_NE(id, 0);
    for (int i = 10; i < 1000; ++i)
        insert_old("test.ring", {fmt::format(R"({{"_id": {}}})", i)});
    EXPECT_EQ(code(run(make("getMore", id, "collection", "ring"))), 17406);
    EXPECT_EQ(code(run(make("getMore", id, "collection", "ring"))), 43);
}

// One of several connections that change the same collection, each its own documents.
class Changer {
  public:
    Changer(Service& service, int number)
        : number_(number), random_(static_cast<unsigned>(number)) {
        connection_.open(service, 10 + number);
    }

    void work(int64_t steps) {
        for (int64_t i = 0; i < steps; ++i) {
            const int64_t id = 4 * static_cast<int64_t>(random_() % 200) + number_;
            switch (random_() % 8) {
                case 0:
                case 1:
                case 2:
                    put(id);
                    break;
                case 3:
                    remove(id);
                    break;
                case 4:
                    grow(id);
                    break;
                case 5:
                    read();
                    break;
                case 6:
                    if (number_ == 0) index(i);
                    break;
                default:
                    if (number_ == 1) other_collection();
                    break;
            }
        }
    }
    const std::map<int64_t, std::string>& model() const { return model_; }

  private:
    void put(int64_t id) {
        const std::string text(random_() % 50, 'p');
        expect_ok(connection_.run(fmt::format(
            R"({{"update": "c", "updates": [{{"q": {{"_id": {0}}}, "upsert": true,
                 "u": {{"_id": {0}, "a": {0}, "t": "{1}"}}}}]}})",
            id, text)));
        model_[id] = text;
    }
    void remove(int64_t id) {
        expect_ok(connection_.run(fmt::format(
            R"({{"delete": "c", "deletes": [{{"q": {{"a": {}}}, "limit": 0}}]}})", id)));
        model_.erase(id);
    }
    void grow(int64_t id) {
        const std::string text(300 + random_() % 600, 'g');
        const bson::Object reply = connection_.run(fmt::format(
            R"({{"update": "c", "updates": [{{"q": {{"a": {}}},
                 "u": {{"$set": {{"t": "{}"}}}}}}]}})",
            id, text));
        expect_ok(reply);
        EXPECT_EQ(reply["n"].to_int64(), model_.contains(id) ? 1 : 0);
        if (model_.contains(id)) model_[id] = text;
    }
    // Finds each of its own documents, however the other threads move theirs.
    void read() {
        std::map<int64_t, int> found;
        const auto take = [&](const bson::Element& batch) {
            for (const bson::Element& e : batch.as_doc())
                ++found[e.as_doc()["_id"].to_int64()];
        };
        bson::Object reply = connection_.run(
            R"({"find": "c", "filter": {"_id": {"$gte": 0}}, "sort": {"_id": 1}, "batchSize": 7})");
        expect_ok(reply);
        take(reply.doc().at_path("cursor.firstBatch"));
        int64_t id = reply.doc().at_path("cursor.id").to_int64();
        while (id != 0) {
            reply = connection_.run(make("getMore", id, "collection", "c", "batchSize", 50));
            // An index was dropped, which ends all cursors over its collection.
            const int code = TestConnection::code(reply);
            if (code == 43 || code == 17356) return;
            expect_ok(reply);
            take(reply.doc().at_path("cursor.nextBatch"));
            id = reply.doc().at_path("cursor.id").to_int64();
        }
        for (const auto& [own, text] : model_)
            EXPECT_EQ(found[own], 1) << own;
    }
    void index(int64_t i) {
        if (i % 2 == 0) {
            expect_ok(connection_.run(
                R"({"createIndexes": "c",
                    "indexes": [{"key": {"t": 1}, "name": "t", "background": true}]})"));
        } else {
            const int code =
                TestConnection::code(connection_.run(R"({"dropIndexes": "c", "index": "t"})"));
            EXPECT_TRUE(code == 0 || code == 27) << code;  // 27: there was none
        }
    }
    void other_collection() {
        expect_ok(connection_.run(R"({"insert": "d", "documents": [{"a": 1}]})"));
        expect_ok(connection_.run(R"({"drop": "d"})"));
    }
    static void expect_ok(const bson::Object& reply) {
        EXPECT_EQ(TestConnection::code(reply), 0) << bson::to_text(reply);
        EXPECT_TRUE(reply["writeErrors"].missing()) << bson::to_text(reply);
    }

    TestConnection connection_;
    const int number_;
    std::mt19937 random_;
    std::map<int64_t, std::string> model_;
};

TEST_F(ConcurrentClientsTest, ConnectionsThatMixAllChangesLeaveWhatTheyWrote) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    std::vector<std::unique_ptr<Changer>> changers;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        changers.push_back(std::make_unique<Changer>(*service_, i));
    for (const auto& changer : changers)
        threads.emplace_back([&changer] { changer->work(base::test_effort(400)); });
    for (std::thread& thread : threads)
        thread.join();
    std::map<int64_t, std::string> expected;
    for (const auto& changer : changers)
        expected.insert(changer->model().begin(), changer->model().end());
    std::map<int64_t, std::string> stored;
    for (const bson::Object& doc : query("test.c", "{}", -100000))
        stored[doc["_id"].to_int64()] = doc["t"].as_string();
    EXPECT_EQ(stored, expected);
    EXPECT_TRUE(valid("c"));
}

}  // namespace
}  // namespace command
