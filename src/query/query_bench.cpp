// Measures the cost of reading a document beyond fetching it: matching, sorting, projecting,
// deriving keys.
#include <benchmark/benchmark.h>

#include "catalog/index_keys.h"
#include "query/match/match_tree.h"
#include "query/plan/sort.h"
#include "query/project/projection.h"

namespace query {
namespace {

// Small documents as a shop or a log has them, about 150 bytes each.
std::vector<bson::Object> documents() {
    std::vector<bson::Object> result;
    for (int i = 0; i < 10000; ++i) {
        bson::Builder b;
        b.append("_id", i);
        b.append("name", "user number " + std::to_string(i * 7919 % 10000));
        b.append("age", i * 31 % 90);
        b.append("address", bson::make("city", i % 3 == 0 ? "Oslo" : "Bergen", "zip", i % 1000));
        {
            bson::Builder tags = b.sub_array("tags");
            for (int t = 0; t < 4; ++t)
                tags.push(std::to_string((i + t) % 50));
        }
        b.append("balance", i * 0.5);
        result.push_back(b.object());
    }
    return result;
}

void match(benchmark::State& state, const bson::Object& filter) {
    const auto docs = documents();
    const auto matcher = Matcher::parse(filter);
    int64_t found = 0;
    for (auto _ : state)
        for (const bson::Object& doc : docs)
            found += matcher->matches(doc) ? 1 : 0;
    benchmark::DoNotOptimize(found);
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(docs.size()));
}

void BM_MatchRange(benchmark::State& state) {
    match(state, bson::make("age", bson::make("$gte", 20, "$lt", 40)));
}
BENCHMARK(BM_MatchRange);

void BM_MatchLastField(benchmark::State& state) {
    match(state, bson::make("balance", bson::make("$gt", 2500)));
}
BENCHMARK(BM_MatchLastField);

void BM_MatchDottedEquality(benchmark::State& state) {
    match(state, bson::make("address.city", "Oslo", "age", bson::make("$gt", 10)));
}
BENCHMARK(BM_MatchDottedEquality);

void BM_MatchArrayElement(benchmark::State& state) {
    match(state, bson::make("tags", "17"));
}
BENCHMARK(BM_MatchArrayElement);

void BM_MatchRegex(benchmark::State& state) {
    match(state, bson::make("name", bson::make("$regex", "number 4.*7$")));
}
BENCHMARK(BM_MatchRegex);

void BM_Project(benchmark::State& state) {
    const auto docs = documents();
    const auto projection = Projection::parse(bson::make("name", 1, "address.city", 1), nullptr);
    bson::Buffer out;
    for (auto _ : state) {
        for (const bson::Object& doc : docs) {
            out.clear();
            projection->apply(doc, nullptr, out);
        }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(docs.size()));
}
BENCHMARK(BM_Project);

void sort(benchmark::State& state, int64_t limit) {
    const auto docs = documents();
    const SortPattern pattern(bson::make("name", 1));
    for (auto _ : state) {
        DocumentSorter sorter(pattern, limit);
        for (const bson::Object& doc : docs)
            sorter.add(doc, 0, {});
        sorter.finish();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(docs.size()));
}

void BM_SortAll(benchmark::State& state) {
    sort(state, 0);
}
BENCHMARK(BM_SortAll);

void BM_SortTopTen(benchmark::State& state) {
    sort(state, 10);
}
BENCHMARK(BM_SortTopTen);

void keys(benchmark::State& state, const bson::Object& pattern) {
    const auto docs = documents();
    const auto generator = catalog::KeyGenerator::make(bson::make("key", pattern));
    catalog::KeySet set;
    for (auto _ : state)
        for (const bson::Object& doc : docs)
            generator->keys(doc, set);
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(docs.size()));
}

void BM_KeysCompound(benchmark::State& state) {
    keys(state, bson::make("age", 1, "address.zip", -1));
}
BENCHMARK(BM_KeysCompound);

void BM_KeysOfArray(benchmark::State& state) {
    keys(state, bson::make("tags", 1, "age", 1));
}
BENCHMARK(BM_KeysOfArray);

void BM_KeysHashed(benchmark::State& state) {
    keys(state, bson::make("name", "hashed"));
}
BENCHMARK(BM_KeysHashed);

}  // namespace
}  // namespace query
