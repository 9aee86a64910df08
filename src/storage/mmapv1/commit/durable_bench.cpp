// Measures the cost of durability for a writer: declaring, a locked write, and a commit up to its
// acknowledgement.

#include <benchmark/benchmark.h>

#include <atomic>
#include <filesystem>

#include "base/log.h"
#include "os/process.h"
#include "storage/mmapv1/commit/durable.h"

namespace mmapv1 {
namespace {

constexpr int64_t kFileBytes = 16 << 20;

struct Server {
    explicit Server(int64_t interval_us)
        : directory(std::filesystem::temp_directory_path() /
                    ("bench-" + std::to_string(os::process_id()))),
          durable((base::log::set_sink([](base::log::Severity, std::string_view) {}),
                   std::filesystem::create_directories(directory),
                   DurableOptions{.dbpath = directory,
                                  .commit_interval = interval_us,
                                  .journal_file_bytes = journal::kSmallLimitBytes,
                                  .journal_options = kNoCheckSpace,
                                  .no_prealloc_journal = true}),
                  locks) {
        durable.recover();
        durable.start();
        const storage::GlobalLock lock(locks, storage::GlobalMode::W);
        file = &durable.views().create("test.0", kFileBytes);
        durable.views().note_created(*file);
    }
    ~Server() {
        durable.shutdown();
        std::filesystem::remove_all(directory);
    }
    const std::string directory;
    storage::LockManager locks;
    Durable durable;
    MappedFile* file = nullptr;
};

// Declares as an insert does: the same few places and one that moves on.
void Declare(benchmark::State& state) {
    Server server(100'000);
    Views& views = server.durable.views();
    uint8_t* const base = server.file->view();
    const storage::DatabaseLock lock(server.locks, "test", true);
    size_t at = 0;
    for (auto _ : state) {
        views.declare(base + (at & 3) * 4096, 8);
        views.declare(base + 65536 + (at * 64) % (8 << 20), 64);
        ++at;
    }
    state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(Declare);

void LockedWrite(benchmark::State& state) {
    Server server(100'000);
    Views& views = server.durable.views();
    size_t at = 0;
    for (auto _ : state) {
        const storage::DatabaseLock lock(server.locks, "test", true);
        *views.writing(server.file->view() + at++ % kFileBytes) = 'x';
    }
}
BENCHMARK(LockedWrite);

void DurableWrite(benchmark::State& state) {
    Server server(state.range(0) * 1000);
    Views& views = server.durable.views();
    size_t at = 0;
    for (auto _ : state) {
        {
            const storage::DatabaseLock lock(server.locks, "test", true);
            *views.writing(server.file->view() + at++ % kFileBytes) = 'x';
        }
        server.durable.await_commit_blocking();
    }
}
BENCHMARK(DurableWrite)->Arg(100)->Arg(30)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mmapv1
