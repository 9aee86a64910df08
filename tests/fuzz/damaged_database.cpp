#include "damaged_database.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "storage/mmapv1/space/layout.h"
#include "storage/mmapv1/testing/small_engine.h"

namespace fuzz {

using bson::make;
using bson::Object;

namespace {

constexpr int kDamagesMax = 6;

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
constexpr const char* kPaths[] = {"/db/d.ns", "/db/d.0"};

void fill(catalog::Catalog& catalog) {
    for (int n = 0; n < 100; ++n)
        catalog.collection_for_write("d.gone").insert(stored_document(n));
    catalog::Collection& c = catalog.collection_for_write("d.c");
    add_index(catalog, "d.c", "s");
    add_index(catalog, "d.c", "a.x");
    std::vector<storage::RecordId> ids;
    for (int n = 0; n < 300; ++n)
        ids.push_back(c.insert(stored_document(n)));
    for (size_t n = 0; n < ids.size(); n += 3)
        c.remove(ids[n]);
    for (int n = 0; n < 12; ++n)
        add_index(catalog, "d.many", "f" + std::to_string(n));
    catalog.collection_for_write("d.many").insert(make("_id", 1, "f1", 2));
    for (int n = 0; n < kNeighbours; ++n)
        catalog.collection_for_write(std::string(kNeighbour)).insert(stored_document(n));
    add_index(catalog, std::string(kNeighbour), "n");
    catalog::Database& db = catalog.get_or_create("d");
    db.create("d.ring", make("capped", true, "size", 16384));
    for (int n = 0; n < 200; ++n)
        catalog.collection_for_write("d.ring").insert(stored_document(n));
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
    expect(image.neighbours.size() >= 6, "it has an index on _id and another one");
}

void write(os::SimFileSystem& disk, const std::vector<uint8_t> (&files)[2], size_t data_bytes) {
    disk.create_directory("/db");
    for (const size_t number : {0, 1}) {
        const auto file =
            disk.open(kPaths[number], {.access = os::Access::read_write, .create = true});
        file->write_at(0, files[number]);
        if (number == 1) file->truncate(data_bytes);
    }
}

// Else no input would reach anything.
void expect_it_opens(const Image& image) {
    os::SimFileSystem disk;
    write(disk, image.files, image.data_bytes);
    SimulatedServer server(disk);
    bool found = false;
    server.run([&] { found = server.catalog().collection(kNeighbour) != nullptr; });
    expect(found, "the whole database can be opened");
}

Image make_image() {
    os::SimFileSystem disk;
    disk.create_directory("/db");
    {
        SimulatedServer server(disk);
        server.run([&] { fill(server.catalog()); });
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
    expect(image.words.size() < 65536, "an input can name each word");
    find_neighbours(image);
    expect_it_opens(image);
    return image;
}
const Image& whole() {
    static const Image& image = *new Image(make_image());
    return image;
}

}  // namespace

Object stored_document(int n) {
    return make("_id", n, "a", make("x", n % 7, "y", n % 11), "s",
                std::string(static_cast<size_t>(20 + n % 180), 'x'), "n", n);
}

void add_index(catalog::Catalog& catalog, const std::string& ns, const std::string& field) {
    const std::string db = ns.substr(0, ns.find('.'));
    catalog.get_or_create(db).create_index(
        catalog.collection_for_write(ns),
        make("v", 1, "key", make(field, 1), "name", field, "ns", ns));
}

SimulatedServer::SimulatedServer(os::SimFileSystem& disk)
    : engine_(mmapv1::open_engine(mmapv1::small_engine_options("/db"), disk)),
      catalog_(std::make_unique<catalog::Catalog>(*engine_)) {}

SimulatedServer::~SimulatedServer() {
    catalog_ = nullptr;
    try {
        engine_->shutdown();
    } catch (const base::Error&) {
        // What the server says when it ends; its directory is as after a crash.
    }
}

DamagedDatabase::DamagedDatabase() : files_{whole().files[0], whole().files[1]} {}

DamagedDatabase::DamagedDatabase(Input& input) : DamagedDatabase() {
    for (int changes = input.take() % kDamagesMax; changes > 0; --changes)
        damage(input);
}

void DamagedDatabase::write_to(os::SimFileSystem& disk) const {
    write(disk, files_, whole().data_bytes);
}

void DamagedDatabase::damage(Input& input) {
    const Image& image = whole();
    const Image::Word near = image.words[input.take<uint16_t>() % image.words.size()];
    const uint8_t kind = input.take();
    const auto given = input.take<uint32_t>();
    // Sometimes a word that follows: a null, an unused field.
    const size_t at = near.offset + (kind >= 192 ? size_t{kind} % 8 * 4 : 0);
    if (at + 4 > files_[near.file].size()) return;
    const auto was = bson::load<uint32_t>(&files_[near.file][at]);
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
    std::memcpy(&files_[near.file][at], &value, sizeof value);
    if (image.is_neighbours(near.file, at)) neighbour_is_whole_ = false;
}

void DamagedDatabase::expect_neighbour(os::SimFileSystem& disk) {
    const std::vector<uint8_t> now = read(disk, kPaths[1]);
    const std::vector<uint8_t>& before = whole().files[1];
    for (const Image::Stretch& each : whole().neighbours)
        if (each.file == 1)
            expect(std::equal(before.begin() + static_cast<ptrdiff_t>(each.begin),
                              before.begin() + static_cast<ptrdiff_t>(each.end),
                              now.begin() + static_cast<ptrdiff_t>(each.begin)),
                   "a collection that is not named keeps its bytes");
}

}  // namespace fuzz
