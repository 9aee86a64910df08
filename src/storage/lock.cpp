#include "storage/lock.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/database_name.h"
#include "base/error.h"
#include "base/utf8.h"
#include "sched/compute_slots.h"
#include "sched/fault_point.h"
#include "sched/operation.h"
#include "storage/lock_times.h"
#include "storage/reader_writer_lock.h"
#include "storage/write_unit.h"

namespace storage {

namespace {

// The lock of one database. Lives as long as its manager.
struct DatabaseState {
    explicit DatabaseState(std::string_view n) : name(n) {}

    const std::string name;
    ReaderWriterLock lock;
    AddedTimes times;
};

// The locks that the calling thread holds.
struct ThreadState {
    GlobalMode mode = GlobalMode::none;
    int64_t locked_at = 0;  // us; of the database lock, or of R and W
    DatabaseState* database = nullptr;
    DatabaseState* log = nullptr;    // held beside it, as it is
    std::string_view database_name;  // kept by the holder of the lock
    bool exclusive = false;
    bool concurrent = false;
    int begun_units = 0;  // WriteUnit
    // The next lock is asked for by a request, whose wait may end with an error. Commits, which
    // run on the same threads, wait as long as it takes.
    bool may_give_up = false;
    // The lock looked up last: most threads stay with one database.
    const void* cached_manager = nullptr;
    DatabaseState* cached = nullptr;
};
thread_local ThreadState t;

void check_interrupt() {
    const sched::Operation* operation = sched::Operation::current();
    if (operation != nullptr && operation->active()) operation->check_interrupt();
}

// Returns the check for the lock that is asked for now.
InterruptCheck take_interrupt_check() {
    const bool may = std::exchange(t.may_give_up, false) && !sched::is_uninterruptible();
    return may ? check_interrupt : nullptr;
}

// Lets currentOp see what the thread holds now.
void show_locks() {
    sched::LockView* view = shown_locks();
    if (view == nullptr) return;
    constexpr char kLetters[] = {0, 'r', 'w', 'R', 'W', 'W'};  // in the order of GlobalMode
    const char shared = is_write(t.mode) ? 'w' : 'R';
    view->show(kLetters[static_cast<size_t>(t.mode)],
               t.database == nullptr ? '\0' : (t.exclusive ? 'W' : shared));
}

void show_hold(bool write) {
    if (sched::LockView* view = shown_locks()) view->hold(write, t.locked_at);
}

void show_release(int64_t now) {
    if (sched::LockView* view = shown_locks()) view->release(now);
}

void require(bool condition, const char* text) {
    if (!condition) base::fatal(0, text);
}

}  // namespace

struct LockManager::State {
    std::atomic<int> waiting_threads{0};
    LockHooks* hooks = nullptr;
    bool concurrent_changes = false;
    const int64_t started_us = now_us();
    ModeLock global;
    AddedTimes times;              // of R and W
    DatabaseState* log = nullptr;  // of the log database; null: there is none

    std::mutex databases_mutex;
    std::map<std::string, std::unique_ptr<DatabaseState>, std::less<>> databases;
    // Names that clients ask for need not be there, and there is no end of them: beyond so many
    // databases new ones share locks, and so does what is no name of a database, however long.
    static constexpr size_t kOwnLocksMax = 10'000;
    static constexpr size_t kSharedLocks = 64;
    std::vector<std::unique_ptr<DatabaseState>> shared_locks;  // made with the first of these

    bool shares_a_lock(std::string_view name) const {
        return databases.size() >= kOwnLocksMax || !base::valid_database_name(name);
    }
    DatabaseState& shared_lock(std::string_view name) {
        while (shared_locks.size() < kSharedLocks)
            shared_locks.push_back(std::make_unique<DatabaseState>(""));
        return *shared_locks[std::hash<std::string_view>()(name) % kSharedLocks];
    }

