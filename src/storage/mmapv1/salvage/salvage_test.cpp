// What is still read of a directory of 2.6 that is damaged in this way and that: everything that no
// damaged byte belongs to, nothing that was removed before, and a word about the rest.
#include "storage/mmapv1/salvage/salvage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/testing/damage.h"
#include "base/testing/effort.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "os/testing/directory.h"
#include "os/testing/failing_file_system.h"
#include "os/testing/fixture.h"
#include "storage/mmapv1/salvage/dump_directory.h"
#include "storage/mmapv1/salvage/extent_map.h"
#include "storage/mmapv1/salvage/salvage_database.h"
#include "storage/mmapv1/space/namespace_index.h"

namespace mmapv1 {
namespace {

using Bytes = std::string;  // of a document

struct Contents {
    std::vector<Bytes> documents;
    std::vector<std::string> indexes;  // names, sorted
};

std::string bytes_of(bson::Doc doc) {
    return {reinterpret_cast<const char*>(doc.data()), static_cast<size_t>(doc.size())};
}

class Collected final : public SalvageSink {
  public:
    void begin(const std::string& db, const std::string& collection) override {
        current_ = db + "." + collection;
        EXPECT_FALSE(found.contains(current_)) << current_ << " twice";
        found[current_];
    }
    void document(bson::Doc doc) override { found[current_].documents.push_back(bytes_of(doc)); }
    void end(const SalvagedCollection& collection) override {
        for (const bson::Object& index : collection.indexes)
            found[current_].indexes.emplace_back(index["name"].as_string());
        std::ranges::sort(found[current_].indexes);
        told.insert_or_assign(current_, collection);
        EXPECT_EQ(static_cast<size_t>(collection.documents), found[current_].documents.size());
    }

    std::map<std::string, Contents> found;
    std::map<std::string, SalvagedCollection> told;

  private:
    std::string current_;
};

class Salvage : public testing::Test {
  protected:
    Salvage() { os::unpack_fixture("mmapv1-2.6-clean.tar.xz", home_.path()); }

    static const std::map<std::string, Contents>& expected() {
        static const std::map<std::string, Contents> contents = [] {
            const os::TestDirectory home;
            os::unpack_fixture("mmapv1-2.6-clean.tar.xz", home.path());
            Collected sink;
            for (const char* db : {"shop", "second-db"})
                salvage_database(os::real_file_system(), home.path(), db, false, sink);
            return sink.found;
        }();
        return contents;
    }

    Collected salvaged(const std::string& db = "shop",
                       os::FileSystem& files = os::real_file_system()) {
        Collected sink;
        damage_ = salvage_database(files, home_.path(), db, false, sink);
        return sink;
    }
    // Everything there; `but` names the only collection that may differ.
    void expect_whole(const Collected& got, const std::string& but = "") {
        for (const auto& [ns, contents] : expected()) {
            if (!ns.starts_with("shop.") || ns == but) continue;
            ASSERT_TRUE(got.found.contains(ns)) << ns;
            EXPECT_TRUE(got.found.at(ns).documents == contents.documents) << ns;
            EXPECT_EQ(got.found.at(ns).indexes, contents.indexes) << ns;
        }
    }
    // All its documents in any order, and no other.
    static void expect_same_documents(const Collected& got, const std::string& ns) {
        ASSERT_TRUE(got.found.contains(ns)) << ns;
        std::vector<Bytes> found = got.found.at(ns).documents;
        std::vector<Bytes> wanted = expected().at(ns).documents;
        std::ranges::sort(found);
        std::ranges::sort(wanted);
        EXPECT_EQ(found.size(), wanted.size()) << ns;
        EXPECT_TRUE(found == wanted) << ns;
    }
    bool told_of(const Collected& got, const std::string& ns, const std::string& file,
                 int64_t offset) const {
        std::vector<Damage> all = damage_;
        if (got.told.contains(ns))
            all.insert(all.end(), got.told.at(ns).damage.begin(), got.told.at(ns).damage.end());
        return std::ranges::any_of(all, [&](const Damage& each) {
            return each.file == file && each.offset == offset && !each.meaning.empty();
        });
    }

