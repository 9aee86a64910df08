// Snapshot isolation by histories over the map in memory: transactions of many clients at once
// append a value of their own to two lists that they have read.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/testing/slice.h"
#include "command/commands/testing/replica_set.h"

namespace command {
namespace {

class HistoriesTest : public ReplicaSetTest {
  protected:
    HistoriesTest() : ReplicaSetTest(false, TestEngine::kv) { initiate(); }

    static constexpr int kLists = 6, kWorkers = 4;
    using Lists = std::map<int, std::vector<int>>;
    struct Done {
        int value;
        bool is_committed;
        Lists read;
    };

    static Lists lists_in(const bson::Object& reply) {
        Lists lists;
        for (const bson::Element& each : reply.doc().at_path("cursor.firstBatch").as_doc())
            for (const bson::Element& value : each.as_doc()["l"].as_doc())
                lists[each.as_doc()["_id"].to_int32()].push_back(value.to_int32());
        return lists;
    }
    void work(int worker, int count, std::vector<Done>& history) {
        TestConnection client;
        client.open(*service_, 10 + worker);
        const SessionId id = SessionId::random();
        std::mt19937 random(worker);
        for (int number = 1; number <= count; ++number) {
            const int first = static_cast<int>(random() % kLists);
            const int second = (first + 1 + static_cast<int>(random() % (kLists - 1))) % kLists;
            const std::string both =
                fmt::format(R"({{"_id": {{"$in": [{}, {}]}}}})", first, second);
            Done done{.value = worker * 1'000'000 + number, .is_committed = false, .read = {}};
            bson::Object reply =
                client.run(of(fmt::format(R"({{"find": "lists", "filter": {}}})", both), number, id,
                              R"({"startTransaction": true})"));
            done.read = lists_in(reply);
            done.read[first], done.read[second];
            if (random() % 4 != 0)  // others only look
                reply = client.run(of(fmt::format(R"({{"update": "lists", "updates": [
                    {{"q": {}, "u": {{"$push": {{"l": {}}}}}, "multi": true}}]}})",
                                                  both, done.value),
                                      number, id));
            if (code(reply) == 0)
                reply = client.run(of(R"({"commitTransaction": 1})", number, id), "admin");
            done.is_committed = code(reply) == 0;
            EXPECT_EQ(code(reply), done.is_committed ? 0 : base::kWriteConflict);
            history.push_back(std::move(done));
        }
    }
    // Returns the first thing that no order of snapshots could have made; empty: there is none.
    static std::string fault(const std::vector<Done>& history, const Lists& final);
};

std::string HistoriesTest::fault(const std::vector<Done>& history, const Lists& final) {
    std::map<int, std::map<int, size_t>> places;  // of a value, in each list
    for (const auto& [list, values] : final)
        for (size_t i = 0; i < values.size(); ++i)
            if (!places[values[i]].emplace(list, i).second) return "a value is there twice";
    size_t committed = 0;
    for (const Done& done : history) {
        const auto own = places.find(done.value);
        if (own != places.end()) {
            if (!done.is_committed) return "a value of one that has failed is there";
            if (own->second.size() != 2) return "half of a transaction is there";
            ++committed;
        }
        if (!done.is_committed) continue;
        for (const auto& [list, values] : done.read) {
            const auto there = final.find(list);
            const std::vector<int> none;
            const std::vector<int>& all = there == final.end() ? none : there->second;
            if (values.size() > all.size() ||
                !std::equal(values.begin(), values.end(), all.begin()))
                return "a read is of no moment";
            if (own != places.end() && own->second.at(list) != values.size())
                return "an update is lost";
        }
        for (const auto& [value, of] : places) {  // all of it was seen, or nothing
            int seen = 0, asked = 0;
            for (const auto& [list, place] : of) {
                const auto read = done.read.find(list);
                if (read == done.read.end()) continue;
                ++asked;
                seen += place < read->second.size();
            }
            if (seen != 0 && seen != asked) return "a read has half of a transaction";
        }
    }
    return committed == places.size() ? "" : "a value of no transaction is there";
}

TEST_F(HistoriesTest, FaultsAreFound) {
    const Lists final{{1, {7, 8}}, {2, {7, 8}}};
    const auto check = [&](Lists read, bool is_committed = true) {
        const Done seven{.value = 7, .is_committed = true, .read = {{1, {}}, {2, {}}}};
        return fault({seven, {.value = 8, .is_committed = is_committed, .read = std::move(read)}},
                     final);
    };
    EXPECT_EQ(check({{1, {7}}, {2, {7}}}), "");
    EXPECT_EQ(check({{1, {}}, {2, {7}}}), "an update is lost");
    EXPECT_EQ(check({{1, {9}}, {2, {7}}}), "a read is of no moment");
    EXPECT_EQ(check({{1, {7}}, {2, {7}}}, false), "a value of one that has failed is there");
    EXPECT_EQ(fault({{.value = 9, .is_committed = true, .read = {{1, {7}}, {2, {}}}}},
                    {{1, {7}}, {2, {7}}}),
              "a read has half of a transaction");
    EXPECT_EQ(fault({{.value = 7, .is_committed = true, .read = {}}}, {{1, {7}}}),
              "half of a transaction is there");
    EXPECT_EQ(fault({}, {{1, {7}}}), "a value of no transaction is there");
}

TEST_F(HistoriesTest, AreOfSnapshots) {
    for (int list = 0; list < kLists; ++list)
        run(fmt::format(R"({{"insert": "lists", "documents": [{{"_id": {}, "l": []}}]}})", list));
    constexpr uint64_t kRounds = 1000;
    base::Slice slice = base::test_slice(200);
    std::vector<Done> history;
    for (uint64_t round = 0; round < kRounds; ++round) {
        if (!slice.takes_next()) continue;
        const bson::Object emptied = run(R"({"update": "lists", "updates": [
            {"q": {}, "u": {"$set": {"l": []}}, "multi": true}]})");
        EXPECT_EQ(emptied["n"].to_int32(), kLists);
        std::vector<std::vector<Done>> parts(kWorkers);
        {
            std::vector<std::jthread> threads;
            for (int worker = 0; worker < kWorkers; ++worker)
                threads.emplace_back([&, worker] { work(worker, 50, parts[worker]); });
        }
        history.clear();
        for (std::vector<Done>& part : parts)
            history.insert(history.end(), part.begin(), part.end());
        const Lists final = lists_in(run(R"({"find": "lists", "filter": {}})"));
        EXPECT_EQ(fault(history, final), "") << "round " << round;
        EXPECT_GT(std::ranges::count_if(history, &Done::is_committed), kWorkers);
    }
    const Transactions::Counts counts = service_->transactions().counts();
    EXPECT_EQ(counts.active + counts.inactive, 0);
}

}  // namespace
}  // namespace command
