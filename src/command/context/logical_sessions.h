// command/context/logical_sessions.h - logical sessions: the name that a client gives to requests
// that belong together, on whatever connections they come (`lsid`; wire spec 2.6).
//
// A session keeps only the time of its last use. It begins with its first use and ends when its
// client says so, or kTimeout after its last use; the cursors opened in it end with it (Service
// sees to that). Nothing of it is stored: a restart ends them all.
//
// A session that has nothing open may therefore also be ended earlier, and begins again with its
// next use, which its client does not notice. When there is no room for a new one, the least
// recently used sessions of the user who has most are ended: a user who begins very many displaces
// only their own.
//
// Drivers of today send an lsid with every command. A connection therefore remembers the session
// that it used last, and asks here, where locks are, once a second, or when the session may have
// ended.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "command/access/session_owner.h"
#include "sched/operation.h"

namespace command {

// A UUID, which the client makes up, and whose it is: what two users call alike are two sessions.
struct SessionId {
    std::array<uint8_t, 16> uuid{};
    SessionOwner owner = kNoOwner;

    // Reads { id: UUID }, which `lsid` and the lists of the session commands hold. The digest of
    // the owner (`uid`) may stand beside it; it must be that of `owner` if that is a user. Throws
    // base::Error 13 (it is not), 14 (wrong types), 207 (no UUID), 40414 (no id), 40415 (other
    // fields); `field` is the name in the text.
    static SessionId parse(const bson::Element& document, std::string_view field,
                           const SessionOwner& owner = kNoOwner);
    // An unused one.
    static SessionId random();
    // field: { id: UUID }, as clients get it.
    void append_to(bson::Builder& out, std::string_view field) const;
    // id: UUID, uid: the digest of its owner.
    void append_fields(bson::Builder& out) const;
    // Returns a text such as 01234567-89ab-cdef-0123-456789abcdef.
    std::string text() const;

    auto operator<=>(const SessionId&) const = default;
};

// Some sessions, those of some owners, or all.
struct SessionSet {
    bool all = false;
    std::set<SessionId> ids = {};
    std::set<SessionOwner> owners = {};

    bool contains(const SessionId& id) const {
        return all || ids.contains(id) || owners.contains(id.owner);
    }
};

// Any thread may call its methods.
class LogicalSessions {
  public:
    using Clock = sched::Operation::Clock;

    static constexpr std::chrono::minutes kTimeout{30};
    static constexpr size_t kOpenMax = 1'024'000;  // unless it is set

    // The session that a connection remembers; it belongs to the thread that serves the connection.
    struct Recent {
        SessionId id;
        Clock::time_point told{};  // when the registry last heard of it
        uint64_t endings = 0;      // how many sessions had ended then; 0: remembers none
    };

    // Returns the sessions that have something open or under way.
    using Busy = std::function<std::set<SessionId>()>;

    // `open_max`: sessions at a time. `busy` may ask this object.
    LogicalSessions(size_t open_max, Busy busy) : open_max_(open_max), busy_(std::move(busy)) {}

    // If there are more sessions than a new limit allows, they stay.
    size_t open_max() const { return open_max_.load(std::memory_order_relaxed); }
    void set_open_max(size_t open_max) { open_max_.store(open_max, std::memory_order_relaxed); }

    // The session is in use; it begins if there is none of that id. Throws base::Error 261 when
    // there are too many, which are all busy.
    void use(const SessionId& id, Clock::time_point now);
    void use(const SessionId& id, Clock::time_point now, Recent& recent) {
        if (recent.endings == endings_.load(std::memory_order_acquire) && recent.id == id &&
            now - recent.told < kTellAfter)
            return;
        use_and_remember(id, now, recent);
    }
    // It is in use, if there still is one of that id.
    void keep(const SessionId& id, Clock::time_point now);
    void end(const SessionSet& doomed);
    // Ends what has not been used for kTimeout; returns how many.
    size_t expire(Clock::time_point now);

    bool contains(const SessionId& id) const;
    size_t count() const { return count_.load(std::memory_order_relaxed); }
    // Each with the time of its last use. REQUIRES: the callback does not call this object.
    void each(const std::function<void(const SessionId&, Clock::time_point)>& visit) const;

  private:
    static constexpr std::chrono::seconds kTellAfter{1};
    static constexpr size_t kShards = 64;

    struct alignas(64) Shard {
        mutable std::mutex mutex;
        std::map<SessionId, Clock::time_point> used;  // guarded by mutex
    };

    bool try_use(const SessionId& id, Clock::time_point now);
    void end_idle();
    void use_and_remember(const SessionId& id, Clock::time_point now, Recent& recent);
    // Random UUIDs spread evenly by any byte of theirs without fixed bits.
    Shard& shard(const SessionId& id) { return shards_[id.uuid[0] % kShards]; }
    const Shard& shard(const SessionId& id) const { return shards_[id.uuid[0] % kShards]; }
    template <typename Doomed>
    size_t erase_if(Doomed&& doomed);
    void note_ended(size_t count);

    std::atomic<size_t> open_max_;
    const Busy busy_;
    std::mutex room_mutex_;  // held while room is made; taken before those of the shards
    std::array<Shard, kShards> shards_;
    std::atomic<size_t> count_{0};
    // Goes up when sessions have ended: what connections remember may be wrong then.
    std::atomic<uint64_t> endings_{1};
};

}  // namespace command
