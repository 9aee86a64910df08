#include "storage/mmapv1/database.h"

#include <algorithm>

#include "base/damage.h"
#include "base/log.h"
#include "sched/tick.h"
#include "storage/mmapv1/space/checked.h"

namespace mmapv1 {

namespace {

constexpr int64_t kNsUnitBytes = 1 << 20;  // the size of the table decides where names lie in it
constexpr int64_t kNsBytesMax = 2047 * kNsUnitBytes;
constexpr int64_t kAlwaysGrantedBytes = 16 << 20;  // whether or not the disk has them
constexpr int32_t kFirstRecordGuess = 128;  // what a new collection's first extent is sized for

MappedFile& open_namespace_file(Views& views, const std::string& path, const FilePolicy& policy,
                                MmapDatabase::Mode mode) {
    if (mode == MmapDatabase::Mode::open) {
        MappedFile& found = views.open(path);
        const int64_t bytes = found.length();
        if (bytes % kNsUnitBytes == 0 && bytes <= kNsBytesMax) return found;
        views.close(found);
        base::fail(base::Damaged{base::kInternalError},
                   "namespace file {} has {} bytes: not whole megabytes up to 2047; it was cut or "
                   "copied while in use; restore it from a backup",
                   path, bytes);
    }
    MappedFile& file = policy.make_file(views, path, policy.ns_bytes);
    views.note_created(file);
    return file;
}

// Closes the file where there is no index over it.
std::unique_ptr<NamespaceIndex> open_namespaces(Views& views, const std::string& path,
                                                const FilePolicy& policy, MmapDatabase::Mode mode) {
    MappedFile& file = open_namespace_file(views, path, policy, mode);
    return sched::undo_if_fails([&] { return std::make_unique<NamespaceIndex>(views, file); },
                                [&] { views.close(file); });
}

}  // namespace

MmapDatabase::MmapDatabase(Views& views, std::string name, const FilePolicy& policy,
                           PaddingSamplers& samplers, Mode mode)
    : views_(views),
      name_(std::move(name)),
      namespaces_ns_(name_ + ".system.namespaces"),
      indexes_ns_(name_ + ".system.indexes"),
      policy_(policy),
      samplers_(samplers),
      files_(views, name_, policy),
      namespaces_(open_namespaces(views, policy.path(name_, "ns"), policy, mode)),
      extents_(files_) {
    sched::undo_if_fails([&] { open(mode); }, [this] { close(); });
    opening_ = false;
}

void MmapDatabase::open(Mode mode) {
    if (mode == Mode::open) files_.open_all();
    if (files_.count() > 0 && (files_.header(0).version_minor & kVersionMinorLists30) != 0)
        read_only_ = fmt::format(
            "the files of database {} were last used by a server of version 3.0 or later "
            "(version 4.{}); dump and restore it to write",
            name_, files_.header(0).version_minor);
    if (lacks_files())
        read_only_ = fmt::format(
            "data file {} is missing, and a new one would take its place; restore it from a "
            "backup, or dump what can be read{}",
            policy_.path(name_, std::to_string(files_.count())), base::damage_advice());
    if (mode == Mode::open) find_shared();
    if (!shared_.into_tail.empty())
        read_only_ = fmt::format(
            "extents of {} lie where a data file has nothing in use; restore database {} from "
            "a backup, or dump what can be read{}",
            shared_.into_tail, name_, base::damage_advice());
    open_collections();
    if (mode == Mode::open) protect_shared_extents();
    read_listing();
}

MmapDatabase::~MmapDatabase() = default;

void MmapDatabase::close() {
    DCHECK(!sched::can_be_ended());
    collections_.clear();
    internal_.clear();
    files_.close_all();
    if (namespaces_ != nullptr) views_.close(namespaces_->file());
    namespaces_.reset();
}

int32_t MmapDatabase::minor_level() const {
    return files_.count() == 0 ? kVersionMinorPlain
                               : files_.header(0).version_minor & kVersionMinorLevel;
}

void MmapDatabase::admit_newer_kinds() {
    if (minor_level() != kVersionMinorPlain) return;
    for (const auto& [ns, collection] : collections_)
        for (int slot = 0; slot < collection->index_count(); ++slot) {
            const storage::IndexEntry entry = collection->index(slot);
            if (entry.index == nullptr ||
                unsupported_index(entry.spec, kVersionMinorPlugins).empty())
                continue;
            base::fail(base::kCannotCreateIndex,
                       "database {} cannot have such an index beside index {} of {}, whose kind "
                       "counts for nothing in files of version 4.{}; drop that one first",
                       name_, entry.name, ns, kVersionMinorPlain);
        }
    int32_t& minor = files_.header(0).version_minor;
    views_.writing(minor) = (minor & ~kVersionMinorLevel) | kVersionMinorPlugins;
}

void MmapDatabase::check_writable() const {
    if (!read_only_.empty()) base::fail(base::kIllegalOperation, "{}", read_only_);
}

// Opening -----------------------------------------------------------------------------------------

// Whether extents lie in files behind the last one that is there.
bool MmapDatabase::lacks_files() const {
    for (const NamespaceSlot* slot : namespaces_->all()) {
        if (is_extra_block(slot->name())) continue;
        for (const DiskLoc end : {slot->details.first_extent, slot->details.last_extent})
            if (end.is_valid() && end.file >= files_.count() && end.file < kDataFilesMax)
                return true;
    }
    return false;
}

bool MmapDatabase::is_name_here(std::string_view ns) const {
    return ns.size() > name_.size() + 1 && ns.starts_with(name_) && ns[name_.size()] == '.';
}

void MmapDatabase::open_collections() {
    int64_t elsewhere = 0;
    for (NamespaceSlot* slot : namespaces_->all()) {
        const std::string ns(slot->name());
        if (is_special_namespace(ns)) continue;
        // An operation that goes through the collections of this database continues by their names,
        // and would apply to another database what is meant for this one.
        if (!is_name_here(ns)) {
            ++elsewhere;
            continue;
        }
        // The first of several collections of one name counts: each would be opened with all its
        // indexes.
        if (collections_.contains(ns)) continue;
        const auto opened =
            collections_.emplace(ns, std::make_unique<MmapCollection>(*this, slot->details, ns));
        MmapCollection& collection = *opened.first->second;
        // It can be read by its place, but nothing that goes by its name would find it.
        if (namespaces_->find(ns) != slot)
            collection.records().set_read_only(
                "its entry in the namespace file is damaged; check it with dbpath_check" +
                base::damage_advice());
        // A document written about one collection must not take the place of one that is there
        // about another.
        const bool catalogue = ns == namespaces_ns_ || ns == indexes_ns_;
        if (catalogue && (collection.records().capped() || collection.index_count() > 0))
            collection.records().set_read_only(
                "a catalogue is not capped and has no indexes; check it with dbpath_check" +
                base::damage_advice());
    }
    if (elsewhere > 0)
        base::log::warning(
            "namespace file {} has {} entries of collections whose names are not of database {}; "
            "they are left alone",
            namespaces_->file().path(), elsewhere, name_);
}

void MmapDatabase::find_shared() {
    shared_ = find_shared_extents(extents_, *namespaces_);
    extents_.expect_shared(shared_.namespaces);
}

// An index is written with its collection.
bool MmapDatabase::shares_extents(const MmapCollection& collection, const SharedExtents& shared) {
    if (shared.namespaces.contains(collection.ns())) return true;
    for (int slot = 0; slot < collection.index_count(); ++slot)
        if (shared.namespaces.contains(collection.index_ns(slot))) return true;
    return false;
}

// Protects namespaces that share bytes with something else: they are read, as far as they can be,
// and not written.
void MmapDatabase::protect_shared_extents() {
    constexpr int kWarningsMax = 20;
    std::map<std::string, MmapCollection*> owners;  // of indexes
    for (const auto& [ns, collection] : collections_)
        for (int slot = 0; slot < collection->index_count(); slot++) {
            const std::string index_ns = collection->index_ns(slot);
            MmapCollection* both = find(index_ns);
            if (const auto [at, alone] = owners.emplace(index_ns, collection.get()); !alone)
                both = at->second;
            if (both == nullptr) continue;
            for (MmapCollection* each : {collection.get(), both})
                each->records().set_read_only(
                    "a collection or an index has the name of another index; dump what can be "
                    "read" +
                    base::damage_advice());
        }
    if (shared_.namespaces.empty()) return;
    for (const auto& [ns, collection] : collections_)
        if (shares_extents(*collection, shared_))
            collection->records().set_read_only(
                "its extents, or an index's, lie in those of another namespace; check it with "
                "dbpath_check, or dump what can be read" +
                base::damage_advice());
    int warnings = 0;
    for (const std::string& ns : shared_.namespaces)
        if (++warnings <= kWarningsMax)
            base::log::warning(
                "database {} is damaged: extents of {} lie in those of another namespace; check it "
                "with dbpath_check, or dump what can be read{}",
                name_, ns, base::damage_advice());
    if (warnings > kWarningsMax)
        base::log::warning("database {} is damaged: {} more namespaces share extents", name_,
                           warnings - kWarningsMax);
}

void MmapDatabase::read_listing() {
    MmapCollection* listing = find(namespaces_ns_);
    if (listing == nullptr) return;
    // A start waits for this: the cursor would notice records that lie in each other, but later.
    int64_t bytes_left = files_.total_bytes();
    const auto cursor = listing->records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next()) {
        bytes_left -= record->doc.size();
        if (bytes_left < 0)
            files_.damaged(DiskLoc::from(record->id),
                           "the documents of system.namespaces have more bytes than the files");
        const bson::Element ns = record->doc["name"];
        if (ns.is_string() && ns.as_string().size() <= static_cast<size_t>(kNamespaceBytesMax))
            listing_.insert_or_assign(std::string(ns.as_string()), record->id);
    }
}

