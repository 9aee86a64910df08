#include "storage/rocksdb/configuration.h"

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_manager.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "base/error_codes.h"
#include "storage/rocksdb/status.h"

namespace rocks {

namespace {

// A quarter of the descriptors that the process may have: connections need them too.
int open_files_max() {
    constexpr rlim_t kFilesMin = 64, kFilesMax = 20'000;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<int>(kFilesMin);
    return static_cast<int>(std::clamp(limit.rlim_cur / 4, kFilesMin, kFilesMax));
}

rocksdb::Options ours(const ordered::MapSettings& settings, rocksdb::Env* env) {
    rocksdb::Options options;
    options.env = env;
    options.info_log = std::make_shared<Log>(*settings.host);
    options.stats_dump_period_sec = options.stats_persist_period_sec = 0;
    options.max_open_files = open_files_max();
    const auto processors = static_cast<int>(std::thread::hardware_concurrency());
    options.max_background_jobs = std::clamp(processors, 2, 8);
    options.level_compaction_dynamic_level_bytes = true;
    options.compression = rocksdb::kSnappyCompression;
    // So that a sync of the log does not wait for a whole table that is being written.
    options.bytes_per_sync = uint64_t{1} << 20;

    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(static_cast<size_t>(settings.cache_bytes));
    table.cache_index_and_filter_blocks = true;
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    constexpr double kFilterBitsPerKey = 10;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBitsPerKey));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

    // A table of which one end is removed while the other grows, a queue or a capped collection:
    // without this each look at its beginning walks over all that was removed.
    constexpr size_t kWindowEntries = 16'384, kRemovedEntries = 8'192;
    options.table_properties_collector_factories.push_back(
        rocksdb::NewCompactOnDeletionCollectorFactory(kWindowEntries, kRemovedEntries));
    return options;
}

}  // namespace

rocksdb::Options configuration(const ordered::MapSettings& settings, rocksdb::Env* env,
                               std::shared_ptr<Watch> watch) {
    const ordered::Host& host = *settings.host;
    rocksdb::ConfigOptions parsing;
    parsing.env = env;
    rocksdb::Options options;
    const rocksdb::Status status =
        rocksdb::GetOptionsFromString(parsing, ours(settings, env), settings.config, &options);
    if (!status.ok())
        fail(host, base::kInvalidOptions,
             "the configuration of RocksDB, \"" + settings.config + "\": " + status.ToString());
    const auto refuse = [&](bool is_set, const std::string& name) {
        if (is_set)
            fail(host, base::kInvalidOptions,
                 "the configuration of RocksDB may not set " + name +
                     ": what the server acknowledges would not be kept");
    };
    refuse(options.manual_wal_flush, "manual_wal_flush");
    refuse(options.unordered_write, "unordered_write");
    refuse(options.two_write_queues, "two_write_queues");
    refuse(options.comparator != rocksdb::BytewiseComparator(), "comparator");
    refuse(options.wal_recovery_mode == rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords,
           "wal_recovery_mode=kSkipAnyCorruptedRecords");
    options.listeners.push_back(std::move(watch));
    // It goes on by itself when a full disk has room again.
    if (options.sst_file_manager == nullptr)
        options.sst_file_manager.reset(rocksdb::NewSstFileManager(env, options.info_log));
    return options;
}

}  // namespace rocks
