// Fuzz target: a database whose .ns and .0 are damaged, opened, read, written, compacted, repaired
// and dropped, over the simulated disk.
//
// The whole database is made once, by the engine itself: free records, a tree of two levels, a ring
// that has come round, more indexes than fit the first block, free extents. An input says which
// words get which values, then which operations follow. A collection that none of them names keeps
// all its bytes, unless the damage is its own.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "catalog/index_keys.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/engine.h"
#include "storage/mmapv1/space/layout.h"
#include "storage/mmapv1/testing/small_engine.h"
#include "target.h"

namespace {

using bson::make;
using bson::Object;

constexpr int kReadMax = 3000;  // a damaged chain may be a circle
constexpr int kOperationsMax = 40;
constexpr uint8_t kKinds = 27;  // of operations

struct Image {
    std::vector<uint8_t> files[2];  // .ns, .0 as far as it is in use
    size_t data_bytes = 0;          // of all of .0
    struct Word {
        uint8_t file;
        uint32_t offset;
    };
    std::vector<Word> words;  // worth damaging
    struct Stretch {
        uint8_t file;
        size_t begin, end;
    };
    std::vector<Stretch> neighbours;  // entries and extents of kNeighbour and its indexes

    bool is_neighbours(uint8_t file, size_t at) const {
        return std::ranges::any_of(neighbours, [&](const Stretch& each) {
            return each.file == file && at + 4 > each.begin && at < each.end;
        });
    }
};
constexpr std::string_view kNeighbour = "d.neighbour";  // its indexes begin so, too
constexpr const char* kPaths[] = {"/db/d.ns", "/db/d.0"};

// An engine over the simulated disk, with the catalog over it.
class Running {
  public:
    explicit Running(os::SimFileSystem& disk) {
        engine_ = mmapv1::open_engine(mmapv1::small_engine_options("/db"), disk);
        catalog_ = std::make_unique<catalog::Catalog>(*engine_);
    }
    ~Running() {
        catalog_ = nullptr;
        try {
            engine_->shutdown();
        } catch (const base::Error&) {
            // What the server says when it ends; its directory is as after a crash.
        }
    }
    catalog::Catalog& catalog() { return *catalog_; }
    storage::LockManager& locks() { return engine_->locks(); }
    // Work of one operation, under W.
    template <typename Work>
    void run(Work&& work) {
        fuzz::as_operation([&] {
            const storage::GlobalLock lock(locks(), storage::GlobalMode::W);
            work();
        });
    }