void MmapDatabase::upgrade() {
    if (!read_only_.empty()) {
        base::log::warning("{}", read_only_);
        return;
    }
    if (files_.count() == 0) return;
    extents_.repair_headers();
    // Allocations of extents search there first.
    if (shared_.free_list || !extents_.free_list_is_valid()) {
        base::log::warning(
            "database {} is damaged: the list of free extents is broken, or they lie in those of a "
            "namespace; they are given up",
            name_);
        extents_.forget_free_list();
    }
    migrate_free_list();
    for (const auto& [ns, collection] : collections_)
        if (collection->details().is_capped != 0 && !shared_.namespaces.contains(ns))
            collection->records().ring().convert_ancient();
}

// Servers up to 2.4 keep free extents in a namespace of their own (mmapv1 spec 4.5 rule 6).
void MmapDatabase::migrate_free_list() {
    NamespaceSlot* slot = namespaces_->find(name_ + ".$freelist");
    if (slot == nullptr || shared_.namespaces.contains(name_ + ".$freelist")) return;
    const NamespaceDetails& d = slot->details;
    if (d.first_extent.is_valid()) extents_.free_chain(d.first_extent, d.last_extent);
    namespaces_->erase(*slot);
    base::log::info("database {}: moved the free list of a 2.4 server into the file header", name_);
}

