// Tests what the simulated disk shows after power cuts, kills and failed syncs: no less than a real
// one.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "os/mapping.h"
#include "os/testing/sim_file_system.h"

namespace os {
namespace {

using Call = SimFileSystem::Call;
using States = std::set<std::string>;
constexpr size_t kBlock = 512;
constexpr size_t kPage = 4096;

std::span<const uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class SimCut : public testing::Test {
  protected:
    SimCut() { files.create_directory("/db"); }

    std::unique_ptr<File> open(const std::string& path) {
        return files.open(path, {.access = Access::read_write, .create = true});
    }
    // A durable file of blocks of one letter each.
    std::unique_ptr<File> make(const std::string& path, const std::string& letters) {
        auto file = open(path);
        for (size_t i = 0; i < letters.size(); ++i)
            file->write_at(i * kBlock, bytes_of(std::string(kBlock, letters[i])));
        file->sync();
        files.sync_directory(parent(path));
        return file;
    }
    static void store(Mapping& mapping, size_t block, char letter) {
        mapping.store(block * kBlock, bytes_of(std::string(kBlock, letter)));
    }
    // One letter for each block; '0' for zeros.
    static std::string letters(SimFileSystem& disk, const std::string& path) {
        std::vector<uint8_t> bytes(disk.file_length(path));
        disk.open(path, {})->read_at(0, bytes);
        std::string result;
        for (size_t at = 0; at < bytes.size(); at += kBlock)
            result += bytes[at] == 0 ? '0' : static_cast<char>(bytes[at]);
        return result;
    }
    States after_cut(const std::string& path, size_t sector = kBlock) const {
        States states;
        EveryChoice choices;
        do {
            const auto after = files.power_cut(choices, sector);
            states.insert(after->exists(path) ? letters(*after, path) : "none");
        } while (choices.next());
        return states;
    }
    States names_after_cut(const std::string& directory) const {
        States states;
        EveryChoice choices;
        do {
            const auto after = files.power_cut(choices, kBlock);
            std::string state;
            if (after->exists(directory))
                for (const std::string& name : after->list(directory))
                    state += name + " ";
            states.insert(after->exists(directory) ? state : "none");
        } while (choices.next());
        return states;
    }

    SimFileSystem files;
};

TEST_F(SimCut, AMappedPageMayBeThereAsItOnceWas) {
    const auto file = make("/db/a", "aa");
    const auto view = files.map(*file, MapKind::shared, 2 * kBlock);
    store(*view, 0, 'b');
    store(*view, 0, 'c');
    store(*view, 1, 'd');
    EXPECT_EQ(after_cut("/db/a"), (States{"aa", "ba", "ca", "ad", "bd", "cd"}));
    // A sector of 4 KB is as it was at one moment.
    EXPECT_EQ(after_cut("/db/a", kPage), (States{"aa", "ba", "ca", "cd"}));
    view->sync(true);
    EXPECT_EQ(after_cut("/db/a"), States{"cd"});
}

TEST_F(SimCut, AStoreIsAnEvent) {
    const auto file = make("/db/a", "aa");
    const auto view = files.map(*file, MapKind::shared, 2 * kBlock);
    files.clear_events();
    store(*view, 1, 'b');
    ASSERT_EQ(files.events().size(), 1u);
    EXPECT_EQ(files.events()[0].call, Call::store);
    EXPECT_EQ(files.events()[0].offset, kBlock);
    EXPECT_EQ(letters(files, "/db/a"), "ab");
}

TEST_F(SimCut, AStoreIntoAPageThatIsNotThereEndsTheProcess) {
    const auto file = make("/db/a", std::string(2 * kPage / kBlock, 'a'));
    const auto other = make("/db/b", "b");
    const auto view = files.map(*file, MapKind::shared, 2 * kPage);
    const auto other_view = files.map(*other, MapKind::shared, kBlock);
    struct Ended {};
    const auto letters_ending_at = [&](int skip, const std::function<void()>& work) {
        files.end_at_store("/a", skip, [] { throw Ended{}; });
        EXPECT_THROW(work(), Ended);
        return letters(*files.process_kill(), "/db/a");
    };
    EXPECT_EQ(letters_ending_at(1,
                                [&] {
                                    store(*other_view, 0, 'x');
                                    store(*view, 0, 'c');
                                    store(*view, 1, 'd');
                                }),
              "caaaaaaaaaaaaaaa");
    // The bytes before the page are there.
    const std::string across(2 * kBlock, 'e');
    EXPECT_EQ(letters_ending_at(0, [&] { view->store(kPage - kBlock, bytes_of(across)); }),
              "caaaaaaeaaaaaaaa");
    // Once, and not in the next process.
    store(*view, 2, 'f');
    EXPECT_EQ(letters(files, "/db/a"), "cafaaaaeaaaaaaaa");
}

TEST_F(SimCut, AnUndeclaredStoreIsSeen) {
    const auto file = make("/db/a", "aa");
    const auto view = files.map(*file, MapKind::shared, 2 * kBlock);
    view->data()[kBlock] = 'x';
    EXPECT_EQ(after_cut("/db/a"), (States{"aa", "ax"}));
}

TEST_F(SimCut, DirectoriesLoseTheirNamesEachByItself) {
    files.create_directory("/db/one");
    files.create_directory("/db/two");
    files.sync_directory("/db");
    make("/db/x", "x");
    open("/db/one/a")->sync();
    open("/db/two/b")->sync();
    files.sync_directory("/db/two");
    EXPECT_EQ(names_after_cut("/db/one"), (States{"", "a "}));
    EXPECT_EQ(names_after_cut("/db/two"), States{"b "});
    // From one directory into another: both names, either or neither.
    files.sync_directory("/db/one");
    files.rename("/db/one/a", "/db/two/a");
    EXPECT_EQ(names_after_cut("/db/one"), (States{"", "a "}));
    EXPECT_EQ(names_after_cut("/db/two"), (States{"b ", "a b "}));
    // Inside of one: the old name or the new.
    files.sync_directory("/db/two");
    files.rename("/db/two/a", "/db/two/c");
    EXPECT_EQ(names_after_cut("/db/two"), (States{"a b ", "b c "}));
}

TEST_F(SimCut, WhatLiesInADirectoryIsLostWithItsName) {
    files.create_directory("/db/new");
    make("/db/new/a", "a");
    EXPECT_EQ(names_after_cut("/db/new"), (States{"none", "a "}));
    files.sync_directory("/db");
    EXPECT_EQ(names_after_cut("/db/new"), States{"a "});
}

TEST_F(SimCut, AFileThatGrowsMayShowOldBlocks) {
    make("/db/old", "oo");
    files.show_old_blocks();
    files.remove("/db/old");
    files.sync_directory("/db");
    const auto grown = open("/db/grown");
    files.sync_directory("/db");
    grown->write_at(0, bytes_of(std::string(kBlock, 'n')));
    EXPECT_EQ(after_cut("/db/grown"), (States{"", "0", "n", "o"}));
    // Not where the system has made sure that there are zeros.
    const auto allocated = open("/db/allocated");
    files.sync_directory("/db");
    grown->sync();
    allocated->allocate(kBlock);
    allocated->write_at(0, bytes_of(std::string(kBlock, 'n')));
    EXPECT_EQ(after_cut("/db/allocated"), (States{"", "0", "n"}));
}

TEST_F(SimCut, AFailedSyncMayLeavePagesThatCountAsClean) {
    files.after_failed_sync(SimFileSystem::FailedPages::count_as_clean);
    const auto file = make("/db/a", "aaaa");
    for (size_t i = 0; i < 4; ++i)
        file->write_at(i * kBlock, bytes_of(std::string(kBlock, 'b')));
    files.fail(Call::sync, "/a", std::errc::io_error);
    EXPECT_THROW(file->sync(), IoError);
    file->sync();  // says that all is well, and does nothing
    EXPECT_EQ(after_cut("/db/a"), States{"baba"});
    EXPECT_EQ(letters(files, "/db/a"), "bbbb");
    EXPECT_EQ(letters(*files.process_kill(), "/db/a"), "bbbb");
    EXPECT_EQ(letters(*files.process_kill(true), "/db/a"), "baba");
    // Another write makes the page dirty again.
    file->write_at(0, bytes_of("c"));
    file->sync();
    EXPECT_EQ(after_cut("/db/a"), States{"cbbb"});
}

TEST_F(SimCut, AFailedSyncMayLeaveThemDirty) {
    const auto file = make("/db/a", "a");
    file->write_at(0, bytes_of(std::string(kBlock, 'b')));
    files.fail(Call::sync, "/a", std::errc::io_error);
    EXPECT_THROW(file->sync(), IoError);
    file->sync();
    EXPECT_EQ(after_cut("/db/a"), States{"b"});
}

TEST_F(SimCut, AFullDiskMayShowWhenItIsWrittenBack) {
    const auto file = make("/db/a", "a");
    const auto direct =
        files.open("/db/d", {.access = Access::write, .create = true, .direct = true});
    files.set_full_at_write_back(true);
    file->write_at(0, bytes_of("b"));
    file->sync();  // has its place
    file->write_at(kBlock, bytes_of("c"));
    try {
        file->sync();
        FAIL();
    } catch (const IoError& e) {
        EXPECT_EQ(e.reason(), std::errc::no_space_on_device);
    }
    alignas(kBlock) static uint8_t block[kBlock] = {'d'};
    EXPECT_THROW(direct->write({block, kBlock}), IoError);
    files.set_full_at_write_back(false);
    file->sync();
    direct->write({block, kBlock});
}

TEST_F(SimCut, DevicesFailEachByItself) {
    files.create_directory("/db/journal");
    files.set_device("/db/journal", 2);
    const auto data = make("/db/a", "a");
    const auto journal = make("/db/journal/j", "j");
    files.fail_device(2, std::errc::io_error);
    data->write_at(0, bytes_of("b"));
    data->sync();
    EXPECT_THROW(journal->write_at(0, bytes_of("b")), IoError);
    EXPECT_THROW(journal->sync(), IoError);
    EXPECT_THROW(files.rename("/db/journal/j", "/db/journal/k"), IoError);
    EXPECT_EQ(letters(files, "/db/journal/j"), "j");
}

TEST_F(SimCut, AKillKeepsWhatTheSystemHasAndACutMayTakeItLater) {
    const auto file = make("/db/a", "a");
    const auto view = files.map(*file, MapKind::shared, kBlock);
    store(*view, 0, 'b');
    open("/db/new");
    const auto killed = files.process_kill();
    EXPECT_EQ(letters(*killed, "/db/a"), "b");
    EXPECT_TRUE(killed->exists("/db/new"));
    EveryChoice nothing_survives;
    const auto cut = killed->power_cut(nothing_survives, kBlock);
    EXPECT_EQ(letters(*cut, "/db/a"), "a");
    EXPECT_FALSE(cut->exists("/db/new"));
}

TEST_F(SimCut, ALyingDiskDoesNothing) {
    const auto file = make("/db/a", "a");
    files.ignore(Call::sync, "/a");
    files.ignore(Call::sync_directory, "/db");
    file->write_at(0, bytes_of(std::string(kBlock, 'b')));
    file->sync();
    EXPECT_EQ(after_cut("/db/a"), (States{"a", "b"}));
    open("/db/c");
    files.sync_directory("/db");
    EXPECT_EQ(names_after_cut("/db"), (States{"a ", "a c "}));
    file->sync_data();
    EXPECT_EQ(after_cut("/db/a"), States{"b"});
}

TEST_F(SimCut, PrintsTellWhatAProgramSees) {
    const auto file = make("/db/a", "ab");
    const auto same = make("/db/b", "ab");
    EXPECT_EQ(files.print_of("/db/a"), files.print_of("/db/b"));
    make("/db/c", "ba");
    EXPECT_NE(files.print_of("/db/a"), files.print_of("/db/c"));
    const auto view = files.map(*file, MapKind::private_copy, 2 * kBlock);
    EXPECT_EQ(files.print_of("/db/a"), files.print_of("/db/b"));
    view->data()[5] = 'x';
    EXPECT_NE(files.print_of("/db/a"), files.print_of("/db/b"));
    same->write_at(5, bytes_of("x"));
    EXPECT_EQ(files.print_of("/db/a"), files.print_of("/db/b"));
    open("/db/zeros")->allocate(1 << 20);
    EXPECT_EQ(files.print_of("/db/zeros"), 0u);
}

TEST_F(SimCut, WhatWasCutOffIsNotThereAfterGrowing) {
    const auto file = make("/db/a", "ab");
    file->truncate(kBlock / 2);
    file->sync();
    file->write_at(kBlock, bytes_of("c"));
    file->sync();
    std::vector<uint8_t> bytes(kBlock);
    file->read_at(0, bytes);
    EXPECT_EQ(bytes[kBlock / 2], 0);
    EXPECT_EQ(after_cut("/db/a"), States{"ac"});
}

}  // namespace
}  // namespace os
