#include "tools/dbpath_check.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "base/error.h"
#include "catalog/index_keys.h"
#include "journal/journal.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/database.h"
#include "storage/mmapv1/engine.h"
#include "storage/mmapv1/mapping/private_views.h"

namespace tools {

namespace {

constexpr int kMaxFindingsShown = 1000;  // a damaged link can make every record look wrong

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
        for (const std::string& db :
             mmapv1::database_names_on_disk(files_, options_.dbpath, options_.directory_per_db))
            if (options_.databases.empty() ||
                std::count(options_.databases.begin(), options_.databases.end(), db) != 0)
                check(db);
        for (const std::string& db : options_.databases)
            if (!seen_.contains(db))
                base::fail(base::kBadValue, "no database {} in {}", db, options_.dbpath);
        if (seen_.empty())
            base::fail(base::kBadValue, "no database in {}{}", options_.dbpath,
                       options_.directory_per_db ? "" : "; was it made with --directoryperdb?");
        return result_;
    }

  private:
    void look_at_dbpath() const {
        const std::string& dbpath = options_.dbpath;
        if (!files_.is_directory(dbpath))
            base::fail(base::kBadValue, "{} is not a directory", dbpath);
        mmapv1::check_storage_metadata(files_, dbpath, options_.directory_per_db);
        const std::string lock_path = os::join(dbpath, "mongod.lock");
        if (files_.exists(lock_path)) {
            const auto lock = files_.open(lock_path, {.access = os::Access::read});
            if (!lock->try_lock())
                base::fail(base::kIllegalOperation,
                           "a server runs on {}: stop it, or use its validate command", dbpath);
        }
        if (journal::has_journal_files(files_, os::join(dbpath, "journal")))
            out_ << "note: the journal holds writes that the data files lack; start and stop the "
                    "server once, then check again\n";
    }

    void check(const std::string& db) {
        seen_.insert(db);
        result_.databases++;
        mmapv1::FilePolicy policy;
        policy.directory_per_db = options_.directory_per_db;
        mmapv1::PrivateViews views(files_, options_.dbpath);
        mmapv1::PaddingSamplers samplers;
        errors_by_ns_.clear();
        findings_.clear();
        try {
            mmapv1::MmapDatabase database(views, db, policy, samplers,
                                          mmapv1::MmapDatabase::Mode::open);
            print_head(database);
            mmapv1::check_database(
                database, options_.compare_keys ? catalog::key_deriver() : mmapv1::KeyDeriver(),
                [this](const mmapv1::Finding& finding) { note(finding); },
                [this](mmapv1::MmapCollection& collection, const mmapv1::SpaceFigures& figures) {
                    print_collection(collection, figures);
                });
            print_free(database);
        } catch (const base::Error& error) {
            note({mmapv1::Severity::error, db, error.what()});
        }
        print_findings();
    }

    void note(const mmapv1::Finding& finding) {
        const bool error = finding.severity == mmapv1::Severity::error;
        (error ? result_.errors : result_.leaks)++;
        if (error) errors_by_ns_[finding.ns]++;
        if ((error || options_.show_leaks) && findings_.size() < kMaxFindingsShown)
            findings_.push_back(
                fmt::format("  {}: {}: {}", error ? "ERROR" : "leak", finding.ns, finding.text));
    }

    void print_head(const mmapv1::MmapDatabase& database) const {
        if (options_.quiet) return;
        const storage::DatabaseStats stats = database.stats();
        out_ << fmt::format("\ndatabase {}: {} of data files, version {}.{}\n", database.name(),
                            size_text(stats.file_bytes), stats.file_version_major,
                            stats.file_version_minor);
        out_ << fmt::format("  {:<32} {:>10} {:>9} {:>9} {:>7} {:>6} {:>7}  {}\n", "collection",
                            "documents", "data", "storage", "extents", "free", "indexes", "result");
    }

    void print_collection(mmapv1::MmapCollection& collection, const mmapv1::SpaceFigures& figures) {
        result_.collections++;
        result_.documents += figures.records;
        result_.indexes += collection.index_count();
        if (options_.quiet) return;
        const int64_t data = figures.record_bytes - figures.records * 16;
        const int64_t free_percent =
            figures.extent_bytes == 0 ? 0 : figures.deleted_bytes * 100 / figures.extent_bytes;
        int64_t errors = 0;
        for (const auto& [ns, count] : errors_by_ns_)
            if (ns == collection.ns() || ns.starts_with(collection.ns() + ".$")) errors += count;
        out_ << fmt::format("  {:<32} {:>10} {:>9} {:>9} {:>7} {:>5}% {:>7}  {}\n", collection.ns(),
                            figures.records, size_text(data), size_text(figures.extent_bytes),
                            figures.extents.size(), free_percent, collection.index_count(),
                            errors == 0 ? "ok" : fmt::format("{} ERRORS", errors));
    }

    void print_free(const mmapv1::MmapDatabase& database) const {
        const storage::DatabaseStats stats = database.stats();
        if (!options_.quiet && stats.free_extents > 0)
            out_ << fmt::format("  {} free extents with {}\n", stats.free_extents,
                                size_text(stats.free_extent_bytes));
    }

    void print_findings() const {
        for (const std::string& line : findings_)
            out_ << line << '\n';
        if (findings_.size() == kMaxFindingsShown) out_ << "  and more\n";
    }

    os::FileSystem& files_;
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
        out << fmt::format("{} ERRORS\n", result.errors);
    else
        out << "sound\n";
    if (result.leaks != 0 && !options.quiet)
        out << fmt::format(
            "{} places hold space that belongs to nobody (harmless; --leaks lists them)\n",
            result.leaks);
    return result;
}

}  // namespace tools