    std::string read(const std::string& file, int64_t offset, size_t bytes) {
        std::ifstream in(home_ / file, std::ios::binary);
        in.seekg(offset);
        std::string text(bytes, '\0');
        in.read(text.data(), static_cast<std::streamsize>(bytes));
        return text;
    }
    void write(const std::string& file, int64_t offset, const std::string& bytes) {
        std::fstream out(home_ / file, std::ios::binary | std::ios::in | std::ios::out);
        out.seekp(offset);
        out << bytes;
    }
    template <typename T>
    T load(const std::string& file, int64_t offset) {
        T value;
        std::memcpy(static_cast<void*>(&value), read(file, offset, sizeof value).data(),
                    sizeof value);
        return value;
    }
    template <typename T>
    void store(const std::string& file, int64_t offset, T value) {
        write(file, offset, {reinterpret_cast<const char*>(&value), sizeof value});
    }
    // Where the entry of a namespace lies.
    int64_t entry(const std::string& ns) {
        const std::string all = read("shop.ns", 0, 16 << 20);
        const size_t at = all.find(ns + '\0');
        EXPECT_NE(at, std::string::npos) << ns;
        return static_cast<int64_t>(at) - int64_t{offsetof(NamespaceSlot, key)};
    }
    NamespaceDetails details(const std::string& ns) {
        return load<NamespaceDetails>("shop.ns",
                                      entry(ns) + int64_t{offsetof(NamespaceSlot, details)});
    }
    // Extents of a namespace, in order; all in shop.0.
    std::vector<int32_t> extents(const std::string& ns) {
        std::vector<int32_t> found;
        for (DiskLoc at = details(ns).first_extent; at.is_valid();
             at = load<ExtentHeader>("shop.0", at.offset).next)
            found.push_back(at.offset);
        return found;
    }
    std::vector<int32_t> records(int32_t extent) {
        std::vector<int32_t> found;
        for (int32_t at = load<ExtentHeader>("shop.0", extent).first_record.offset; at != -1;
             at = load<RecordHeader>("shop.0", at).next_offset)
            found.push_back(at);
        return found;
    }

