// Cost of applying one update to one document.
#include <benchmark/benchmark.h>

#include <string>

#include "bson/builder.h"
#include "query/update/update.h"

namespace query {
namespace {

// Ten fields of 100 bytes, as YCSB stores them, and a counter at the end.
bson::Object make_document() {
    bson::Builder b;
    b.append("_id", "user1234567890");
    for (int i = 0; i < 10; ++i)
        b.append("field" + std::to_string(i), std::string(100, 'x'));
    b.append("n", int32_t{1});
    return b.object();
}

void run(benchmark::State& state, const bson::Object& u) {
    const bson::Object doc = make_document();
    bson::Buffer out;
    for (auto _ : state) {
        // Parsed anew for each operation, as a server has to.
        const auto update = Update::parse(u, {});
        out.clear();
        benchmark::DoNotOptimize(update->apply(doc, MatchDetails(), out));
    }
}

void SetField(benchmark::State& state) {
    run(state, bson::make("$set", bson::make("field5", std::string(100, 'y'))));
}
BENCHMARK(SetField);

void IncrementInPlace(benchmark::State& state) {
    run(state, bson::make("$inc", bson::make("n", int32_t{1})));
}
BENCHMARK(IncrementInPlace);

void Replace(benchmark::State& state) {
    run(state, bson::make("a", 1, "b", std::string(1000, 'z')));
}
BENCHMARK(Replace);

}  // namespace
}  // namespace query
