// Reads a directory of 2.6 that is damaged in this way and that: expects everything that no damaged
// byte belongs to, nothing that was removed before, and a word about the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/testing/damage.h"
#include "base/testing/effort.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "os/testing/failing_file_system.h"
#include "storage/mmapv1/salvage/extent_map.h"
#include "storage/mmapv1/salvage/testing/salvage_test.h"

namespace mmapv1 {
namespace {

using Salvage = SalvageTest;

constexpr size_t kSlotBytes = sizeof(NamespaceSlot);

TEST_F(Salvage, AValidDirectoryIsReadWhole) {
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

// Each of them is a document as long as all that is behind it.
TEST_F(Salvage, RecordsThatLieInEachOther) {
    constexpr int32_t kStep = 64;
    constexpr int kRecords = 64;
    constexpr size_t kHead = 24;  // of a document {_id: <int>, p: <string>}, up to the text
    int64_t bytes = 0;
    for (const int32_t each : extents("shop.orders"))
        bytes += load<ExtentHeader>("shop.0", each).length;
    const int32_t extent = extents("shop.orders").front();
    ExtentHeader header = load<ExtentHeader>("shop.0", extent);
    const int32_t first = extent + kExtentHeaderBytes;
    const int32_t end = extent + header.length;
    write("shop.0", first, std::string(static_cast<size_t>(end - first), '\0'));
    for (int i = 0; i < kRecords; ++i) {
        const int32_t at = first + i * kStep;
        const int32_t next = i == kRecords - 1 ? -1 : at + kStep;
        store("shop.0", at, RecordHeader{end - at, extent, next, i == 0 ? -1 : at - kStep});
        const bson::Object nested =
            bson::make("_id", i, "p", std::string(static_cast<size_t>(end - at - 64), '\0'));
        write("shop.0", at + kRecordHeaderBytes, bytes_of(nested.doc()).substr(0, kHead));
        header.last_record = {0, at};
    }
    header.first_record = {0, first};
    store("shop.0", extent, header);
    const Collected got = salvaged();
    int64_t written = 0;
    for (const Bytes& each : got.found.at("shop.orders").documents)
        written += static_cast<int64_t>(each.size());
    EXPECT_LE(written, bytes);
    EXPECT_GT(written, 0);
    EXPECT_FALSE(got.told.at("shop.orders").whole());
    expect_whole(got, "shop.orders");
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

TEST_F(Salvage, AnEntryThatLeadsIntoAnotherCollection) {
    std::vector<std::string> names;
    for (const auto& [ns, contents] : expected())
        if (ns.starts_with("shop.") && details(ns).first_extent.is_valid()) names.push_back(ns);
    ASSERT_GT(names.size(), 2u);
    for (const size_t step : {size_t{1}, names.size() - 1})
        for (size_t n = 0; n < names.size(); ++n) {
            const std::string& from = names[n];
            const std::string& to = names[(n + step) % names.size()];
            const NamespaceDetails before = details(from), other = details(to);
            NamespaceDetails damaged = before;
            damaged.first_extent = other.first_extent;
            damaged.last_extent = other.last_extent;
            const int64_t at = entry(from) + int64_t{offsetof(NamespaceSlot, details)};
            store("shop.ns", at, damaged);
            const Collected got = salvaged();
            ASSERT_TRUE(got.found.at(to).documents == expected().at(to).documents)
                << from << " into " << to;
            expect_same_documents(got, from);
            store("shop.ns", at, before);
        }
}

// A crafted file may have such entries: each of them would cause a search through all others.
TEST_F(Salvage, ThousandsOfEntriesThatLeadIntoOneCollection) {
    std::string file = read("shop.ns", 0, 16 << 20);
    const std::string one = file.substr(static_cast<size_t>(entry("shop.orders")), kSlotBytes);
    int added = 0;
    for (size_t at = 0; at + kSlotBytes <= file.size(); at += kSlotBytes) {
        if (!std::ranges::all_of(file.substr(at, kSlotBytes), [](char c) { return c == 0; }))
            continue;
        file.replace(at, kSlotBytes, one);
        const int32_t hash = 0x1000000 + ++added;
        file.replace(at, sizeof hash, reinterpret_cast<const char*>(&hash), sizeof hash);
    }
    write("shop.ns", 0, file);
    EXPECT_GT(added, 10000);
    const Collected got = salvaged();
    expect_whole(got);
    EXPECT_GT(got.found.size(), static_cast<size_t>(added));
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
        // A missing document lies, at least in part, in the page; or changed there.
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

}  // namespace
}  // namespace mmapv1