    os::TestDirectory home_;
    std::vector<Damage> damage_;
};

TEST_F(Salvage, ASoundDirectoryIsReadWhole) {
    const Collected shop = salvaged();
    const os::TestDirectory home;
    std::ifstream lines(os::unpack_text("mmapv1-2.6-clean.expected.jsonl.xz", home / "expected"));
    std::map<std::string, Contents> written;  // by the server that made the directory
    for (std::string line; std::getline(lines, line);) {
        // libbson reads UUIDs of the old kind as those of the new one (engine_test.cpp).
        const std::string old_kind = "\"subType\": \"03\"";
        if (const size_t at = line.find(old_kind); at != line.npos)
            line.replace(at, old_kind.size(), "\"subType\": \"04\"");
        const bson::Object entry = bson::from_json(line);
        Contents& one = written[std::string(entry["ns"].as_string())];
        if (const bson::Element doc = entry["doc"]; doc.is_object())
            one.documents.push_back(bson::to_json(doc.as_doc()));
        else
            for (const bson::Element& index : entry["indexes"].as_doc())
                one.indexes.emplace_back(index.as_doc()["name"].as_string());
    }
    ASSERT_EQ(written.size(), expected().size());
    for (const auto& [ns, contents] : expected()) {
        std::vector<std::string> found;
        for (const Bytes& each : contents.documents)
            found.push_back(bson::to_json(bson::Doc(each.data())));
        ASSERT_EQ(found.size(), written[ns].documents.size()) << ns;
        for (size_t i = 0; i < found.size(); ++i)
            EXPECT_EQ(found[i], written[ns].documents[i]) << ns;
        EXPECT_EQ(contents.indexes, written[ns].indexes) << ns;
    }
    expect_whole(shop);
    EXPECT_TRUE(damage_.empty()) << damage_[0].meaning;
    EXPECT_EQ(shop.found.size(), 4u);
    for (const auto& [ns, told] : shop.told)
        EXPECT_TRUE(told.whole()) << ns << ": " << told.damage[0].meaning;
    EXPECT_TRUE(shop.told.at("shop.recent").options["capped"].truthy());
    const Collected second = salvaged("second-db");
    EXPECT_TRUE(second.found.at("second-db.users").documents ==
                expected().at("second-db.users").documents);
}

TEST_F(Salvage, WithoutItsNamespaceFile) {
    std::filesystem::remove(home_ / "shop.ns");
    const Collected got = salvaged();
    for (const char* ns : {"shop.audit", "shop.orders", "shop.recent", "shop.types"})
        expect_same_documents(got, ns);
    EXPECT_EQ(got.found.at("shop.orders").indexes, expected().at("shop.orders").indexes);
    EXPECT_TRUE(told_of(got, "", "shop.ns", 0));
}

TEST_F(Salvage, WithACutNamespaceFile) {
    for (const int64_t length : {0, 1, 4096, 5 << 20, (16 << 20) - 1}) {
        SCOPED_TRACE(length);
        std::filesystem::resize_file(home_ / "shop.ns", static_cast<uintmax_t>(length));
        const Collected got = salvaged();
        for (const char* ns : {"shop.audit", "shop.orders", "shop.recent", "shop.types"})
            expect_same_documents(got, ns);
        EXPECT_TRUE(told_of(got, "", "shop.ns", length) || length == 5 << 20);
        os::unpack_fixture("mmapv1-2.6-clean.tar.xz", home_.path());
    }
}

TEST_F(Salvage, AnEntryThatIsDamagedOrGone) {
    const int64_t at = entry("shop.orders");
    const std::string whole = read("shop.ns", at, sizeof(NamespaceSlot));
    const int64_t value = offsetof(NamespaceSlot, details);
    const std::vector<std::pair<int64_t, std::string>> cases = {
        {0, std::string("\x11")},             // the hash
        {0, std::string(4, '\0')},            // no hash
        {4, "X"},                             // the name
        {4 + 7, std::string(1, '\0')},        // its end
        {value, std::string(8, '\x77')},      // first extent
        {value + 8, std::string(8, '\x77')},  // last extent
        {value, std::string(16, '\xff')},     // both
        {0, std::string(sizeof(NamespaceSlot), '\0')},
        {0, std::string(sizeof(NamespaceSlot), '\x5a')},
    };
    for (const auto& [offset, bytes] : cases) {
        SCOPED_TRACE(fmt::format("{} bytes at {}", bytes.size(), offset));
        write("shop.ns", at + offset, bytes);
        const Collected got = salvaged();
        expect_whole(got, "shop.orders");
        expect_same_documents(got, "shop.orders");
        EXPECT_EQ(got.found.size(), 4u);
        EXPECT_EQ(got.found.at("shop.orders").indexes, expected().at("shop.orders").indexes);
        EXPECT_FALSE(got.told.at("shop.orders").whole() && damage_.empty());
        write("shop.ns", at, whole);
    }
}

TEST_F(Salvage, AHeaderOfAnExtentThatIsGone) {
    for (const char* ns : {"shop.orders", "shop.audit", "shop.recent"}) {
        for (const int32_t at : extents(ns)) {
            SCOPED_TRACE(fmt::format("{} at {:#x}", ns, at));
            const std::string whole = read("shop.0", at, kExtentHeaderBytes);
            write("shop.0", at, std::string(kExtentHeaderBytes, '\0'));
            const Collected got = salvaged();
            expect_same_documents(got, ns);
            expect_whole(got, ns);
            EXPECT_FALSE(got.told.at(ns).whole());
            write("shop.0", at, whole);
        }
    }
}

TEST_F(Salvage, LinksBetweenExtentsThatLeadElsewhere) {
    const std::vector<int32_t> all = extents("shop.orders");
    ASSERT_GE(all.size(), 3u);
    const int32_t other = extents("shop.audit")[0];
    for (const int32_t at : all) {
        for (const int64_t field : {offsetof(ExtentHeader, next), offsetof(ExtentHeader, prev)}) {
            for (const DiskLoc wrong : {DiskLoc{0, other}, DiskLoc{0, all[0]}, DiskLoc{7, 8192},
                                        DiskLoc{0, 0x7ffffff0}, DiskLoc{-5, 77}, DiskLoc::null()}) {
                SCOPED_TRACE(fmt::format("{:#x} + {}: {}", at, field, to_string(wrong)));
                const auto was = load<DiskLoc>("shop.0", at + field);
                store("shop.0", at + field, wrong);
                const Collected got = salvaged();
                expect_same_documents(got, "shop.orders");
                expect_whole(got, "shop.orders");
                store("shop.0", at + field, was);
            }
        }
    }
}

TEST_F(Salvage, LinksOfRecordsThatLeadElsewhere) {
    for (const char* ns : {"shop.orders", "shop.recent"}) {
        const int32_t extent = extents(ns).back();
        const std::vector<int32_t> all = records(extent);
        ASSERT_GT(all.size(), 20u);
        for (const size_t i : {size_t{0}, size_t{1}, size_t{7}, all.size() - 2, all.size() - 1}) {
            for (const int64_t field :
                 {offsetof(RecordHeader, next_offset), offsetof(RecordHeader, prev_offset)}) {
                for (const int32_t wrong :
                     {0, -1, -2, 0x7ffffff0, extent, all[3], all[i], all[i] + 4}) {
                    SCOPED_TRACE(fmt::format("{} record {} + {}: {:#x}", ns, i, field, wrong));
                    const auto was = load<int32_t>("shop.0", all[i] + field);
                    store("shop.0", all[i] + field, wrong);
                    const Collected got = salvaged();
                    expect_same_documents(got, ns);
                    expect_whole(got, ns);
                    store("shop.0", all[i] + field, was);
                }
            }
        }
    }
}

TEST_F(Salvage, APageThatTheDeviceDoesNotGiveTakesOnlyWhatLiesInIt) {
    constexpr int64_t kPage = 4096;
    std::map<int64_t, Bytes> documents;  // of shop.orders, by the offset of their records
    for (const int32_t extent : extents("shop.orders"))
        for (const int32_t at : records(extent))
            documents[at] = read("shop.0", at + kRecordHeaderBytes,
                                 load<uint32_t>("shop.0", at + kRecordHeaderBytes));
    ASSERT_EQ(documents.size(), expected().at("shop.orders").documents.size());
    std::set<int64_t> pages{0};  // and the header of the file
    for (const auto& [at, document] : documents)
        pages.insert(at / kPage * kPage);
    os::FailingFileSystem disk(os::real_file_system());
    for (const int64_t page : pages) {
        SCOPED_TRACE(fmt::format("page at {:#x}", page));
        disk.set_unreadable({{"shop.0", {static_cast<uint64_t>(page)}}});
        const Collected got = salvaged("shop", disk);
        EXPECT_TRUE(told_of(got, "shop.orders", "shop.0", page));
        std::multiset<Bytes> found(got.found.at("shop.orders").documents.begin(),
                                   got.found.at("shop.orders").documents.end());
        for (const auto& [at, document] : documents) {
            const auto end = at + kRecordHeaderBytes + static_cast<int64_t>(document.size());
            const bool lies_in_it = at < page + kPage && page < end;
            EXPECT_EQ(found.erase(document), lies_in_it ? 0u : 1u) << at;
        }
        EXPECT_TRUE(found.empty());
    }
}

// Restored as a ring it would drop documents.
TEST_F(Salvage, AFlippedBitMakesNoRing) {
    const int64_t field = entry("shop.orders") + int64_t{offsetof(NamespaceSlot, details)} +
                          int64_t{offsetof(NamespaceDetails, is_capped)};
    store("shop.ns", field, int32_t{1});
    const Collected got = salvaged();
    expect_same_documents(got, "shop.orders");
    EXPECT_FALSE(got.told.at("shop.orders").options["capped"].truthy());
}

TEST_F(Salvage, ARingIsOneWithoutTheCatalogue) {
    const int32_t extent = extents("shop.system.namespaces")[0];
    write("shop.0", extent, std::string(8192, '\x77'));
    const Collected got = salvaged();
    expect_whole(got);
    EXPECT_TRUE(got.told.at("shop.recent").options["capped"].truthy());
    EXPECT_GT(got.told.at("shop.recent").options["size"].to_int64(), 4096);
}

TEST_F(Salvage, ADamagedDocumentIsNamedAndTakesNoOtherAlong) {
    const int32_t record = records(extents("shop.orders")[1])[4];
    store("shop.0", record + kRecordHeaderBytes, int32_t{0x7ffffff0});
    const Collected got = salvaged();
    expect_whole(got, "shop.orders");
    const SalvagedCollection& told = got.told.at("shop.orders");
    EXPECT_EQ(told.unread, 1);
    EXPECT_EQ(told.documents, *told.counted - 1);
    EXPECT_FALSE(told.whole());
    EXPECT_TRUE(told_of(got, "shop.orders", "shop.0", record));
    std::vector<Bytes> rest = expected().at("shop.orders").documents;
    for (const Bytes& each : got.found.at("shop.orders").documents)
        std::erase(rest, each);
    EXPECT_EQ(rest.size(), 1u);
}

// A header of a record that lies about its length or its extent costs nothing.
TEST_F(Salvage, ADamagedRecordHeaderCostsNothing) {
    const int32_t record = records(extents("shop.orders")[1])[4];
    for (const int64_t field : {0, 4}) {
        for (const int32_t wrong : {0, -1, 20, 21, 0x7fffff00}) {
            const auto was = load<int32_t>("shop.0", record + field);
            store("shop.0", record + field, wrong);
            const Collected got = salvaged();
            expect_whole(got);
            EXPECT_TRUE(told_of(got, "shop.orders", "shop.0", record) || wrong == 20) << wrong;
            store("shop.0", record + field, was);
        }
    }
}

TEST_F(Salvage, ACutDataFileGivesWhatIsLeft) {
    const std::vector<int32_t> all = extents("shop.orders");
    const int32_t cut = records(all.back())[10] + 30;
    std::filesystem::resize_file(home_ / "shop.0", static_cast<uintmax_t>(cut));
    const Collected got = salvaged();
    EXPECT_TRUE(told_of(got, "", "shop.0", cut));
    const std::vector<Bytes>& found = got.found.at("shop.orders").documents;
    size_t before = 10;
    for (size_t i = 0; i + 1 < all.size(); ++i)
        before += all[i] < cut ? records(all[i]).size() : 0;
    EXPECT_EQ(found.size(), before);
    EXPECT_FALSE(got.told.at("shop.orders").whole());
    for (const int64_t length : {0, 1, 100, 8191, 8192, 8200}) {
        std::filesystem::resize_file(home_ / "shop.0", static_cast<uintmax_t>(length));
        for (const auto& [ns, told] : salvaged().told)
            EXPECT_FALSE(told.whole()) << ns;
    }
    std::filesystem::remove(home_ / "shop.0");
    for (const auto& [ns, told] : salvaged().told)
        EXPECT_FALSE(told.whole()) << ns;
}

TEST_F(Salvage, DefinitionsOfIndexesAreFoundByTheEntryToo) {
    const int32_t extent = extents("shop.system.indexes")[0];
    store("shop.0", extent + int64_t{offsetof(ExtentHeader, first_record)}, DiskLoc::null());
    store("shop.0", extent + int64_t{offsetof(ExtentHeader, last_record)}, DiskLoc::null());
    expect_whole(salvaged());
}

// A page of each file, many times. Records that do not lie in it are all read, and nothing else is.
TEST_F(Salvage, WhateverAPageHoldsTheRestIsRead) {
    std::map<std::string, std::string> files;
    std::vector<std::pair<std::string, size_t>> pages;
    for (const char* name : {"shop.ns", "shop.0"}) {
        files[name] = read(name, 0, 16 << 20);
        for (size_t at = 0; at < files[name].size(); at += 4096)
            if (files[name].find_first_not_of('\0', at) < at + 4096) pages.emplace_back(name, at);
    }
    std::set<Bytes> all;
    for (const auto& [ns, contents] : expected())
        if (ns.starts_with("shop."))
            all.insert(contents.documents.begin(), contents.documents.end());
    std::mt19937 random(91);
    for (int round = base::test_effort(60); round > 0; --round) {
        const auto& [name, at] = pages[random() % pages.size()];
        std::string page = files[name].substr(at, 4096);
        std::vector<uint8_t> bytes(page.begin(), page.end());
        const auto kind = random() % 4;
        if (kind == 0)
            std::ranges::fill(bytes, uint8_t{0});
        else if (kind == 1)
            std::ranges::generate(bytes, [&] { return static_cast<uint8_t>(random()); });
        else
            base::damage(std::span(bytes).subspan(kind == 2 ? 0 : random() % 4000, 64), random);
        SCOPED_TRACE(fmt::format("round {}: {} at {:#x}, kind {}", round, name, at, kind));
        write(name, static_cast<int64_t>(at), {bytes.begin(), bytes.end()});
        const Collected got = salvaged();
        std::set<Bytes> left = all;
        for (const auto& [ns, contents] : got.found)
            for (const Bytes& each : contents.documents)
                left.erase(each);
        // What is missing lies, at least in part, in the page; or changed there.
        for (const Bytes& lost : left) {
            const size_t begin = files["shop.0"].find(lost);
            EXPECT_TRUE(name == "shop.0" && begin < at + 4096 &&
                        begin + lost.size() + kRecordHeaderBytes > at)
                << "a document at " << begin;
        }
        write(name, static_cast<int64_t>(at), page);
    }
    expect_whole(salvaged());
}

// The command -------------------------------------------------------------------------------------

class SalvageCommand : public Salvage {
  protected:
    SalvageResult run() {
        report_.str({});
        return salvage({.dbpath = home_.path(), .out = out_path()}, report_);
    }
    std::string refusal() {
        try {
            run();
        } catch (const base::Error& error) {
            return error.what();
        }
        return "no refusal";
    }
    // Each database into a folder of its own, as --directoryperdb has them.
    void move_into_folders() {
        for (const char* db : {"shop", "second-db", "local"}) {
            std::filesystem::create_directory(home_ / db);
            for (const char* end : {".ns", ".0"})
                std::filesystem::rename(home_ / (db + std::string(end)),
                                        os::join(home_ / db, db + std::string(end)));
        }
    }
    SalvageResult run_on(os::FileSystem& disk, bool directory_per_db) {
        std::filesystem::remove_all(out_path());
        report_.str({});
        dump_.skip_syncs();
        return salvage(
            {.dbpath = home_.path(), .out = out_path(), .directory_per_db = directory_per_db}, disk,
            dump_, report_);
    }
    std::string out_path() { return out_ / "dump"; }
    std::map<std::string, std::string> tree() {
        std::map<std::string, std::string> files;
        for (const auto& each : std::filesystem::recursive_directory_iterator(home_.path())) {
            if (!each.is_regular_file()) continue;
            std::ifstream in(each.path(), std::ios::binary);
            files[each.path()] = {std::istreambuf_iterator<char>(in), {}};
        }
        return files;
    }
    static std::string slurp(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        EXPECT_TRUE(in.good()) << path;
        return {std::istreambuf_iterator<char>(in), {}};
    }

