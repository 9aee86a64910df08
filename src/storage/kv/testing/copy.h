// storage/kv/testing/copy.h - what Map::copy_to() promises, for the tests of maps with files.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "storage/kv/bytes.h"
#include "storage/kv/changes.h"
#include "storage/kv/map.h"

namespace kv {

using OpenMap = std::function<std::unique_ptr<Map>(const std::string& directory)>;

// Copies a map into `directory` while a thread commits, two rows each time and now and then to a
// table that is new; opens the copy and looks what it has.
inline void expect_a_copy_has_all_commits(Map& map, const std::string& directory,
                                          const OpenMap& open) {
    constexpr Table kFirst{16}, kSecond{17};
    constexpr int kMany = 500, kCommitsOfATable = 100;
    map.add_table(kFirst, Kind::documents);
    map.add_table(kSecond, Kind::documents);
    std::mutex commits;
    std::atomic<int> committed{0};
    std::atomic<bool> is_over{false};
    std::thread writer([&] {
        const auto session = map.session();
        Changes changes;
        for (int n = 0; !is_over; ++n) {
            const std::lock_guard lock(commits);
            if (n % kCommitsOfATable == 0)
                map.add_table(Table{static_cast<uint32_t>(20 + n / kCommitsOfATable)},
                              Kind::documents);
            for (const Table table : {kFirst, kSecond})
                changes.put(table, big_endian(n), as_bytes(std::string(1000, 'x')));
            session->apply(changes);
            changes.clear();
            committed = n + 1;
        }
    });
    while (committed < kMany)
        std::this_thread::yield();
    map.checkpoint(true);
    const int later = committed + kMany;
    while (committed < later)
        std::this_thread::yield();
    std::unique_lock lock(commits, std::defer_lock);
    const int before = committed;
    map.copy_to({.directory = directory,
                 .before_piece = [](uint64_t) {},
                 .hold_commits = [&] { lock.lock(); },
                 .may_commit = [&] { lock.unlock(); }});
    EXPECT_FALSE(lock.owns_lock());
    is_over = true;
    writer.join();

    const std::unique_ptr<Map> copy = open(directory);
    const auto session = copy->session();
    for (const Table table : {kFirst, kSecond}) {
        EXPECT_TRUE(copy->has_table(table));
        int rows = 0;
        const auto cursor = session->cursor(table);
        for (cursor->seek({}); !cursor->at_end(); cursor->next())
            EXPECT_EQ(from_big_endian<int>(cursor->key()), rows++);
        EXPECT_GE(rows, before);
        EXPECT_LE(rows, committed);
    }
}

}  // namespace kv
