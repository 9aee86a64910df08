// Random cases that must come out the same in every way (command/commands/testing/differential.h).
// tests/differential/run.py runs as many as wanted, or for as long: DIFFERENTIAL_SEED in the
// environment says which data come first, DIFFERENTIAL_SEEDS how many or DIFFERENTIAL_SECONDS how
// long.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/log.h"
#include "command/commands/testing/differential.h"

namespace command::differential {
namespace {

constexpr int kReadsPerData = 60;
constexpr int kWritesPerData = 6;

uint64_t from_environment(const char* name, uint64_t otherwise) {
    const char* given = std::getenv(name);
    return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

// The data of a seed, and some operations on it. Returns how many; empty `failure`: all agree.
int run_seed(Ways& ways, uint64_t seed, std::string& failure) {
    Generator generator(seed);
    Case one;
    generator.make_data(one);
    int done = 0;
    const auto agrees = [&](Node operation) {
        one.operation = std::move(operation);
        ++done;
        const std::string differs = ways.check(one);
        if (differs.empty()) return true;
        const Case small = shrink(ways, one);
        Case loaded = small;
        ways.load(loaded);
        failure = fmt::format("seed {}:\n{}{}\n", seed, small.show(), ways.check(loaded));
        return false;
    };
    ways.load(one);
    for (int i = 0; i < kReadsPerData; ++i)
        if (!agrees(generator.read())) return done;
    for (int i = 0; i < kWritesPerData; ++i) {
        if (i > 0) ways.load(one);
        if (!agrees(generator.write())) return done;
    }
    return done;
}

// JSON with ' for ".
Node parsed(std::string json) {
    std::ranges::replace(json, '\'', '"');
    return text(std::move(json));
}

struct Found {
    const char* documents;
    const char* key;      // of the index
    const char* options;  // further fields of its definition: the one that is true, or none
    const char* what;     // the operation
    std::vector<std::pair<const char*, const char*>> arguments;  // without names: stages
};

// One example for each way in which an index once gave another answer.
const std::vector<Found> kFound = {
    // Elements of elements.
    {"[{'_id': 1, 'a': [[1, 2], [3, 40]]}]",
     "{'a': 1}",
     "",
     "find",
     {{"filter", "{'a': {'$elemMatch': {'$elemMatch': {'$gt': 30}}}}"}}},
    {"[{'_id': 1, 'a': [[31, 1]]}]",
     "{'a.0': 1}",
     "",
     "find",
     {{"filter", "{'a': {'$elemMatch': {'0': 31}}}"}}},
    {"[{'_id': 1, 'a': [[31, 1]]}]",
     "{'a.0': 1}",
     "",
     "find",
     {{"filter", "{'a.0': {'$elemMatch': {'$gt': 30}}}"}}},
    // Arrays before the index is multikey.
    {"[{'_id': 1, 'a': []}, {'_id': 2, 'a': [7]}]",
     "{'a': 1}",
     "",
     "find",
     {{"filter", "{'a': {'$gte': [5]}}"}}},
    {"[{'_id': 1, 'a': []}, {'_id': 2, 'a': [7]}, {'_id': 3, 'a': {'b': 1}}]",
     "{'a.b': 1}",
     "",
     "delete",
     {{"q", "{'a.b': {'$ne': null}}"}}},
    {"[{'_id': 1, 'a': [{}]}]", "{'a.0': -1}", "", "find", {{"filter", "{'a.0': null}"}}},
    {"[{'_id': 1, 'a': []}, {'_id': 2, 'a': [1]}, {'_id': 3, 'a': [[1, 2]]}]",
     "{'a': 1}",
     "",
     "find",
     {{"projection", "{'_id': 0, 'a': 1}"}}},
    {"[{'_id': 1, 'a': [[1, 2]]}]", "{'a': 1}", "", "distinct", {{"key", "'a'"}}},
    // A missing field satisfies these.
    {"[{'_id': 1}]", "{'a': 1}", "sparse", "find", {{"filter", "{'a': {'$gte': null}}"}}},
    {"[{'_id': 1}]", "{'a': 1}", "sparse", "find", {{"filter", "{'a': {'$in': [null]}}"}}},
    {"[{'_id': 1}]", "{'a': 1}", "sparse", "count", {{"query", "{'a': {'$gt': {'$minKey': 1}}}"}}},
    {"[{'_id': 1}]", "{'a': 1}", "", "find", {{"filter", "{'a': {'$gt': {'$maxKey': 1}}}"}}},
    {"[{'_id': 1}]", "{'a': 1}", "", "find", {{"filter", "{'a': {'$lte': {'$minKey': 1}}}"}}},
    {"[{'_id': 1, 'a': {'$undefined': true}}]",
     "{'a': 1}",
     "",
     "find",
     {{"filter", "{'a': null}"}}},
    // Values at the ends of their class, and equal ones of another.
    {"[{'_id': 1, 'a': {'$numberDouble': 'NaN'}}]",
     "{'a': 1}",
     "",
     "find",
     {{"filter", "{'a': {'$lte': {'$numberDouble': '-Infinity'}}}"}}},
    {"[{'_id': 1, 'a': {'$numberDecimal': 'NaN'}}]",
     "{'a': -1}",
     "",
     "find",
     {{"filter", "{'a': {'$lt': 0.1}}"}}},
    {"[{'_id': 1, 'a': {'$timestamp': {'t': 4294967295, 'i': 4294967295}}}]",
     "{'a': 1}",
     "",
     "find",
     {{"filter", "{'a': {'$gt': {'$date': {'$numberLong': '9223372036854775807'}}}}"}}},
    {"[{'_id': 1, 'a': 1}]",
     "{'a': 'hashed'}",
     "",
     "find",
     {{"filter", "{'a': {'$in': [{'$numberDecimal': '1'}]}}"}}},
    {"[{'_id': 1, 'a': {'$numberLong': '9007199254740993'}}]",
     "{'a': 'hashed'}",
     "",
     "find",
     {{"filter", "{'a': {'$numberDouble': '9007199254740992'}}"}}},
    // A second field that leaves out one end of all.
    {"[{'_id': 1, 'b': 1}, {'_id': 2, 'a': {'$minKey': 1}}]",
     "{'b': 1, 'a': 1}",
     "",
     "find",
     {{"filter", "{'b': {'$nin': []}, 'a': {'$ne': {'$minKey': 1}}}"}}},
    // The range begins at the far end of a descending index.
    {"[{'_id': 1, 'a': 4}, {'_id': 2, 'a': 5}, {'_id': 3, 'a': 6}]",
     "{'a': -1}",
     "",
     "range",
     {{"filter", "{}"}, {"max", "{'a': 5}"}}},
    // A NaN in an array, a decimal one too: sorted by the other element, and shown in its place.
    {"[{'_id': 0, 'a': [{'$numberDouble': 'NaN'}, 5]}, {'_id': 1, 'a': 3}]",
     "{'a': 1}",
     "",
     "find",
     {{"filter", "{'a': {'$mod': [1, 0]}}"}, {"sort", "{'a': 1}"}}},
    {"[{'_id': 0, 'a': [{'$numberDecimal': 'NaN'}, 5]}, {'_id': 1, 'a': 3}]",
     "{'a': 1}",
     "",
     "find",
     {{"filter", "{'a': {'$mod': [1, 0]}}"}, {"sort", "{'a': 1}"}}},
    // A $sort that compared whole values: missing before null, arrays behind documents, documents
    // by the names of their fields first.
    {"[{'_id': 0, 'a': null}, {'_id': 1}]",
     "{'a': 1, '_id': 1}",
     "",
     "aggregate",
     {{"", "{'$sort': {'a': 1, '_id': 1}}"}, {"", "{'$limit': 1}"}}},
    {"[{'_id': 0, 'a': [1]}, {'_id': 1, 'a': {}}]",
     "{'a': 1}",
     "",
     "aggregate",
     {{"", "{'$sort': {'a': 1}}"}, {"", "{'$group': {'_id': 1, 'first': {'$first': '$_id'}}}"}}},
    {"[{'_id': 0, 'a': [1]}, {'_id': 1, 'a': 'x'}]",
     "{'a': -1}",
     "",
     "aggregate",
     {{"", "{'$sort': {'a': -1}}"}, {"", "{'$limit': 1}"}}},
    // Null before words, and places that rounding puts beside what they lie in.
    {"[{'_id': 1, 'a': {'$undefined': true}, 'g': 'fox'}, {'_id': 2, 'g': 'fox'}]",
     "{'a': -1, 'g': 'text'}",
     "",
     "text",
     {{"text", "{'$search': 'fox'}"}, {"filter", "{'a': null}"}}},
    {"[{'_id': 1, 'g': {'type': 'Point', 'coordinates': [10.75, 90]}}]",
     "{'g': '2dsphere'}",
     "",
     "find",
     {{"filter",
       "{'g': {'$geoIntersects': {'$geometry': {'type': 'Polygon', 'coordinates': [[[9.25, 88.25],"
       " [11, 88.25], [11, 90], [9.25, 90], [9.25, 88.25]]]}}}}"}}},
    {"[{'_id': 1, 'g': {'type': 'LineString', 'coordinates': [[13, 88.75], [8.25, 90]]}}]",
     "{'g': '2dsphere'}",
     "",
     "find",
     {{"filter",
       "{'g': {'$geoIntersects': {'$geometry': {'type': 'Point', 'coordinates': [8.75, 90]}}}}"}}},
    {"[{'_id': 1, 'g': {'type': 'LineString', 'coordinates': [[5, 5], [5, 5]]}}]",
     "{'g': '2dsphere'}",
     "",
     "find",
     {{"filter",
       "{'g': {'$geoWithin': {'$geometry': {'type': 'Polygon', 'coordinates': [[[20, 20], [30, 20],"
       " [30, 30], [20, 20]]]}}}}"}}},
    {"[{'_id': 1, 'g': [1, 1]}, {'_id': 2, 'g': [1, 2]}]",
     "{'g': '2dsphere'}",
     "",
     "geoNear",
     {{"stage",
       "{'near': [1, 1], 'spherical': true, 'distanceField': 'dist', 'key': 'g', 'maxDistance': "
       "0}"},
      {"limit", "5"}}},
    {"[{'_id': {'x': 'y'}}, {'_id': {'y': 1}}]",
     "{'a': 1}",
     "",
     "aggregate",
     {{"", "{'$sort': {'_id': 1}}"}, {"", "{'$limit': 1}"}}},
};

TEST(Differential, FoundFaultsStayFixed) {
    for (const TestEngine engine : {TestEngine::mmapv1, TestEngine::memory, TestEngine::kv}) {
        Ways ways(engine);
        for (const Found& found : kFound) {
            Case one;
            one.documents = parsed(found.documents);
            Node index = object().set("key", parsed(found.key));
            if (*found.options != 0) index.set(found.options, text("true"));
            one.indexes.push(std::move(index));
            Node arguments = *found.arguments.front().first == 0 ? array() : object();
            for (const auto& [name, value] : found.arguments)
                arguments.members.push_back({name, parsed(value)});
            one.operation.set(found.what, std::move(arguments));
            ways.load(one);
            ASSERT_EQ(one.indexes.members.size(), 1u) << one.show();
            EXPECT_EQ(ways.check(one), "") << one.show();
        }
    }
}

TEST(Differential, AllWaysAgree) {
    using Clock = std::chrono::steady_clock;
    const auto seconds = from_environment("DIFFERENTIAL_SECONDS", 0);
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    uint64_t seed = from_environment("DIFFERENTIAL_SEED", 1);
    const auto failures_shown = from_environment("DIFFERENTIAL_FAILURES", 1);
    const uint64_t seeds = from_environment("DIFFERENTIAL_SEEDS", 8);
    Ways ways[] = {Ways(TestEngine::mmapv1), Ways(TestEngine::memory),
                   Ways(TestEngine::kv)};  // alternately
    int cases = 0;
    uint64_t failures = 0;
    for (uint64_t n = 0; seconds == 0 ? n < seeds : Clock::now() < end; ++n, ++seed) {
        std::string failure;
        cases += run_seed(ways[seed % std::size(ways)], seed, failure);
        if (failure.empty()) continue;
        ADD_FAILURE() << failure;
        if (++failures >= failures_shown) break;
    }
    fmt::print("{} cases, up to seed {}\n", cases, seed);
}

}  // namespace
}  // namespace command::differential
