#include "oplog/retries.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"

namespace oplog {

namespace {

constexpr uint8_t kUuid = 4;
constexpr uint8_t kGeneral = 0;
constexpr size_t kPartForgotten = 8;

// The range that a statement is in, or would be in front of.
auto place_of(std::vector<Done>& done, int32_t statement) {
    return std::ranges::lower_bound(done, statement, {}, &Done::last);
}

// Adds a statement in the order of the log, which is often that of the statements: they make one
// range.
void add(std::vector<Done>& done, int32_t statement, char op, uint64_t ts) {
    const auto at = place_of(done, statement);
    if (at != done.end() && at->first <= statement) return;
    if (at != done.begin()) {
        Done& before = *std::prev(at);
        if (before.op == op && before.last + 1 == statement && before.ts < ts) {
            before.last = statement;
            return;
        }
    }
    done.insert(at, {statement, statement, op, ts});
}

// Room for a few stays, so that the next write needs no memory.
void drop_all(std::vector<Done>& done) {
    constexpr size_t kFew = 16;
    if (done.capacity() > kFew)
        done = {};
    else
        done.clear();
}

}  // namespace

bson::Object session_fields(const SessionKey& session, int64_t txn_number) {
    bson::Builder fields;
    fields.sub_object("lsid")
        .append_binary("id", kUuid, session.id)
        .append_binary("uid", kGeneral, session.user);
    fields.append("txnNumber", txn_number);
    return fields.object();
}

std::unique_ptr<Retries::Turn> Retries::begin(const SessionKey& session, int64_t txn_number) {
    const std::lock_guard guard(mutex_);
    auto at = histories_.find(session);
    if (at == histories_.end()) {
        if (units_ >= units_max_) forget_oldest();
        at = histories_.try_emplace(session).first;
        ++units_;
    }
    History& history = at->second;
    if (history.busy) return nullptr;
    if (txn_number < history.txn_number)
        base::fail(base::kTransactionTooOld,
                   "Retryable write with txnNumber {} is prohibited on this session because a "
                   "newer retryable write with txnNumber {} has already started on it.",
                   txn_number, history.txn_number);
    units_ -= history.done.size();  // its Turn's from here on
    if (txn_number > history.txn_number) {
        history.txn_number = txn_number;
        drop_all(history.done);
    }
    std::unique_ptr<Turn> turn(new Turn(*this, *at));
    history.busy = true;
    return turn;
}

void Retries::end(Histories::value_type& session) {
    const std::lock_guard guard(mutex_);
    History& history = session.second;
    history.busy = false;
    history.used = Clock::now();
    for (const Found& found : std::exchange(history.found, {}))
        add_found(history, found);
    units_ += history.done.size();
}

void Retries::add_found(History& history, const Found& found) {
    if (found.id.txn_number > history.txn_number) {
        history.txn_number = found.id.txn_number;
        drop_all(history.done);
    }
    if (found.id.txn_number == history.txn_number)
        add(history.done, found.id.statement, found.op, found.ts);
}

size_t Retries::erase(Histories::iterator at) {
    const size_t freed = units(at->second);
    units_ -= freed;
    histories_.erase(at);
    return freed;
}

// The mutex is held.
void Retries::forget_oldest() {
    std::map<std::array<uint8_t, 32>, size_t> of_users;
    for (const auto& [session, history] : histories_)
        if (!history.busy) of_users[session.user] += units(history);
    if (of_users.empty()) return;
    const auto most =
        *std::ranges::max_element(of_users, {}, [](const auto& user) { return user.second; });
    std::vector<Histories::iterator> idle;
    for (auto at = histories_.begin(); at != histories_.end(); ++at)
        if (!at->second.busy && at->first.user == most.first) idle.push_back(at);
    std::ranges::sort(idle, {}, [](const auto& at) { return at->second.used; });
    size_t wanted = most.second / kPartForgotten + 1;
    for (const auto at : idle) {
        wanted -= std::min(wanted, erase(at));
        if (wanted == 0) return;
    }
}

void Retries::forget(const SessionKey& session) {
    const std::lock_guard guard(mutex_);
    const auto at = histories_.find(session);
    if (at != histories_.end() && !at->second.busy) erase(at);
}

void Retries::expire(Clock::time_point now) {
    const std::lock_guard guard(mutex_);
    for (auto at = histories_.begin(); at != histories_.end();) {
        const auto next = std::next(at);
        if (!at->second.busy && now - at->second.used >= kKept) erase(at);
        at = next;
    }
}

void Retries::clear() {
    const std::lock_guard guard(mutex_);
    histories_.clear();
    units_ = 0;
}

void Retries::found(const StatementId& id, char op, uint64_t ts) {
    const std::lock_guard guard(mutex_);
    if (units_ >= units_max_) forget_oldest();
    const auto [at, is_new] = histories_.try_emplace(id.session);
    History& history = at->second;
    if (history.busy) {
        history.found.push_back({id, op, ts});
        return;
    }
    if (!is_new) units_ -= units(history);
    add_found(history, {id, op, ts});
    history.used = Clock::now();
    units_ += units(history);
}

size_t Retries::sessions() const {
    const std::lock_guard guard(mutex_);
    return histories_.size();
}

Retries::Turn::Turn(Retries& retries, Histories::value_type& session)
    : retries_(retries),
      session_(session),
      fields_(session_fields(session.first, session.second.txn_number)) {}

Retries::Turn::~Turn() {
    retries_.end(session_);
}

const Done* Retries::Turn::done(int32_t statement) const {
    const auto at = place_of(session_.second.done, statement);
    return at != session_.second.done.end() && at->first <= statement ? &*at : nullptr;
}

const Done* Retries::Turn::answered(int32_t statement) {
    const Done* const found = done(statement);
    if (found == nullptr) return nullptr;
    retries_.statements_.fetch_add(1, std::memory_order_relaxed);
    if (!counted_) retries_.commands_.fetch_add(1, std::memory_order_relaxed);
    counted_ = true;
    return found;
}

void Retries::Turn::note(int32_t statement, char op, uint64_t ts) {
    add(session_.second.done, statement, op, ts);
}

}  // namespace oplog
