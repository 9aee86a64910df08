#include "storage/mmapv1/collection.h"

#include <algorithm>
#include <utility>

#include "base/damage.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "storage/index_limits.h"
#include "storage/mmapv1/btree/index.h"
#include "storage/mmapv1/space/definition_store.h"
#include "storage/mmapv1/space/index_definition.h"
#include "storage/renamed.h"
#include "storage/stored_options.h"

namespace mmapv1 {

namespace {

constexpr int kIndexNamespaceMissing = 17329;
constexpr int kSecondExtraSlot = kInlineIndexes + kExtraIndexes;
static_assert(kSecondExtraSlot < kIndexesMax && kSecondExtraSlot + kExtraIndexes >= kIndexesMax);

// The kind of a plug-in index: the first string in the key pattern.
std::string_view plugin_of(bson::Doc key_pattern) {
    for (const bson::Element& field : key_pattern)
        if (field.is_string()) return field.as_string();
    return {};
}

// Empty where a damaged definition has none.
std::string_view name_in(bson::Doc definition) {
    const bson::Element name = definition["name"];
    return name.is_string() ? name.as_string() : std::string_view{};
}

// Whether keys can be derived by it (catalog/index_keys.h), as by all that a server has made.
bool is_readable(bson::Doc key_pattern) {
    int fields = 0;
    for (const bson::Element& field : key_pattern) {
        const auto parts = static_cast<size_t>(std::ranges::count(field.name(), '.')) + 1;
        if (++fields > storage::kKeyFieldsMax || parts > storage::kStoredPartsMax) return false;
    }
    return fields > 0;
}

bool is_of(bson::Doc definition, std::string_view ns) {
    const bson::Element named = definition["ns"];
    return named.is_string() && named.as_string() == ns;
}

std::unique_ptr<MmapRecordStore> make_records(CollectionOwner& owner, NamespaceDetails& details,
                                              std::string ns) {
    if (ns.ends_with(".system.indexes"))
        return std::make_unique<DefinitionStore>(owner.extents(), details, std::move(ns),
                                                 owner.samplers());
    return std::make_unique<MmapRecordStore>(owner.extents(), details, std::move(ns),
                                             owner.samplers());
}

}  // namespace

std::string unsupported_index(bson::Doc spec, int32_t minor_level) {
    const bson::Element version = spec["v"];
    if (version.missing() || version.to_double() == 0)
        return "it has the format of servers before 2.0 (v: 0); drop it and build it again";
    if (version.to_double() != 1) return "its version is unknown";
    if (!spec["name"].is_string()) return "its definition has no name";
    if (!spec["key"].is_object()) return "its definition has no key pattern";
    const bson::Doc key = spec["key"].as_doc();
    if (!is_readable(key)) return "its key pattern has no fields, or too many, or too long ones";
    const std::string_view plugin = plugin_of(key);
    if (plugin == "hashed" && (key.field_count() != 1 || spec["hashVersion"].to_int32() != 0))
        return "it is a hashed one of a kind that is unknown";
    if (plugin.empty() || plugin == "hashed") return {};
    if (plugin == "text" && key.has("_fts") && spec["weights"].is_object()) return {};
    if (plugin == "2d" || plugin == "geoHaystack") return {};
    // Files of level 5 cannot hold the newer kinds: there the names meant nothing.
    const bool is_sphere = plugin == "2dsphere";
    if (minor_level == kVersionMinorPlain)
        return is_sphere ? "its kind counts for nothing in these files; drop it" : "";
    if (is_sphere) return {};
    return fmt::format("indexes of type {} are not supported; drop it", plugin);
}

void check_index_namespace(std::string_view ns, std::string_view index_ns) {
    if (ns != kMasterLog &&
        (index_ns == kMasterLog || index_ns.starts_with(fmt::format("{}$", kMasterLog)) ||
         index_ns.starts_with(fmt::format("{}.", kMasterLog))))
        base::fail(base::kCannotCreateIndex,
                   "an index cannot be called so: {} is the name of a collection, or of what "
                   "belongs to one",
                   index_ns);
}

MmapCollection::MmapCollection(CollectionOwner& owner, NamespaceDetails& details, std::string ns)
    : owner_(owner), records_(make_records(owner, details, std::move(ns))) {
    if (!owner.read_only().empty()) records_->set_read_only(owner.read_only());
    const NamespaceDetails& d = this->details();
    if (d.index_count < 0 || d.index_builds < 0 || d.index_count > kIndexesMax ||
        d.index_builds > kIndexesMax - d.index_count)
        base::fail(base::Damaged{base::kInternalError},
                   "collection {} is damaged: it counts {} indexes and {} that are being built; "
                   "check it with dbpath_check",
                   this->ns(), d.index_count, d.index_builds);
    check_extra_blocks();
    for (int slot = 0; slot < slot_total(); slot++)
        open_index(slot);
}

MmapCollection::~MmapCollection() = default;

bson::Object MmapCollection::options() const {
    return owner_.listed_options(ns());
}

void MmapCollection::set_user_flags(int32_t flags) {
    check_writable();
    const bson::Object options = storage::with_flags(owner_.listed_options(ns()), flags);
    owner_.replace_options(ns(), options);  // may fail: the disk is full
    storage().views().writing(details().user_flags) = flags;
}

void MmapCollection::replace_options(bson::Doc options) {
    check_writable();
    owner_.replace_options(ns(), options);
    if (owner_.listed_options(ns()).bytes() != bson::Object(options).bytes())
        base::fail(base::Damaged{base::kInternalError},
                   "collection {} is damaged: the catalogue does not list it; repair the database",
                   ns());
}

void MmapCollection::check_writable() const {
    records_->check_writable();
    for (int slot = 0; slot < index_count(); slot++) {
        if (tree(slot) != nullptr) continue;
        base::fail(base::kIllegalOperation, "cannot write to {}: index {} cannot be kept up: {}",
                   ns(), indexes_[static_cast<size_t>(slot)]->name,
                   unsupported_index(index(slot).spec, owner_.minor_level()));
    }
}

void MmapCollection::Part::define(bson::Doc stored) {
    definition.assign(stored.bytes().begin(), stored.bytes().end());
    const bson::Object spec = shown_definition(stored);
    shown.assign(spec.bytes().begin(), spec.bytes().end());
}

// Slots -------------------------------------------------------------------------------------------

IndexDetails* MmapCollection::slot_details(int slot) const {
    DCHECK(slot >= 0 && slot < kIndexesMax);
    NamespaceDetails& d = details();
    if (slot < kInlineIndexes) return &d.indexes[slot];
    if (d.extra_offset == 0) return nullptr;
    auto* base = reinterpret_cast<uint8_t*>(&d);
    auto* block = reinterpret_cast<ExtraBlock*>(base + d.extra_offset);
    if (slot < kSecondExtraSlot) return &block->indexes[slot - kInlineIndexes];
    if (block->next == 0) return nullptr;
    block = reinterpret_cast<ExtraBlock*>(base + block->next);
    return &block->indexes[slot - kSecondExtraSlot];
}

// The distances lead to the entries that are called so and nowhere else.
void MmapCollection::check_extra_blocks() const {
    const NamespaceDetails& d = details();
    const auto* base = reinterpret_cast<const uint8_t*>(&d);
    const auto leads_to = [&](int64_t distance, const char* name) -> const ExtraBlock* {
        const NamespaceSlot* entry = owner_.namespaces().find(ns() + name);
        if (entry == nullptr || distance != reinterpret_cast<const uint8_t*>(&entry->extra) - base)
            base::fail(base::Damaged{base::kInternalError},
                       "collection {} is damaged: its block of further indexes is not where it "
                       "says; check it with dbpath_check",
                       ns());
        return &entry->extra;
    };
    if (d.extra_offset == 0) return;
    const ExtraBlock* first = leads_to(d.extra_offset, "$extra");
    if (first->next != 0) leads_to(first->next, "$extrb");
}

void MmapCollection::ensure_extra_block(int slot) {
    if (slot_details(slot) != nullptr) return;
    NamespaceDetails& d = details();
    const bool second = slot >= kSecondExtraSlot;
    ExtraBlock& block = owner_.namespaces().add(ns() + (second ? "$extrb" : "$extra")).extra;
    const int64_t distance = reinterpret_cast<uint8_t*>(&block) - reinterpret_cast<uint8_t*>(&d);
    SpaceViews& views = storage().views();
    if (second) {
        auto* first =
            reinterpret_cast<ExtraBlock*>(reinterpret_cast<uint8_t*>(&d) + d.extra_offset);
        views.declare(&first->next, sizeof first->next);
        first->next = distance;
    } else {
        views.declare(&d.extra_offset, sizeof d.extra_offset);
        d.extra_offset = distance;
    }
}

std::string MmapCollection::index_ns(int slot) const {
    return fmt::format("{}.${}", ns(), indexes_[static_cast<size_t>(slot)]->name);
}

void MmapCollection::open_index(int slot) {
    IndexDetails* on_disk = slot_details(slot);
    if (on_disk == nullptr || !on_disk->info.is_valid())
        base::fail(base::Damaged{base::kInternalError},
                   "collection {} is damaged: index slot {} names no definition; check it with "
                   "dbpath_check",
                   ns(), slot);
    const bson::Doc definition = storage().files().document(on_disk->info);
    owner_.count_definition(definition.size());
    const std::string_view name = name_in(definition);
    const std::string index_ns = fmt::format("{}.${}", ns(), name);
    NamespaceSlot* entry = owner_.namespaces().find(index_ns);
    if (entry == nullptr)
        base::fail(base::Damaged{kIndexNamespaceMissing},
                   "collection {} is damaged: index namespace {} is missing; check it with "
                   "dbpath_check",
                   ns(), index_ns);
    for (const auto& other : indexes_)
        if (other->store.storage().ns() == index_ns)
            base::fail(base::Damaged{base::kInternalError},
                       "collection {} is damaged: two of its indexes are called {}; check it with "
                       "dbpath_check",
                       ns(), index_ns);
    auto part = std::make_unique<Part>(storage().extents(), entry->details, index_ns, *on_disk);
    part->name = name;
    part->define(definition);
    if (unsupported_index(part->spec(), owner_.minor_level()).empty())
        part->tree =
            make_btree_index(part->store, storage::descending_bits(part->spec()["key"].as_doc()));
    indexes_.push_back(std::move(part));
}

void MmapCollection::point_parts_at_slots() {
    for (int slot = 0; slot < index_count(); slot++)
        buckets(slot).set_slot(*slot_details(slot));
}

storage::IndexEntry MmapCollection::index(int slot) const {
    DCHECK(slot >= 0 && slot < index_count());
    const Part& part = *indexes_[static_cast<size_t>(slot)];
    storage::IndexEntry entry;
    entry.spec = part.spec();
    entry.name = part.name;
    entry.multikey = (details().multikey_bits >> slot & 1) != 0;
    entry.ready = slot < details().index_count;
    entry.index = part.tree.get();
    return entry;
}

int MmapCollection::begin_index(bson::Doc given) {
    check_writable();
    // A repair builds for one collection what another one is to have in the end.
    const bson::Object spec =
        is_of(given, ns()) ? bson::Object(given) : storage::renamed_spec(given, ns());
    const bson::Object definition = stored_definition(spec);
    const int slot = slot_total();
    const std::string index_ns = fmt::format("{}.${}", ns(), name_in(spec));
    if (index_ns.size() > static_cast<size_t>(kNamespaceBytesMax))
        base::fail(base::kCannotCreateIndex,
                   "namespace name generated from index name \"{}\" is "
                   "too long (127 byte max)",
                   index_ns);
    check_index_namespace(ns(), index_ns);
    const std::string unsupported =
        unsupported_index(spec, is_newer_kind(spec) ? kVersionMinorPlugins : owner_.minor_level());
    if (!unsupported.empty())
        base::fail(base::kCannotCreateIndex, "index {}: {}", index_ns, unsupported);
    if (is_newer_kind(spec)) owner_.admit_newer_kinds();
    owner_.check_definition(definition.doc().size());
    MmapRecordStore& definitions = owner_.index_definitions();
    // The steps that may fail for want of space come first, so that they can be taken back.
    NamespaceSlot& entry = owner_.namespaces().add(index_ns);
    NamespaceIndex::init_details(entry.details);
    storage::RecordId info;
    try {
        owner_.list(index_ns, bson::Doc());
        info = definitions.insert(definition);
        ensure_extra_block(slot);
    } catch (...) {
        if (info) owner_.undefine(info, definition);
        owner_.unlist(index_ns);
        owner_.namespaces().erase(entry);
        throw;
    }
    SpaceViews& views = storage().views();
    IndexDetails& on_disk = views.writing(*slot_details(slot));
    on_disk.head = DiskLoc::null();
    on_disk.info = DiskLoc::from(info);
    views.writing(details().index_builds)++;
    open_index(slot);
    try {
        create_empty_btree(buckets(slot));
    } catch (...) {
        drop_index(slot);
        throw;
    }
    return slot;
}

int MmapCollection::finish_index(int slot) {
    NamespaceDetails& d = details();
    SpaceViews& views = storage().views();
    const int target = d.index_count;
    DCHECK(slot >= target && slot < slot_total());
    if (slot != target) {
        std::swap(views.writing(*slot_details(slot)), views.writing(*slot_details(target)));
        std::swap(indexes_[static_cast<size_t>(slot)], indexes_[static_cast<size_t>(target)]);
        const uint64_t a = uint64_t{1} << slot;
        const uint64_t b = uint64_t{1} << target;
        const uint64_t bits = d.multikey_bits;
        views.declare(&d.multikey_bits, sizeof d.multikey_bits);
        d.multikey_bits = (bits & ~(a | b)) | ((bits & a) != 0 ? b : 0) | ((bits & b) != 0 ? a : 0);
        point_parts_at_slots();
    }
    views.writing(d.index_builds)--;
    views.writing(d.index_count)++;
    return target;
}

void MmapCollection::drop_index(int slot) {
    records_->check_writable();
    DCHECK(slot >= 0 && slot < slot_total() && slot_total() == index_count());
    NamespaceDetails& d = details();
    SpaceViews& views = storage().views();
    const DiskLoc info = slot_details(slot)->info;
    const bson::Object definition(this->definition(slot));
    const bool ready = slot < d.index_count;
    const std::string index_ns = this->index_ns(slot);

    // The slots first: an entry without a slot can be repaired, a slot without an entry cannot.
    NamespaceStorage gone(owner_.extents(), buckets(slot).storage().details(), index_ns);
    indexes_.erase(indexes_.begin() + slot);
    const int last = slot_total() - 1;
    views.writing(ready ? d.index_count : d.index_builds)--;
    for (int i = slot; i <= last; i++)
        views.declare(slot_details(i), sizeof(IndexDetails));
    for (int i = slot; i < last; i++)
        *slot_details(i) = *slot_details(i + 1);
    *slot_details(last) = {DiskLoc::null(), DiskLoc::null()};
    const uint64_t below = (uint64_t{1} << slot) - 1;
    views.declare(&d.multikey_bits, sizeof d.multikey_bits);
    d.multikey_bits = (d.multikey_bits & below) | (d.multikey_bits >> 1 & ~below);
    views.writing(d.system_flags) &= ~kHasIdIndex;
    point_parts_at_slots();

    owner_.unlist(index_ns);
    owner_.forget_internal(index_ns);
    gone.release_extents();
    owner_.namespaces().erase(index_ns);
    undefine(info, definition, ns());
}

// Removes a definition, unless it is another collection's, which a slot of a crafted file may name.
void MmapCollection::undefine(DiskLoc info, bson::Doc definition, std::string_view ns) const {
    if (is_of(definition, ns)) return owner_.undefine(info.id(), definition);
    base::log::warning("a definition that an index of {} had is another collection's, and stays",
                       ns);
}

void MmapCollection::set_multikey(int slot) {
    DCHECK(slot >= 0 && slot < index_count());
    NamespaceDetails& d = details();
    storage().views().declare(&d.multikey_bits, sizeof d.multikey_bits);
    d.multikey_bits |= uint64_t{1} << slot;
}

void MmapCollection::replace_index_spec(int slot, bson::Doc spec) {
    records_->check_writable();
    MmapRecordStore& definitions = owner_.index_definitions();
    definitions.check_writable();
    Part& part = *indexes_[static_cast<size_t>(slot)];
    const DiskLoc info = slot_details(slot)->info;
    RecordHeader& record = definitions.storage().checked_live(info);
    const bson::Object before(definition(slot));
    if (!is_of(before, ns()) ||
        !std::ranges::equal(before.bytes(), storage().files().document(info).bytes()))
        storage().files().damaged(info, "a definition is another collection's, or has changed");
    const bson::Object after = stored_definition(spec);
    SpaceViews& views = storage().views();
    if (after.doc().size() == before.doc().size()) {
        views.write(record.data(), after.doc().data(), static_cast<size_t>(after.doc().size()));
        return part.define(after);
    }
    owner_.check_definition(after.doc().size());
    const storage::RecordId moved = definitions.insert(after);  // may fail: the disk is full
    views.writing(slot_details(slot)->info) = DiskLoc::from(moved);
    part.define(after);
    undefine(info, before, ns());
}

void MmapCollection::append_verbose_stats(bson::Builder& out, int64_t) const {
    bson::Builder list = out.sub_array("extents");
    const DataFiles& files = storage().files();
    int64_t count = 0;
    for (DiskLoc at = details().first_extent; at.is_valid(); at = files.extent(at).next) {
        storage().extents().check_chain_length(++count);
        bson::Builder entry = list.sub_object(list.next().view());
        entry.append("len", files.extent(at).length);
        bson::Builder loc = entry.sub_object("loc: ");
        loc.append("file", at.file).append("offset", at.offset);
    }
}

void MmapCollection::read_extents() {
    storage().read_extents();
    for (int slot = 0; slot < index_count(); slot++)
        buckets(slot).storage().read_extents();
}

void MmapCollection::rebind(NamespaceDetails& details, const std::string& ns) {
    records_->storage().rebind(details, ns);
}

void MmapCollection::release() {
    records_->cursors().invalidate_all();
    storage().release_extents();
}

}  // namespace mmapv1
