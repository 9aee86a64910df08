#include "tools/dbpath_check.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "base/error.h"
#include "base/escape_control_chars.h"
#include "catalog/index_keys.h"
#include "journal/journal.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/database.h"
#include "storage/mmapv1/engine.h"
#include "storage/mmapv1/mapping/private_views.h"
#include "storage/mmapv1/salvage/directory_layout.h"
#include "storage/mmapv1/salvage/raw_files.h"
#include "storage/mmapv1/salvage/salvage.h"
#include "storage/mmapv1/salvage/salvage_database.h"

namespace tools {

namespace {

constexpr int kFindingsShownMax = 1000;  // a damaged link can make every record look wrong

std::string size_text(int64_t bytes) {
    constexpr double kStep = 1024;
    double value = static_cast<double>(bytes);
    for (const char* unit : {"B", "KB", "MB"}) {
        if (value < kStep) return fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, unit);
        value /= kStep;
    }
    return fmt::format("{:.1f} GB", value);
}

class Check {
  public:
    Check(os::FileSystem& files, const DbpathCheckOptions& options, std::ostream& out)
        : files_(files), options_(options), out_(out) {}

    DbpathCheckResult run() {
        look_at_dbpath();
        std::vector<mmapv1::Refusal> refused;
        for (const std::string& db : mmapv1::databases_with_files(
                 files_, options_.dbpath, options_.directory_per_db, refused))
            if (is_wanted(db)) check(db);
        for (const mmapv1::Refusal& folder : refused)
            if (is_wanted(folder.path)) count_unread(folder);
        for (const std::string& db : options_.databases)
            if (!seen_.contains(db))
                base::fail(base::kBadValue, "no database {} in {}", db, options_.dbpath);
        if (seen_.empty()) base::fail(base::kBadValue, "no database in {}", options_.dbpath);
        return result_;
    }

  private:
    bool is_wanted(const std::string& db) const {
        return options_.databases.empty() ||
               std::count(options_.databases.begin(), options_.databases.end(), db) != 0;
    }

    // A folder that may hold a database of that name.
    void count_unread(const mmapv1::Refusal& folder) {
        seen_.insert(folder.path);
        ++result_.errors;
        line("  ERROR: {}: the folder cannot be read: {}", folder.path, folder.reason);
    }

    void look_at_dbpath() {
        const std::string& dbpath = options_.dbpath;
        lock_ = mmapv1::lock_for_reading(files_, dbpath, "stop it, or use its validate command");
        mmapv1::check_storage_metadata(files_, dbpath, options_.directory_per_db);
        mmapv1::check_directory_layout(files_, dbpath, options_.directory_per_db);
        if (journal::has_journal_files(files_, os::join(dbpath, "journal")))
            line(
                "note: the journal holds writes that the data files lack; start and stop the "
                "server once, then check again");
    }

    void check(const std::string& db) {
        seen_.insert(db);
        result_.databases++;
        mmapv1::FilePolicy policy;
        policy.directory_per_db = options_.directory_per_db;
        errors_by_ns_.clear();
        findings_.clear();
        mmapv1::PrivateViews views(files_, options_.dbpath, teller_of_unreadable(db));
        mmapv1::PaddingSamplers samplers;
        try {
            mmapv1::MmapDatabase database(views, db, policy, samplers,
                                          mmapv1::MmapDatabase::Mode::open);
            print_head(database);
            mmapv1::check_database(
                database, options_.compare_keys ? catalog::key_deriver() : mmapv1::KeyDeriver(),
                [&](const mmapv1::Finding& finding) {
                    const mmapv1::FileLocation place = mmapv1::location_of(database, finding);
                    note(finding, {place.file, place.offset, finding.text});
                },
                [this](mmapv1::MmapCollection& collection, const mmapv1::SpaceMetrics& metrics) {
                    print_collection(collection, metrics);
                });
            print_free(database);
            look_for_unused_files(db, database.files().count());
        } catch (const base::Error& error) {
            look_at_bytes(db, error.what());
        }
        print_findings();
    }

    mmapv1::PrivateViews::Unreadable teller_of_unreadable(const std::string& db) {
        if (!options_.read_first) return {};
        return [this, db](const std::string& path, int64_t offset, int64_t bytes) {
            note({mmapv1::Severity::error, db, ""},
                 {path, offset,
                  fmt::format("the device does not give {} bytes from here on, which are taken for "
                              "zeros",
                              bytes)});
        };
    }

    // What cannot be opened is read as --salvage would, to say where the damage is.
    void look_at_bytes(const std::string& db, const std::string& reason) {
        struct Places final : mmapv1::SalvageSink {
            void begin(const std::string&, const std::string&) override {}
            void document(bson::Doc) override { ++documents; }
            void end(const mmapv1::SalvagedCollection& each) override {
                ++collections;
                for (const mmapv1::Damage& damage : each.damage)
                    found.emplace_back(each.db + "." + each.name, damage);
            }
            int64_t collections = 0, documents = 0;
            std::vector<std::pair<std::string, mmapv1::Damage>> found;
        } places;
        for (const mmapv1::Damage& damage : mmapv1::salvage_database(
                 files_, options_.dbpath, db, options_.directory_per_db, places))
            places.found.emplace_back(db, damage);
        if (!options_.quiet) {
            line("");
            line("database {}: it cannot be opened: {}", db, reason);
            line("  mongod --salvage would write {} documents of {} collections; what it meets:",
                 places.documents, places.collections);
        }
        // The reason names its file, if it is one.
        std::string file = namespace_file(db);
        const mmapv1::RawFiles raw(files_, options_.dbpath, db, options_.directory_per_db);
        for (const auto& [number, data] : raw.all_data())
            if (reason.find(data->name() + " ") != std::string::npos) file = data->name();
        places.found.insert(places.found.begin(), {db, {file, 0, reason}});
        for (const auto& [ns, damage] : places.found)
            note({mmapv1::Severity::error, ns, ""}, damage);
    }