// Looking up --------------------------------------------------------------------------------------

MmapCollection* MmapDatabase::find(std::string_view ns) const {
    const auto it = collections_.find(ns);
    return it == collections_.end() ? nullptr : it->second.get();
}

std::vector<std::string> MmapDatabase::collections() const {
    std::vector<std::string> names;
    const MmapCollection* listing = find(namespaces_ns_);
    if (listing == nullptr) return names;
    names.push_back(namespaces_ns_);
    const auto cursor =
        const_cast<MmapCollection*>(listing)->records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next()) {
        const bson::Element name = record->doc["name"];
        if (!name.is_string()) continue;
        const std::string_view ns = name.as_string();
        // The last document of a collection that is listed twice counts.
        const auto listed = listing_.find(ns);
        if (listed != listing_.end() && listed->second == record->id && find(ns) != nullptr)
            names.emplace_back(ns);
    }
    return names;
}

storage::CollectionStore* MmapDatabase::internal_namespace(std::string_view ns) {
    if (!is_special_namespace(ns)) return nullptr;
    const std::lock_guard guard(internal_mutex_);
    if (const auto it = internal_.find(ns); it != internal_.end()) return it->second.get();
    NamespaceSlot* slot = namespaces_->find(ns);
    if (slot == nullptr || is_extra_block(ns)) return nullptr;
    auto made = std::make_unique<MmapCollection>(*this, slot->details, std::string(ns));
    made->records().set_read_only("it belongs to an index");
    return internal_.emplace(ns, std::move(made)).first->second.get();
}

void MmapDatabase::forget_internal(std::string_view ns) {
    const std::lock_guard guard(internal_mutex_);
    if (const auto it = internal_.find(ns); it != internal_.end()) internal_.erase(it);
}

storage::DatabaseStats MmapDatabase::stats() const {
    storage::DatabaseStats s;
    s.file_bytes = files_.total_bytes();
    s.ns_bytes = namespaces_->bytes();
    if (files_.count() > 0) {
        s.file_version_major = files_.header(0).version;
        s.file_version_minor = files_.header(0).version_minor;
    }
    s.free_extents = extents_.free_count(&s.free_extent_bytes);
    return s;
}