  private:
    std::unique_ptr<mmapv1::MmapEngine> engine_;
    std::unique_ptr<catalog::Catalog> catalog_;
};

Object document(int n) {
    return make("_id", n, "a", make("x", n % 7, "y", n % 11), "s",
                std::string(static_cast<size_t>(20 + n % 180), 'x'), "n", n);
}

void add_index(catalog::Catalog& catalog, const std::string& ns, const std::string& field) {
    const std::string db = ns.substr(0, ns.find('.'));
    catalog.get_or_create(db).create_index(
        catalog.collection_for_write(ns),
        make("v", 1, "key", make(field, 1), "name", field, "ns", ns));
}

void fill(catalog::Catalog& catalog) {
    for (int n = 0; n < 100; ++n)
        catalog.collection_for_write("d.gone").insert(document(n));
    catalog::Collection& c = catalog.collection_for_write("d.c");
    add_index(catalog, "d.c", "s");
    add_index(catalog, "d.c", "a.x");
    std::vector<storage::RecordId> ids;
    for (int n = 0; n < 300; ++n)
        ids.push_back(c.insert(document(n)));
    for (size_t n = 0; n < ids.size(); n += 3)
        c.remove(ids[n]);
    for (int n = 0; n < 12; ++n)
        add_index(catalog, "d.many", "f" + std::to_string(n));
    catalog.collection_for_write("d.many").insert(make("_id", 1, "f1", 2));
    for (int n = 0; n < 60; ++n)
        catalog.collection_for_write(std::string(kNeighbour)).insert(document(n));
    add_index(catalog, std::string(kNeighbour), "n");
    catalog::Database& db = catalog.get_or_create("d");
    db.create("d.ring", make("capped", true, "size", 16384));
    for (int n = 0; n < 200; ++n)
        catalog.collection_for_write("d.ring").insert(document(n));
    db.drop("d.gone");
}

std::vector<uint8_t> read(os::SimFileSystem& disk, const char* path) {
    std::vector<uint8_t> bytes(disk.file_length(path));
    disk.open(path, {})->read_at(0, bytes);
    return bytes;
}

// Of the data file only what is in use: the rest is zeros.
void cut(std::vector<uint8_t>& data) {
    const auto& header = *reinterpret_cast<const mmapv1::DataFileHeader*>(data.data());
    data.resize(static_cast<size_t>(header.unused.offset));
}

// Nothing, or the inside of a text.
bool is_dull(uint32_t word) {
    return word == 0 || word == 0x78787878;
}

void find_neighbours(Image& image) {
    const auto* slots = reinterpret_cast<const mmapv1::NamespaceSlot*>(image.files[0].data());
    const std::vector<uint8_t>& data = image.files[1];
    for (size_t n = 0; n < image.files[0].size() / sizeof *slots; ++n) {
        const mmapv1::NamespaceSlot& slot = slots[n];
        if (slot.hash == 0 || !slot.name().starts_with(kNeighbour)) continue;
        image.neighbours.push_back({0, n * sizeof slot, (n + 1) * sizeof slot});
        for (mmapv1::DiskLoc at = slot.details.first_extent; at.is_valid();) {
            const auto& extent = *reinterpret_cast<const mmapv1::ExtentHeader*>(&data[at.offset]);
            const auto begin = static_cast<size_t>(at.offset);
            image.neighbours.push_back({1, begin, begin + static_cast<size_t>(extent.length)});
            at = extent.next;
        }
    }
    fuzz::expect(image.neighbours.size() >= 6, "it has an index on _id and another one");
}

Image make_image() {
    os::SimFileSystem disk;
    disk.create_directory("/db");
    {
        Running server(disk);
        const storage::GlobalLock lock(server.locks(), storage::GlobalMode::W);
        fill(server.catalog());
    }
    Image image;
    for (uint8_t file : {0, 1}) {
        image.files[file] = read(disk, kPaths[file]);
        if (file == 1) {
            image.data_bytes = image.files[file].size();
            cut(image.files[file]);
        }
        const std::vector<uint8_t>& bytes = image.files[file];
        for (uint32_t at = 0; at + 4 <= bytes.size(); at += 4)
            if (!is_dull(bson::load<uint32_t>(&bytes[at]))) image.words.push_back({file, at});
    }
    fuzz::expect(image.words.size() < 65536, "an input can name each word");
    find_neighbours(image);
    return image;
}
const Image& whole() {
    static const Image& image = *new Image(make_image());
    return image;
}

void write(os::SimFileSystem& disk, const std::vector<uint8_t> (&files)[2]) {
    for (const size_t number : {0, 1}) {
        const auto file =
            disk.open(kPaths[number], {.access = os::Access::read_write, .create = true});
        file->write_at(0, files[number]);
        if (number == 1) file->truncate(whole().data_bytes);
    }
}

// Returns whether the neighbour has been left alone.
bool damage(std::vector<uint8_t> (&files)[2], fuzz::Input& input) {
    const Image& image = whole();
    const Image::Word near = image.words[input.take<uint16_t>() % image.words.size()];
    const uint8_t kind = input.take();
    const auto given = input.take<uint32_t>();
    // Sometimes a word that follows: a null, an unused field.
    const size_t at = near.offset + (kind >= 192 ? size_t{kind} % 8 * 4 : 0);
    if (at + 4 > files[near.file].size()) return true;
    const auto was = bson::load<uint32_t>(&files[near.file][at]);
    const auto end = static_cast<uint32_t>(image.data_bytes);
    const uint32_t values[] = {given,
                               given,
                               0,
                               1,
                               0xffffffff,
                               0x7fffffff,
                               0x80000000,
                               mmapv1::kExtentMagic,
                               was + 4,
                               was - 4,
                               was ^ 1U << given % 32,
                               end - 16 - 4 * (given % 8),
                               8192 + given % end / 4 * 4,
                               image.words[given % image.words.size()].offset,
                               image.words[given % image.words.size()].offset & ~0xfffU,
                               given & 0xff};
    const uint32_t value = values[kind % std::size(values)];
    std::memcpy(&files[near.file][at], &value, sizeof value);
    return !image.is_neighbours(near.file, at);
}

void expect_neighbour(os::SimFileSystem& disk) {
    const std::vector<uint8_t> now = read(disk, kPaths[1]);
    const std::vector<uint8_t>& before = whole().files[1];
    for (const Image::Stretch& each : whole().neighbours)
        if (each.file == 1)
            fuzz::expect(std::equal(before.begin() + static_cast<ptrdiff_t>(each.begin),
                                    before.begin() + static_cast<ptrdiff_t>(each.end),
                                    now.begin() + static_cast<ptrdiff_t>(each.begin)),
                         "a collection that is not named keeps its bytes");
}

void scan(storage::RecordStore& records, storage::Direction direction) {
    const auto cursor = records.cursor(direction);
    for (int n = 0; n < kReadMax; ++n) {
        base::Operation::tick();
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
        base::Operation::tick();
        cursor->key();
        records.get(cursor->id());
        cursor->next();
    }
}

storage::Record record_at(catalog::Collection& collection, int n) {
    const auto cursor = collection.records().cursor(storage::Direction::forward);
    for (;;) {
        base::Operation::tick();
        const auto record = cursor->next();
        if (!record) base::fail(base::kNamespaceNotFound, "there is no record {}", n);
        if (n-- == 0) return *record;
    }
}

void validate(catalog::Collection& collection) {
    storage::ValidateOptions options;
    options.full = options.scan_data = true;
    options.derive_keys = catalog::key_deriver();
    bson::Builder figures;
    for (const std::string& error : collection.store().validate(options, figures).errors)
        fuzz::expect(!error.empty(), "damage is told in words");
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
                collection.insert(document(1000 + n * 8 + i));
            return;
        }
        case 3:
            catalog.collection_for_write(ns).insert(
                make("_id", 5000 + n, "s", std::string(static_cast<size_t>(n) * 3000, 'l')));
            return;
        case 4:
            return add_index(catalog, ns, n % 2 == 0 ? "n" : "a.y");
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
            return collection->remove(record_at(*collection, n).id);
        case 16:
        case 17: {
            const storage::Record record = record_at(*collection, n);
            bson::Builder grown;
            grown.append_all(record.doc).append("p" + std::to_string(n), std::string(200, 'g'));
            collection->update(record.id, grown.doc());
            return;
        }
        case 18: {
            const storage::Record record = record_at(*collection, n);
            Object same(record.doc);
            collection->update(record.id, same);
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
            return db.mend();
        case 24:
            if (!collection->capped()) return;
            return records.truncate_after(record_at(*collection, n).id, n % 2 == 0);
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

namespace {

// Else no input would reach anything.
bool opens_without_damage() {
    os::SimFileSystem disk;
    disk.create_directory("/db");
    write(disk, whole().files);
    Running server(disk);
    bool found = false;
    server.run([&] { found = server.catalog().collection(kNeighbour) != nullptr; });
    return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const bool opens = opens_without_damage();
    fuzz::expect(opens, "the whole database can be opened");
    fuzz::Input input(data, size);
    std::vector<uint8_t> files[2] = {whole().files[0], whole().files[1]};
    bool kept = true;
    for (int changes = input.take() % 6; changes > 0; --changes)
        kept = damage(files, input) && kept;
    os::SimFileSystem disk;
    disk.create_directory("/db");
    disk.set_free_bytes(uint64_t{256} << 20);
    write(disk, files);
    try {
        Running server(disk);
        for (int n = 0; n < kOperationsMax && !input.empty(); ++n) {
            const uint8_t kind = input.take();
            const uint8_t with = input.take();
            kept = kept && kind % kKinds != 5;  // the database is not dropped
            server.run([&] { operate(server.catalog(), kind, with); });
        }
    } catch (const base::Error&) {
        // The directory is refused as a whole.
    }
    if (kept) expect_neighbour(disk);
    return fuzz::kTaken;
}
