// Insertion and look-up in a tree of plain memory: what the index costs a durable insert beside the
// journal. Counters: index bytes declared (and so journaled) per insert.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "bson/builder.h"
#include "storage/mmapv1/btree/index.h"
#include "storage/mmapv1/btree/testing/memory_buckets.h"

namespace mmapv1 {
namespace {

using storage::RecordId;

bson::ObjectId object_id(uint64_t i) {
    bson::ObjectId id;
    for (int byte = 0; byte < 8; ++byte)
        id.bytes[4 + byte] = static_cast<uint8_t>(i >> (56 - 8 * byte));
    return id;
}

std::vector<bson::Object> keys(int64_t n, bool scattered) {
    std::mt19937_64 random(5);
    std::vector<bson::Object> made;
    for (int64_t i = 0; i < n; ++i)
        made.push_back(bson::make("", object_id(scattered ? random() : static_cast<uint64_t>(i))));
    return made;
}

RecordId record(size_t i) {
    return RecordId{0x10000 + i * 64};
}

struct Tree {
    Tree() : store(false) {
        create_empty_btree(store);
        index = make_btree_index(store, 0);
    }
    void fill(const std::vector<bson::Object>& from) {
        for (size_t i = 0; i < from.size(); ++i)
            index->insert(from[i], record(i), false);
    }
    MemoryBuckets store;
    std::unique_ptr<storage::SortedIndex> index;
};

void insert(benchmark::State& state, bool scattered) {
    const std::vector<bson::Object> wanted = keys(state.range(0), scattered);
    int64_t declared = 0;
    for (auto _ : state) {
        Tree tree;
        tree.fill(wanted);
        declared += tree.store.declared_bytes();
    }
    const auto inserts = static_cast<double>(state.iterations() * state.range(0));
    state.SetItemsProcessed(state.iterations() * state.range(0));
    state.counters["declared/insert"] = static_cast<double>(declared) / inserts;
}
BENCHMARK_CAPTURE(insert, ascending, false)->Arg(100000);
BENCHMARK_CAPTURE(insert, scattered, true)->Arg(100000);

void find_one(benchmark::State& state) {
    const std::vector<bson::Object> wanted = keys(state.range(0), true);
    Tree tree;
    tree.fill(wanted);
    size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(tree.index->find_one(wanted[i]));
        i = (i + 7919) % wanted.size();
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(find_one)->Arg(1000)->Arg(1000000);

void scan(benchmark::State& state) {
    Tree tree;
    tree.fill(keys(100000, false));
    for (auto _ : state) {
        auto cursor = tree.index->cursor(storage::Direction::forward);
        for (cursor->seek_to_start(); !cursor->at_end(); cursor->next())
            benchmark::DoNotOptimize(cursor->id());
    }
    state.SetItemsProcessed(state.iterations() * 100000);
}
BENCHMARK(scan);

void bulk_build(benchmark::State& state) {
    const std::vector<bson::Object> wanted = keys(100000, false);
    for (auto _ : state) {
        Tree tree;
        auto builder = tree.index->bulk_builder(false);
        for (size_t i = 0; i < wanted.size(); ++i)
            builder->add(wanted[i], record(i));
        builder->finish();
    }
    state.SetItemsProcessed(state.iterations() * 100000);
}
BENCHMARK(bulk_build);

}  // namespace
}  // namespace mmapv1
