#include "storage/mmapv1/salvage/salvage.h"

#include <ostream>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/escape_control_chars.h"
#include "journal/journal.h"
#include "os/confined_file_system.h"
#include "storage/mmapv1/mapping/data_file_name.h"
#include "storage/mmapv1/salvage/directory_layout.h"
#include "storage/mmapv1/salvage/dump_directory.h"
#include "storage/mmapv1/salvage/raw_files.h"

namespace mmapv1 {

namespace {

constexpr size_t kNameColumn = 32;

std::string for_shell(const std::string& path) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-.,:@%+=";
    if (!path.empty() && path.find_first_not_of(kPlain) == std::string::npos) return path;
    std::string quoted = "'";
    for (const char c : path)
        quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
}

// Writes collections down and tells of each.
class Report final : public SalvageSink {
  public:
    Report(DumpDirectory& dump, std::ostream& out, SalvageResult& result)
        : dump_(dump), out_(out), result_(result) {}

    void begin_database(const std::string& db) {
        ++result_.databases;
        line("");
        line("database {}", db);
        line("  {:<{}} {:>10} {:>10} {:>7} {:>7}  {}", "collection", kNameColumn, "written",
             "counted", "unread", "indexes", "result");
    }
    void begin(const std::string& db, const std::string& collection) override {
        dump_.begin(db, collection);
    }
    void document(bson::Doc doc) override { dump_.document(doc); }
    void end(const SalvagedCollection& c) override {
        DCHECK(c.documents >= 0 && c.unread >= 0);
        DCHECK(c.damage_count >= static_cast<int64_t>(c.damage.size()));
        const std::vector<std::string> left_out = dump_.end(c);
        ++result_.collections;
        result_.documents += c.documents;
        result_.unread += c.unread;
        result_.damage += c.damage_count + static_cast<int64_t>(left_out.size());
        line("  {:<{}} {:>10} {:>10} {:>7} {:>7}  {}", c.name, kNameColumn, c.documents,
             c.counted ? std::to_string(*c.counted) : "?", c.unread, c.indexes.size(),
             c.whole() && left_out.empty() ? "whole" : "DAMAGED");
        show(c.damage);
        const auto shown = static_cast<int64_t>(c.damage.size());
        if (shown < c.damage_count) line("      and {} more places", c.damage_count - shown);
        for (const std::string& each : left_out)
            line("      {}: left out, since mongorestore could not read it", each);
    }
    void add(const std::vector<Damage>& damage) {
        if (damage.empty()) return;
        result_.damage += static_cast<int64_t>(damage.size());
        line("  of the database itself");
        show(damage);
    }

    void add(const std::vector<Refusal>& folders) {
        if (folders.empty()) return;
        result_.damage += static_cast<int64_t>(folders.size());
        line("");
        line("folders that cannot be read; whatever lies in them is not written");
        for (const Refusal& each : folders)
            line("  {}: {}", each.path, each.reason);
    }

  private:
    void show(const std::vector<Damage>& damage) {
        for (const Damage& each : damage)
            line("      {} at {:#x}: {}", each.file, each.offset, each.meaning);
    }
    // Whatever the files have for names.
    template <typename... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        out_ << base::escape_control_chars(fmt::format(format, std::forward<Args>(args)...))
             << '\n';
    }

    DumpDirectory& dump_;
    std::ostream& out_;
    SalvageResult& result_;
};

void note_journal(os::FileSystem& files, const std::string& dbpath, std::ostream& report) {
    const std::string journal = os::join(dbpath, kJournalDirectory);
    if (!journal::has_journal_files(files, journal)) return;
    report << fmt::format(
        "note: {} holds writes that the data files may lack. They are not replayed here: where the "
        "server still starts, start and stop it once, on a copy, and salvage that\n",
        journal);
}

}  // namespace

std::unique_ptr<os::File> lock_for_reading(os::FileSystem& files, const std::string& dbpath,
                                           const std::string& what_to_do) {
    if (!files.is_directory(dbpath))
        base::fail(base::kBadValue, "dbpath ({}) does not exist or is no directory", dbpath);
    const std::string path = os::join(dbpath, kLockFile);
    if (!files.exists(path)) return nullptr;
    auto lock = files.open(path, {.access = os::Access::read});
    if (!lock->try_lock())
        base::fail(base::kIllegalOperation, "a server runs on {}: {}", dbpath, what_to_do);
    return lock;
}

SalvageResult salvage(const SalvageOptions& options, os::FileSystem& dbpath_files,
                      os::FileSystem& out_files, std::ostream& report) {
    const auto lock =
        lock_for_reading(dbpath_files, options.dbpath, "stop it, or use mongodump on it");
    check_directory_layout(dbpath_files, options.dbpath, options.directory_per_db);
    std::vector<Refusal> refused;
    const std::vector<std::string> databases =
        databases_with_files(dbpath_files, options.dbpath, options.directory_per_db, refused);
    if (databases.empty() && !refused.empty())
        base::fail(base::kBadValue, "folder {} of {} cannot be read, and there is no other: {}",
                   refused.front().path, options.dbpath, refused.front().reason);
    if (databases.empty())
        base::fail(base::kBadValue, "there is no data file in {}", options.dbpath);
    DumpDirectory dump(out_files, options.out);
    note_journal(dbpath_files, options.dbpath, report);
    SalvageResult result;
    Report sink(dump, report, result);
    for (const std::string& db : databases) {
        sink.begin_database(db);
        sink.add(
            salvage_database(dbpath_files, options.dbpath, db, options.directory_per_db, sink));
    }
    sink.add(refused);
    report << fmt::format("\n{} databases, {} collections, {} documents written to {}: ",
                          result.databases, result.collections, result.documents, options.out);
    if (result.damage == 0)
        report << "nothing is damaged\n";
    else
        report << fmt::format("{} places are damaged, {} documents could not be read\n",
                              result.damage, result.unread);
    return result;
}

SalvageResult salvage(const SalvageOptions& options, std::ostream& report) {
    const auto files = os::confined_file_system(
        options.dbpath, {os::join(options.dbpath, kJournalDirectory)});  // looked into only
    return salvage(options, *files, os::real_file_system(), report);
}

std::string salvage_command(const std::string& dbpath, bool directory_per_db) {
    return fmt::format("mongod --dbpath {}{} --salvage NEW_DIRECTORY", for_shell(dbpath),
                       directory_per_db ? " --directoryperdb" : "");
}

}  // namespace mmapv1
