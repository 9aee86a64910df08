// Throughput of pipelines over documents in memory: what $group and $sort cost per document.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "bson/builder.h"
#include "query/stage/pipeline.h"

namespace query {
namespace {

// {_id, k: one of 100 strings, g: {h: number}, v: double, pad: 100 bytes}
std::vector<bson::Object> make_documents(int count) {
    std::vector<bson::Object> docs;
    const std::string pad(100, 'p');
    for (int i = 0; i < count; ++i) {
        bson::Builder b;
        b.append("_id", i);
        b.append("k", "key" + std::to_string(i * 7919 % 100));
        b.append("g", bson::make("h", i % 10));
        b.append("v", i * 0.5);
        b.append("pad", pad);
        docs.push_back(b.object());
    }
    return docs;
}

bson::Object group_stage() {
    return bson::make("$group",
                      bson::make("_id", "$k", "n", bson::make("$sum", 1), "sum",
                                 bson::make("$sum", "$v"), "max", bson::make("$max", "$g.h")));
}

void run(benchmark::State& state, const std::vector<bson::Object>& stages) {
    static const std::vector<bson::Object> docs = make_documents(20000);
    bson::Builder list;
    for (const bson::Object& stage : stages)
        list.push(stage);
    const bson::Object array = list.object();
    for (auto _ : state) {
        const auto pipeline = Pipeline::parse(array, PipelineContext());
        size_t at = 0;
        pipeline->set_source([&](bson::Doc* out) {
            if (at == docs.size()) return false;
            *out = docs[at++];
            return true;
        });
        bson::Doc doc;
        while (pipeline->next(&doc))
            benchmark::DoNotOptimize(doc.data());
    }
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * docs.size()));
}

void Group(benchmark::State& state) {
    run(state, {group_stage()});
}
BENCHMARK(Group);

void Sort(benchmark::State& state) {
    run(state, {bson::make("$sort", bson::make("k", 1, "v", -1))});
}
BENCHMARK(Sort);

void SortWithLimit(benchmark::State& state) {
    run(state, {bson::make("$sort", bson::make("v", -1)), bson::make("$limit", 10)});
}
BENCHMARK(SortWithLimit);

void Project(benchmark::State& state) {
    bson::Builder sum;
    {
        auto operands = sum.sub_array("$add");
        operands.push("$v");
        operands.push(1);
    }
    run(state, {bson::make("$project", bson::make("k", 1, "w", sum.object()))});
}
BENCHMARK(Project);

}  // namespace
}  // namespace query
