// storage/mmapv1/salvage/testing/salvage_test.h - a directory of 2.6 to damage, and what is
// salvaged of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "os/testing/directory.h"
#include "os/testing/fixture.h"
#include "storage/mmapv1/salvage/salvage_database.h"
#include "storage/mmapv1/space/namespace_index.h"

namespace mmapv1 {

using Bytes = std::string;  // of a document

struct Contents {
    std::vector<Bytes> documents;
    std::vector<std::string> indexes;  // names, sorted
};

inline std::string bytes_of(bson::Doc doc) {
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

class SalvageTest : public testing::Test {
  protected:
    SalvageTest() { os::unpack_fixture("mmapv1-2.6-clean.tar.xz", home_.path()); }

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
    // Expects the collection's documents in any order, and no other.
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
        return home_.read(file, offset, bytes);
    }
    void write(const std::string& file, int64_t offset, const std::string& bytes) {
        home_.write(file, offset, bytes);
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
    // Returns where the entry of a namespace lies.
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

}  // namespace mmapv1