    DatabaseState& database(std::string_view name) {
        if (t.cached_manager == this && t.cached->name == name) return *t.cached;
        return look_up(name);
    }
    DatabaseState& look_up(std::string_view name) {
        const std::lock_guard lock(databases_mutex);
        auto found = databases.find(name);
        if (found == databases.end()) {
            if (shares_a_lock(name)) return shared_lock(name);
            found = databases.emplace(name, std::make_unique<DatabaseState>(name)).first;
        }
        t.cached_manager = this;
        t.cached = found->second.get();
        return *t.cached;
    }

    void lock(DatabaseState& database, bool exclusive, InterruptCheck interrupt_check) {
        if (!database.lock.try_lock(exclusive)) wait_for(database, exclusive, interrupt_check);
    }
    void wait_for(DatabaseState& database, bool exclusive, InterruptCheck interrupt_check) {
        const ShownWait wait(is_write(t.mode));
        const CountedWait counted(waiting_threads);
        global.park(t.mode);
        try {
            database.lock.lock(exclusive, interrupt_check);
        } catch (...) {
            global.unpark(t.mode);
            throw;
        }
        global.unpark(t.mode);
        database.times.add_acquiring(is_write(t.mode), wait.elapsed());
    }

    // Without taking a lock: the client may not be allowed to have one.
    bool available(std::string_view name, bool exclusive) {
        const std::lock_guard lock(databases_mutex);
        const auto found = databases.find(name);
        if (found != databases.end()) return found->second->lock.available(exclusive);
        return !shares_a_lock(name) || shared_lock(name).lock.available(exclusive);
    }
};

LockManager::LockManager() : state_(std::make_unique<State>()) {}
LockManager::~LockManager() {
    if (t.cached_manager == state_.get()) t.cached_manager = nullptr;
}

void LockManager::set_hooks(LockHooks* hooks) {
    state_->hooks = hooks;
}

void LockManager::set_log_database(std::string_view db) {
    state_->log = &state_->database(db);
}

void LockManager::allow_concurrent_changes() {
    state_->concurrent_changes = true;
}

GlobalMode LockManager::mode() {
    return t.mode;
}
bool LockManager::holds_database_write() {
    return t.database != nullptr && t.exclusive;
}
bool LockManager::is_concurrent() {
    return t.concurrent;
}
bool LockManager::is_concurrent_for_long() {
    constexpr int64_t kLongUs = 1'000'000;
    return t.concurrent && now_us() - t.locked_at > kLongUs;
}
std::string_view LockManager::database() {
    return t.database == nullptr ? std::string_view{} : t.database_name;
}

bool LockManager::may_read(std::string_view db) {
    return t.mode == GlobalMode::R || may_write(db) || database() == db;
}
bool LockManager::may_write(std::string_view db) {
    return may_write() &&
           (t.mode != GlobalMode::w || database() == db || (t.log != nullptr && t.log->name == db));
}
bool LockManager::may_write() {
    return t.mode == GlobalMode::W || t.mode == GlobalMode::X ||
           (t.mode == GlobalMode::w && t.database != nullptr);
}

void LockManager::lock_global(GlobalMode mode) {
    require(t.mode == GlobalMode::none, "the global lock is not recursive");
    const bool write = is_write(mode);
    InterruptCheck interrupt_check = take_interrupt_check();
    if (write && state_->hooks != nullptr) state_->hooks->before_write_lock();
    const bool coarse = mode == GlobalMode::R || mode == GlobalMode::W;
    // A waiter for the whole server blocks all others.
    if (coarse && !sched::is_uninterruptible()) interrupt_check = check_interrupt;
    if (!state_->global.try_lock(mode)) {
        const ShownWait wait(write);
        const CountedWait counted(state_->waiting_threads);
        state_->global.lock(mode, interrupt_check);
        if (coarse) state_->times.add_acquiring(write, wait.elapsed());
    }
    t.mode = mode;
    if (coarse) {
        t.locked_at = now_us();
        show_hold(write);
    }
    show_locks();
}

void LockManager::unlock_global() {
    require(t.mode != GlobalMode::none && t.database == nullptr, "unlocking what is not held");
    const bool write = is_write(t.mode);
    const GlobalMode mode = t.mode;
    const bool coarse = mode == GlobalMode::R || mode == GlobalMode::W;
    if (coarse && state_->hooks != nullptr) state_->hooks->before_unlock();
    if (write && state_->hooks != nullptr) state_->hooks->before_write_unlock();
    if (coarse) {
        const int64_t now = now_us();
        state_->times.add_locked(write, now - t.locked_at);
        show_release(now);
    }
    t.mode = GlobalMode::none;
    show_locks();
    state_->global.unlock(mode);
}

void LockManager::leave_locked() {
    require(t.mode == GlobalMode::W, "leave_locked needs W");
    show_release(now_us());
    t.mode = GlobalMode::none;
    show_locks();
}

void LockManager::downgrade_W_to_R() {
    require(t.mode == GlobalMode::W, "downgrade_W_to_R needs W");
    if (state_->hooks != nullptr) {
        state_->hooks->before_unlock();
        state_->hooks->before_write_unlock();
    }
    const int64_t now = now_us();
    state_->times.add_locked(true, now - t.locked_at);
    t.locked_at = now;
    show_release(now);
    show_hold(false);
    t.mode = GlobalMode::R;
    state_->global.W_to_R();
}

void LockManager::upgrade_R_to_W() {
    require(t.mode == GlobalMode::R, "upgrade_R_to_W needs R");
    const int64_t start = now_us();
    state_->times.add_locked(false, start - t.locked_at);
    show_release(start);
    const ShownWait wait(true);
    state_->global.R_to_W();
    t.mode = GlobalMode::W;
    t.locked_at = now_us();
    state_->times.add_acquiring(true, t.locked_at - start);
    show_hold(true);
    show_locks();
}

bool WriteUnit::none_has_begun() {
    return t.begun_units == 0;
}

void WriteUnit::count_begun(int by) {
    t.begun_units += by;
}

bool LockManager::w_to_X() {
    require(t.mode == GlobalMode::w, "w_to_X needs w");
    DCHECK(WriteUnit::none_has_begun());
    if (!state_->global.w_to_X()) return false;
    t.mode = GlobalMode::X;
    return true;
}

void LockManager::X_to_w() {
    require(t.mode == GlobalMode::X, "X_to_w needs X");
    t.mode = GlobalMode::w;
    state_->global.X_to_w();
}

void LockManager::lock_database(std::string_view db, Access access) {
    require(t.mode == (access == Access::read ? GlobalMode::r : GlobalMode::w),
            "a database lock needs the global intent of its kind");
    require(t.database == nullptr, "one database lock at a time");
    const InterruptCheck interrupt_check = take_interrupt_check();
    const bool shares = state_->concurrent_changes;
    const bool exclusive = access == Access::all || (access == Access::documents && !shares);
    DatabaseState& database = state_->database(db);
    state_->lock(database, exclusive, interrupt_check);
    // Behind that of the database, by all, and before either has been touched: a wait here holds up
    // no commit.
    if (access != Access::read && state_->log != nullptr && state_->log != &database) {
        try {
            state_->lock(*state_->log, exclusive, interrupt_check);
        } catch (...) {
            database.lock.unlock(exclusive);
            throw;
        }
        t.log = state_->log;
    }
    t.database = &database;
    t.database_name = db;
    t.exclusive = exclusive;
    t.concurrent = !exclusive && shares;
    t.locked_at = now_us();
    show_hold(is_write(t.mode));
    show_locks();
}

void LockManager::unlock_database() {
    require(t.database != nullptr, "unlocking a database that is not locked");
    if (state_->hooks != nullptr) state_->hooks->before_unlock();
    const int64_t now = now_us();
    t.database->times.add_locked(is_write(t.mode), now - t.locked_at);
    show_release(now);
    if (t.log != nullptr) {
        t.log->times.add_locked(true, now - t.locked_at);
        t.log->lock.unlock(t.exclusive);
        t.log = nullptr;
    }
    t.database->lock.unlock(t.exclusive);
    t.database = nullptr;
    t.exclusive = t.concurrent = false;
    show_locks();
}

bool LockManager::await_conflict(bool may_defer) {
    require(t.concurrent, "a conflict of documents needs their access");
    const ShownWait wait(true);
    const CountedWait counted(state_->waiting_threads);
    return state_->hooks->await_conflict(may_defer);
}

bool LockManager::overloaded(std::string_view db, bool exclusive) const {
    State& s = *state_;
    if (s.waiting_threads.load(std::memory_order_relaxed) < kWaitingThreads) return false;
    return !s.global.available(exclusive ? GlobalMode::w : GlobalMode::r) ||
           !s.available(db, exclusive) ||
           (exclusive && s.log != nullptr && !s.log->lock.available(true));
}

bool LockManager::contended() const {
    if (t.database != nullptr && t.database->lock.contended(t.exclusive)) return true;
    if (t.log != nullptr && t.log->lock.contended(t.exclusive)) return true;
    return state_->global.contended(t.mode);
}

void LockManager::append_global_status(bson::Builder& out) const {
    State& s = *state_;
    int queued_readers = s.global.waiting_readers();
    int queued_writers = s.global.waiting_writers();
    {
        const std::lock_guard lock(s.databases_mutex);
        for (const auto& [name, database] : s.databases) {
            queued_readers += database->lock.waiting_readers();
            queued_writers += database->lock.waiting_writers();
        }
    }
    out.append("totalTime", now_us() - s.started_us);
    out.append("lockTime", s.times.locked_write.load());
    {
        bson::Builder queue = out.sub_object("currentQueue");
        queue.append("total", queued_readers + queued_writers);
        queue.append("readers", queued_readers).append("writers", queued_writers);
    }
    const int readers = s.global.readers(), writers = s.global.writers();
    bson::Builder active = out.sub_object("activeClients");
    active.append("total", readers + writers);
    active.append("readers", readers).append("writers", writers);
}

void LockManager::append_lock_status(bson::Builder& out) const {
    const auto append = [&out](std::string_view name, const AddedTimes& times, const char* read,
                               const char* write) {
        bson::Builder entry = out.sub_object(name);
        {
            bson::Builder locked = entry.sub_object("timeLockedMicros");
            locked.append(read, times.locked_read.load()).append(write, times.locked_write.load());
        }
        bson::Builder acquiring = entry.sub_object("timeAcquiringMicros");
        acquiring.append(read, times.acquiring_read.load());
        acquiring.append(write, times.acquiring_write.load());
    };
    append(".", state_->times, "R", "W");
    const std::lock_guard lock(state_->databases_mutex);
    for (const auto& [name, database] : state_->databases)
        append(base::as_utf8(name), database->times, "r", "w");  // unescaped, as clients name it
}

DatabaseLock::DatabaseLock(LockManager& manager, std::string_view db, Access access)
    : manager_(manager), db_(db), access_(access) {
    const GlobalMode held = LockManager::mode();
    covered_ = held != GlobalMode::none;
    if (!covered_) {
        lock(true);
        return;
    }
    require(held != GlobalMode::R || access == Access::read, "writing under global R");
    require(held != GlobalMode::r && held != GlobalMode::w, "one database lock at a time");
}

DatabaseLock::~DatabaseLock() {
    if (!covered_) unlock();
}

bool DatabaseLock::should_yield() const {
    return manager_.contended() || (!covered_ && sched::ComputeSlots::must_yield()) ||
           LockManager::is_concurrent_for_long();
}

void DatabaseLock::yield() {
    if (covered_) return;
    give_up();
    sched::ComputeSlots::yield_slot();
    take_back();
}

void DatabaseLock::give_up() {
    require(!covered_, "giving up a lock that another one covers");
    unlock();
}

void DatabaseLock::take_back() {
    // A thread that released its locks waits until it has them again, interrupted or not.
    lock(false);
}

void DatabaseLock::lock(bool may_give_up) {
    sched::FaultPoint::pass();
    t.may_give_up = may_give_up;
    manager_.lock_global(access_ == Access::read ? GlobalMode::r : GlobalMode::w);
    t.may_give_up = may_give_up;
    try {
        manager_.lock_database(db_, access_);
    } catch (...) {
        manager_.unlock_global();
        throw;
    }
}

void DatabaseLock::unlock() {
    manager_.unlock_database();
    manager_.unlock_global();
}

}  // namespace storage
