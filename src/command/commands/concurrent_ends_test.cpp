// Commands that end something, against each other and against its users: fsyncLock and its end,
// killOp, killCursors, closeAllDatabases, drops under cursors, connections that leave. Every
// request is answered, nothing is left behind; built with sanitize=thread it also looks for races.
#include <fmt/core.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/testing/effort.h"
#include "command/commands/testing/service.h"

namespace command {
namespace {

class ConcurrentEndsTest : public ServiceTest {
  public:
    ConcurrentEndsTest() : ServiceTest(true) {}

    struct Actor {
        TestConnection connection;
        std::mt19937 random;

        bson::Object run(const std::string& command, std::string_view db = "test") {
            bson::Object reply = connection.run(command, db);
            EXPECT_TRUE(reply.doc().has("ok")) << command;
            return reply;
        }
        int number(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
    };
    using Part = void (ConcurrentEndsTest::*)(Actor&);

    // Runs every part in so many threads at once, each with a connection of its own.
    void run_all(std::initializer_list<std::pair<Part, int>> parts, int rounds) {
        std::vector<std::thread> threads;
        int number = 2;
        for (const auto& [part, count] : parts) {
            for (int i = 0; i < count; ++i, ++number) {
                threads.emplace_back([this, part = part, number, rounds] {
                    auto actor = std::make_unique<Actor>();
                    actor->random.seed(static_cast<unsigned>(number));
                    for (int round = 0; round < rounds; ++round) {
                        // Clients come and go.
                        if (round % 10 == 0) actor->connection.open(*service_, number);
                        (this->*part)(*actor);
                    }
                    actor->connection.session_ = nullptr;
                });
            }
        }
        for (std::thread& thread : threads)
            thread.join();
        service_->fsync_lock().unlock();
    }

    void write(Actor& actor) {
        const std::string c = actor.number(2) == 0 ? "c" : "d";
        actor.run(fmt::format(
            R"({{"insert": "{}", "documents": [{{"a": 1}}, {{"a": 2}}, {{"a": 3}}, {{"a": 4}}]}})",
            c));
        actor.run(R"({"insert": "ring", "documents": [{"a": 1}]})");
        if (actor.number(4) == 0)
            actor.run(fmt::format(
                R"({{"update": "{}", "updates": [{{"q": {{"a": 2}}, "u": {{"$set": {{"b": 1}}}},
                     "multi": true}}]}})",
                c));
    }
    void read(Actor& actor) {
        const bson::Object first =
            actor.run(fmt::format(R"({{"find": "{}", "batchSize": 2, "sort": {{"$natural": 1}}}})",
                                  actor.number(2) == 0 ? "c" : "d"));
        int64_t id = first.doc().at_path("cursor.id").to_int64();
        for (int i = 0; id != 0 && i < 3; ++i) {
            last_cursor_.store(id);
            id = more(actor, id, first.doc().at_path("cursor.ns"), 0);
        }
        if (id != 0) kill_cursor(actor, id);
    }
    void tail(Actor& actor) {
        const bson::Object first =
            actor.run(R"({"find": "ring", "tailable": true, "awaitData": true})");
        int64_t id = first.doc().at_path("cursor.id").to_int64();
        last_cursor_.store(id);
        for (int i = 0; id != 0 && i < 3; ++i)
            id = more(actor, id, first.doc().at_path("cursor.ns"), 20);
        if (id != 0) kill_cursor(actor, id);
    }
    void join(Actor& actor) {
        const bson::Object first = actor.run(
            R"({"aggregate": "c", "cursor": {"batchSize": 2}, "pipeline": [
                {"$lookup": {"from": "d", "localField": "a", "foreignField": "a", "as": "d",
                             "pipeline": [{"$match": {"$expr": {"$eq": ["$a", 2]}}}]}},
                {"$graphLookup": {"from": "ring", "startWith": "$a", "connectFromField": "a",
                                  "connectToField": "a", "as": "r"}},
                {"$project": {"a": 1}}]})");
        const int64_t id = first.doc().at_path("cursor.id").to_int64();
        last_cursor_.store(id);
        if (id != 0) more(actor, id, first.doc().at_path("cursor.ns"), 0);
    }
    int64_t more(Actor& actor, int64_t id, const bson::Element& ns, int wait_ms) {
        const std::string collection(catalog::split(ns.as_string()).collection);
        const std::string wait = wait_ms == 0 ? "" : fmt::format(R"(, "maxTimeMS": {})", wait_ms);
        const bson::Object reply =
            actor.run(fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "{}"{}}})",
                                  id, collection, wait));
        return code(reply) == 0 ? reply.doc().at_path("cursor.id").to_int64() : 0;
    }
    void kill_cursor(Actor& actor, int64_t id) {
        actor.run(
            fmt::format(R"({{"killCursors": "c", "cursors": [{{"$numberLong": "{}"}}]}})", id));
    }
    void kill_cursors(Actor& actor) { kill_cursor(actor, last_cursor_.load()); }
    void kill_operations(Actor& actor) {
        const bson::Object running = actor.run(R"({"currentOp": 1, "$all": true})", "admin");
        for (const bson::Element& operation : running["inprog"].as_doc())
            if (actor.number(3) == 0)
                actor.run(fmt::format(R"({{"killOp": 1, "op": {}}})",
                                      operation.as_doc()["opid"].to_int32()),
                          "admin");
    }
    void lock(Actor& actor) {
        actor.run(R"({"fsync": 1, "lock": true})", "admin");
        actor.run(R"({"fsyncUnlock": 1})", "admin");
    }
    void close_databases(Actor& actor) { actor.run(R"({"closeAllDatabases": 1})", "admin"); }
    void drop(Actor& actor) {
        switch (actor.number(6)) {
            case 0:
                actor.run(R"({"dropDatabase": 1})");
                break;
            case 1:
                actor.run(R"({"drop": "ring"})");
                break;
            case 2:
                actor.run(R"({"renameCollection": "test.c", "to": "test.d", "dropTarget": true})",
                          "admin");
                break;
            case 3:
                actor.run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
                break;
            default:
                actor.run(R"({"drop": "c"})");
        }
        actor.run(R"({"create": "ring", "capped": true, "size": 4096})");
    }

    std::atomic<int64_t> last_cursor_{0};
};

TEST_F(ConcurrentEndsTest, AllAtOnce) {
    run_all({{&ConcurrentEndsTest::write, 2},
             {&ConcurrentEndsTest::read, 2},
             {&ConcurrentEndsTest::tail, 1},
             {&ConcurrentEndsTest::join, 2},
             {&ConcurrentEndsTest::kill_cursors, 1},
             {&ConcurrentEndsTest::kill_operations, 1},
             {&ConcurrentEndsTest::lock, 1},
             {&ConcurrentEndsTest::close_databases, 1},
             {&ConcurrentEndsTest::drop, 1}},
            base::test_effort(60));
    service_->cursors().kill_database("test");
    EXPECT_EQ(service_->cursors().counts().open, 0);
    EXPECT_FALSE(service_->fsync_lock().locked());
    const bson::Object inserted =
        run(R"({"insert": "c", "documents": [{"_id": "last"}], "writeConcern": {"j": true}})");
    EXPECT_EQ(code(inserted), 0);
    const bson::Object validated = run(R"({"validate": "c", "full": true})");
    EXPECT_TRUE(validated["valid"].truthy()) << bson::to_text(validated);
}

}  // namespace
}  // namespace command
