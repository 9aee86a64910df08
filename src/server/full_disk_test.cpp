// A disk on which no data file finds space any more: every kind of write is refused as a whole or
// done as a whole, removals go on, and no index ever holds a key without its document.
#include <fmt/core.h>

#include <map>
#include <memory>
#include <string>

#include "bson/testing/values.h"
#include "server/testing/sim_disk.h"

namespace server {
namespace {

using bson::make;

class FullDiskTest : protected SimDisk, public ServiceTest {
  protected:
    FullDiskTest() : ServiceTest([this] { return make_engine(); }) {}

    std::unique_ptr<storage::Engine> make_engine() {
        mmapv1::EngineOptions options = small_options();
        options.durable.journal = false;
        return mmapv1::open_engine(options, disk);
    }

    int insert_one(const std::string& collection, const bson::Object& doc) {
        const bson::Object list = make("0", doc);
        bson::Builder command;
        command.append("insert", collection).append_array("documents", list);
        return write(command.object());
    }
    // The code of a write command, 0 if it did what it was told.
    int write(const bson::Object& command) {
        const bson::Object reply = run(command);
        if (code(reply) != 0) return code(reply);
        const bson::Element errors = reply["writeErrors"];
        return errors.missing() ? 0 : errors.as_doc()["0"].as_doc()["code"].to_int32();
    }
    int update(int id, const std::string& change, bool upsert = false) {
        return write(bson::from_json(fmt::format(
            R"({{"update": "c", "updates": [{{"q": {{"_id": {}}}, "u": {}, "upsert": {}}}]}})", id,
            change, upsert)));
    }
    void fill_disk() {
        disk.set_full(true);
        const std::string text(60000, 'x');
        for (int i = 0; insert_one("filler", make("_id", i, "t", text)) == 0; ++i) {
        }
        for (int i = 0; code(run(fmt::format(R"({{"create": "small{}"}})", i))) == 0; ++i) {
        }
    }
    void expect_valid(const std::string& after) {
        for (const char* collection : {"c", "ring"}) {
            const bson::Object reply =
                run(fmt::format(R"({{"validate": "{}", "full": true}})", collection));
            ASSERT_TRUE(reply["valid"].truthy())
                << collection << " after " << after << ": " << bson::to_text(reply);
        }
    }
    int64_t count() { return run(R"({"count": "c"})")["n"].to_int64(); }
};

TEST_F(FullDiskTest, EveryWriteIsDoneOrRefusedAsAWhole) {
    ASSERT_EQ(code(run(R"({"create": "ring", "capped": true, "size": 200000})")), 0);
    for (const char* collection : {"c", "ring"})
        for (const char* key : {R"({"a": 1})", R"({"b": -1, "a": 1})", R"({"h": "hashed"})"})
            ASSERT_EQ(code(run(fmt::format(
                          R"({{"createIndexes": "{}", "indexes": [{{"key": {}, "name": "{}"}}]}})",
                          collection, key, std::string(key).substr(2, 1)))),
                      0);
    fill_disk();

    bson::TestValues values(1);
    const auto text = [&](size_t most) {
        return fmt::format("{}{}", values.below(1000000), std::string(values.below(most), 'k'));
    };
    const auto array = [&] {
        bson::Builder list;
        for (uint64_t n = values.below(30); n > 0; --n)
            list.append(list.next().view(), text(500));
        return list.object();
    };
    const auto document = [&](int id) {
        bson::Builder doc;
        doc.append("_id", id).append("b", text(100)).append("h", id);
        doc.append_array("a", array());
        return doc.object();
    };
    std::map<std::string, int> done;
    std::map<std::string, int> refused;
    int last_id = 0;
    for (int step = 0; step < 3000; ++step) {
        const int some = static_cast<int>(values.below(static_cast<uint64_t>(last_id) + 1));
        const int64_t before = count();
        std::string what;
        int error = 0;
        switch (values.below(24)) {
            case 0:
            case 1:
                what = "remove";
                error = write(bson::from_json(fmt::format(
                    R"({{"delete": "c", "deletes": [{{"q": {{"_id": {}}}, "limit": 1}}]}})",
                    some)));
                break;
            case 2:
            case 3:
            case 4:
                what = "update";
                error = update(some, fmt::format(R"({{"$set": {{"b": "{}"}}}})", text(600)));
                break;
            case 5:
            case 6:
                what = "push";
                error = update(some, fmt::format(R"({{"$push": {{"a": "{}"}}}})", text(900)));
                break;
            case 7:
                what = "upsert";
                error = update(++last_id,
                               fmt::format(R"({{"b": "{}", "a": ["{}", "{}"]}})", text(500),
                                           text(500), text(500)),
                               true);
                break;
            case 8:
                what = "build";
                error = code(
                    run(R"({"createIndexes": "c", "indexes": [{"key": {"z": 1}, "name": "z"}]})"));
                break;
            case 9:
                what = "background build";
                error = code(run(R"({"createIndexes": "c", "indexes":
                    [{"key": {"b": 1}, "name": "z", "background": true}]})"));
                break;
            case 10:
                what = "drop";
                run(R"({"dropIndexes": "c", "index": "z"})");
                break;
            case 11:
                what = "create";
                error = code(run(fmt::format(R"({{"create": "made{}"}})", step)));
                break;
            case 12:
                what = "rename";
                error = code(run(R"({"renameCollection": "test.ring", "to": "test.)" +
                                     std::string(100, 'r') + "\"}",
                                 "admin"));
                if (error == 0) {
                    ASSERT_EQ(code(run(R"({"renameCollection": "test.)" + std::string(100, 'r') +
                                           R"(", "to": "test.ring"})",
                                       "admin")),
                              0);
                }
                break;
            case 13:
                if (step % 5 == 0) {
                    what = "compact";
                    error = code(run(R"({"compact": "c"})"));
                }
                break;
            case 14:
                what = "new database";
                error = code(run(R"({"create": "c"})", fmt::format("db{}", step)));
                break;
            case 15:
            case 16:
            case 17:
                what = "ring";
                error = insert_one("ring", document(step));
                break;
            default:
                what = "insert";
                error = insert_one("c", document(++last_id));
                break;
        }
        ++(error == 0 ? done : refused)[what];
        if (error == 0 && step % 20 != 0 && what != "compact") continue;
        if (error != 0) {
            ASSERT_EQ(count(), before) << what;
        }
        expect_valid(fmt::format("step {}: {}, code {}", step, what, error));
        if (HasFatalFailure()) return;
    }
    for (const char* what : {"insert", "update", "push", "upsert", "ring", "create"})
        EXPECT_GT(refused[what], 0) << what;
    EXPECT_EQ(refused["remove"], 0);
    disk.set_full(false);
    EXPECT_EQ(insert_one("c", document(++last_id)), 0);
    expect_valid("the disk has space again");
}

}  // namespace
}  // namespace server
