#include "catalog/index_build.h"

#include <chrono>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/operation.h"
#include "bson/json.h"
#include "catalog/catalog.h"
#include "catalog/index_spec.h"
#include "catalog/key_sorter.h"

namespace catalog {

namespace {

constexpr int kKeyTooLongInBuild = 17282;
constexpr int64_t kCheckEvery = 128;

std::string& sort_directory() {
    static std::string path;
    return path;
}

class Build {
  public:
    Build(CollectionImpl& collection, storage::Durability& durability, int slot)
        : collection_(collection), durability_(durability), slot_(slot) {
        const storage::IndexEntry entry = collection_.store().index(slot);
        index_.name = entry.name;
        index_.spec = entry.spec;
        index_.key_pattern = entry.spec["key"].as_doc();
        index_.is_id = is_id_pattern(index_.key_pattern);
        index_.unique = index_.is_id || entry.spec["unique"].truthy();
        index_.drop_dups = index_.unique && entry.spec["dropDups"].truthy();
        index_.store = entry.index;
        index_.generator = KeyGenerator::make(entry.spec);
    }

    int64_t run() {
        const int64_t scanned = index_.spec["background"].truthy() ? insert_all() : bulk_load();
        if (multikey_) collection_.store().set_multikey(slot_);
        collection_.store().finish_index(slot_);
        return scanned;
    }

    // Documents that lost against an equal key (dropDups), to be removed once the index is ready.
    const std::vector<storage::RecordId>& refused() const { return refused_; }

  private:
    int64_t bulk_load() {
        KeySorter sorter(index_.generator->descending_bits(), sort_directory());
        const int64_t scanned = collect(sorter);
        sorter.finish();
        if (sorter.count() > 0) load(sorter);
        return scanned;
    }

    // A background build inserts document by document, which leaves fuller or emptier buckets than
    // a bulk load, as it does in the old server.
    int64_t insert_all() {
        return for_each_document([this](const KeySet& keys, storage::RecordId id) {
            for (size_t i = 0; i < keys.size(); ++i) {
                if (index_.store->insert(keys[i], id, !index_.unique) !=
                    storage::InsertResult::duplicate)
                    continue;
                if (!index_.drop_dups) throw_duplicate_key(index_, collection_.ns(), keys[i]);
                refused_.push_back(id);
            }
            durability_.commit_if_needed();
        });
    }

    int64_t collect(KeySorter& sorter) {
        return for_each_document([&](const KeySet& keys, storage::RecordId id) {
            for (size_t i = 0; i < keys.size(); ++i)
                sorter.add(keys[i], id);
        });
    }

    // Derives the keys of every document that can be indexed; returns how many documents there are.
    template <typename Use>
    int64_t for_each_document(Use use) {
        KeySet keys;
        int64_t scanned = 0;
        const auto cursor = collection_.records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next()) {
            if (++scanned % kCheckEvery == 0) base::Operation::check();
            bool multikey = false;
            keys.clear();
            index_.generator->keys(record->doc, keys, &multikey);
            multikey_ |= multikey;
            if (fits(keys, record->id)) use(keys, record->id);
        }
        return scanned;
    }

    // Whether a document's keys can be stored; throws where that is an error.
    bool fits(const KeySet& keys, storage::RecordId id) {
        for (size_t i = 0; i < keys.size(); ++i) {
            if (!fail_index_key_too_long() || !index_.store->too_long(keys[i])) continue;
            if (!index_.drop_dups)
                throw_key_too_long(
                    index_.spec["background"].truthy() ? base::kKeyTooLong : kKeyTooLongInBuild,
                    index_, collection_.ns(), keys[i]);
            refused_.push_back(id);
            return false;
        }
        return true;
    }

    void load(KeySorter& sorter) {
        const auto builder = index_.store->bulk_builder(!index_.unique);
        bson::Doc key;
        storage::RecordId id;
        int64_t done = 0;
        while (sorter.next(&key, &id)) {
            if (++done % kCheckEvery == 0) {
                base::Operation::check();
                durability_.commit_if_needed();
            }
            if (builder->add(key, id) != storage::InsertResult::duplicate) continue;
            if (!index_.drop_dups) throw_duplicate_key(index_, collection_.ns(), key);
            refused_.push_back(id);
        }
        builder->finish();
    }

    CollectionImpl& collection_;
    storage::Durability& durability_;
    const int slot_;
    Index index_;
    bool multikey_ = false;
    std::vector<storage::RecordId> refused_;
};

}  // namespace

void set_sort_directory(std::string path) {
    sort_directory() = std::move(path);
}

void fill_index(CollectionImpl& collection, storage::Durability& durability, int slot) {
    Build build(collection, durability, slot);
    try {
        build.run();
    } catch (...) {
        collection.store().drop_index(slot);
        collection.reload_indexes(true);
        throw;
    }
    collection.reload_indexes(false);
    std::set<storage::RecordId> removed;
    for (const storage::RecordId id : build.refused()) {
        if (removed.insert(id).second) collection.remove(id);
    }
}

void build_index(CollectionImpl& collection, storage::Durability& durability, bson::Doc spec) {
    const auto started = std::chrono::steady_clock::now();
    const int64_t records = collection.records().count();
    if (records > 0)
        base::log::info("build index on: {} properties: {}", collection.ns(), bson::to_text(spec));
    const int slot = collection.store().begin_index(spec);
    fill_index(collection, durability, slot);
    if (records == 0) return;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    base::log::info("build index done.  scanned {} total records. {:.3f} secs", records,
                    took.count());
}

}  // namespace catalog
