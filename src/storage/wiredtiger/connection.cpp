#include "storage/wiredtiger/connection.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/available_memory.h"
#include "base/error_codes.h"
#include "storage/wiredtiger/disk.h"
#include "storage/wiredtiger/status.h"
#include "storage/wiredtiger/tables.h"

namespace wt {

using kv::Host;

namespace {

constexpr std::string_view kMarker = "FORMAT";
constexpr std::string_view kFormat = "mongod-dur 1\n";

}  // namespace

// The marker is complete when it is there, and there before anything else is.
void make_directory(const Host& host, const std::string& directory) {
    const std::string marker = directory + "/" + std::string(kMarker);
    std::error_code error;
    std::filesystem::create_directory(directory, error);
    if (error) fail(host, base::kInternalError, directory + ": " + error.message());
    const std::string unfinished = marker + ".new";
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        if (entry.path() != unfinished)
            fail(host, base::kInvalidOptions,
                 directory + " was not made by this server: it has " +
                     entry.path().filename().string() + " and no " + std::string(kMarker));
    {
        std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
        file << kFormat << std::flush;
        if (!file) fail_errno(host, unfinished);
    }
    sync_path(host, unfinished);
    std::filesystem::rename(unfinished, marker, error);
    if (error) fail(host, base::kInternalError, marker + ": " + error.message());
    sync_path(host, directory);
}

namespace {

// The library would change what it opens, so a file beside its own is looked at first.
void check_marker(const Host& host, const std::string& directory) {
    const std::string marker = directory + "/" + std::string(kMarker);
    if (!std::filesystem::exists(marker)) make_directory(host, directory);
    std::ifstream file(marker, std::ios::binary);
    const std::string format{std::istreambuf_iterator<char>(file), {}};
    if (file.bad()) fail_errno(host, marker);
    if (format != kFormat)
        fail(host, base::kInvalidOptions,
             marker + " says \"" + format.substr(0, format.find('\n')) +
                 "\": another version has made this directory, and this one cannot read it");
}

// These words trade speed and memory for each other. A word is refused if it can lose rows, if it
// is a place, a size or a thread that only the server may choose, or if it gives nothing that is
// worth a look at all that it might break.
constexpr std::array<std::string_view, 11> kWords = {
    "eviction",
    "eviction_checkpoint_target",
    "eviction_dirty_target",
    "eviction_dirty_trigger",
    "eviction_target",
    "eviction_trigger",
    "file_manager",
    "io_capacity",
    "mmap",
    "session_scratch_max",
    "verbose",
};

void check_words(const Host& host, const std::string& config) {
    WT_CONFIG_PARSER* parser = nullptr;
    const int opened =
        wiredtiger_config_parser_open(nullptr, config.data(), config.size(), &parser);
    check(host, opened);
    std::string refused;
    int status = 0;
    WT_CONFIG_ITEM key, value;
    while (refused.empty() && (status = parser->next(parser, &key, &value)) == 0) {
        const std::string_view name(key.str, key.len);
        if (std::ranges::find(kWords, name) == kWords.end()) refused = name;
    }
    parser->close(parser);
    if (!refused.empty()) {
        std::string text = "the configuration of WiredTiger may not set " + refused + ", only";
        for (const std::string_view each : kWords)
            text.append(" ").append(each);
        fail(host, base::kInvalidOptions, text);
    }
    if (status != WT_NOTFOUND)
        fail(host, base::kInvalidOptions,
             "the configuration of WiredTiger, \"" + config + "\": " + wiredtiger_strerror(status));
}

// The share of memory, in percent, that malloc takes beyond the bytes of pages that the library
// counts: with the library's own 8 a process grew to 1.26 times its cache under LinkBench, with
// this to 1.12.
constexpr int kCacheOverheadPercent = 25;

// Returns the whole configuration, which is given at each start: neither the words of the first
// start nor the environment count.
std::string configuration(const kv::MapSettings& settings) {
    std::string config =
        "create,config_base=false,use_environment=false,statistics=(fast),session_max=20000,"
        "extensions=[libwiredtiger_snappy.so],"
        "transaction_sync=(enabled=false,method=fsync),cache_size=" +
        std::to_string(settings.cache_bytes) +
        ",cache_overhead=" + std::to_string(kCacheOverheadPercent) +
        ",log=(enabled=true,compressor=snappy,file_max=" + std::to_string(kLogFileBytes) + ")";
    return settings.config.empty() ? config : config + "," + settings.config;
}

}  // namespace

Connection::Connection(const kv::MapSettings& settings)
    : host_(*settings.host),
      events_{{.handle_error = handle_error,
               .handle_message = handle_message,
               .handle_progress = nullptr,
               .handle_close = nullptr},
              &host_,
              false},
      read_turns_(settings.memory_bytes) {
    check_words(host_, settings.config);
    check_marker(host_, settings.directory);
    Tables::check_files(host_, settings.directory);
    const std::string config = configuration(settings);
    const auto open = [&](const std::string& words) {
        return wiredtiger_open(settings.directory.c_str(), &events_.handler, words.c_str(),
                               &connection_);
    };
    int status = open(config);
    if (status == WT_TRY_SALVAGE) {
        host_.log(Host::Severity::warning,
                  "WiredTiger finds damaged files in " + settings.directory +
                      ", as a power cut can leave them, and salvages them: run validate on the "
                      "collections");
        status = open(config + ",salvage=true");
    }
    if (status == EINVAL)
        fail(host_, base::kInvalidOptions,
             "WiredTiger cannot be set up; its configuration is \"" + config + "\"");
    const uint64_t free_bytes = status == 0 ? kReservedBytes : free_bytes_of(settings.directory);
    if (free_bytes < kReservedBytes)
        fail(host_, base::kOutOfDiskSpace,
             std::string("WiredTiger cannot start: ") + wiredtiger_strerror(status) + "; " +
                 full_disk_text(settings.directory, free_bytes, kReservedBytes));
    // Its own errors are negative.
    if (status < 0 || status == ENOENT)
        host_.fail_damaged("WiredTiger cannot open its files in " + settings.directory + ": " +
                           wiredtiger_strerror(status) +
                           "; the lines above say why, and --repair may help");
    check(host_, status);
    events_.is_open = true;
}

Connection::~Connection() {
    const int status = connection_->close(connection_, nullptr);
    if (status != 0)
        host_.log(Host::Severity::error,
                  std::string("WiredTiger at its end: ") + wiredtiger_strerror(status));
}

SessionHandle Connection::open_session() const {
    WT_SESSION* session = nullptr;
    check(host_, connection_->open_session(connection_, nullptr, "isolation=snapshot", &session));
    return SessionHandle(session);
}

void Connection::reconfigure(const std::string& config) const {
    check(host_, connection_->reconfigure(connection_, config.c_str()));
}

int Connection::handle_error(WT_EVENT_HANDLER* handler, WT_SESSION*, int error, const char* text) {
    const Events& events = *reinterpret_cast<Events*>(handler);
    const Host& host = *events.host;
    const std::string line = std::string("WiredTiger: ") + text;
    // Threads of its own find this too, and nothing that it answers can be trusted from then on.
    if (error == WT_PANIC && events.is_open) end_process(host, line);
    host.log(Host::Severity::error, line);
    return 0;
}

int Connection::handle_message(WT_EVENT_HANDLER* handler, WT_SESSION*, const char* text) {
    const Host& host = *reinterpret_cast<Events*>(handler)->host;
    host.log(Host::Severity::info, std::string("WiredTiger: ") + text);
    return 0;
}

}  // namespace wt
