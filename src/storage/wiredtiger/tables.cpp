#include "storage/wiredtiger/tables.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/dcheck.h"
#include "base/error_codes.h"
#include "storage/wiredtiger/cursor_handle.h"
#include "storage/wiredtiger/status.h"

namespace wt {

using kv::Host;
using kv::Kind;
using kv::Table;

namespace {

constexpr const char* kDrops = "table:drops";
constexpr std::string_view kUriStart = "table:t";

// The number in front of `text`, which goes from it.
std::optional<Table> take_number(std::string_view& text) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return Table{number};
}

bool take(std::string_view& text, std::string_view start) {
    if (!text.starts_with(start)) return false;
    text.remove_prefix(start.size());
    return true;
}

// Returns the table that a key of the library's metadata belongs to; nothing if it is not one of
// ours.
std::optional<Table> table_of(std::string_view key) {
    const bool is_file = take(key, "file:t");
    if (!is_file && !take(key, kUriStart) && !take(key, "colgroup:t")) return std::nullopt;
    const std::optional<Table> table = take_number(key);
    return key == (is_file ? ".wt" : "") ? table : std::nullopt;
}

struct FileName {
    Table table;
    bool is_aside;  // the library has set it aside, as t17.wt.1, to make a new one
};

std::optional<FileName> parse_file_name(std::string_view name) {
    if (!take(name, "t")) return std::nullopt;
    const std::optional<Table> table = take_number(name);
    if (!table || !take(name, ".wt")) return std::nullopt;
    if (name.empty()) return FileName{*table, false};
    if (take(name, ".") && take_number(name) && name.empty()) return FileName{*table, true};
    return std::nullopt;
}

// The library ends the process that has no descriptor left, and connections have two fifths of
// them. It has one open for each table that was used in the last seconds.
size_t most_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return std::numeric_limits<size_t>::max();
    return limit.rlim_cur / 2;
}

// A kill may have left some files more, with which a start has to do.
size_t most_tables() {
    constexpr size_t kOthers = 32;
    return std::max(most_files(), kOthers) - kOthers;
}

}  // namespace

std::string uri_of(Table table) {
    return std::string(kUriStart) + std::to_string(static_cast<uint32_t>(table));
}

std::string file_of(Table table) {
    return "t" + std::to_string(static_cast<uint32_t>(table)) + ".wt";
}

void Tables::check_files(const Host& host, const std::string& directory) {
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        if (parse_file_name(entry.path().filename().string())) ++files;
    if (files > most_files())
        fail(host, base::kInvalidOptions,
             directory + " has " + std::to_string(files) +
                 " files of collections and indexes, and WiredTiger may have " +
                 std::to_string(most_files()) +
                 " open, half of the limit: start with a higher limit of open files (ulimit -n)");
}

Tables::Tables(const Connection& connection, const kv::Host& host, std::string directory)
    : host_(host),
      directory_(std::move(directory)),
      tables_max_(most_tables()),
      session_(connection.open_session()) {
    open_drops();
    read_tables();
    read_drops();
    remove_files_of(dropped());  // recovery has written a checkpoint
}

// The library knows a table by three rows; a table is there if its file is too.
void Tables::read_tables() {
    constexpr int kRows = 3;
    std::map<Table, int> found;
    const CursorHandle rows = open_cursor(host_, session_.get(), "metadata:");
    int status = 0;
    while ((status = rows->next(rows.get())) == 0) {
        const char* key = nullptr;
        check(host_, rows->get_key(rows.get(), &key));
        if (const std::optional<Table> table = table_of(key)) ++found[*table];
    }
    if (status != WT_NOTFOUND) fail_status(host_, status);
    for (const auto& [table, count] : found) {
        const bool is_whole =
            count == kRows && std::filesystem::exists(directory_ + "/" + file_of(table));
        (is_whole ? there_ : broken_).insert(table);
    }
}

// Tables whose drops are forgotten go at the start, since no collection has them.
void Tables::open_drops() {
    const auto create = [&] {
        check(host_, session_->create(session_.get(), kDrops, "key_format=I,value_format=u"));
    };
    create();
    WT_CURSOR* rows = nullptr;
    const int status = session_->open_cursor(session_.get(), kDrops, nullptr, nullptr, &rows);
    const CursorHandle opened(rows);
    if (status == 0) return;
    host_.log(Host::Severity::warning, "WiredTiger cannot open " + std::string(kDrops) + ": " +
                                           wiredtiger_strerror(status) + "; it is made anew");
    check(host_, session_->drop(session_.get(), kDrops, "force=true"));
    create();
}

