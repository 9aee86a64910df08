#include "replica/clone.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "catalog/names.h"
#include "sched/blocking.h"
#include "sched/operation.h"

namespace replica {

namespace {

constexpr std::string_view kOwnDatabase = "local";
// Where 2.6 keeps up to where a member has to apply before its data is that of one moment.
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

// What tells that the source's log has been written over, or begun anew, since.
[[noreturn]] void lost_log(const Source& source) {
    base::fail(base::kIllegalOperation,
               "the log of {} does not reach back to the beginning of the copy any more: it needs "
               "to be larger there (oplogSize)",
               source.host());
}

}  // namespace

bool Clone::is_under_way(catalog::Catalog& catalog) {
    catalog::Collection* const marks = catalog.collection(kMark);
    if (marks == nullptr) return false;
    const auto cursor = marks->records().cursor(storage::Direction::forward);
    const auto record = cursor->next();
    return record && record->doc[kUnderWay].truthy();
}

void Clone::set_mark(bool under_way) {
    const sched::BlockingSection away;
    const storage::DatabaseLock lock(catalog_.engine().locks(), kOwnDatabase, true);
    catalog::Collection& marks = catalog_.collection_for_write(kMark);
    const bson::Object mark = under_way ? bson::make("_id", 0, kUnderWay, true) : [this] {
        bson::Builder out;
        out.append("_id", 0).append_timestamp("ts", end_.ts).append("t", end_.term);
        return out.object();
    }();
    if (const storage::RecordId stored = marks.records().first_id())
        marks.update(stored, mark);
    else
        marks.insert(mark);
}

void Clone::run() {
    const bson::Object first = source_.newest_entry();
    if (first.empty())
        base::fail(base::kIllegalOperation, "{} has no log of writes yet", source_.host());
    base::log::info("initial sync: copying all databases of {}", source_.host());
    set_mark(true);
    clear_log();
    bson::Object last;
    {
        const oplog::ForeignChange copy(log_);
        drop_all();
        for (const std::string& db : source_.databases())
            if (db != kOwnDatabase) copy_database(db);
        last = catch_up(first);
        build_indexes();
    }
    copy_log(oplog::position_of(last));
    // Both, or neither; and on disk before this member says that it has the data.
    const sched::BlockingSection away;
    const storage::GlobalLock lock(catalog_.engine().locks(), storage::GlobalMode::W);
    oplog::ForeignChange(log_, last).finish();
    set_mark(false);
    catalog_.engine().durability().commit_now();
    base::log::info("initial sync: done");
}

void Clone::perform(std::string_view op, std::string_view ns, bson::Doc o) {
    applier_.apply(bson::make("op", op, "ns", ns, "o", o), oplog::Manner::again);
}

void Clone::drop_all() {
    std::vector<std::string> names;
    {
        const storage::GlobalLock lock(catalog_.engine().locks(), storage::GlobalMode::R);
        names = catalog_.database_names();
    }
    for (const std::string& db : names)
        if (db != kOwnDatabase) perform("c", db + ".$cmd", bson::make("dropDatabase", 1));
}

void Clone::copy_database(const std::string& db) {
    std::vector<std::pair<std::string, bson::Object>> found;
    source_.read(db + ".system.namespaces", [&found](bson::Doc batch) {
        for (const bson::Element& each : batch) {
            const bson::Element name = each.as_doc()["name"];
            const bson::Element options = each.as_doc()["options"];
            if (name.is_string() && is_copied(catalog::split(name.as_string()).collection))
                found.emplace_back(name.as_string(), options.is_object()
                                                         ? bson::Object(options.as_doc())
                                                         : bson::Object());
        }
    });
    for (const auto& [ns, options] : found) {
        bson::Builder create;
        create.append("create", catalog::split(ns).collection);
        for (const bson::Element& e : options)
            if (e.name() != "create") create.append(e);
        perform("c", db + ".$cmd", create.doc());
        source_.read(ns, [this, &ns = ns](bson::Doc batch) { applier_.copy(ns, batch); });
    }
    source_.read(db + ".system.indexes", [this](bson::Doc batch) {
        for (const bson::Element& each : batch) {
            const bson::Doc spec = each.as_doc();
            if (spec["ns"].is_string() && !is_id_index(spec) &&
                is_copied(catalog::split(spec["ns"].as_string()).collection))
                indexes_[std::string(spec["ns"].as_string())].emplace(spec["name"].as_string(),
                                                                      bson::Object(spec));
        }
    });
}

// From the entry before the copy to the end, which moves on as documents are fetched. Returns that
// last one.
bson::Object Clone::catch_up(const bson::Object& first) {
    end_ = oplog::position_of(source_.newest_entry());
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
            if (std::exchange(fetched_, false)) end_ = oplog::position_of(source_.newest_entry());
            if (oplog::position_of(entry) >= end_) return bson::Object(entry);
        }
    }
}

