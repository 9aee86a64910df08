#include "storage/rocksdb/iterator_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "os/testing/directory.h"
#include "storage/kv/bytes.h"
#include "storage/kv/engine.h"
#include "storage/kv/overlay.h"
#include "storage/rocksdb/open.h"

namespace rocks {
namespace {

using kv::Table;

constexpr Table kTable{16};

class IteratorPoolTest : public testing::Test {
  protected:
    void open(const std::string& config) {
        kv::MapSettings settings;
        settings.directory = directory / "map";
        settings.cache_bytes = 8 << 20;
        settings.config = config;
        settings.host = &kv::base_host();
        map = open_map(settings, nullptr);
        session = std::make_unique<kv::Overlay>(map->session());
    }
    void put(int key, const std::string& value, Table table = kTable) {
        session->put(table, kv::big_endian(key), kv::as_bytes(value));
    }
    template <typename Session>
    static std::vector<int> keys(Session& seen, Table table) {
        std::vector<int> found;
        const auto cursor = seen.cursor(table);
        for (cursor->seek({}); !cursor->at_end(); cursor->next())
            found.push_back(kv::from_big_endian<int>(cursor->key()));
        return found;
    }

    os::TestDirectory directory;
    std::unique_ptr<kv::Map> map;
    std::unique_ptr<kv::Overlay> session;
};

// Iterators are used again, and memtables and files go while they are.
TEST_F(IteratorPoolTest, ASnapshotIsOfOneMomentWhileFilesComeAndGo) {
    constexpr Table kOther{17};
    constexpr int kCommits = 20'000, kLength = 8;
    open("write_buffer_size=65536");
    for (const Table table : {kTable, kOther})
        put(0, "0", table);
    session->commit();
    std::atomic<bool> is_done = false;
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 2; ++reader)
        readers.emplace_back([&] {
            const auto seen = map->session();
            while (!is_done) {
                seen->begin_snapshot();
                const std::vector<int> there = keys(*seen, kTable);
                EXPECT_EQ(keys(*seen, kOther), there);
                kv::Bytes value;
                for (const int key : there)
                    EXPECT_TRUE(seen->get(kOther, kv::big_endian(key), &value));
                seen->end_snapshot();
                // Now, and not a moment ago.
                const auto cursor = seen->cursor(kTable);
                cursor->seek_to_last();
                EXPECT_GE(kv::from_big_endian<int>(cursor->key()), there.back());
            }
        });
    for (int i = 1; i < kCommits; ++i) {
        for (const Table table : {kTable, kOther}) {
            put(i, "some value that fills memory", table);
            if (i >= kLength) session->erase(table, kv::big_endian(i - kLength));
        }
        session->commit();
    }
    is_done = true;
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_EQ(keys(*session, kTable).size(), size_t{kLength});
}

// An iterator at rest would keep the memtable that it was made over.
TEST_F(IteratorPoolTest, CursorsThatHaveGoneKeepNoMemory) {
    constexpr int kRows = 10'000;
    open("");
    const std::string value(1000, 'x');
    for (int i = 0; i < kRows; ++i)
        put(i, value);
    session->commit();
    const auto memtable_bytes = [this] {
        int64_t bytes = 0;
        map->report([&](std::string_view name, int64_t value) {
            if (name == "memtableBytes") bytes = value;
        });
        return bytes;
    };
    const int64_t before = memtable_bytes();
    EXPECT_GT(before, 10'000'000);
    EXPECT_EQ(keys(*session, kTable).size(), size_t{kRows});
    std::unique_ptr<kv::Cursor> open_one = session->cursor(kTable);
    open_one->seek({});
    map->checkpoint(true);
    EXPECT_GT(memtable_bytes(), before / 2) << "a cursor keeps it";
    open_one.reset();
    while (memtable_bytes() > before / 10)
        std::this_thread::yield();
}

}  // namespace
}  // namespace rocks
