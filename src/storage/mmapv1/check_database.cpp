// Documents, indexes, catalogue, namespace file and data files: mmapv1 spec 8.3 rules 1 to 3, 7, 8.
#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "bson/validate.h"
#include "sched/operation.h"
#include "storage/mmapv1/btree/validate.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/database.h"

namespace mmapv1 {

namespace {

uint64_t mix(uint64_t hash, const void* bytes, size_t n) {
    const auto* p = static_cast<const uint8_t*>(bytes);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * 0x100000001b3;
    return hash ^ hash >> 29;
}

// A fingerprint of one index entry, equal for equal keys whatever the type of their numbers.
uint64_t entry_hash(bson::Doc key, storage::RecordId id) {
    uint64_t hash = mix(0xcbf29ce484222325, &id.value, sizeof id.value);
    for (const bson::Element& field : key) {
        if (field.is_number()) {
            const double v = field.to_double() + 0.0;  // -0.0 becomes 0.0
            hash = v == v ? mix(hash, &v, sizeof v) : mix(hash, "NaN", 3);
        } else {
            const auto type = static_cast<int8_t>(field.type());
            hash = mix(hash, &type, sizeof type);
            hash = mix(hash, field.value(), field.value_size());
        }
    }
    return hash;
}

// An unordered collection of entries, identified by count and sum.
struct EntrySum {
    int64_t count = 0;
    uint64_t sum = 0;
    void add(uint64_t hash) {
        count++;
        sum += hash;
    }
    bool operator==(const EntrySum&) const = default;
};

class CollectionCheck {
  public:
    CollectionCheck(MmapCollection& collection, const KeyDeriver& derive, const Findings& found)
        : collection_(collection), derive_(derive), found_(found) {}

    std::vector<int64_t> run(SpaceMetrics* space) {
        *space = check_space(collection_.storage(), found_);
        report_lost(collection_.ns(), *space);
        wanted_.resize(static_cast<size_t>(collection_.index_count()));
        check_documents(*space);
        std::vector<int64_t> keys;
        for (int slot = 0; slot < collection_.index_count(); slot++)
            keys.push_back(check_index(slot, *space));
        return keys;
    }

    void report_lost(const std::string& ns, const SpaceMetrics& space) const {
        // Removed definitions keep their place for ever (mmapv1 spec 5.6 rule 4).
        constexpr std::string_view kDefinitions = ".system.indexes";
        if (ns.size() > kDefinitions.size() && ns.ends_with(kDefinitions)) return;
        if (space.lost_bytes != 0)
            found_({Severity::leak, ns,
                    fmt::format("{} bytes are in no record and on no list", space.lost_bytes)});
    }

  private:
    template <typename... Args>
    void error(DiskLoc loc, fmt::format_string<Args...> format, Args&&... args) const {
        found_({Severity::error, collection_.ns(), fmt::format(format, std::forward<Args>(args)...),
                loc});
    }

    bool comparable(int slot) const {
        return derive_ && collection_.index(slot).ready && collection_.tree(slot) != nullptr;
    }

    void check_documents(const SpaceMetrics& space) {
        const DataFiles& files = collection_.storage().files();
        for (const DiskLoc extent : space.extents)
            each_in_extent(space.live, extent, files.extent(extent).length,
                           [this](DiskLoc loc) { check_document(loc); });
    }

    void check_document(DiskLoc loc) {
        sched::Operation::check();
        const RecordHeader& record = collection_.storage().files().record(loc);
        const std::string fault =
            bson::validate(record.data(), static_cast<size_t>(record.data_bytes()), nullptr,
                           bson::Source::data_file);
        if (!fault.empty()) return error(loc, "document at {}: {}", to_string(loc), fault);
        for (int slot = 0; slot < collection_.index_count(); slot++)
            if (comparable(slot)) derive_keys(slot, loc.id(), bson::Doc(record.data()));
    }

    void derive_keys(int slot, storage::RecordId id, bson::Doc doc) {
        const storage::IndexEntry entry = collection_.index(slot);
        EntrySum& sum = wanted_[static_cast<size_t>(slot)];
        int keys = 0;
        try {
            derive_(entry.spec, doc, [&](bson::Doc key) {
                keys++;
                if (!entry.index->too_long(key)) sum.add(entry_hash(key, id));
            });
        } catch (const base::Error& refused) {
            error(DiskLoc::from(id), "document at {} cannot be indexed by {}: {}",
                  to_string(DiskLoc::from(id)), entry.name, refused.what());
        }
        if (keys > 1 && !entry.multikey)
            error(DiskLoc::from(id),
                  "index {} is not marked multikey, but the document at {} has {} keys", entry.name,
                  to_string(DiskLoc::from(id)), keys);
    }

