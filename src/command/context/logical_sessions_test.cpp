#include "command/context/logical_sessions.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/error.h"
#include "bson/testing/json.h"

namespace command {
namespace {

using Clock = LogicalSessions::Clock;
using std::chrono::milliseconds;
using std::chrono::minutes;

const Clock::time_point kStart = Clock::time_point{} + std::chrono::hours(100);

SessionId numbered(uint32_t number) {
    SessionId id;
    // The first byte has it too, so that the sessions lie in many shards.
    for (size_t at = 0; at < 4; ++at)
        id.uuid[at] = id.uuid[15 - at] = static_cast<uint8_t>(number >> (8 * at));
    return id;
}

SessionId numbered(uint32_t number, uint8_t owner) {
    SessionId id = numbered(number);
    id.owner.fill(owner);
    return id;
}

// Sessions with something open: none.
std::set<SessionId> none_open() {
    return {};
}

template <typename Work>
int code_of(Work&& work) {
    try {
        work();
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

int code_of_parse(const bson::Object& value) {
    return code_of([&] { SessionId::parse(value["lsid"], "lsid"); });
}

bson::Object with_id(uint8_t subtype, size_t bytes) {
    bson::Builder out;
    const std::vector<uint8_t> data(bytes, 7);
    out.sub_object("lsid").append_binary("id", subtype, data);
    return out.object();
}

TEST(SessionId, IsAUuidInADocument) {
    const SessionId id = SessionId::random();
    bson::Builder out;
    id.append_to(out, "lsid");
    EXPECT_EQ(SessionId::parse(out.doc()["lsid"], "lsid"), id);
    bson::Builder with_owner;
    {
        bson::Builder inner = with_owner.sub_object("lsid");
        id.append_fields(inner);
    }
    EXPECT_EQ(SessionId::parse(with_owner.doc()["lsid"], "lsid"), id);
    EXPECT_EQ(id.text().size(), 36u);
    EXPECT_EQ(id.text()[14], '4');  // the version
}

TEST(SessionId, IsNothingElse) {
    EXPECT_EQ(code_of_parse(with_id(4, 16)), 0);
    EXPECT_EQ(code_of_parse(with_id(3, 16)), base::kInvalidUUID);
    EXPECT_EQ(code_of_parse(with_id(0, 16)), base::kInvalidUUID);
    for (const size_t bytes : {0, 15, 17})
        EXPECT_EQ(code_of_parse(with_id(4, bytes)), base::kInvalidUUID) << bytes;
    EXPECT_EQ(code_of_parse(bson::from_json(R"({"lsid": 1})")), base::kTypeMismatch);
    EXPECT_EQ(code_of_parse(bson::from_json(R"({"lsid": null})")), base::kTypeMismatch);
    EXPECT_EQ(code_of_parse(bson::from_json(R"({"lsid": []})")), base::kTypeMismatch);
    EXPECT_EQ(code_of_parse(bson::from_json(R"({"lsid": {}})")), 40414);
    EXPECT_EQ(code_of_parse(bson::from_json(R"({"lsid": {"id": "x"}})")), base::kTypeMismatch);
    EXPECT_EQ(code_of_parse(bson::from_json(R"({"lsid": {"uid": "x"}})")), base::kTypeMismatch);
    EXPECT_EQ(code_of_parse(bson::from_json(R"({"lsid": {"other": 1}})")), 40415);
}

TEST(LogicalSessions, BeginWithTheirFirstUse) {
    LogicalSessions sessions(10, none_open);
    EXPECT_FALSE(sessions.contains(numbered(1)));
    sessions.use(numbered(1), kStart);
    sessions.use(numbered(1), kStart);
    sessions.use(numbered(2), kStart);
    EXPECT_TRUE(sessions.contains(numbered(1)));
    EXPECT_EQ(sessions.count(), 2u);
    sessions.keep(numbered(3), kStart);
    EXPECT_FALSE(sessions.contains(numbered(3)));
}

TEST(LogicalSessions, ExpireHalfAnHourAfterTheirLastUse) {
    LogicalSessions sessions(10, none_open);
    sessions.use(numbered(1), kStart);
    sessions.use(numbered(2), kStart);
    sessions.use(numbered(3), kStart);
    sessions.use(numbered(2), kStart + minutes(1));
    sessions.keep(numbered(3), kStart + minutes(2));
    sessions.use(numbered(3), kStart);  // what comes late does not turn the clock back
    EXPECT_EQ(sessions.expire(kStart + minutes(30) - milliseconds(1)), 0u);
    EXPECT_EQ(sessions.expire(kStart + minutes(30)), 1u);
    EXPECT_FALSE(sessions.contains(numbered(1)));
    EXPECT_EQ(sessions.expire(kStart + minutes(31)), 1u);
    EXPECT_FALSE(sessions.contains(numbered(2)));
    EXPECT_EQ(sessions.expire(kStart + minutes(32)), 1u);
    EXPECT_EQ(sessions.count(), 0u);
}

TEST(LogicalSessions, AreOnlySoMany) {
    std::set<SessionId> busy = {numbered(0), numbered(1), numbered(2)};
    LogicalSessions sessions(3, [&] { return busy; });
    for (uint32_t number = 0; number < 3; ++number)
        sessions.use(numbered(number), kStart);
    EXPECT_EQ(code_of([&] { sessions.use(numbered(9), kStart); }), base::kTooManyLogicalSessions);
    EXPECT_EQ(code_of([&] { sessions.use(numbered(1), kStart); }), 0);
    EXPECT_EQ(sessions.count(), 3u);
    sessions.end({.ids = {numbered(1), numbered(7)}});
    EXPECT_EQ(sessions.count(), 2u);
    EXPECT_EQ(code_of([&] { sessions.use(numbered(9), kStart); }), 0);
    EXPECT_EQ(sessions.expire(kStart + minutes(30)), 3u);
    EXPECT_EQ(code_of([&] { sessions.use(numbered(1), kStart); }), 0);
    sessions.end({.all = true});
    EXPECT_EQ(sessions.count(), 0u);
}

TEST(LogicalSessions, WhoHasMostMakesRoom) {
    const std::set<SessionId> busy = {numbered(0, 1)};
    LogicalSessions sessions(100, [&] { return busy; });
    // The few that another one has are older.
    for (uint32_t number = 0; number < 10; ++number)
        sessions.use(numbered(number, 2), kStart);
    for (uint32_t number = 0; number < 1000; ++number) {
        sessions.use(numbered(number, 1), kStart + milliseconds(number));
        ASSERT_LE(sessions.count(), 100u);
    }
    for (uint32_t number = 10; number < 20; ++number)
        sessions.use(numbered(number, 2), kStart);
    for (uint32_t number = 0; number < 20; ++number)
        EXPECT_TRUE(sessions.contains(numbered(number, 2))) << number;
    EXPECT_TRUE(sessions.contains(numbered(0, 1)));
    EXPECT_FALSE(sessions.contains(numbered(1, 1)));
    for (uint32_t number = 950; number < 1000; ++number)
        EXPECT_TRUE(sessions.contains(numbered(number, 1))) << number;
}

TEST(LogicalSessions, NoMoreMakeRoomThanAreNeeded) {
    LogicalSessions sessions(80, none_open);
    for (uint32_t number = 0; number < 81; ++number)
        sessions.use(numbered(number), kStart);  // no use is older than another
    EXPECT_EQ(sessions.count(), 70u);
}

TEST(LogicalSessions, AConnectionTellsOnceASecond) {
    LogicalSessions sessions(10, none_open);
    LogicalSessions::Recent recent;
    sessions.use(numbered(0), kStart, recent);  // an id of zeros is none that it remembers
    EXPECT_EQ(sessions.count(), 1u);
    sessions.use(numbered(0), kStart + milliseconds(999), recent);
    EXPECT_EQ(recent.told, kStart);
    sessions.use(numbered(0), kStart + milliseconds(1000), recent);
    EXPECT_EQ(recent.told, kStart + milliseconds(1000));
    sessions.use(numbered(1), kStart + milliseconds(1000), recent);
    EXPECT_EQ(sessions.count(), 2u);
}

TEST(LogicalSessions, AConnectionDoesNotKeepWhatHasEnded) {
    LogicalSessions sessions(10, none_open);
    LogicalSessions::Recent recent;
    sessions.use(numbered(1), kStart, recent);
    sessions.end({.ids = {numbered(1)}});
    EXPECT_EQ(sessions.count(), 0u);
    sessions.use(numbered(1), kStart, recent);
    EXPECT_EQ(sessions.count(), 1u);
    sessions.end({.all = true});
    sessions.use(numbered(1), kStart, recent);
    EXPECT_EQ(sessions.count(), 1u);
    sessions.expire(kStart + minutes(30));
    sessions.use(numbered(1), kStart, recent);
    EXPECT_EQ(sessions.count(), 1u);
}

TEST(LogicalSessions, VisitsEachWithItsLastUse) {
    LogicalSessions sessions(1000, none_open);
    for (uint32_t number = 0; number < 500; ++number)
        sessions.use(numbered(number), kStart + milliseconds(number));
    std::set<SessionId> seen;
    sessions.each([&](const SessionId& id, Clock::time_point used) {
        seen.insert(id);
        EXPECT_EQ(id, numbered(static_cast<uint32_t>((used - kStart) / milliseconds(1))));
    });
    EXPECT_EQ(seen.size(), 500u);
}

// Uses and endings from many threads: what is counted is what there is.
TEST(LogicalSessions, CountWhatThereIsAmongThreads) {
    constexpr uint32_t kThreads = 4;
    constexpr uint32_t kEach = 2000;
    LogicalSessions sessions(kThreads * kEach, none_open);
    std::vector<std::thread> threads;
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&sessions, thread] {
            LogicalSessions::Recent recent;
            for (uint32_t i = 0; i < kEach; ++i) {
                sessions.use(numbered(thread * kEach + i), kStart, recent);
                if (i % 2 == 1) sessions.end({.ids = {numbered(thread * kEach + i - 1)}});
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    size_t there = 0;
    sessions.each([&](const SessionId&, Clock::time_point) { ++there; });
    EXPECT_EQ(there, kThreads * kEach / 2);
    EXPECT_EQ(sessions.count(), there);
}

}  // namespace
}  // namespace command