bool Tables::repair(Table table) {
    const std::string uri = uri_of(table);
    const std::lock_guard lock(session_mutex_);
    if (session_->verify(session_.get(), uri.c_str(), nullptr) == 0) return true;
    const int status = session_->salvage(session_.get(), uri.c_str(), "force=true");
    host_.log(Host::Severity::error, "WiredTiger finds damage in " + file_of(table) +
                                         (status == 0 ? ": what can be read of it is kept"
                                                      : std::string(", and cannot read it: ") +
                                                            wiredtiger_strerror(status)));
    if (status == 0) return true;
    if (status != WT_ERROR) fail_status(host_, status);
    there_.erase(table);
    broken_.insert(table);
    return false;
}

void Tables::read_drops() {
    const CursorHandle rows = open_cursor(host_, session_.get(), kDrops);
    int status = 0;
    while ((status = rows->next(rows.get())) == 0) {
        uint32_t number = 0;
        check(host_, rows->get_key(rows.get(), &number));
        drops_.insert(Table{number});
    }
    if (status != WT_NOTFOUND) fail_status(host_, status);
    has_drops_ = !drops_.empty();
}

void Tables::add(Table table, Kind kind) {
    // Keys of an index begin alike; documents compress well, and more so in large pages.
    const char* const config =
        kind == Kind::documents
            ? "key_format=u,value_format=u,block_compressor=snappy,leaf_page_max=32KB"
            : "key_format=u,value_format=u,prefix_compression=true,leaf_page_max=16KB";
    const std::lock_guard lock(session_mutex_);
    if (there_.contains(table)) return;
    if (there_.size() >= tables_max_)
        fail(host_, base::kOperationFailed,
             "WiredTiger has a file for each collection and each index, " +
                 std::to_string(there_.size()) +
                 " now: more of them need a higher limit of open files (ulimit -n)");
    if (broken_.contains(table)) check(host_, drop_now(table));
    check(host_, session_->create(session_.get(), uri_of(table).c_str(), config));
    there_.insert(table);
}

bool Tables::has(Table table) const {
    const std::lock_guard lock(session_mutex_);
    return there_.contains(table);
}

std::set<Table> Tables::all() const {
    const std::lock_guard lock(session_mutex_);
    std::set<Table> tables = there_;
    tables.insert(broken_.begin(), broken_.end());
    return tables;
}

uint32_t Tables::end() const {
    std::set<Table> tables = all();
    for (const Table table : dropped())
        tables.insert(table);
    return tables.empty() ? 0 : static_cast<uint32_t>(*tables.rbegin()) + 1;
}

void Tables::remove_strange_files() const {
    const std::set<Table> known = all();
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
        const std::optional<FileName> name = parse_file_name(entry.path().filename().string());
        if (!name || (!name->is_aside && known.contains(name->table))) continue;
        host_.log(Host::Severity::info,
                  "WiredTiger: " + entry.path().string() + " is of no table, and is removed");
        std::filesystem::remove(entry.path());
    }
}

// REQUIRES: session_mutex_ is held.
int Tables::drop_now(Table table) {
    const int status =
        session_->drop(session_.get(), uri_of(table).c_str(), "force=true,checkpoint_wait=false");
    if (status == 0) {
        DCHECK(!there_.contains(table) || !broken_.contains(table));
        there_.erase(table);
        broken_.erase(table);
    }
    return status;
}

void Tables::drop(Table table) {
    {
        const std::lock_guard lock(session_mutex_);
        note_drop(table, false);
    }
    const std::lock_guard lock(drops_mutex_);
    drops_.insert(table);
    has_drops_ = true;
}

void Tables::note_drop(Table table, bool is_done) {
    const CursorHandle rows = open_cursor(host_, session_.get(), kDrops);
    int status = WT_ROLLBACK;  // what a full cache can answer
    while (status == WT_ROLLBACK) {
        rows->set_key(rows.get(), static_cast<uint32_t>(table));
        const WT_ITEM nothing{};
        rows->set_value(rows.get(), &nothing);
        status = is_done ? rows->remove(rows.get()) : rows->insert(rows.get());
    }
    if (status != WT_NOTFOUND) check(host_, status);
}

std::vector<Table> Tables::dropped() const {
    const std::lock_guard lock(drops_mutex_);
    return {drops_.begin(), drops_.end()};
}

bool Tables::is_dropped(Table table) const {
    if (!has_drops_) return false;
    const std::lock_guard lock(drops_mutex_);
    return drops_.contains(table);
}

void Tables::remove_files_of(const std::vector<Table>& dropped) {
    for (const Table table : dropped) {
        const std::lock_guard session_lock(session_mutex_);
        const int status = drop_now(table);
        if (status == EBUSY) continue;  // the next time
        check(host_, status);
        note_drop(table, true);
        const std::lock_guard lock(drops_mutex_);
        drops_.erase(table);
        has_drops_ = !drops_.empty();
    }
}

}  // namespace wt