    int64_t check_index(int slot, const SpaceMetrics& space) {
        const std::string index_ns = collection_.index_ns(slot);
        const SpaceMetrics own = check_space(collection_.buckets(slot).storage(), found_);
        report_lost(index_ns, own);
        const storage::IndexEntry entry = collection_.index(slot);
        if (entry.index == nullptr || !entry.ready) return 0;
        const IndexStore& buckets = collection_.buckets(slot);
        int64_t faults = 0;
        BTreeCheck tree;
        tree.root = buckets.root();
        tree.descending = storage::descending_bits(entry.spec["key"].as_doc());
        tree.bucket = [&](DiskLoc loc) { return buckets.bucket(loc); };
        tree.error = [&](DiskLoc loc, const std::string& text) {
            faults++;
            found_({Severity::error, index_ns, text, loc.is_valid() ? loc : DiskLoc::null(),
                    collection_.slot_details(slot)});
        };
        const int64_t used = validate_btree(tree).used_keys;
        if (faults != 0) return used;
        EntrySum present;
        const auto cursor = entry.index->cursor(storage::Direction::forward);
        for (cursor->seek_to_start(); !cursor->at_end(); cursor->next()) {
            if (present.count % 1024 == 0) sched::Operation::check();
            if (!space.live.contains(cursor->id()))
                error(collection_.slot_details(slot)->head, "index {} names {}, which is no record",
                      entry.name, to_string(DiskLoc::from(cursor->id())));
            present.add(entry_hash(cursor->key(), cursor->id()));
        }
        const EntrySum& wanted = wanted_[static_cast<size_t>(slot)];
        if (comparable(slot) && present != wanted)
            error(collection_.slot_details(slot)->head,
                  "index {} has {} entries, the documents ask for {}{}", entry.name, present.count,
                  wanted.count, present.count == wanted.count ? " others" : "");
        return used;
    }

    MmapCollection& collection_;
    const KeyDeriver& derive_;
    const Findings& found_;
    std::vector<EntrySum> wanted_;
};

class DatabaseCheck {
  public:
    DatabaseCheck(MmapDatabase& database, const Findings& found)
        : database_(database), files_(database.files()), found_(found) {}

    void check_namespace_file() const {
        const NamespaceIndex& table = database_.namespaces();
        std::set<std::string> seen;
        for (int32_t i = 0; i < table.slot_count(); i++) {
            const NamespaceSlot& slot = table.slot(i);
            if (slot.hash == 0) continue;
            const std::string ns(slot.name());
            if (slot.hash != NamespaceIndex::hash(ns)) {
                error(&slot, ns, "hash in slot {} of the namespace file does not fit the name", i);
                continue;
            }
            const int32_t distance =
                (i - table.home(slot.hash) + table.slot_count()) % table.slot_count();
            if (distance >= table.max_chain())
                error(&slot, ns, "lies {} slots from its place in the namespace file, out of reach",
                      distance);
            if (!seen.insert(ns).second) error(&slot, ns, "is in the namespace file twice");
            if (!ns.starts_with(database_.name() + "."))
                error(&slot, ns, "is in the namespace file of database {}", database_.name());
        }
    }

    // Extra blocks are found by distance and by name; both must agree (mmapv1 spec 3.5).
    void check_extra_blocks() const {
        for (const std::string& ns : database_.collections()) {
            const MmapCollection& collection = *database_.find(ns);
            const auto* base = reinterpret_cast<const uint8_t*>(&collection.details());
            const NamespaceSlot* first = database_.namespaces().find(ns + "$extra");
            const NamespaceSlot* second = database_.namespaces().find(ns + "$extrb");
            const int64_t to_first =
                first == nullptr ? 0 : reinterpret_cast<const uint8_t*>(&first->extra) - base;
            const int64_t to_second =
                second == nullptr ? 0 : reinterpret_cast<const uint8_t*>(&second->extra) - base;
            if (collection.details().extra_offset != to_first)
                error(base, ns, "its first block of further indexes is not where its entry says");
            if (first != nullptr && first->extra.next != to_second)
                error(first, ns,
                      "its second block of further indexes is not where the first one says");
        }
    }

    // system.namespaces, the namespace file and system.indexes name the same things.
    void check_catalogue() const {
        std::set<std::string> wanted;
        for (const NamespaceSlot* slot : database_.namespaces().all()) {
            const std::string ns(slot->name());
            const bool extra = is_extra_block(ns);
            if (ns == database_.namespaces_ns() || ns == database_.name() + ".$freelist" || extra)
                continue;
            wanted.insert(ns);
            if (!database_.is_listed(ns)) error(slot, ns, "is missing in system.namespaces");
        }
        std::set<std::string> indexes;
        int64_t slots = 0;
        for (const std::string& ns : database_.collections()) {
            MmapCollection& collection = *database_.find(ns);
            slots += collection.index_count();
            for (int slot = 0; slot < collection.index_count(); slot++) {
                const std::string index_ns = collection.index_ns(slot);
                const IndexDetails* details = collection.slot_details(slot);
                if (!indexes.insert(index_ns).second)
                    error(details, index_ns, "two slots have this index");
                if (collection.definition(slot)["ns"].type() != bson::Type::string ||
                    collection.definition(slot)["ns"].as_string() != ns)
                    error(details->info, index_ns, "its definition names another collection");
            }
        }
        for (const std::string& ns : wanted)
            if (is_special_namespace(ns) && !indexes.contains(ns))
                error(entry_of(ns), ns, "is an index of no collection");
        if (MmapCollection* definitions = database_.find(database_.indexes_ns());
            definitions != nullptr && definitions->records().count() != slots)
            error(&definitions->details(), database_.indexes_ns(),
                  "holds {} definitions for {} indexes", definitions->records().count(), slots);
    }