// Creating and dropping ---------------------------------------------------------------------------

MmapCollection& MmapDatabase::create_collection(std::string_view ns,
                                                const storage::CollectionOptions& options) {
    DCHECK(!sched::can_be_ended());
    check_writable();
    if (find(ns) != nullptr) base::fail(base::kNamespaceExists, "collection {} already exists", ns);
    check_first_extents(ns, options);
    if (find(namespaces_ns_) == nullptr) {
        MmapCollection& listing = make_collection(namespaces_ns_, {}, false);
        if (ns == namespaces_ns_) return listing;
    }
    return make_collection(ns, options, true);
}

MmapCollection& MmapDatabase::make_collection(std::string_view ns,
                                              const storage::CollectionOptions& options,
                                              bool listed) {
    if (ns.size() > static_cast<size_t>(kCollectionNamespaceBytesMax))
        base::fail(base::kInvalidNamespace, "namespace {} is longer than {} bytes", ns,
                   kCollectionNamespaceBytesMax);
    NamespaceDetails& d = namespaces_->add(ns).details;  // the new slot is declared as a whole
    NamespaceIndex::init_details(d);
    d.user_flags = options.user_flags;
    d.system_flags = options.id_index ? kHasIdIndex : 0;
    if (options.capped) {
        d.is_capped = 1;
        d.user_flags = 0;
        d.deleted_list[1] = DiskLoc::invalid();
        if (options.capped_max_documents > 0)
            d.max_documents = static_cast<int32_t>(
                std::min<int64_t>(options.capped_max_documents, kNoDocumentLimit));
    }
    MmapCollection& collection =
        *collections_.emplace(ns, std::make_unique<MmapCollection>(*this, d, std::string(ns)))
             .first->second;
    try {
        if (listed) list(ns, options.options.doc());
        add_first_extents(collection, options);
    } catch (...) {
        drop_collection(std::string(ns));
        throw;
    }
    return collection;
}

// The sizes come from a client: what cannot be given is refused before the disk is full of it.
void MmapDatabase::check_first_extents(std::string_view ns,
                                       const storage::CollectionOptions& options) const {
    const int64_t limit = policy_.max_extent_bytes();
    int64_t wanted = 0;
    for (const int64_t bytes : options.extent_bytes)
        wanted += std::clamp<int64_t>(bytes, 0, limit);
    if (options.extent_bytes.empty() && options.capped) wanted = options.capped_bytes;
    if (wanted <= kAlwaysGrantedBytes) return;
    int64_t available = 0;
    extents_.free_count(&available);
    available += files_.bytes_to_grow();
    if (wanted > available)
        base::fail(base::kOutOfDiskSpace,
                   "collection {} cannot have {} bytes from the start: {} MB are left for it; give "
                   "a smaller size",
                   ns, wanted, available >> 20);
}

void MmapDatabase::add_first_extents(MmapCollection& collection,
                                     const storage::CollectionOptions& options) {
    NamespaceStorage& space = collection.storage();
    const auto add = [&](int64_t bytes) {
        if (options.capped)
            collection.records().ring().add_extent(bytes);
        else
            space.add_extent(bytes);
    };
    for (const int64_t bytes : options.extent_bytes)
        add(bytes);
    if (!options.extent_bytes.empty()) return;
    const int32_t max_extent = policy_.max_extent_bytes();
    if (!options.capped) {
        add(initial_extent(kFirstRecordGuess, max_extent));
        return;
    }
    int64_t sum = 0;
    do {
        const int64_t wanted =
            std::clamp<int64_t>(options.capped_bytes - sum, kMinExtentBytes, max_extent);
        add(wanted == max_extent ? wanted : wanted & ~int64_t{0xff});
        sum += files_.extent(collection.details().last_extent).length;
    } while (sum < options.capped_bytes);
}

void MmapDatabase::drop_collection(std::string_view ns) {
    check_writable();
    const auto it = collections_.find(ns);
    if (it == collections_.end()) base::fail(base::kNamespaceNotFound, "ns not found: {}", ns);
    MmapCollection& collection = *it->second;
    collection.records().check_writable();
    while (collection.index_count() > 0)
        collection.drop_index(0);
    unlist(ns);
    collection.release();
    // Blocks without an entry can be repaired, an entry without its blocks cannot.
    namespaces_->erase(ns);
    for (const char* extra : {"$extra", "$extrb"})
        namespaces_->erase(fmt::format("{}{}", ns, extra));
    collections_.erase(it);
}

}  // namespace mmapv1