    os::TestDirectory out_;
    os::FailingFileSystem dump_{os::real_file_system()};  // never does
    std::ostringstream report_;
};

TEST_F(SalvageCommand, WritesWhatMongorestoreReads) {
    const auto before = tree();
    const SalvageResult result = run();
    EXPECT_EQ(result.damage, 0) << report_.str();
    EXPECT_EQ(result.databases, 3);
    EXPECT_EQ(tree(), before) << "the dbpath is as it was";
    for (const auto& [ns, contents] : expected()) {
        const size_t dot = ns.find('.');
        const std::string stem = out_path() + "/" + ns.substr(0, dot) + "/" + ns.substr(dot + 1);
        std::string bytes;
        for (const Bytes& each : contents.documents)
            bytes += each;
        EXPECT_TRUE(slurp(stem + ".bson") == bytes) << stem;
        const bson::Object metadata = bson::from_json(slurp(stem + ".metadata.json"));
        EXPECT_EQ(metadata["indexes"].as_doc().field_count(),
                  static_cast<int>(contents.indexes.size()));
        EXPECT_EQ(metadata["options"].as_doc()["capped"].truthy(),
                  ns == "shop.recent" || ns == "shop.audit");
    }
    EXPECT_NE(report_.str().find("nothing is damaged"), std::string::npos);
}

TEST_F(SalvageCommand, TellsOfEachDamageWithFileAndOffset) {
    const int32_t record = records(extents("shop.orders")[1])[4];
    store("shop.0", record + kRecordHeaderBytes, int32_t{3});
    EXPECT_EQ(run().unread, 1);
    EXPECT_NE(report_.str().find(
                  fmt::format("shop.0 at {:#x}: the document here cannot be read", record)),
              std::string::npos)
        << report_.str();
}

TEST_F(SalvageCommand, AFolderThatCannotBeReadIsDamage) {
    move_into_folders();
    os::FailingFileSystem disk(os::real_file_system());
    EXPECT_EQ(run_on(disk, true).damage, 0) << report_.str();
    disk.refuse("/second-db", std::errc::permission_denied);
    const SalvageResult result = run_on(disk, true);
    EXPECT_EQ(result.damage, 1);
    EXPECT_EQ(result.databases, 2);
    EXPECT_NE(report_.str().find("  second-db: stat of "), std::string::npos) << report_.str();
    EXPECT_NE(report_.str().find("1 places are damaged"), std::string::npos) << report_.str();
    // What the file system keeps for itself is no database.
    std::filesystem::create_directory(home_ / "lost+found");
    disk.refuse("/lost+found", std::errc::permission_denied);
    EXPECT_EQ(run_on(disk, true).damage, 0) << report_.str();
    for (const char* db : {"shop", "local", "lost+found"})
        std::filesystem::remove_all(home_ / db);
    disk.refuse("/second-db", std::errc::permission_denied);
    try {
        run_on(disk, true);
        FAIL();
    } catch (const base::Error& error) {
        EXPECT_NE(std::string(error.what()).find("folder second-db of"), std::string::npos);
    }
}

// Nothing is left out without a word.
TEST_F(SalvageCommand, WhateverCallFailsOnceIsToldOrDoesNoHarm) {
    using Kind = os::FailingFileSystem::Kind;
    for (const bool folders : {false, true}) {
        SCOPED_TRACE(folders ? "a folder for each database" : "flat");
        if (folders) move_into_folders();
        os::FailingFileSystem disk(os::real_file_system());
        disk.disarm();
        const SalvageResult whole = run_on(disk, folders);
        const std::string said = report_.str();
        const std::vector<Kind> calls = disk.calls();
        ASSERT_EQ(whole.damage, 0) << said;
        int told = 0;
        size_t reads = 0;
        for (size_t i = 0; i < calls.size(); ++i) {
            if (calls[i] == Kind::read && ++reads % 64 != 0) continue;
            disk.arm(static_cast<int64_t>(i) + 1);
            try {
                if (run_on(disk, folders).damage > 0) {
                    ++told;
                } else {
                    EXPECT_EQ(report_.str(), said) << disk.failed_call();
                }
            } catch (const base::Error&) {
                ++told;
            }
        }
        EXPECT_GT(told, 5);
    }
}

TEST_F(SalvageCommand, SaysThatAJournalIsNotReplayed) {
    os::unpack_fixture("mmapv1-2.6-powercut.tar.xz", home_.path());
    const auto before = tree();
    run();
    EXPECT_NE(report_.str().find("not replayed"), std::string::npos) << report_.str();
    EXPECT_EQ(tree(), before);
}

TEST_F(SalvageCommand, Refuses) {
    std::filesystem::create_directories(out_path() + "/x");
    EXPECT_NE(refusal().find("is not empty"), std::string::npos) << refusal();
    std::filesystem::remove_all(out_path());
    std::ofstream(out_path()) << "a file";
    EXPECT_NE(refusal().find("no directory"), std::string::npos) << refusal();
    std::filesystem::remove_all(out_path());
    {
        const auto lock =
            os::real_file_system().open(home_ / "mongod.lock", {.access = os::Access::read_write});
        ASSERT_TRUE(lock->try_lock());
        EXPECT_NE(refusal().find("a server runs on"), std::string::npos) << refusal();
    }
    EXPECT_FALSE(std::filesystem::exists(out_path()));
    std::filesystem::remove_all(home_.path());
    EXPECT_NE(refusal().find("does not exist"), std::string::npos) << refusal();
    std::filesystem::create_directory(home_.path());
    EXPECT_NE(refusal().find("no data file"), std::string::npos) << refusal();
    EXPECT_FALSE(std::filesystem::exists(out_path()));
}

TEST_F(SalvageCommand, AnEmptyDirectoryWillDo) {
    std::filesystem::create_directory(out_path());
    EXPECT_EQ(run().damage, 0);
}

TEST(DumpDirectoryNames, AreNamesOfFiles) {
    EXPECT_EQ(DumpDirectory::file_name("a.b-c_d"), "a.b-c_d");
    EXPECT_EQ(DumpDirectory::file_name("a/b%c\n"), "a%2Fb%25c%0A");
    EXPECT_EQ(DumpDirectory::file_name("caf\xc3\xa9"), "caf\xc3\xa9");
    EXPECT_LE(DumpDirectory::file_name(std::string(120, '/')).size(), 240u);
}

}  // namespace
}  // namespace mmapv1