    std::string namespace_file(const std::string& db) const {
        return options_.directory_per_db ? fmt::format("{0}/{0}.ns", db) : db + ".ns";
    }

    // The server uses data files up to the first that is missing.
    void look_for_unused_files(const std::string& db, int used) {
        const mmapv1::RawFiles raw(files_, options_.dbpath, db, options_.directory_per_db);
        for (const auto& [number, file] : raw.all_data()) {
            int32_t version = 0;
            if (number < used || !file->load(0, &version) || version == 0) continue;
            note({mmapv1::Severity::error, db, ""},
                 {file->name(), 0,
                  fmt::format("it is not used, since {} is missing or was never used",
                              raw.name_of(used))});
        }
        for (const mmapv1::Refusal& refused : raw.refused())
            note({mmapv1::Severity::error, db, ""}, {refused.path, 0, refused.reason});
    }

    void note(const mmapv1::Finding& finding, const mmapv1::Damage& place) {
        const bool error = finding.severity == mmapv1::Severity::error;
        (error ? result_.errors : result_.leaks)++;
        if (error) errors_by_ns_[finding.ns]++;
        if ((error || options_.show_leaks) && findings_.size() < kFindingsShownMax)
            findings_.push_back(fmt::format(
                "  {}: {} at {:#x}: {}: {}", error ? "ERROR" : "leak", place.file, place.offset,
                finding.ns.empty() ? "(no name)" : finding.ns, place.meaning));
    }

    void print_head(const mmapv1::MmapDatabase& database) const {
        if (options_.quiet) return;
        const storage::DatabaseStats stats = database.stats();
        line("");
        line("database {}: {} of data files, version {}.{}", database.name(),
             size_text(stats.file_bytes), stats.file_version_major, stats.file_version_minor);
        line("  {:<32} {:>10} {:>9} {:>9} {:>7} {:>6} {:>7}  {}", "collection", "documents", "data",
             "storage", "extents", "free", "indexes", "result");
    }

    void print_collection(mmapv1::MmapCollection& collection, const mmapv1::SpaceMetrics& metrics) {
        result_.collections++;
        result_.documents += metrics.records;
        result_.indexes += collection.index_count();
        if (options_.quiet) return;
        const int64_t data = metrics.record_bytes - metrics.records * 16;
        const int64_t free_percent =
            metrics.extent_bytes == 0 ? 0 : metrics.deleted_bytes * 100 / metrics.extent_bytes;
        int64_t errors = 0;
        for (const auto& [ns, count] : errors_by_ns_)
            if (ns == collection.ns() || ns.starts_with(collection.ns() + ".$")) errors += count;
        line("  {:<32} {:>10} {:>9} {:>9} {:>7} {:>5}% {:>7}  {}", collection.ns(), metrics.records,
             size_text(data), size_text(metrics.extent_bytes), metrics.extents.size(), free_percent,
             collection.index_count(), errors == 0 ? "ok" : fmt::format("{} ERRORS", errors));
    }

    void print_free(const mmapv1::MmapDatabase& database) const {
        const storage::DatabaseStats stats = database.stats();
        if (!options_.quiet && stats.free_extents > 0)
            line("  {} free extents with {}", stats.free_extents,
                 size_text(stats.free_extent_bytes));
    }

    void print_findings() const {
        for (const std::string& finding : findings_)
            line("{}", finding);
        if (findings_.size() == kFindingsShownMax) line("  and more");
    }

    // Whatever the files have for names.
    template <typename... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) const {
        out_ << base::escape_control_chars(fmt::format(format, std::forward<Args>(args)...))
             << '\n';
    }

    os::FileSystem& files_;
    std::unique_ptr<os::File> lock_;
    const DbpathCheckOptions& options_;
    std::ostream& out_;
    DbpathCheckResult result_;
    std::set<std::string> seen_;
    std::map<std::string, int64_t> errors_by_ns_;
    std::vector<std::string> findings_;
};

}  // namespace

DbpathCheckResult check_dbpath(os::FileSystem& files, const DbpathCheckOptions& options,
                               std::ostream& out) {
    const DbpathCheckResult result = Check(files, options, out).run();
    out << fmt::format("\n{} databases, {} collections, {} documents, {} indexes: ",
                       result.databases, result.collections, result.documents, result.indexes);
    if (result.errors != 0)
        out << fmt::format("{} ERRORS\nWhat can be read is written by: {}\n", result.errors,
                           mmapv1::salvage_command(options.dbpath, options.directory_per_db));
    else
        out << "consistent\n";
    if (result.leaks != 0 && !options.quiet)
        out << fmt::format("{} places hold space without an owner (harmless; --leaks lists them)\n",
                           result.leaks);
    return result;
}

}  // namespace tools
