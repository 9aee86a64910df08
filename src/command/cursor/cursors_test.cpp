#include "command/cursor/cursors.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/spare_descriptors.h"
#include "command/context/waits.h"
#include "command/cursor/batch.h"
#include "sched/memory_metrics.h"
#include "spill/run.h"

namespace command {
namespace {

std::unique_ptr<Cursor> list_cursor(int documents, int padding = 0) {
    auto source = std::make_unique<ListSource>();
    for (int i = 0; i < documents; ++i)
        source->add(bson::make("_id", i, "p", std::string(static_cast<size_t>(padding), 'x')));
    auto cursor = std::make_unique<Cursor>();
    cursor->ns = "db.c";
    cursor->source = std::move(source);
    return cursor;
}

int64_t fill(Cursor& cursor, const BatchLimits& limits, bool* exhausted) {
    bson::Builder array;
    const int64_t count = fill_array(cursor, limits, array, exhausted);
    EXPECT_EQ(array.doc().field_count(), count);
    return count;
}

TEST(CursorManager, PinnedCursorsAreBusyAndAreReturned) {
    CursorManager manager;
    const int64_t id = manager.add(list_cursor(1));
    EXPECT_GT(id, 0);
    auto cursor = manager.pin(id);
    ASSERT_NE(cursor, nullptr);
    EXPECT_THROW(manager.pin(id), base::Error);
    EXPECT_EQ(manager.counts().pinned, 1);
    manager.unpin(std::move(cursor));
    EXPECT_NE(manager.pin(id), nullptr);
    EXPECT_EQ(manager.pin(id + 1), nullptr);
}

TEST(CursorManager, AllThereEverWereAreCounted) {
    CursorManager manager;
    const int64_t used = manager.add(list_cursor(1));
    manager.add(list_cursor(1));
    for (int i = 0; i < 2; ++i)
        manager.unpin(manager.pin(used));
    EXPECT_EQ(manager.counts().opened, 2);
    EXPECT_EQ(manager.counts().asked_on, 1);
    EXPECT_EQ(manager.counts().ended[0], 0);
    EXPECT_TRUE(manager.kill(used));
    EXPECT_EQ(manager.counts().opened, 2);
    EXPECT_EQ(manager.counts().ended[0], 1) << "in less than a second";
}

TEST(CursorManager, KilledWhilePinnedIsGoneAfterwards) {
    CursorManager manager;
    const int64_t id = manager.add(list_cursor(1));
    auto cursor = manager.pin(id);
    EXPECT_TRUE(manager.kill(id));
    EXPECT_FALSE(manager.kill(id));
    manager.unpin(std::move(cursor));
    EXPECT_EQ(manager.pin(id), nullptr);
    EXPECT_EQ(manager.counts().open, 0);
}

TEST(CursorManager, ThoseLeftBehindMakeRoomTheLongestIdleFirst) {
    CursorManager manager;
    manager.set_limits({.all = 4});
    const auto add = [&manager](int64_t opener) {
        auto cursor = list_cursor(2);
        cursor->opener = opener;
        cursor->no_timeout = true;
        return manager.add(std::move(cursor));
    };
    const int64_t used = add(1);
    const int64_t idle = add(1);
    const int64_t busy = add(1);
    add(2);
    EXPECT_THROW(add(2), base::Error);
    manager.opener_left(1);
    auto cursor = manager.pin(busy);
    manager.unpin(manager.pin(used));
    add(2);
    EXPECT_EQ(manager.pin(idle), nullptr);
    EXPECT_EQ(manager.counts().timed_out, 1);
    add(2);
    EXPECT_EQ(manager.pin(used), nullptr);
    // Cursors in use stay, and so do those that were not left idle.
    EXPECT_THROW(add(2), base::Error);
    manager.unpin(std::move(cursor));
    add(2);
    EXPECT_THROW(add(2), base::Error);
    EXPECT_EQ(manager.counts().open, 4);
}

TEST(CursorManager, OfIdleCursorsThatHoldTooMuchTheLargestEnd) {
    const int64_t half = sched::memory::all_limit() / 2;
    CursorManager manager;
    const int64_t small = manager.add(list_cursor(1));
    const int64_t large = manager.add(list_cursor(1));
    const int64_t busy = manager.add(list_cursor(1));
    manager.note_held(small, {.memory = 1000});
    manager.note_held(large, {.memory = half / 2});
    manager.note_held(busy, {.memory = half - half / 2 - 1000});
    EXPECT_EQ(manager.counts().open, 3);
    auto cursor = manager.pin(busy);
    // More by a byte: what is being worked with stays.
    manager.note_held(small, {.memory = 1});
    EXPECT_EQ(manager.counts().timed_out, 1);
    EXPECT_EQ(manager.pin(large), nullptr);
    manager.unpin(std::move(cursor));
    EXPECT_EQ(manager.counts().open, 2);
    // Memory that has been freed counts no more.
    manager.note_held(busy, {.memory = -half});
    const int64_t next = manager.add(list_cursor(1));
    manager.note_held(next, {.memory = half - 1001});
    EXPECT_EQ(manager.counts().open, 3);
    EXPECT_TRUE(manager.kill(next));
    const int64_t last = manager.add(list_cursor(1));
    manager.note_held(last, {.memory = half - 1001});
    EXPECT_EQ(manager.counts().open, 3);
    manager.note_held(last, {.memory = half});  // too much by itself
    EXPECT_EQ(manager.pin(last), nullptr);
    EXPECT_NE(manager.pin(small), nullptr);
    EXPECT_NE(manager.pin(busy), nullptr);
}

TEST(CursorManager, OfIdleCursorsThatHoldTooManyFilesTheLargestEnd) {
    const int64_t half = spill::limit() / 2;
    CursorManager manager;
    const int64_t small = manager.add(list_cursor(1));
    const int64_t large = manager.add(list_cursor(1));
    const int64_t none = manager.add(list_cursor(1));
    manager.note_held(none, {.memory = 1000});
    manager.note_held(small, {.disk = half / 3});
    manager.note_held(large, {.disk = half - half / 3});
    EXPECT_EQ(manager.counts().open, 3);
    manager.note_held(small, {.disk = 1});
    EXPECT_EQ(manager.pin(large), nullptr);
    EXPECT_EQ(manager.counts().timed_out, 1);
    // Files that have been removed, and cursors that have ended, count no more.
    manager.note_held(small, {.disk = -half / 3});
    const int64_t next = manager.add(list_cursor(1));
    manager.note_held(next, {.disk = half - 1});
    EXPECT_TRUE(manager.kill(next));
    manager.note_held(none, {.disk = half - 1});
    EXPECT_EQ(manager.counts().open, 2);
    EXPECT_EQ(manager.counts().timed_out, 1);
}

TEST(CursorManager, OfIdleCursorsThatHoldTooManyDescriptorsTheLargestEnd) {
    const int64_t quarter = base::descriptors_max() / 4;
    CursorManager manager;
    const int64_t small = manager.add(list_cursor(1));
    const int64_t large = manager.add(list_cursor(1));
    manager.note_held(small, {.descriptors = 1});
    manager.note_held(large, {.descriptors = quarter - 1});
    EXPECT_EQ(manager.counts().open, 2);
    manager.note_held(small, {.descriptors = 1});
    EXPECT_EQ(manager.pin(large), nullptr);
    EXPECT_NE(manager.pin(small), nullptr);
    EXPECT_EQ(manager.counts().timed_out, 1);
}

TEST(CursorManager, DropsByCollectionAndDatabase) {
    CursorManager manager;
    const int64_t first = manager.add(list_cursor(1));
    auto other = list_cursor(1);
    other->ns = "db.d";
    const int64_t second = manager.add(std::move(other));
    manager.kill_collection("db.c");
    EXPECT_EQ(manager.pin(first), nullptr);
    auto kept = manager.pin(second);
    EXPECT_NE(kept, nullptr);
    manager.unpin(std::move(kept));
    manager.kill_database("db");
    EXPECT_EQ(manager.counts().open, 0);
}

TEST(CursorManager, IdleCursorsExpireUnlessAskedNotTo) {
    CursorManager manager;
    manager.add(list_cursor(1));
    auto without_timeout = list_cursor(1);
    without_timeout->no_timeout = true;
    manager.add(std::move(without_timeout));
    EXPECT_EQ(manager.expire(std::chrono::hours(1)), 0u);
    EXPECT_EQ(manager.expire(std::chrono::milliseconds(-1)), 1u);
    EXPECT_EQ(manager.counts().open, 1);
    EXPECT_EQ(manager.counts().no_timeout, 1);
    EXPECT_EQ(manager.counts().timed_out, 1);
}

TEST(CursorManager, ACursorThatIsWaitedForDoesNotExpire) {
    CursorManager manager;
    struct : wire::Waker {
        void wake() override {}
    } waker;
    auto wait = std::make_shared<WakeOnce>(waker);
    auto cursor = list_cursor(1);
    cursor->awaited = wait;
    manager.add(std::move(cursor));
    EXPECT_EQ(manager.expire(std::chrono::milliseconds(-1)), 0u);
    wait = nullptr;
    EXPECT_EQ(manager.expire(std::chrono::milliseconds(-1)), 1u);
}

TEST(Batch, StopsAtTheNumberOfDocuments) {
    const auto cursor = list_cursor(5);
    BatchLimits limits;
    limits.documents = 3;
    bool exhausted = true;
    EXPECT_EQ(fill(*cursor, limits, &exhausted), 3);
    EXPECT_FALSE(exhausted);
    EXPECT_EQ(fill(*cursor, limits, &exhausted), 2);
    EXPECT_TRUE(exhausted);
    EXPECT_EQ(cursor->returned, 5);
}

TEST(Batch, KeepsWhatDoesNotFitForTheNext) {
    const auto cursor = list_cursor(3, 1000);
    BatchLimits limits;
    limits.max_bytes = 2500;
    bool exhausted = true;
    EXPECT_EQ(fill(*cursor, limits, &exhausted), 2);
    EXPECT_FALSE(exhausted);
    EXPECT_GT(cursor->pending.size(), 1000u);
    EXPECT_EQ(fill(*cursor, limits, &exhausted), 1);
    EXPECT_TRUE(exhausted);
}

TEST(Batch, OneDocumentAlwaysFits) {
    const auto cursor = list_cursor(2, 1000);
    BatchLimits limits;
    limits.max_bytes = 10;
    bool exhausted = true;
    EXPECT_EQ(fill(*cursor, limits, &exhausted), 1);
    EXPECT_EQ(fill(*cursor, limits, &exhausted), 1);
}

TEST(Batch, TheOldWayStopsOnceTheSizeIsExceeded) {
    const auto cursor = list_cursor(5, 1000);
    BatchLimits limits;
    limits.bytes = 1500;
    bool exhausted = true;
    EXPECT_EQ(fill(*cursor, limits, &exhausted), 2);
    EXPECT_FALSE(exhausted);
}

}  // namespace
}  // namespace command