    void claim(const std::vector<DiskLoc>& extents, const std::string& owner) {
        for (const DiskLoc loc : extents)
            if (const auto [it, fresh] = owners_.emplace(loc, owner); !fresh)
                error(loc, owner, "extent {} belongs to {} too", to_string(loc), it->second);
    }

    void claim_free_list(DiskLoc head, const std::string& name) {
        std::vector<DiskLoc> members;
        std::set<DiskLoc> seen;
        DiskLoc before = DiskLoc::null();
        for (DiskLoc at = head; at.is_valid(); at = files_.extent(at).next) {
            if (!files_.plausible(at) || files_.extent(at).magic != kExtentMagic ||
                files_.extent(at).my_loc != at || !seen.insert(at).second) {
                error(before.is_valid() ? before
                                        : DiskLoc{0, offsetof(DataFileHeader, free_list_start)},
                      name, "the list of free extents is broken at {}", to_string(at));
                break;
            }
            if (files_.extent(at).prev != before)
                error(at, name, "free extent {} does not point back", to_string(at));
            members.push_back(at);
            before = at;
        }
        claim(members, name);
    }

    // Extents lie side by side from the header to the tail of each file.
    void check_tiles() const {
        for (int n = 0; n < files_.count(); n++) {
            int32_t at = kDataFileHeaderBytes;
            int64_t lost = 0;
            for (auto it = owners_.lower_bound({n, 0}); it != owners_.end() && it->first.file == n;
                 ++it) {
                if (it->first.offset < at)
                    error(it->first, it->second, "extent {} overlaps the one before it",
                          to_string(it->first));
                lost += std::max(0, it->first.offset - at);
                at = it->first.offset + files_.extent(it->first).length;
            }
            const int32_t end = files_.header(n).unused.offset;
            if (at > end)
                error(DiskLoc{n, end}, files_.file(n).path(), "extents reach into the free tail");
            lost += std::max(0, end - at);
            if (lost > 0)
                found_({Severity::leak, files_.file(n).path(),
                        fmt::format("{} bytes belong to no namespace and no list", lost),
                        DiskLoc{n, kDataFileHeaderBytes}});
        }
    }

  private:
    template <typename... Args>
    void error(DiskLoc loc, const std::string& ns, fmt::format_string<Args...> format,
               Args&&... args) const {
        found_({Severity::error, ns, fmt::format(format, std::forward<Args>(args)...), loc});
    }
    template <typename... Args>
    void error(const void* entry, const std::string& ns, fmt::format_string<Args...> format,
               Args&&... args) const {
        found_({Severity::error, ns, fmt::format(format, std::forward<Args>(args)...),
                DiskLoc::null(), entry});
    }
    // The entry of a namespace, or the table where it has none.
    const void* entry_of(const std::string& ns) const {
        const NamespaceSlot* slot = database_.namespaces().find(ns);
        return slot != nullptr ? slot : &database_.namespaces().slot(0);
    }

    MmapDatabase& database_;
    const DataFiles& files_;
    const Findings& found_;
    std::map<DiskLoc, std::string> owners_;
};

}  // namespace

FileLocation location_of(const MmapDatabase& database, const Finding& finding) {
    if (finding.loc.is_valid() && finding.loc.file < database.files().count())
        return {database.files().file(finding.loc.file).path(), finding.loc.offset};
    const MappedFile& names = database.namespaces().file();
    const auto* entry = static_cast<const uint8_t*>(finding.entry);
    const bool inside =
        entry != nullptr && entry >= names.view() && entry < names.view() + names.length();
    return {names.path(), inside ? entry - names.view() : 0};
}

std::vector<int64_t> check_collection(MmapCollection& collection, const KeyDeriver& derive,
                                      const Findings& found) {
    SpaceMetrics space;
    return CollectionCheck(collection, derive, found).run(&space);
}

void check_database(MmapDatabase& database, const KeyDeriver& derive, const Findings& found,
                    const std::function<void(MmapCollection&, const SpaceMetrics&)>& done) {
    DatabaseCheck check(database, found);
    check.check_namespace_file();
    check.check_extra_blocks();
    check.check_catalogue();
    for (const std::string& ns : database.collections()) {
        MmapCollection& collection = *database.find(ns);
        SpaceMetrics space;
        CollectionCheck(collection, derive, found).run(&space);
        check.claim(space.extents, ns);
        for (int slot = 0; slot < collection.index_count(); slot++)
            check.claim(
                check_space(collection.buckets(slot).storage(), [](const Finding&) {}).extents,
                collection.index_ns(slot));
        if (done) done(collection, space);
    }
    check.claim_free_list(database.extents().free_list_head(), "free extents");
    if (const NamespaceSlot* old = database.namespaces().find(database.name() + ".$freelist"))
        check.claim_free_list(old->details.first_extent, "free extents of 2.4");
    check.check_tiles();
}

}  // namespace mmapv1
