#include "command/context/logical_sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "catalog/uuid.h"

namespace command {

namespace {

constexpr uint8_t kUuid = 4;  // the subtype of a binary value

constexpr int kMissingField = 40414;
constexpr int kUnknownField = 40415;

void check_binary(const bson::Element& e, std::string_view field, std::string_view what) {
    if (e.type() != bson::Type::binary)
        base::fail(base::kTypeMismatch, "{}.{} must be {}", field, e.name(), what);
}

}  // namespace

SessionId SessionId::parse(const bson::Element& document, std::string_view field,
                           const SessionOwner& owner) {
    if (document.type() != bson::Type::object)
        base::fail(base::kTypeMismatch, "{} must be a document {{ id: UUID }}", field);
    SessionId out{.owner = owner};
    bool has_id = false;
    for (const bson::Element& e : document.as_doc()) {
        if (e.name() == "id") {
            check_binary(e, field, "a UUID");
            const std::span<const uint8_t> bytes = e.binary_data();
            if (e.binary_subtype() != kUuid || bytes.size() != out.uuid.size())
                base::fail(base::kInvalidUUID,
                           "{}.id must be a UUID: 16 bytes of binary subtype 4, not {} of subtype "
                           "{}",
                           field, bytes.size(), e.binary_subtype());
            std::ranges::copy(bytes, out.uuid.begin());
            has_id = true;
        } else if (e.name() == "uid") {
            check_binary(e, field, "a SHA-256 digest");
            if (e.binary_data().size() != owner.size())
                base::fail(base::kBadValue, "{}.uid must be a SHA-256 digest: 32 bytes, not {}",
                           field, e.binary_data().size());
            if (owner != kNoOwner && !std::ranges::equal(e.binary_data(), owner))
                base::fail(base::kUnauthorized, "{}.uid is not that of the user who has logged in",
                           field);
        } else {
            base::fail(kUnknownField, "{} has an unknown field '{}'", field, e.name());
        }
    }
    if (!has_id) base::fail(kMissingField, "{} has no field 'id'", field);
    return out;
}

SessionId SessionId::random() {
    SessionId out;
    out.uuid = catalog::random_uuid();
    return out;
}

void SessionId::append_to(bson::Builder& out, std::string_view field) const {
    out.sub_object(field).append_binary("id", kUuid, uuid);
}

void SessionId::append_fields(bson::Builder& out) const {
    constexpr uint8_t kGeneral = 0;
    out.append_binary("id", kUuid, uuid).append_binary("uid", kGeneral, owner);
}

std::string SessionId::text() const {
    std::string out;
    for (size_t at = 0; at < uuid.size(); ++at) {
        if (at == 4 || at == 6 || at == 8 || at == 10) out += '-';
        out += fmt::format("{:02x}", uuid[at]);
    }
    return out;
}

// False where there is no room for it.
bool LogicalSessions::try_use(const SessionId& id, Clock::time_point now) {
    Shard& home = shard(id);
    const std::lock_guard guard(home.mutex);
    if (const auto found = home.used.find(id); found != home.used.end()) {
        found->second = std::max(found->second, now);
        return true;
    }
    if (count_.fetch_add(1, std::memory_order_relaxed) >= open_max()) {
        count_.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    home.used.emplace(id, now);
    return true;
}

void LogicalSessions::use(const SessionId& id, Clock::time_point now) {
    if (try_use(id, now)) return;
    end_idle();
    if (try_use(id, now)) return;
    base::fail(base::kTooManyLogicalSessions,
               "cannot add session {}: there are {} sessions already, in which cursors are open or "
               "operations under way. They end by endSessions, or {} minutes after their last use; "
               "the server parameter memoryLimitMB sets how many there may be",
               id.text(), open_max(), kTimeout.count());
}

// Ends an eighth of the sessions of the owner with the most: searching for them takes long.
void LogicalSessions::end_idle() {
    constexpr size_t kPart = 8;
    const std::lock_guard one_at_a_time(room_mutex_);
    if (count() < open_max()) return;
    const std::set<SessionId> busy = busy_();
    std::map<SessionOwner, std::vector<Clock::time_point>> idle;
    each([&](const SessionId& id, Clock::time_point used) {
        if (!busy.contains(id)) idle[id.owner].push_back(used);
    });
    if (idle.empty()) return;
    auto& most =
        *std::ranges::max_element(idle, {}, [](const auto& each) { return each.second.size(); });
    const SessionOwner& owner = most.first;
    std::vector<Clock::time_point>& times = most.second;
    size_t surplus = times.size() / kPart + 1;
    DCHECK(surplus <= times.size());
    const auto last = times.begin() + static_cast<std::ptrdiff_t>(surplus - 1);
    std::ranges::nth_element(times, last);
    // More than these where several were used at the same time.
    erase_if([&, until = *last](const auto& session) {
        const auto& [id, used] = session;
        if (surplus == 0 || id.owner != owner || used > until || busy.contains(id)) return false;
        --surplus;
        return true;
    });
}

void LogicalSessions::keep(const SessionId& id, Clock::time_point now) {
    Shard& home = shard(id);
    const std::lock_guard guard(home.mutex);
    if (const auto found = home.used.find(id); found != home.used.end())
        found->second = std::max(found->second, now);
}

void LogicalSessions::use_and_remember(const SessionId& id, Clock::time_point now, Recent& recent) {
    // Read before: it differs if the session is ended from here on.
    const uint64_t endings = endings_.load(std::memory_order_acquire);
    DCHECK(endings != 0);
    use(id, now);
    recent = {id, now, endings};
}

template <typename Doomed>
size_t LogicalSessions::erase_if(Doomed&& doomed) {
    size_t ended = 0;
    for (Shard& shard : shards_) {
        const std::lock_guard guard(shard.mutex);
        ended += std::erase_if(shard.used, doomed);
    }
    note_ended(ended);
    return ended;
}

void LogicalSessions::note_ended(size_t count) {
    DCHECK(count <= count_.load(std::memory_order_relaxed));
    if (count == 0) return;
    count_.fetch_sub(count, std::memory_order_relaxed);
    endings_.fetch_add(1, std::memory_order_release);
}

void LogicalSessions::end(const SessionSet& doomed) {
    if (doomed.all) {
        erase_if([](const auto&) { return true; });
        return;
    }
    if (!doomed.owners.empty())
        erase_if([&](const auto& session) { return doomed.owners.contains(session.first.owner); });
    size_t ended = 0;
    for (const SessionId& id : doomed.ids) {
        Shard& home = shard(id);
        const std::lock_guard guard(home.mutex);
        ended += home.used.erase(id);
    }
    note_ended(ended);
}

size_t LogicalSessions::expire(Clock::time_point now) {
    return erase_if([now](const auto& session) { return now - session.second >= kTimeout; });
}

bool LogicalSessions::contains(const SessionId& id) const {
    const Shard& home = shard(id);
    const std::lock_guard guard(home.mutex);
    return home.used.contains(id);
}

void LogicalSessions::each(
    const std::function<void(const SessionId&, Clock::time_point)>& visit) const {
    for (const Shard& shard : shards_) {
        const std::lock_guard guard(shard.mutex);
        for (const auto& [id, used] : shard.used)
            visit(id, used);
    }
}

}  // namespace command
