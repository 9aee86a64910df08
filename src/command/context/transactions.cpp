#include "command/context/transactions.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "catalog/names.h"
#include "command/context/locks.h"
#include "command/context/operation_context.h"
#include "oplog/log.h"
#include "oplog/statement.h"
#include "sched/memory.h"
#include "sched/operation.h"

namespace command {

namespace {

constexpr int kNumberIsUsed = 50911;

[[noreturn]] void fail_changed(std::string_view ns) {
    base::fail(base::kSnapshotUnavailable,
               "the collection {}, or its indexes, have been changed since the transaction began; "
               "begin it again",
               ns);
}

// One twentieth of memoryLimitMB, of which one operation has two fifths.
size_t share_of_memory() {
    return static_cast<size_t>(sched::memory::operation_limit() / 8);
}

[[noreturn]] void fail_unknown(int64_t number, int64_t last) {
    base::fail(
        base::kNoSuchTransaction,
        "there is no transaction by the txnNumber {} in this session, whose last one has the "
        "number {}",
        number, last);
}

int64_t micros(Transactions::Clock::duration time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

}  // namespace

void fail_conflict() {
    base::fail(base::kWriteConflict,
               "WriteConflict: another writer was in the way of this transaction, or has changed "
               "what it read; begin it again");
}

std::unique_ptr<Transactions::Use> Transactions::begin(const SessionId& session, int64_t number,
                                                       std::string_view who) {
    auto work = std::make_unique<Work>();
    work->stored = engine_.begin_transaction();
    if (work->stored == nullptr)
        base::fail(base::kIllegalOperation,
                   "the storage engine {} has no transactions over several requests: they are for "
                   "members with --storageEngine wiredTiger or rocksdb",
                   engine_.name());
    {
        const std::lock_guard guard(mutex_);
        One& one = all_[session];
        if (one.number >= number)
            base::fail(kNumberIsUsed,
                       "the session has had a transaction by the txnNumber {} already", number);
        DCHECK(one.work == nullptr && one.state > State::running);
        one = {};
        one.number = number;
        one.state = State::running;
        one.who = who;
        one.begun = one.used = Clock::now();
        one.wall_ms = base::ms_since_1970();
        ++started_;
        ++open_;
    }
    return std::unique_ptr<Use>(new Use(*this, session, number, std::move(work)));
}

std::unique_ptr<Transactions::Use> Transactions::go_on(const SessionId& session, int64_t number) {
    std::unique_ptr<Work> work;
    {
        const std::lock_guard guard(mutex_);
        const auto found = all_.find(session);
        if (found == all_.end() || found->second.number != number)
            fail_unknown(number, found == all_.end() ? -1 : found->second.number);
        One& one = found->second;
        if (one.state == State::committed)
            base::fail(base::kTransactionCommitted, "Transaction {} has been committed.", number);
        if (one.state == State::aborted)
            base::fail(one.code, "Transaction {} has been aborted: {}", number, one.why);
        DCHECK(one.state == State::open && one.work != nullptr);
        one.state = State::running;
        one.used = Clock::now();
        work = std::move(one.work);
    }
    return std::unique_ptr<Use>(new Use(*this, session, number, std::move(work)));
}

void Transactions::give_up(const SessionId& session, int64_t number) {
    const std::unique_ptr<Use> use = go_on(session, number);
    use->leave();
    finish(session, std::move(use->work_), State::aborted, "its client has said so");
}

bool Transactions::is_committed(const SessionId& session, int64_t number) const {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(session);
    return found != all_.end() && found->second.number == number &&
           found->second.state == State::committed;
}

void Transactions::check_can_go_on(const SessionId& session, int64_t number) const {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(session);
    if (found != all_.end() && found->second.state <= State::running &&
        found->second.number < number)
        fail_unknown(number, found->second.number);
}

void Transactions::check_is_of_write(const SessionId& session, int64_t number) const {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(session);
    if (found != all_.end() && found->second.number == number &&
        found->second.state != State::committed)
        base::fail(base::kInvalidOptions,
                   "Must specify autocommit=false on all operations of a multi-statement "
                   "transaction.");
}

void Transactions::note_number(const SessionId& session, int64_t number) {
    {
        const std::lock_guard guard(mutex_);
        const auto found = all_.find(session);
        if (found == all_.end() || found->second.number >= number ||
            found->second.state > State::running)
            return;
    }
    abort_if([&](const SessionId& id, const One&) { return id == session; },
             "its session went on with a higher txnNumber");
}

void Transactions::end(const SessionSet& doomed) {
    abort_if([&](const SessionId& id, const One&) { return doomed.contains(id); },
             "its session has ended");
    forget([&](const SessionId& id) { return doomed.contains(id); });
}

void Transactions::forget(const std::function<bool(const SessionId&)>& is_over) {
    const std::lock_guard guard(mutex_);
    std::erase_if(all_, [&](const auto& each) {
        return each.second.state > State::running && is_over(each.first);
    });
}

std::set<SessionId> Transactions::sessions() const {
    std::set<SessionId> open;
    const std::lock_guard guard(mutex_);
    for (const auto& [session, one] : all_)
        if (one.state <= State::running) open.insert(session);
    return open;
}

void Transactions::look_after(bool is_primary, std::chrono::seconds lifetime) {
    if (counts().active + counts().inactive == 0) return;
    if (!is_primary) return end_all("this member is not the primary any more");
    const auto now = Clock::now();
    abort_if([&](const SessionId&, const One& one) { return now - one.begun >= lifetime; },
             "it was open for longer than transactionLifetimeLimitSeconds");
    abort_if([](const SessionId&,
                const One& one) { return one.work != nullptr && one.work->stored->is_wounded(); },
             "a writer that could not wait has changed what it had changed");
    const auto takes_too_much = [this] {
        size_t bytes = 0;
        const std::lock_guard guard(mutex_);
        for (const auto& [session, one] : all_)
            if (one.state == State::open) bytes += one.bytes;
        return bytes > share_of_memory();
    };
    while (takes_too_much()) {
        if (counts().inactive > 1)
            abort_oldest({}, "all transactions together had changed more than there is memory for");
        else  // again it would be the same
            abort_oldest({},
                         "it alone had changed more than there is memory for: a twentieth of "
                         "memoryLimitMB",
                         base::kTransactionTooLarge);
    }
    if (engine_.is_short_of_cache())
        abort_oldest(std::chrono::seconds(1), "the cache was full of what it alone could see");
}

void Transactions::abort_oldest(Clock::duration at_least, std::string_view why, int code) {
    const auto until = Clock::now() - at_least;
    std::optional<SessionId> oldest;
    {
        auto begun = until;
        const std::lock_guard guard(mutex_);
        for (const auto& [session, one] : all_) {
            if (one.state != State::open || one.begun > begun) continue;
            oldest = session;
            begun = one.begun;
        }
    }
    if (oldest) abort_if([&](const SessionId& id, const One&) { return id == *oldest; }, why, code);
}

// Requests that come from here on find that they have ended, even where their locks go a moment
// later.
void Transactions::abort_if(const Doomed& doomed, std::string_view why, int code) {
    std::vector<std::pair<Ended, std::unique_ptr<Work>>> over;
    {
        const std::lock_guard guard(mutex_);
        for (auto& [session, one] : all_) {
            if (one.state > State::running || !doomed(session, one)) continue;
            if (one.state == State::open) {
                one.code = code;
                std::unique_ptr<Work> work = std::move(one.work);
                Ended ended =
                    end_locked(session, one, {work->entries.count(), work->entries.bytes()},
                               State::aborted, why);
                over.emplace_back(std::move(ended), std::move(work));
            } else if (!one.is_doomed) {
                one.is_doomed = true;
                one.why = why;
                one.code = code;
            }
        }
    }
    for (auto& [ended, work] : over) {
        work.reset();
        on_end_(ended);
    }
}

void Transactions::park(const SessionId& session, std::unique_ptr<Work> work) {
    std::string why;
    {
        const std::lock_guard guard(mutex_);
        One& one = all_.at(session);
        DCHECK(one.state == State::running);
        if (!one.is_doomed) {
            one.state = State::open;
            one.active += Clock::now() - one.used;
            one.bytes = work->stored->memory_bytes() + static_cast<size_t>(work->entries.bytes());
            one.work = std::move(work);
            return;
        }
        why = one.why;
    }
    finish(session, std::move(work), State::aborted, why);
}

void Transactions::finish(const SessionId& session, std::unique_ptr<Work> work, State state,
                          std::string_view why) {
    DCHECK(work != nullptr);
    const auto counted = std::pair(work->entries.count(), work->entries.bytes());
    work.reset();  // before the state tells others that it has ended
    std::optional<Ended> ended;
    {
        const std::lock_guard guard(mutex_);
        One& one = all_.at(session);
        DCHECK(one.state == State::running && one.work == nullptr);
        ended = end_locked(session, one, counted, state, why);
    }
    on_end_(*ended);
}

Transactions::Ended Transactions::end_locked(const SessionId& session, One& one,
                                             std::pair<int64_t, int64_t> counted, State state,
                                             std::string_view why) {
    DCHECK(one.state <= State::running && state > State::running);
    const auto now = Clock::now();
    if (one.state == State::running) one.active += now - one.used;
    one.state = state;
    one.why = why;
    --open_;
    ++(state == State::committed ? committed_ : aborted_);
    return {.session = session,
            .number = one.number,
            .is_committed = state == State::committed,
            .why = one.why,
            .who = one.who,
            .lasted = now - one.begun,
            .active = one.active,
            .changes = counted.first,
            .bytes = counted.second};
}

void Transactions::forget(const SessionId& session, std::unique_ptr<Work> work) {
    work.reset();
    const std::lock_guard guard(mutex_);
    all_.erase(session);
    --open_;
    --started_;
}

Transactions::Counts Transactions::counts() const {
    const std::lock_guard guard(mutex_);
    Counts counts{.started = started_, .committed = committed_, .aborted = aborted_};
    if (open_ == 0) return counts;
    for (const auto& [session, one] : all_) {
        counts.active += one.state == State::running ? 1 : 0;
        counts.inactive += one.state == State::open ? 1 : 0;
    }
    return counts;
}

void Transactions::append_to(bson::Builder& out, const One& one) {
    const auto now = Clock::now();
    const bool is_active = one.state == State::running;
    const auto active = one.active + (is_active ? now - one.used : Clock::duration());
    bson::Builder told = out.sub_object("transaction");
    told.sub_object("parameters").append("txnNumber", one.number).append("autocommit", false);
    told.append_date("startWallClockTime", one.wall_ms)
        .append("timeOpenMicros", micros(now - one.begun))
        .append("timeActiveMicros", micros(active))
        .append("timeInactiveMicros", micros(now - one.begun - active));
}

void Transactions::append_of(const SessionId& session, bson::Builder& out) const {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(session);
    if (found != all_.end() && found->second.state == State::running) append_to(out, found->second);
}

void Transactions::each_idle(const std::function<void(bson::Doc)>& visit) const {
    std::vector<bson::Object> idle;
    {
        const std::lock_guard guard(mutex_);
        for (const auto& [session, one] : all_) {
            if (one.state != State::open) continue;
            bson::Builder out;
            out.append("type", "idleSession")
                .append("desc", "inactive transaction")
                .append("client", one.who)
                .append("active", false);
            session.append_to(out, "lsid");
            append_to(out, one);
            idle.push_back(out.object());
        }
    }
    for (const bson::Object& each : idle)
        visit(each);
}

Transactions::Use::Use(Transactions& all, const SessionId& session, int64_t number,
                       std::unique_ptr<Work> work)
    : all_(all), session_(session), number_(number), work_(std::move(work)) {
    enter();
}

Transactions::Use::~Use() {
    if (work_ == nullptr) return;
    leave();
    all_.finish(session_, std::move(work_), State::aborted, "a request of it has failed");
}

void Transactions::Use::enter() {
    work_->stored->enter();
    oplog::t_writer.transaction = &work_->entries;
    is_entered_ = true;
}

void Transactions::Use::leave() {
    if (!std::exchange(is_entered_, false)) return;
    oplog::t_writer.transaction = nullptr;
    work_->stored->leave();
}

void Transactions::Use::park() {
    DCHECK(work_ != nullptr && !is_doomed_);
    leave();
    all_.park(session_, std::move(work_));
}

void Transactions::Use::forget() {
    leave();
    all_.forget(session_, std::move(work_));
}

void Transactions::Use::check(std::string_view ns, bool to_write) {
    DCHECK(is_entered_);
    if (work_->stored->is_wounded()) fail_conflict();
    if (!work_->stored->sees(ns)) fail_changed(ns);
    if (to_write && !work_->written.contains(ns)) work_->written.emplace(ns);
}

void Transactions::Use::commit(OperationContext& context, oplog::Log& log) {
    DCHECK(work_ != nullptr && !is_doomed_);
    if (!work_->entries.empty()) commit_changes(context, log);
    leave();
    all_.finish(session_, std::move(work_), State::committed, "");
}

void Transactions::Use::commit_changes(OperationContext& context, oplog::Log& log) {
    std::set<std::string_view> databases;
    for (const std::string& ns : work_->written)
        databases.insert(catalog::split(ns).db);
    DCHECK(!databases.empty());
    const bson::Object command = work_->entries.command();
    oplog::t_writer.transaction = nullptr;
    std::optional<storage::DatabaseLock> one;
    std::optional<storage::GlobalLock> all;
    // A thread has one database, or all.
    if (databases.size() == 1)
        one.emplace(context.locks(), *databases.begin(), storage::Access::documents);
    else
        all.emplace(context.locks(), storage::GlobalMode::W);
    fail_if_shutting_down();
    for (const std::string& ns : work_->written)
        if (!work_->stored->sees(ns)) fail_changed(ns);
    if (work_->stored->is_wounded()) fail_conflict();
    storage::WriteUnit unit(context.durability());
    unit.admit(log.prepare(command.size()));
    // Its changes and their entry: both, whatever happens.
    try {
        const sched::Operation::Scope detached(nullptr);
        work_->stored->settle();
        unit.keep([&] { log.transaction(command); });
    } catch (const std::exception& error) {
        base::fatal(0, error.what());
    }
}

Transactions::Use::Outside::Outside(Use& use, OperationContext& context)
    : use_(use), context_(context) {
    use_.leave();
    context_.set_transaction(nullptr);
}

Transactions::Use::Outside::~Outside() {
    context_.set_transaction(&use_);
    use_.enter();
}

}  // namespace command
