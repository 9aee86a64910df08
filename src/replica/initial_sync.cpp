#include "replica/initial_sync.h"

#include <algorithm>
#include <chrono>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "catalog/names.h"
#include "sched/operation.h"

namespace replica {

namespace {

constexpr std::string_view kOwnDatabase = "local";
// The collection in which 2.6 keeps the position up to which a member has to apply entries before
// its data is that of one moment.
constexpr std::string_view kMark = "local.replset.minvalid";
constexpr const char* kUnderWay = "doingInitialSync";

// A name in system.namespaces that is no collection of documents to be copied.
bool is_copied(std::string_view name) {
    return name.find('$') == std::string_view::npos && !catalog::is_catalogue(name) &&
           name != "system.profile";
}

bool is_id_index(bson::Doc spec) {
    return spec["name"].is_string() && spec["name"].as_string() == "_id_";
}

// Whether the primary stopped reading since the collection went, got another name, or was built
// anew, or since a capped one has overtaken its reader.
bool is_change_of_collection(const base::Error& error) {
    constexpr int kCollectionDropped = 17356;
    constexpr int kPositionLost = 17406;
    return error.code() == base::kCursorNotFound || error.code() == kCollectionDropped ||
           error.code() == kPositionLost;
}

// {name or keyPattern, and the value that has changed}: of a collMod.
void change_index(std::map<std::string, bson::Object>& specs, bson::Doc change) {
    const auto is_named = [&change](const std::string& name, bson::Doc spec) {
        if (change["name"].is_string()) return change["name"].as_string() == name;
        return change["keyPattern"].is_object() && spec["key"].is_object() &&
               bson::compare_docs(change["keyPattern"].as_doc(), spec["key"].as_doc()) == 0;
    };
    for (auto& [name, spec] : specs) {
        if (!is_named(name, spec)) continue;
        bson::Builder changed;
        for (const bson::Element& e : spec)
            changed.append(change[e.name()] && e.name() != "name" ? change[e.name()] : e);
        for (const bson::Element& e : change)
            if (e.name() != "name" && e.name() != "keyPattern" && spec[e.name()].missing())
                changed.append(e);
        spec = changed.object();
        return;
    }
}

// Throws the error for a source whose log has been written over, or begun anew, since the copy
// began.
[[noreturn]] void lost_log(const SyncSource& source) {
    base::fail(base::kIllegalOperation,
               "the log of {} does not reach back to the beginning of the copy any more: it needs "
               "to be larger there (oplogSize)",
               source.host());
}

}  // namespace

bool InitialSync::is_under_way(catalog::Catalog& catalog) {
    catalog::Collection* const marks = catalog.collection(kMark);
    if (marks == nullptr) return false;
    const auto cursor = marks->records().cursor(storage::Direction::forward);
    const auto record = cursor->next();
    return record && record->doc[kUnderWay].truthy();
}

void InitialSync::set_mark(catalog::Catalog& catalog, bson::Doc mark) {
    const storage::DatabaseLock lock(catalog.engine().locks(), kOwnDatabase, true);
    catalog::Collection& marks = catalog.collection_for_write(kMark);
    if (const storage::RecordId stored = marks.records().first_id())
        marks.update(stored, mark);
    else
        marks.insert(mark);
}

void InitialSync::begin_copy(catalog::Catalog& catalog) {
    set_mark(catalog, bson::make("_id", 0, kUnderWay, true));
}

void InitialSync::end_copy(catalog::Catalog& catalog, oplog::Position end) {
    bson::Builder out;
    out.append("_id", 0).append_timestamp("ts", end.ts).append("t", end.term);
    set_mark(catalog, out.doc());
}

void InitialSync::run() {
    const int32_t rollbacks = source_.rollbacks();
    const bson::Object first = source_.newest_entry();
    if (first.empty())
        base::fail(base::kIllegalOperation, "{} has no log of writes yet", source_.host());
    base::log::info("initial sync: copying all databases of {}", source_.host());
    begin_copy(catalog_);
    clear_log();
    bson::Object last;
    {
        const oplog::ForeignChange copy(log_);
        drop_all();
        for (const std::string& db : source_.databases())
            if (db != kOwnDatabase) copy_database(db, nullptr);
        last = catch_up(first);
        while (!missing_.empty())
            last = copy_missing(last);
        DCHECK(missing_.empty());
        build_indexes();
    }
    copy_log(oplog::position_of(last));
    if (source_.rollbacks() != rollbacks)
        base::fail(base::kOperationFailed,
                   "{} has taken entries back in the meantime: the copy begins anew",
                   source_.host());
    // The last entry and the mark are written both or neither; and they are on disk before this
    // member says that it has the data.
    const storage::GlobalLock lock(catalog_.engine().locks(), storage::GlobalMode::W);
    oplog::ForeignChange(log_, last).finish();
    end_copy(catalog_, end_);
    catalog_.engine().durability().commit_now();
    base::log::info("initial sync: done");
}

void InitialSync::perform(std::string_view op, std::string_view ns, bson::Doc o) {
    applier_.apply(bson::make("op", op, "ns", ns, "o", o), oplog::Manner::again);
}

void InitialSync::drop_all() {
    std::vector<std::string> names;
    {
        const storage::GlobalLock lock(catalog_.engine().locks(), storage::GlobalMode::R);
        names = catalog_.database_names();
    }
    for (const std::string& db : names)
        if (db != kOwnDatabase) perform("c", db + ".$cmd", bson::make("dropDatabase", 1));
}

// `only`: of these alone; null: all.
void InitialSync::copy_database(const std::string& db, const std::set<std::string>* only) {
    const oplog::Position since = newest();
    const auto is_wanted = [only](const bson::Element& ns) {
        return ns.is_string() && is_copied(catalog::split(ns.as_string()).collection) &&
               (only == nullptr || only->contains(std::string(ns.as_string())));
    };
    std::vector<std::pair<std::string, bson::Object>> found;
    source_.read(db + ".system.namespaces", [&](bson::Doc batch) {
        for (const bson::Element& each : batch) {
            const bson::Element name = each.as_doc()["name"];
            const bson::Element options = each.as_doc()["options"];
            if (is_wanted(name))
                found.emplace_back(name.as_string(), options.is_object()
                                                         ? bson::Object(options.as_doc())
                                                         : bson::Object());
        }
    });
    Indexes indexes;
    source_.read(db + ".system.indexes", [&](bson::Doc batch) {
        for (const bson::Element& each : batch) {
            const bson::Doc spec = each.as_doc();
            if (is_wanted(spec["ns"]) && spec["name"].is_string() && !is_id_index(spec))
                keep_index(spec, indexes);
        }
    });
    for (const auto& [ns, options] : found) {
        indexes_[ns] = std::move(indexes[ns]);
        copy_collection(ns, options, since);
    }
}

void InitialSync::copy_collection(const std::string& ns, bson::Doc options, oplog::Position since) {
    DCHECK(is_copied(catalog::split(ns).collection));
    bson::Builder create;
    create.append("create", catalog::split(ns).collection);
    for (const bson::Element& e : options)
        if (e.name() != "create") create.append(e);
    perform("c", std::string(catalog::split(ns).db) + ".$cmd", create.doc());
    missing_.erase(ns);
    Part& part = parts_[ns] = {.since = since, .until = since, .read_as = ns};
    try {
        source_.read(ns, [&](bson::Doc batch) {
            part.was_there |= !batch.empty();
            // What happens to its name while the documents are stored is after they were read.
            part.until = newest();
            applier_.copy(ns, batch);
        });
    } catch (const base::Error& error) {
        if (!is_change_of_collection(error)) throw;
        forget(ns);
        missing_.insert(ns);
    }
}

// Copies again the collections that changed under the reader of the copy, and those that have the
// name of a collection that was not copied. They are copied as they are by now, and the log tells
// what has become of all of them since `last`.
bson::Object InitialSync::copy_missing(const bson::Object& last) {
    DCHECK(!missing_.empty());
    sched::Operation::check();
    base::log::info("initial sync: copying {} collection(s) again that were renamed or changed",
                    missing_.size());
    const std::set<std::string> names = missing_;
    std::set<std::string> dbs;
    for (const std::string& ns : names)
        dbs.emplace(catalog::split(ns).db);
    for (const std::string& db : dbs)
        copy_database(db, &names);
    return catch_up(last);
}

oplog::Position InitialSync::newest() {
    return oplog::position_of(source_.newest_entry());
}

void InitialSync::keep_index(bson::Doc spec, Indexes& indexes) {
    indexes[std::string(spec["ns"].as_string())].emplace(spec["name"].as_string(),
                                                         bson::Object(spec));
}

// A collection that is here, and was no more at the primary.
void InitialSync::forget(const std::string& ns) {
    DCHECK(catalog::split(ns).db != kOwnDatabase);
    parts_.erase(ns);
    indexes_.erase(ns);
    const auto [db, collection] = catalog::split(ns);
    perform("c", std::string(db) + ".$cmd", bson::make("drop", collection));
}

// Whether the collection of that name is here as it was before `at`, or not much newer.
bool InitialSync::has(const std::string& ns, oplog::Position at) const {
    const auto found = parts_.find(ns);
    return found != parts_.end() && found->second.since < at;
}

// Whether what is here of that name was copied later than `at`: it has nothing to do with what had
// the name then.
bool InitialSync::is_later(const std::string& ns, oplog::Position at) const {
    const auto found = parts_.find(ns);
    return found != parts_.end() && found->second.since >= at;
}

// Applies the log from the entry before the copy to its end, which moves on as documents are
// fetched. Returns the last entry.
bson::Object InitialSync::catch_up(const bson::Object& first) {
    DCHECK(!first.empty());
    end_ = newest();
    source_.read_log(first["ts"].as_timestamp());
    bool is_first = true;
    for (;;) {
        const bson::Doc batch = source_.next_entries();
        if (batch.empty() && is_first) lost_log(source_);
        for (const bson::Element& each : batch) {
            sched::Operation::check();
            const bson::Doc entry = each.as_doc();
            if (std::exchange(is_first, false)) {
                if (!std::ranges::equal(entry.bytes(), first.doc().bytes())) lost_log(source_);
            } else {
                apply(entry);
            }
            if (oplog::position_of(entry) >= end_) return bson::Object(entry);
        }
    }
}

// Removes the entries that an interrupted initial sync has left in the own log.
void InitialSync::clear_log() {
    const storage::DatabaseLock lock(catalog_.engine().locks(), kOwnDatabase, true);
    log_.clear();
}

// Copies the entries of that time, and not only those of writes that may come again: a member that
// follows this one later must find no gap. The entry at `end` is left out.
void InitialSync::copy_log(oplog::Position end) {
    constexpr auto kSeconds =
        std::chrono::duration_cast<std::chrono::seconds>(oplog::Retries::kKept).count();
    constexpr uint64_t kSpan = static_cast<uint64_t>(kSeconds) << 32;
    source_.read_log(end.ts - std::min(end.ts, kSpan));
    for (;;) {
        for (const bson::Element& each : source_.next_entries()) {
            sched::Operation::check();
            const bson::Doc entry = each.as_doc();
            if (oplog::position_of(entry) >= end) return;
            oplog::ForeignChange(log_, entry).finish();
        }
    }
}

void InitialSync::apply(bson::Doc entry) {
    const bson::Element op = entry["op"];
    const bson::Element ns = entry["ns"];
    const bson::Element o = entry["o"];
    if (!op.is_string() || !ns.is_string() || !o.is_object())
        base::fail(base::kBadValue, "no entry of a log of writes: {}", bson::to_text(entry));
    if (op.as_string() == "n") return;
    const oplog::Position at = oplog::position_of(entry);
    if (op.as_string() == "c") return apply_command(entry, at);
    if (op.as_string() == "i" && catalog::split(ns.as_string()).collection == "system.indexes") {
        const bson::Doc spec = o.as_doc();
        if (!spec["ns"].is_string() || !spec["name"].is_string())
            base::fail(base::kBadValue, "no index: {}", bson::to_text(entry));
        if (!is_id_index(spec) && has(std::string(spec["ns"].as_string()), at))
            keep_index(spec, indexes_);
        return;
    }
    const std::string name(ns.as_string());
    // A view has the name of a collection that has gone.
    if (catalog::split(name).collection == catalog::kViews && o.as_doc()["_id"].is_string())
        doubt(std::string(o.as_doc()["_id"].as_string()), at);
    if (!has(name, at)) return;
    if (applier_.apply(entry, oplog::Manner::again) != oplog::Applied::lacks_document) return;
    // It was removed later, or its record moved past the reader of the copy.
    const bson::Object document = source_.find(name, entry["o2"].as_doc());
    if (document.empty()) return;
    end_ = newest();
    Part& part = parts_[name];
    // The collection was read by another name before: another collection may have this name now.
    if (part.until >= at && part.read_as != name) return miss(name);
    part = {.since = part.since, .until = end_, .read_as = name};
    perform("i", name, document);
}

// Another collection gets that name: it may be the one that was read by it, where that is not known
// to have been read before.
void InitialSync::doubt(const std::string& name, oplog::Position at) {
    std::vector<std::string> doubted;
    for (const auto& [ns, part] : parts_)
        if (part.read_as == name && part.since < at && part.until >= at) doubted.push_back(ns);
    for (const std::string& ns : doubted)
        miss(ns);
}

void InitialSync::miss(const std::string& ns) {
    if (parts_.contains(ns)) forget(ns);
    missing_.insert(ns);
}

void InitialSync::apply_command(bson::Doc entry, oplog::Position at) {
    const std::string db(catalog::split(entry["ns"].as_string()).db);
    const bson::Doc command = entry["o"].as_doc();
    const bson::Element first = command.first();
    const std::string_view name = first.name();
    if (name == "dropDatabase") return drop_database(entry, db, at);
    if (const oplog::EntryFields fields(entry); oplog::is_unit(fields))
        return oplog::for_each_change(fields, [&](const oplog::EntryFields& each) {
            bson::Builder change;
            change.append(entry["ts"]).append(entry["t"]).append_all(each.entry);
            apply(change.doc());
        });
    if (!first.is_string())
        base::fail(base::kBadValue, "no entry of a log of writes: {}", bson::to_text(entry));
    if (name == "renameCollection") return rename(std::string(first.as_string()), command, at);
    const std::string ns = db + "." + std::string(first.as_string());
    if (name == "create") {
        doubt(ns, at);
        if (is_later(ns, at)) return;
        // There was no collection of that name before this entry: what is here is of later. The log
        // brings the whole of the new one.
        if (parts_.contains(ns)) forget(ns);
        missing_.erase(ns);
        indexes_.erase(ns);
        applier_.apply(entry, oplog::Manner::again);
        parts_[ns] = {.since = at, .until = at, .read_as = {}};
    } else if (name == "drop") {
        if (is_later(ns, at)) return;
        missing_.erase(ns);
        if (parts_.contains(ns)) forget(ns);
    } else if (!has(ns, at)) {
        return;
    } else if (name == "dropIndexes") {
        if (const bson::Element index = command["index"]; index.is_string())
            indexes_[ns].erase(std::string(index.as_string()));
    } else if (name == "collMod" && command["index"].is_object()) {
        change_index(indexes_[ns], command["index"].as_doc());
    } else if (name == "collMod" || name == "emptycapped") {
        applier_.apply(entry, oplog::Manner::again);
    } else {
        base::fail(base::kIllegalOperation,
                   "{} was changed by {} while it was copied: the copy has to begin anew", ns,
                   name);
    }
}

void InitialSync::drop_database(bson::Doc entry, const std::string& db, oplog::Position at) {
    const auto is_of_it = [&db](std::string_view ns) { return catalog::split(ns).db == db; };
    std::erase_if(missing_, is_of_it);
    std::vector<std::string> gone;
    bool stays = false;
    for (const auto& [ns, part] : parts_) {
        if (!is_of_it(ns)) continue;
        if (part.since < at)
            gone.push_back(ns);
        else
            stays = true;
    }
    if (stays) {
        for (const std::string& ns : gone)
            forget(ns);
        return;
    }
    for (const std::string& ns : gone) {
        parts_.erase(ns);
        indexes_.erase(ns);
    }
    applier_.apply(entry, oplog::Manner::again);
}

void InitialSync::rename(const std::string& from, bson::Doc command, oplog::Position at) {
    const std::string to(command["to"].as_string());
    doubt(to, at);
    const bool is_here = has(from, at);
    const Part part = is_here ? parts_[from] : Part();
    // It was read before: what the log has told since is all that has become of it. From now on
    // there is nothing of that name, until something else gets it (doubt()).
    const bool is_whole = is_here && (part.until < at || part.read_as != from || part.was_there);
    if (!is_later(from, at)) missing_.erase(from);
    if (is_later(to, at)) {
        if (is_here) forget(from);
        return;
    }
    if (!is_whole) {
        if (is_here) forget(from);
        return miss(to);
    }
    auto renamed = std::move(indexes_[from]);
    indexes_.erase(from);
    for (auto& [each, spec] : renamed) {
        bson::Builder out;
        for (const bson::Element& e : spec)
            e.name() == "ns" ? out.append("ns", to) : out.append(e);
        spec = out.object();
    }
    indexes_[to] = std::move(renamed);
    parts_.erase(from);
    parts_[to] = part;
    missing_.erase(to);
    perform("c", "admin.$cmd",
            bson::make("renameCollection", from, "to", to, "stayTemp", command["stayTemp"].truthy(),
                       "dropTarget", true));
}

void InitialSync::build_indexes() {
    for (const auto& [ns, specs] : indexes_) {
        const std::string db(catalog::split(ns).db);
        {
            const storage::DatabaseLock lock(catalog_.engine().locks(), db, false);
            if (catalog_.collection(ns) == nullptr) continue;
        }
        for (const auto& [name, spec] : specs)
            perform("i", db + ".system.indexes", spec);
    }
}

}  // namespace replica