// What a copy has left that was cut short.
void Clone::clear_log() {
    const sched::BlockingSection away;
    const storage::DatabaseLock lock(catalog_.engine().locks(), kOwnDatabase, true);
    log_.clear();
}

// All entries of that time, and not only those that may come again: a member that follows this one
// later must find no gap. Without the one at the end.
void Clone::copy_log(oplog::Position end) {
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

void Clone::apply(bson::Doc entry) {
    const bson::Element op = entry["op"];
    const bson::Element ns = entry["ns"];
    const bson::Element o = entry["o"];
    if (!op.is_string() || !ns.is_string() || !o.is_object())
        base::fail(base::kBadValue, "no entry of a log of writes: {}", bson::to_text(entry));
    if (op.as_string() == "c") return apply_command(entry);
    if (op.as_string() == "i" && catalog::split(ns.as_string()).collection == "system.indexes") {
        const bson::Doc spec = o.as_doc();
        if (!spec["ns"].is_string() || !spec["name"].is_string())
            base::fail(base::kBadValue, "no index: {}", bson::to_text(entry));
        if (!is_id_index(spec))
            indexes_[std::string(spec["ns"].as_string())].emplace(spec["name"].as_string(),
                                                                  bson::Object(spec));
        return;
    }
    if (applier_.apply(entry, oplog::Manner::again) != oplog::Applied::lacks_document) return;
    // It was removed later, or its record moved past the reader of the copy.
    const bson::Object document = source_.find(ns.as_string(), entry["o2"].as_doc());
    if (document.empty()) return;
    perform("i", ns.as_string(), document);
    fetched_ = true;
}

void Clone::apply_command(bson::Doc entry) {
    const std::string db(catalog::split(entry["ns"].as_string()).db);
    const bson::Doc command = entry["o"].as_doc();
    const std::string_view name = command.first().name();
    const auto of_first = [&command, &db] {
        const bson::Element first = command.first();
        return db + "." + std::string(first.is_string() ? first.as_string() : "");
    };
    if (name == "create") {
        made_since_.insert(of_first());
    } else if (name == "drop") {
        indexes_.erase(of_first());
    } else if (name == "dropDatabase") {
        std::erase_if(indexes_,
                      [&db](const auto& each) { return catalog::split(each.first).db == db; });
    } else if (name == "dropIndexes") {
        if (const bson::Element index = command["index"]; index.is_string())
            indexes_[of_first()].erase(std::string(index.as_string()));
        return;
    } else if (name == "renameCollection") {
        const std::string from(command.first().as_string());
        const std::string to(command["to"].as_string());
        // Of one that was there before, the copy may have a part under each name.
        if (!made_since_.contains(from))
            base::fail(base::kIllegalOperation,
                       "{} was renamed while it was copied: the copy has to begin anew", from);
        auto renamed = std::move(indexes_[from]);
        indexes_.erase(from);
        for (auto& [each, spec] : renamed) {
            bson::Builder out;
            for (const bson::Element& e : spec)
                e.name() == "ns" ? out.append("ns", to) : out.append(e);
            spec = out.object();
        }
        indexes_[to] = std::move(renamed);
        made_since_.erase(from);
        made_since_.insert(to);
        // One of that name, which the copy may have found, is this one.
        perform("c", "admin.$cmd",
                bson::make("renameCollection", from, "to", to, "stayTemp",
                           command["stayTemp"].truthy(), "dropTarget", true));
        return;
    } else if (name != "emptycapped") {
        base::fail(base::kIllegalOperation,
                   "{} was changed while it was copied: the copy has to begin anew", of_first());
    }
    applier_.apply(entry, oplog::Manner::again);
}

void Clone::build_indexes() {
    for (const auto& [ns, specs] : indexes_) {
        const std::string db(catalog::split(ns).db);
        {
            const sched::BlockingSection away;
            const storage::DatabaseLock lock(catalog_.engine().locks(), db, false);
            if (catalog_.collection(ns) == nullptr) continue;
        }
        for (const auto& [name, spec] : specs)
            perform("i", db + ".system.indexes", spec);
    }
}

}  // namespace replica
