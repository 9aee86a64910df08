// mongod --salvage: what it writes and tells.
#include "storage/mmapv1/salvage/salvage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "bson/testing/json.h"
#include "os/testing/failing_file_system.h"
#include "storage/mmapv1/salvage/dump_directory.h"
#include "storage/mmapv1/salvage/testing/salvage_test.h"

namespace mmapv1 {
namespace {

class SalvageCommand : public SalvageTest {
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
    std::map<std::string, std::string> tree() { return files_in(home_.path()); }
    std::map<std::string, std::string> dumped() { return files_in(out_path()); }
    static std::map<std::string, std::string> files_in(const std::string& folder) {
        std::map<std::string, std::string> files;
        for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
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

TEST_F(SalvageCommand, WhatMongorestoreCannotReadIsLeftOutAndReported) {
    const int32_t definition = records(extents("shop.system.indexes")[0])[1];
    const std::string bytes = read("shop.0", definition, 300);
    const size_t name = bytes.find("name");
    const size_t text = bytes.find('\0', name) + 1 + sizeof(int32_t);
    write("shop.0", definition + static_cast<int64_t>(text) + 2, "\xff");
    const SalvageResult result = run();
    EXPECT_EQ(result.damage, 1);
    EXPECT_EQ(result.databases, 3);
    size_t wanted = 0, found = 0;
    for (const auto& [ns, contents] : expected())
        for (const Bytes& each : contents.documents)
            wanted += each.size();
    for (const auto& [path, contents] : dumped())
        if (path.ends_with(".bson") && path.find("/local/") == std::string::npos)
            found += contents.size();
    EXPECT_EQ(found, wanted);
    EXPECT_NE(report_.str().find("xff"), std::string::npos) << report_.str();
    EXPECT_NE(report_.str().find(": left out, since mongorestore could not read it"),
              std::string::npos)
        << report_.str();
    for (const auto& [path, contents] : dumped())
        if (path.ends_with(".metadata.json")) bson::from_json(contents);
}

TEST_F(SalvageCommand, NamesStayInTheirLines) {
    for (const char* file : {"shop.ns", "shop.0"}) {
        std::string bytes = read(file, 0, 32 << 20);
        for (size_t at = 0; (at = bytes.find("shop.orders", at)) != std::string::npos;)
            bytes.replace(at, 11, "shop.or\n\x1bxx");
        write(file, 0, bytes);
    }
    run();
    EXPECT_EQ(report_.str().find('\x1b'), std::string::npos);
    EXPECT_NE(report_.str().find("or\\n\\x1bxx"), std::string::npos) << report_.str();
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
    // A folder that the file system keeps for itself is no database.
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
TEST_F(SalvageCommand, WhateverCallFailsOnceIsReportedOrDoesNoHarm) {
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

TEST(DumpDirectoryNames, AreNamesOfFilesEach) {
    const os::TestDirectory home;
    DumpDirectory dump(os::real_file_system(), home / "dump");
    SalvagedCollection collection;
    for (int n = 0; n < 120; ++n) {
        collection.name = std::string(117, '/') + std::to_string(n);
        dump.begin("d", collection.name);
        EXPECT_TRUE(dump.end(collection).empty());
    }
    EXPECT_EQ(os::real_file_system().list(home / "dump/d").size(), 240u);
}

TEST(DumpDirectoryNames, AreNamesOfFiles) {
    EXPECT_EQ(DumpDirectory::file_name("a.b-c_d"), "a.b-c_d");
    EXPECT_EQ(DumpDirectory::file_name("a/b%c\n"), "a%2Fb%25c%0A");
    EXPECT_EQ(DumpDirectory::file_name("caf\xc3\xa9"), "caf\xc3\xa9");
    EXPECT_LE(DumpDirectory::file_name(std::string(120, '/')).size(), 240u);
}

}  // namespace
}  // namespace mmapv1
