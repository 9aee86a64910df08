#include "storage/rocksdb/configuration.h"

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <sys/resource.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "base/error_codes.h"
#include "storage/kv/large_row.h"
#include "storage/rocksdb/status.h"
#include "storage/rocksdb/table_key.h"

namespace rocks {

namespace {

// These words trade speed, memory and space for each other. A word is refused if it can lose rows
// or answers (filters of compactions, prefixes, other recoveries), if it is a place or a library's
// object that only the server may choose, or if it gives nothing that is worth a look at all that
// it might break.
constexpr std::string_view kWords[] = {
    "block_based_table_factory",
    "bottommost_compression",
    "bottommost_compression_opts",
    "bytes_per_sync",
    "compaction_readahead_size",
    "compression",
    "compression_opts",
    "compression_per_level",
    "delayed_write_rate",
    "hard_pending_compaction_bytes_limit",
    "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger",
    "level0_stop_writes_trigger",
    "level_compaction_dynamic_level_bytes",
    "max_background_compactions",
    "max_background_flushes",
    "max_background_jobs",
    "max_bytes_for_level_base",
    "max_bytes_for_level_multiplier",
    "max_compaction_bytes",
    "max_open_files",
    "max_subcompactions",
    "max_total_wal_size",
    "max_write_buffer_number",
    "min_write_buffer_number_to_merge",
    "optimize_filters_for_hits",
    "periodic_compaction_seconds",
    "soft_pending_compaction_bytes_limit",
    "strict_bytes_per_sync",
    "target_file_size_base",
    "target_file_size_multiplier",
    "use_direct_io_for_flush_and_compaction",
    "use_direct_reads",
    "wal_bytes_per_sync",
    "writable_file_max_buffer_size",
    "write_buffer_size",
};
constexpr std::string_view kTableWord = "block_based_table_factory";
constexpr std::string_view kWordsOfTables[] = {
    "block_size",
    "block_size_deviation",
    "cache_index_and_filter_blocks",
    "cache_index_and_filter_blocks_with_high_priority",
    "optimize_filters_for_memory",
    "pin_l0_filter_and_index_blocks_in_cache",
    "verify_compression",
};

// Checks the words before the library looks at them: some of them make objects, or open files.
void check_words(const kv::Host& host, const std::string& config,
                 std::span<const std::string_view> allowed, const std::string& whose) {
    std::unordered_map<std::string, std::string> words;
    const rocksdb::Status status = rocksdb::StringToMap(config, &words);
    if (!status.ok())
        fail(host, base::kInvalidOptions,
             "the configuration of " + whose + ", \"" + config + "\": " + status.ToString());
    for (const auto& [name, value] : words) {
        if (std::ranges::find(allowed, name) == allowed.end()) {
            std::string text = "the configuration of " + whose + " may not set " + name + ", only";
            for (const std::string_view each : allowed)
                text.append(" ").append(each);
            fail(host, base::kInvalidOptions, text);
        }
        if (name == kTableWord) check_words(host, value, kWordsOfTables, name);
    }
}

// A quarter of the descriptors that the process may have: connections need them too.
int open_files_max() {
    constexpr rlim_t kFilesMin = 64, kFilesMax = 20'000;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<int>(kFilesMin);
    return static_cast<int>(std::clamp(limit.rlim_cur / 4, kFilesMin, kFilesMax));
}

// A commit has rows of several tables. A memtable begins to look for the place of a row where the
// last row of the same table went. The key that a removed range begins with is a table's number
// alone, and no row's: the library keeps such ranges elsewhere, and would look for their places
// among the rows.
class TableOfRow final : public rocksdb::SliceTransform {
  public:
    const char* Name() const override { return "mongod-dur.TableOfRow"; }
    rocksdb::Slice Transform(const rocksdb::Slice& row) const override {
        return {row.data(), kTableBytes};
    }
    bool InDomain(const rocksdb::Slice& row) const override { return row.size() > kTableBytes; }
};

rocksdb::Options ours(const kv::MapSettings& settings, rocksdb::Env* env) {
    rocksdb::Options options;
    options.env = env;
    options.info_log = std::make_shared<Log>(*settings.host);
    options.stats_dump_period_sec = options.stats_persist_period_sec = 0;
    options.max_open_files = open_files_max();
    const auto processors = static_cast<int>(std::thread::hardware_concurrency());
    options.max_background_jobs = std::clamp(processors, 2, 8);
    options.level_compaction_dynamic_level_bytes = true;
    options.compression = rocksdb::kSnappyCompression;
    options.memtable_insert_with_hint_prefix_extractor = std::make_shared<TableOfRow>();
    // A sync of the log then does not wait for a whole table that is being written.
    options.bytes_per_sync = uint64_t{1} << 20;

    // Two of them, and what is not in a file of the first when the second is full waits.
    if (settings.memory_bytes > 0) {
        constexpr size_t kLeast = size_t{1} << 20;
        const auto share = static_cast<size_t>(settings.memory_bytes) / 32;
        if (share < options.write_buffer_size) {
            options.write_buffer_size = std::max(share, kLeast);
            // A merge reads all files of level 0 at the same time, of each a row at least: a
            // quarter of the memory is for rows as large as there are. RocksDB may not write slower
            // before that: with few files it would do so all the time, and end at some KB a second.
            constexpr int kFilesMin = 4, kFilesMax = 36, kRowBytes = 16 << 20;
            const auto files = static_cast<int>(settings.memory_bytes / 4 / kRowBytes);
            options.level0_file_num_compaction_trigger = 2;
            options.level0_stop_writes_trigger = std::clamp(files, kFilesMin, kFilesMax);
            options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger;
            // What a merge out of level 0 reads and writes goes with the sizes of the files and the
            // level below it: the usual 64 and 256 MB would be written anew for every 8 MB.
            options.target_file_size_base = 2 * options.write_buffer_size;
            options.max_bytes_for_level_base = 8 * options.write_buffer_size;
        }
    }

    // Large rows lie in files of their own. Elsewhere an iterator would hold one of each file of
    // level 0, and a merge would write them anew.
    options.enable_blob_files = true;
    options.min_blob_size = kv::LargeRow::kBytesMin;
    options.enable_blob_garbage_collection = true;

    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(static_cast<size_t>(settings.cache_bytes));
    options.blob_cache = table.block_cache;  // readers of one large row share it
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

rocksdb::Options configuration(const kv::MapSettings& settings, rocksdb::Env* env,
                               std::shared_ptr<Watch> watch) {
    const kv::Host& host = *settings.host;
    check_words(host, settings.config, kWords, "RocksDB");
    rocksdb::ConfigOptions parsing;
    parsing.env = env;
    rocksdb::Options options;
    const rocksdb::Status status =
        rocksdb::GetOptionsFromString(parsing, ours(settings, env), settings.config, &options);
    if (!status.ok())
        fail(host, base::kInvalidOptions,
             "the configuration of RocksDB, \"" + settings.config + "\": " + status.ToString());
    options.blob_compression_type = options.compression;
    if (options.max_bytes_for_level_base == 0)  // the library divides by it
        fail(host, base::kInvalidOptions,
             "the configuration of RocksDB may not set max_bytes_for_level_base to 0");
    if (options.max_open_files < 0 || options.max_open_files > open_files_max())
        fail(host, base::kInvalidOptions,
             "the configuration of RocksDB may set max_open_files to " +
                 std::to_string(open_files_max()) +
                 " at the most: a quarter of the descriptors that this process may have");
    options.listeners.push_back(std::move(watch));
    return options;
}

}  // namespace rocks
