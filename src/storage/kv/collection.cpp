#include "storage/kv/collection.h"

#include <algorithm>
#include <limits>

#include "base/damage.h"
#include "base/dcheck.h"
#include "bson/validate.h"
#include "sched/counted.h"
#include "sched/tick.h"
#include "storage/keys/key_encoding.h"
#include "storage/keys/key_length.h"
#include "storage/kv/bytes.h"
#include "storage/renamed.h"
#include "storage/stored_options.h"
#include "storage/validate_fields.h"

namespace kv {

using storage::ValidateOptions;
using storage::ValidateReport;

namespace {

bool lacks_key(bson::Doc spec) {
    return !spec["key"].is_object();
}

// Returns what is wrong with a document as it is stored; empty if nothing is.
std::string fault_of(Bytes document) {
    return bson::validate(document.data(), document.size(), nullptr, bson::Source::data_file);
}

int32_t number_of(Table table) {
    return static_cast<int32_t>(table);
}

[[noreturn]] void fail_damaged(std::string_view ns) {
    base::fail(base::Damaged{base::kInternalError}, "the row of {} in the catalogue is damaged",
               ns);
}

}  // namespace

Collection::Part::Part(Store& store, bson::Doc definition, Table table)
    : spec(definition), index(store, table, storage::descending_bits(spec["key"].as_doc())) {}

Collection::Collection(Store& store, std::string_view ns, const storage::CollectionOptions& options)
    : store_(store), ns_(ns), made_(options) {
    made_.extent_bytes.clear();
    open_records(store.new_table(Kind::documents));
    write_row();
}

Collection::Collection(Store& store, std::string_view ns, bson::Doc row) : store_(store), ns_(ns) {
    const auto document = [ns](const bson::Element& e) {
        if (!e.is_object() && !e.is_array()) fail_damaged(ns);
        return e.as_doc();
    };
    const auto table = [&](const bson::Element& e, Kind kind, const std::string& what) {
        if (e.to_int32() < static_cast<int32_t>(kFirstTable)) fail_damaged(ns);
        const Table named{static_cast<uint32_t>(e.to_int32())};
        store_.note_named(named, kind, what);
        return named;
    };
    const bson::Doc made = document(row["made"]);
    made_.options = bson::Object(document(row["options"]));
    made_.capped = made["capped"].truthy();
    made_.capped_bytes = made["bytes"].to_int64();
    made_.capped_max_documents = made["documents"].to_int64();
    made_.user_flags = made["flags"].to_int32();
    made_.id_index = made["id"].truthy();
    open_records(table(row["records"], Kind::documents, fmt::format("the documents of {}", ns)));
    for (const bson::Element& each : document(row["indexes"])) {
        const bson::Doc index = document(each);
        const bson::Doc spec = document(index["spec"]);
        if (lacks_key(spec) || !spec["name"].is_string()) fail_damaged(ns);
        auto part = std::make_unique<Part>(
            store_, spec,
            table(index["table"], Kind::entries,
                  fmt::format("index {} of {}", spec["name"].as_string(), ns)));
        part->ready = index["ready"].truthy();
        part->multikey = index["multikey"].truthy();
        parts_.push_back(std::move(part));
    }
}

Table Collection::records_of(bson::Doc row) {
    return Table{static_cast<uint32_t>(row["records"].to_int32())};
}

bool Collection::same_but_for_arrays(bson::Doc a, bson::Doc b) {
    const auto same = [](const bson::Element& one, const bson::Element& other) {
        return std::ranges::equal(one.value_bytes(), other.value_bytes());
    };
    for (const char* const field : {"records", "made", "options"})
        if (!same(a[field], b[field])) return false;
    const bson::Doc indexes = a["indexes"].as_doc(), others = b["indexes"].as_doc();
    auto other = others.begin();
    for (const bson::Element& index : indexes) {
        if (other == others.end()) return false;
        for (const char* const field : {"spec", "table", "ready"})
            if (!same(index.as_doc()[field], (*other).as_doc()[field])) return false;
        ++other;
    }
    return other == others.end();
}

void Collection::open_records(Table table) {
    records_ = std::make_unique<RecordStore>(store_, table, made_, [this] { write_row(); });
}

void Collection::write_row() {
    bson::Builder row;
    row.append("records", number_of(records_->table()));
    {
        bson::Builder made = row.sub_object("made");
        made.append("capped", made_.capped)
            .append("bytes", made_.capped_bytes)
            .append("documents", made_.capped_max_documents)
            .append("flags", made_.user_flags)
            .append("id", made_.id_index);
    }
    row.append("options", made_.options);
    {
        bson::Builder indexes = row.sub_array("indexes");
        for (const auto& part : parts_) {
            bson::Builder index = indexes.sub_object(indexes.next().view());
            index.append("spec", part->spec)
                .append("table", number_of(part->index.table()))
                .append("ready", part->ready)
                .append("multikey", part->multikey);
        }
    }
    store_.session().put(kCatalogue, as_bytes(ns_), row.doc().bytes());
}

void Collection::drop() {
    records_->drop();
    for (const auto& part : parts_)
        part->index.drop();
    store_.session().erase(kCatalogue, as_bytes(ns_));
}

void Collection::rename(std::string_view to, bool stay_temp) {
    DCHECK(!to.empty() && to != ns_);
    store_.session().erase(kCatalogue, as_bytes(ns_));
    ns_ = to;
    made_.options = storage::renamed_options(made_.options, to, stay_temp);
    for (const auto& part : parts_)
        part->spec = storage::renamed_spec(part->spec, to);
    write_row();
}

int64_t Collection::bytes() const {
    // The row of the catalogue, about.
    constexpr int64_t kRowBytes = 256;
    int64_t sum = kRowBytes + records_->stats().storage_bytes;
    for (const auto& part : parts_)
        sum += part->index.storage_bytes();
    return sum;
}

void Collection::set_user_flags(int32_t flags) {
    made_.user_flags = flags;
    records_->set_user_flags(flags);
    made_.options = storage::with_flags(made_.options, flags);
    write_row();
}

void Collection::replace_options(bson::Doc options) {
    made_.options = bson::Object(options);
    write_row();
}

storage::IndexEntry Collection::index(int slot) const {
    Part& at = part(slot);
    return {at.spec.doc(), at.name(), at.multikey, at.ready, &at.index};
}

int Collection::begin_index(bson::Doc spec) {
    if (lacks_key(spec)) base::fail(base::kCannotCreateIndex, "an index needs a key");
    store_.check_space();
    parts_.push_back(std::make_unique<Part>(store_, spec, store_.new_table(Kind::entries)));
    write_row();
    return index_count() - 1;
}

int Collection::finish_index(int slot) {
    const auto first = std::ranges::find(parts_, false, &Part::ready);
    DCHECK(first != parts_.end());
    const auto target = static_cast<int>(first - parts_.begin());
    DCHECK(target <= slot && !part(slot).ready);
    std::swap(parts_.at(static_cast<size_t>(slot)), *first);
    (*first)->ready = true;
    write_row();
    return target;
}

void Collection::drop_index(int slot) {
    part(slot).index.drop();
    parts_.erase(parts_.begin() + slot);
    made_.id_index = false;
    records_->forget_id_index();
    write_row();
}

void Collection::set_multikey(int slot) {
    if (store_.keeps_undo()) store_.on_undo([this, slot] { part(slot).multikey = false; });
    part(slot).multikey = true;
    write_row();
}

void Collection::replace_index_spec(int slot, bson::Doc spec) {
    part(slot).spec = bson::Object(spec);
    write_row();
}

ValidateReport Collection::validate(const ValidateOptions& options, bson::Builder& metrics) {
    ValidateReport report;
    if (made_.capped) {
        constexpr int64_t kNoLimit = std::numeric_limits<int32_t>::max();
        const int64_t max = made_.capped_max_documents;
        metrics.append("capped", true);
        if (max <= 0 || max >= kNoLimit)
            metrics.append("max", std::numeric_limits<int64_t>::max());
        else
            metrics.append("max", static_cast<int32_t>(max));
    }
    int64_t invalid = 0;
    const bool whole = options.full || options.scan_data;
    metrics.append_number("nrecords", check_records(whole, report, &invalid));
    if (options.scan_data) metrics.append_number(storage::kInvalidDocuments, invalid);
    for (const auto& part : parts_) {
        report.index_count += part->ready ? 1 : 0;
        const int64_t keys = part->index.validate([&](const std::string& text) {
            report.add_error(fmt::format("index {}: {}", part->name(), text));
        });
        report.keys_per_index.emplace_back(ns_ + ".$" + part->name(), keys);
        if (options.full && options.derive_keys && part->ready)
            check_keys(*part, keys, options, report);
    }
    return report;
}

// Returns how many there are.
int64_t Collection::check_records(bool whole, ValidateReport& report, int64_t* invalid) const {
    int64_t records = 0, bytes = 0;
    const auto rows = store_.session().cursor(records_->table());
    for (rows->seek({}); !rows->at_end(); rows->next()) {
        sched::tick();
        ++records;
        bytes += static_cast<int64_t>(rows->value().size());
        if (!whole) continue;
        const std::string fault = fault_of(rows->value());
        if (fault.empty()) continue;
        ++*invalid;
        report.add_error(
            fmt::format("record {}: {}", from_big_endian<uint64_t>(rows->key()), fault));
    }
    const Counts counted = records_->seen();
    if (records != counted.rows || bytes != counted.bytes)
        report.add_error(fmt::format("{} records of {} bytes, {} of {} counted", records, bytes,
                                     counted.rows, counted.bytes));
    return records;
}

// Checks that the index has as many entries as the documents ask for, and that each of them is
// there.
void Collection::check_keys(const Part& part, int64_t there, const ValidateOptions& options,
                            ValidateReport& report) const {
    DCHECK(part.ready);
    int64_t wanted = 0, missing = 0;
    bson::Buffer key, types;
    const auto rows = store_.session().cursor(records_->table());
    for (rows->seek({}); !rows->at_end(); rows->next()) {
        if (!fault_of(rows->value()).empty()) continue;
        // Keys that are equal are one entry, whatever their types. A long one may have been left
        // out (failIndexKeyTooLong), by an earlier version or for the sake of a set.
        sched::Set<sched::String> of_document;
        options.derive_keys(part.spec, bson::Doc(rows->value().data()), [&](bson::Doc derived) {
            key.clear();
            types.clear();
            keys::encode(derived, part.index.descending(), key, types);
            key.append(rows->key().data(), rows->key().size());
            if (keys::key_length(derived) > keys::kKeyLengthMax &&
                !store_.session().size_of(part.index.table(), {key.data(), key.size()}))
                return;
            of_document.emplace(as_text({key.data(), key.size()}));
        });
        for (const sched::String& row : sched::ticked(of_document)) {
            ++wanted;
            if (!store_.session().size_of(part.index.table(), as_bytes(row))) ++missing;
        }
    }
    if (missing == 0 && wanted == there) return;
    report.add_error(fmt::format(
        "index {} is not what the documents ask for: {} of {} entries are missing, {} are there",
        part.name(), missing, wanted, there));
}

// The map gives space back by itself; records keep their ids.
void Collection::compact(const bson::Object&, const storage::CompactHooks& hooks, bson::Builder&) {
    if (hooks.before_copy) hooks.before_copy();
    if (!hooks.copied) return;
    const auto cursor = records_->cursor(storage::Direction::forward);
    while (const auto record = cursor->next())
        hooks.copied(*record);
}

storage::CollectionOptions Collection::creation_options() const {
    return made_;
}

void Collection::salvage(const std::function<void(bson::Doc)>& use,
                         const std::function<void(const std::string&)>& skipped) {
    const auto rows = store_.session().cursor(records_->table());
    for (rows->seek({}); !rows->at_end(); rows->next()) {
        const std::string fault = fault_of(rows->value());
        if (fault.empty())
            use(bson::Doc(rows->value().data()));
        else
            skipped(fault);
    }
}

}  // namespace kv
