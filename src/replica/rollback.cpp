#include "replica/rollback.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <set>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "catalog/names.h"
#include "os/file_system.h"
#include "replica/initial_sync.h"

namespace replica {

namespace {

constexpr int64_t kBytesMax = 300 << 20;  // of the entries that are taken back

// A document of a collection that any server has: other changes are no matter of documents alone.
bool is_plain(const oplog::EntryFields& entry) {
    return entry.op == "n" || !oplog::Applier::changed_database(entry.entry).empty();
}

// Whether a command of the primary's log may be applied between changes of documents that are newer
// than it.
bool keeps_names(const oplog::EntryFields& entry) {
    if (entry.op != "c" || oplog::is_unit(entry)) return true;
    constexpr std::string_view kKnown[] = {"create",      "drop",          "dropDatabase",
                                           "dropIndexes", "deleteIndexes", "collMod"};
    const std::string_view name = entry.o.as_doc().first().name();
    return std::ranges::find(kKnown, name) != std::end(kKnown);
}

// A name of a collection may have what a name of a file may not.
std::string file_name(std::string_view ns) {
    std::string name;
    for (const char c : ns) {
        const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ||
                              c == '_' || c == '-' || c == '$';
        name +=
            is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return name;
}

std::string time_of_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    return fmt::format("{:%Y-%m-%dT%H-%M-%S}", parts);
}

}  // namespace

// Reads own entries before that one into tail_, newest first; no more than so many. False: there
// was none. Lock: none.
bool Rollback::read_own(oplog::Position before, size_t most) {
    const storage::DatabaseLock lock(catalog_.engine().locks(), "local", false);
    catalog::Collection* const ring = catalog_.collection(oplog::kSetLog);
    DCHECK(ring != nullptr);
    const auto cursor = ring->records().cursor(storage::Direction::backward);
    const size_t count = tail_.size();
    int64_t bytes = 0;
    for (const bson::Object& each : tail_)
        bytes += each.size();
    while (const auto record = cursor->next()) {
        if (oplog::position_of(record->doc) >= before) continue;
        bytes += record->doc.size();
        if (bytes > kBytesMax)
            base::fail(base::kIllegalOperation,
                       "over {} MB of the log would have to be taken back: empty the directory, "
                       "or copy another member's",
                       kBytesMax >> 20);
        tail_.emplace_back(record->doc);
        if (tail_.size() - count == most) break;
    }
    return tail_.size() > count;
}

bool Rollback::is_of_source(bson::Doc entry) {
    source_.read_log(entry["ts"].as_timestamp());
    const bson::Element first = source_.next_entries().first();
    return first && oplog::position_of(first.as_doc()) == oplog::position_of(entry) &&
           first.as_doc()["h"].to_int64() == entry["h"].to_int64();
}

oplog::Position Rollback::find_common() {
    rollbacks_ = source_.rollbacks();
    oplog::Position before = log_.last();
    before.ts += 1;
    // Twice as far each time, and then back.
    size_t known = 0;  // so many in front are not of the source
    for (size_t step = 1;; step *= 2) {
        if (!read_own(before, step))
            base::fail(base::kIllegalOperation,
                       "no entry of the log is in that of {}: empty the directory, or copy "
                       "another member's",
                       source_.host());
        before = oplog::position_of(tail_.back());
        if (is_of_source(tail_.back())) break;
        known = tail_.size();
    }
    size_t low = known, high = tail_.size() - 1;  // high is of the source
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (is_of_source(tail_[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    common_ = tail_[high];
    tail_.resize(high);
    return oplog::position_of(common_);
}

bool Rollback::run() {
    DCHECK(!common_.empty());
    base::log::warning("rollback: {} entries behind {} of the log are taken back, which {} has not",
                       tail_.size(), bson::to_text(common_["ts"]), source_.host());
    const bool is_plain = find_touched();
    save();
    InitialSync::begin_copy(catalog_);
    if (!is_plain) return false;
    fetch();
    cut_log();
    if (!apply_on() || source_.rollbacks() != rollbacks_) return false;
    InitialSync::end_copy(catalog_, log_.last());
    catalog_.engine().durability().await_commit_blocking();
    base::log::info("rollback: done");
    return true;
}

// False: something else than documents was changed.
bool Rollback::find_touched() {
    std::set<std::pair<std::string, std::string>> seen;
    bool is_all_plain = true;
    const auto touch = [&](const oplog::EntryFields& entry) {
        if (!is_plain(entry)) is_all_plain = false;
        if (entry.op == "n" || !is_plain(entry)) return;
        const bson::Element which = entry.op == "u" ? entry.o2 : entry.o;
        const bson::Element id = which.is_object() ? which.as_doc()["_id"] : bson::Element();
        const std::string ns(entry.ns);
        const storage::DatabaseLock lock(catalog_.engine().locks(), catalog::split(ns).db, false);
        const catalog::Collection* const collection = catalog_.collection(ns);
        if (!id || collection == nullptr || collection->capped() ||
            collection->id_index() == nullptr) {
            is_all_plain = false;
            return;
        }
        bson::Builder only;
        only.append_as("_id", id);
        Touched touched{ns, only.object()};
        const bson::Doc bytes = touched.id;
        if (seen.emplace(ns, std::string(reinterpret_cast<const char*>(bytes.data()),
                                         static_cast<size_t>(bytes.size())))
                .second)
            touched_.push_back(std::move(touched));
    };
    for (const bson::Object& entry : tail_)
        oplog::for_each_change(oplog::EntryFields(entry), touch);
    return is_all_plain;
}

// Lock: at least shared on the database. Empty: there is none.
bson::Object Rollback::own_version(const Touched& touched) const {
    catalog::Collection* const collection = catalog_.collection(touched.ns);
    if (collection == nullptr || collection->id_index() == nullptr) return {};
    bson::Builder key;
    key.append_as("", touched.id["_id"]);
    const storage::RecordId found = collection->id_index()->store->find_one(key.doc());
    return found.is_null() ? bson::Object() : bson::Object(collection->records().get(found));
}

void Rollback::save() {
    os::FileSystem& files = os::real_file_system();
    files.create_directory(folder_);
    std::map<std::string, std::vector<bson::Object>> lost;
    for (const Touched& touched : touched_) {
        const storage::DatabaseLock lock(catalog_.engine().locks(), catalog::split(touched.ns).db,
                                         false);
        if (bson::Object version = own_version(touched); !version.empty())
            lost[touched.ns].push_back(std::move(version));
    }
    for (const auto& [ns, documents] : lost)
        write_file(ns, documents);
    write_file(std::string(oplog::kSetLog), {tail_.rbegin(), tail_.rend()});
    files.sync_directory(folder_);
}

void Rollback::write_file(const std::string& ns, const std::vector<bson::Object>& documents) {
    os::FileSystem& files = os::real_file_system();
    const std::string start = fmt::format("{}/{}.{}", folder_, file_name(ns), time_of_now());
    std::string path;
    for (int number = 0; path.empty() || files.exists(path); ++number)
        path = fmt::format("{}.{}.bson", start, number);
    const auto file =
        files.open(path, {.access = os::Access::write, .create = true, .fresh = true});
    for (const bson::Object& each : documents)
        file->write(each.doc().bytes());
    file->sync();
    base::log::warning("rollback: {} documents of {} as they were are in {}", documents.size(), ns,
                       path);
}

// Removes first, so that no unique value is in the way of one that comes.
void Rollback::fetch() {
    const oplog::ForeignChange copy(log_);
    std::map<std::string, std::vector<bson::Object>> found;
    for (const Touched& touched : touched_)
        if (bson::Object version = source_.find(touched.ns, touched.id); !version.empty())
            found[touched.ns].push_back(std::move(version));
    for (const Touched& touched : touched_)
        applier_.apply(bson::make("op", "d", "ns", touched.ns, "o", touched.id),
                       oplog::Manner::again);
    for (const auto& [ns, documents] : found)
        for (const bson::Object& document : documents)
            applier_.apply(bson::make("op", "i", "ns", ns, "o", document), oplog::Manner::again);
}

void Rollback::cut_log() {
    const storage::DatabaseLock lock(catalog_.engine().locks(), "local", true);
    log_.cut_behind(oplog::position_of(common_));
}

// False: a collection got another name during it, so what was fetched by its name may be of another
// one.
bool Rollback::apply_on() {
    const oplog::Position end = oplog::position_of(source_.newest_entry());
    source_.read_log(common_["ts"].as_timestamp());
    while (log_.last() < end) {
        for (const bson::Element& each : source_.next_entries()) {
            const bson::Doc entry = each.as_doc();
            if (oplog::position_of(entry) <= log_.last()) continue;
            if (!keeps_names(oplog::EntryFields(entry))) return false;
            oplog::ForeignChange foreign(log_, entry);
            applier_.apply(entry, oplog::Manner::again);
            foreign.finish();
        }
    }
    return true;
}

}  // namespace replica
