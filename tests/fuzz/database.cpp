// Fuzz target: a database whose .ns and .0 are damaged, opened, read, written, compacted, repaired
// and dropped, over the simulated disk.
//
// An input says which damage there is, then which operations follow. A collection that none of them
// names keeps all its bytes, unless the damage is its own.
#include <string>

#include "catalog/index_keys.h"
#include "damaged_database.h"

namespace {

using bson::make;
using bson::Object;

constexpr int kReadMax = 3000;  // a damaged chain may be a circle
constexpr int kOperationsMax = 40;
constexpr uint8_t kKinds = 27;  // of operations

void scan(storage::RecordStore& records, storage::Direction direction) {
    const auto cursor = records.cursor(direction);
    for (int n = 0; n < kReadMax; ++n) {
        sched::tick();
        const auto record = cursor->next();
        if (!record) return;
        fuzz::expect(record->doc.bytes().size() >= 5, "a record holds a document");
        if (n % 64 == 5) {
            cursor->save();
            if (!cursor->restore()) return;
        }
    }
}

void scan(const storage::SortedIndex& index, storage::RecordStore& records,
          storage::Direction direction) {
    const auto cursor = index.cursor(direction);
    cursor->seek_to_start();
    for (int n = 0; n < kReadMax && !cursor->at_end(); ++n) {
        sched::tick();
        cursor->key();
        records.get(cursor->id());
        cursor->next();
    }
}

storage::RecordId record_at(catalog::Collection& collection, int n) {
    const auto cursor = collection.records().cursor(storage::Direction::forward);
    for (;;) {
        sched::tick();
        const auto record = cursor->next();
        if (!record) base::fail(base::kNamespaceNotFound, "there is no record {}", n);
        if (n-- == 0) return record->id;
    }
}

void validate(catalog::Collection& collection) {
    storage::ValidateOptions options;
    options.full = options.scan_data = true;
    options.derive_keys = catalog::key_deriver();
    bson::Builder figures;
    for (const std::string& error : collection.store().validate(options, figures).errors)
        fuzz::expect(!error.empty(), "damage is described");
    fuzz::expect_document(figures.doc().bytes(), "figures are a document");
}

void operate(catalog::Catalog& catalog, uint8_t kind, uint8_t with) {
    static constexpr const char* kNames[] = {"d.c", "d.ring", "d.many", "d.fresh"};
    const std::string ns = kNames[with % 4];
    const int n = with / 4;
    if (catalog.database("d") == nullptr && kind % kKinds >= 6) return;
    switch (kind % kKinds) {
        case 0:
        case 1:
        case 2: {
            catalog::Collection& collection = catalog.collection_for_write(ns);
            for (int i = 0; i <= n % 8; ++i)
                collection.insert(fuzz::stored_document(1000 + n * 8 + i));
            return;
        }
        case 3:
            catalog.collection_for_write(ns).insert(
                make("_id", 5000 + n, "s", std::string(static_cast<size_t>(n) * 3000, 'l')));
            return;
        case 4:
            return fuzz::add_index(catalog, ns, n % 2 == 0 ? "n" : "a.y");
        case 5:
            catalog.drop_database("d");
            return;
        case 6:
            catalog.close_database("d");
            return;
        case 7:
            return catalog.get_or_create("d").drop(ns);
        case 8:
            return catalog.get_or_create("d").rename(ns, "d.renamed", false);
        case 9:
            if (catalog.collection(ns) != nullptr) catalog.get_or_create("d").repair(ns);
            return;
        case 10:
            catalog.get_or_create("d").store().stats();
            return;
        default:
            break;
    }
    catalog::Collection* const collection = catalog.collection(ns);
    if (collection == nullptr) return;
    storage::RecordStore& records = collection->records();
    catalog::Database& db = catalog.get_or_create("d");
    switch (kind % kKinds) {
        case 11:
            return scan(records,
                        n % 2 == 0 ? storage::Direction::forward : storage::Direction::backward);
        case 12:
        case 13:
            for (const auto& index : collection->indexes()) {
                if (index->store == nullptr) continue;
                scan(*index->store, records,
                     n % 2 == 0 ? storage::Direction::forward : storage::Direction::backward);
            }
            return;
        case 14:
        case 15:
            return collection->remove(record_at(*collection, n));
        case 16:
        case 17: {
            const storage::RecordId id = record_at(*collection, n);
            bson::Builder grown;
            grown.append_all(records.get(id))
                .append("p" + std::to_string(n), std::string(200, 'g'));
            collection->update(id, grown.doc());
            return;
        }
        case 18: {
            const storage::RecordId id = record_at(*collection, n);
            const Object same(records.get(id));
            collection->update(id, same);
            return;
        }
        case 19:
            return validate(*collection);
        case 20: {
            bson::Builder out;
            db.compact(*collection, make("compact", 1), out);
            return;
        }
        case 21:
            if (collection->capped()) return db.truncate(*collection);
            db.rebuild_indexes(*collection);
            return;
        case 22: {
            const Object which = make("index", n % 2 == 0 ? "*" : "s");
            db.drop_indexes(*collection, which.doc().first());
            return;
        }
        case 23:
            return db.repair();
        case 24:
            if (!collection->capped()) return;
            return records.truncate_after(record_at(*collection, n), n % 2 == 0);
        case 25:
            for (const auto& index : collection->indexes()) {
                if (!index->spec["v"].is_number()) continue;
                db.set_index_number(*collection, *index, "v", index->spec["v"].to_int64());
                return;  // the definitions have been read anew
            }
            return;
        default:
            collection->store().salvage(
                [](bson::Doc doc) {
                    fuzz::expect_document(doc.bytes(), "what is salvaged is valid");
                },
                [](const std::string&) {});
            records.stats();
            bson::Builder stats;
            collection->store().append_verbose_stats(stats, 1);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input input(data, size);
    const fuzz::DamagedDatabase damaged(input);
    bool kept = damaged.neighbour_is_whole();
    os::SimFileSystem disk;
    disk.set_free_bytes(uint64_t{256} << 20);
    damaged.write_to(disk);
    try {
        fuzz::SimulatedServer server(disk);
        for (int n = 0; n < kOperationsMax && !input.empty(); ++n) {
            const uint8_t kind = input.take();
            const uint8_t with = input.take();
            kept = kept && kind % kKinds != 5;  // the database is not dropped
            server.run([&] { operate(server.catalog(), kind, with); });
        }
    } catch (const base::Error&) {
        // The directory is refused as a whole.
    }
    if (kept) damaged.expect_neighbour(disk);
    return fuzz::kTaken;
}
