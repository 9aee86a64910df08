#include "storage/lock.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/blocking.h"
#include "base/error.h"
#include "base/operation.h"

namespace storage {

namespace {

// How often a lock is tried again before the thread blocks. Locks are mostly held for some
// microseconds, and blocking hands a whole event loop over, which costs more than that.
constexpr int kTries = 24;
constexpr int kPausesPerTry = 32;

void pause_briefly() {
    for (int i = 0; i < kPausesPerTry; ++i)
        __builtin_ia32_pause();
}

int64_t now_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Times of one lock, fed by many threads.
struct Times {
    std::atomic<int64_t> locked_read{0}, locked_write{0}, acquiring_read{0}, acquiring_write{0};
    void add_locked(bool write, int64_t us) {
        (write ? locked_write : locked_read).fetch_add(us, std::memory_order_relaxed);
    }
    void add_acquiring(bool write, int64_t us) {
        (write ? acquiring_write : acquiring_read).fetch_add(us, std::memory_order_relaxed);
    }
};

// The reader-writer lock of one database. Lives as long as its manager.
struct DatabaseState {
    explicit DatabaseState(std::string_view n) : name(n) {}

    const std::string name;
    Times times;
    std::atomic<int> waiting_readers{0}, waiting_writers{0};

    std::mutex mutex;
    std::condition_variable readable, writable;
    int readers = 0;      // guarded by mutex
    bool writer = false;  // guarded by mutex

    bool free_for(bool exclusive) const {
        if (exclusive) return !writer && readers == 0;
        return !writer && waiting_writers.load(std::memory_order_relaxed) == 0;
    }
    void take(bool exclusive) {
        if (exclusive) {
            writer = true;
        } else {
            ++readers;
        }
    }
    bool try_take(bool exclusive) {
        for (int i = 0; i < kTries; ++i) {
            {
                const std::lock_guard lock(mutex);
                if (free_for(exclusive)) {
                    take(exclusive);
                    return true;
                }
            }
            pause_briefly();
        }
        return false;
    }
    void wait_and_take(bool exclusive) {
        std::unique_lock lock(mutex);
        std::atomic<int>& waiting = exclusive ? waiting_writers : waiting_readers;
        ++waiting;
        while (exclusive ? (writer || readers > 0) : (writer || waiting_writers > 0))
            (exclusive ? writable : readable).wait(lock);
        --waiting;
        take(exclusive);
    }
    void release(bool exclusive) {
        const std::lock_guard lock(mutex);
        if (exclusive) {
            writer = false;
        } else {
            --readers;
        }
        if (readers > 0) return;
        if (waiting_writers > 0) {
            writable.notify_one();
        } else if (waiting_readers > 0) {
            readable.notify_all();
        }
    }
};

// What the calling thread holds.
struct ThreadState {
    GlobalMode mode = GlobalMode::none;
    int64_t locked_at = 0;  // us; of the database lock, or of R and W
    DatabaseState* database = nullptr;
    bool exclusive = false;
    // The lock looked up last: most threads stay with one database.
    const void* cached_manager = nullptr;
    DatabaseState* cached = nullptr;
};
thread_local ThreadState t;

base::LockView* shown_locks() {
    base::Operation* operation = base::Operation::current();
    return operation == nullptr ? nullptr : &operation->locks();
}

// Lets currentOp see what the thread holds now.
void show_locks() {
    base::LockView* view = shown_locks();
    if (view == nullptr) return;
    constexpr char kLetters[] = {0, 'r', 'w', 'R', 'W', 'W'};  // in the order of GlobalMode
    view->show(kLetters[static_cast<size_t>(t.mode)],
               t.database == nullptr ? '\0' : (t.exclusive ? 'W' : 'R'));
}

void show_hold(bool write) {
    if (base::LockView* view = shown_locks()) view->hold(write, t.locked_at);
}

void show_release(int64_t now) {
    if (base::LockView* view = shown_locks()) view->release(now);
}

// Shows the thread's operation as waiting for a lock, and adds up how long.
class ShownWait {
  public:
    explicit ShownWait(bool write) : write_(write), view_(shown_locks()) {
        if (view_ != nullptr) view_->set_waiting(true);
    }
    ~ShownWait() {
        if (view_ == nullptr) return;
        view_->set_waiting(false);
        view_->add_acquiring(write_, elapsed());
    }
    ShownWait(const ShownWait&) = delete;
    ShownWait& operator=(const ShownWait&) = delete;
    int64_t elapsed() const { return now_us() - start_; }

  private:
    const bool write_;
    const int64_t start_ = now_us();
    base::LockView* const view_;
};

bool is_write(GlobalMode mode) {
    return mode == GlobalMode::w || mode == GlobalMode::W || mode == GlobalMode::X;
}

void require(bool condition, const char* text) {
    if (!condition) base::fatal(0, text);
}

}  // namespace

struct LockManager::State {
    LockHooks* hooks = nullptr;
    const int64_t started_us = now_us();
    Times times;  // of R and W

    // Waiting threads by the mode they want; changed under the mutex, read anywhere.
    std::atomic<int> waiting_r{0}, waiting_w{0}, waiting_R{0}, waiting_W{0};
    std::atomic<int> upgrading{0};            // w holders that wait for X, the holder of X included
    std::atomic<bool> R_to_W{false};          // an R holder waits for W
    std::atomic<int> readers{0}, writers{0};  // holders, for serverStatus

    std::mutex mutex;
    std::condition_variable changed;
    // Guarded by mutex:
    int r = 0, w = 0, R = 0;
    bool W = false, X = false;
    // Holders of r or w that wait for a database lock. They have not touched any data yet and do
    // not go on while X is held, so an upgrade need not wait for them; it could not, since the
    // upgrading thread may hold the very lock they want.
    int parked_r = 0, parked_w = 0;
    uint64_t upgrades_done = 0;

    std::mutex databases_mutex;
    std::map<std::string, std::unique_ptr<DatabaseState>, std::less<>> databases;

    bool free_for(GlobalMode mode) const {
        if (W || X) return false;
        switch (mode) {
            case GlobalMode::r:
                return waiting_W == 0 && upgrading == 0 && !R_to_W;
            case GlobalMode::w:
                return R == 0 && waiting_W == 0 && waiting_R == 0 && upgrading == 0;
            case GlobalMode::R:
                return w == 0 && waiting_W == 0 && !R_to_W;
            case GlobalMode::W:
                return r == 0 && w == 0 && R == 0;
            default:
                return false;
        }
    }
    void take(GlobalMode mode) {
        switch (mode) {
            case GlobalMode::r:
                ++r;
                break;
            case GlobalMode::w:
                ++w;
                break;
            case GlobalMode::R:
                ++R;
                break;
            default:
                W = true;
        }
        ++(is_write(mode) ? writers : readers);
    }
    std::atomic<int>& waiting_for(GlobalMode mode) {
        switch (mode) {
            case GlobalMode::r:
                return waiting_r;
            case GlobalMode::w:
                return waiting_w;
            case GlobalMode::R:
                return waiting_R;
            default:
                return waiting_W;
        }
    }
    bool anybody_waits() const {
        return waiting_r + waiting_w + waiting_R + waiting_W + upgrading > 0 || R_to_W;
    }

    bool try_take(GlobalMode mode) {
        for (int i = 0; i < kTries; ++i) {
            {
                const std::lock_guard lock(mutex);
                if (free_for(mode)) {
                    take(mode);
                    return true;
                }
            }
            pause_briefly();
        }
        return false;
    }
    void wait_and_take(GlobalMode mode) {
        std::unique_lock lock(mutex);
        std::atomic<int>& waiting = waiting_for(mode);
        ++waiting;
        while (!free_for(mode))
            changed.wait(lock);
        --waiting;
        take(mode);
        // A writer that stopped waiting may be what others were held back by.
        changed.notify_all();
    }
    void release(GlobalMode mode) {
        const std::lock_guard lock(mutex);
        switch (mode) {
            case GlobalMode::r:
                --r;
                break;
            case GlobalMode::w:
                --w;
                break;
            case GlobalMode::R:
                --R;
                break;
            case GlobalMode::W:
                W = false;
                break;
            default:
                require(false, "X is left by X_to_w");
        }
        --(is_write(mode) ? writers : readers);
        if (anybody_waits()) changed.notify_all();
    }

    void park(GlobalMode mode) {
        const std::lock_guard lock(mutex);
        ++(mode == GlobalMode::w ? parked_w : parked_r);
        if (upgrading > 0) changed.notify_all();
    }
    void unpark(GlobalMode mode) {
        std::unique_lock lock(mutex);
        while (X)
            changed.wait(lock);
        --(mode == GlobalMode::w ? parked_w : parked_r);
    }

    DatabaseState& database(std::string_view name) {
        if (t.cached_manager == this && t.cached->name == name) return *t.cached;
        const std::lock_guard lock(databases_mutex);
        auto found = databases.find(name);
        if (found == databases.end())
            found = databases.emplace(name, std::make_unique<DatabaseState>(name)).first;
        t.cached_manager = this;
        t.cached = found->second.get();
        return *t.cached;
    }
};

LockManager::LockManager() : state_(std::make_unique<State>()) {}
LockManager::~LockManager() {
    if (t.cached_manager == state_.get()) t.cached_manager = nullptr;
}

void LockManager::set_hooks(LockHooks* hooks) {
    state_->hooks = hooks;
}

GlobalMode LockManager::mode() {
    return t.mode;
}
bool LockManager::holds_database_write() {
    return t.database != nullptr && t.exclusive;
}
std::string_view LockManager::database() {
    return t.database == nullptr ? std::string_view{} : t.database->name;
}

bool LockManager::may_read(std::string_view db) {
    return t.mode == GlobalMode::R || may_write(db) || database() == db;
}
bool LockManager::may_write(std::string_view db) {
    return may_write() && (t.mode != GlobalMode::w || database() == db);
}
bool LockManager::may_write() {
    return t.mode == GlobalMode::W || t.mode == GlobalMode::X ||
           (t.mode == GlobalMode::w && holds_database_write());
}

void LockManager::lock_global(GlobalMode mode) {
    require(t.mode == GlobalMode::none, "the global lock is not recursive");
    const bool write = is_write(mode);
    if (write && state_->hooks != nullptr) state_->hooks->before_write_lock();
    const bool coarse = mode == GlobalMode::R || mode == GlobalMode::W;
    if (!state_->try_take(mode)) {
        const base::BlockingSection section;
        const ShownWait wait(write);
        state_->wait_and_take(mode);
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
    if (write && state_->hooks != nullptr) state_->hooks->before_write_unlock();
    const GlobalMode mode = t.mode;
    if (mode == GlobalMode::R || mode == GlobalMode::W) {
        const int64_t now = now_us();
        state_->times.add_locked(write, now - t.locked_at);
        show_release(now);
    }
    t.mode = GlobalMode::none;
    show_locks();
    state_->release(mode);
}

void LockManager::downgrade_W_to_R() {
    require(t.mode == GlobalMode::W, "downgrade_W_to_R needs W");
    if (state_->hooks != nullptr) state_->hooks->before_write_unlock();
    const int64_t now = now_us();
    state_->times.add_locked(true, now - t.locked_at);
    t.locked_at = now;
    show_release(now);
    show_hold(false);
    const std::lock_guard lock(state_->mutex);
    state_->W = false;
    ++state_->R;
    --state_->writers;
    ++state_->readers;
    t.mode = GlobalMode::R;
    state_->changed.notify_all();
}

void LockManager::upgrade_R_to_W() {
    require(t.mode == GlobalMode::R, "upgrade_R_to_W needs R");
    const base::BlockingSection section;
    State& s = *state_;
    const int64_t start = now_us();
    s.times.add_locked(false, start - t.locked_at);
    show_release(start);
    const ShownWait wait(true);
    std::unique_lock lock(s.mutex);
    if (s.R_to_W) {
        // Two upgrades would wait for each other: this one starts over from nothing.
        --s.R;
        --s.readers;
        s.changed.notify_all();
        ++s.waiting_W;
        while (!s.free_for(GlobalMode::W))
            s.changed.wait(lock);
        --s.waiting_W;
        s.take(GlobalMode::W);
    } else {
        s.R_to_W = true;
        while (s.r > 0 || s.R > 1)
            s.changed.wait(lock);
        s.R_to_W = false;
        s.R = 0;
        s.W = true;
        --s.readers;
        ++s.writers;
    }
    t.mode = GlobalMode::W;
    t.locked_at = now_us();
    s.times.add_acquiring(true, t.locked_at - start);
    show_hold(true);
    show_locks();
}

bool LockManager::w_to_X() {
    require(t.mode == GlobalMode::w, "w_to_X needs w");
    const base::BlockingSection section;
    State& s = *state_;
    std::unique_lock lock(s.mutex);
    const uint64_t before = s.upgrades_done;
    ++s.upgrading;
    s.changed.notify_all();
    for (;;) {
        if (s.upgrades_done != before) return false;
        if (!s.X && s.w == s.upgrading + s.parked_w && s.r == s.parked_r && s.R == 0) break;
        s.changed.wait(lock);
    }
    s.X = true;
    t.mode = GlobalMode::X;
    return true;
}

void LockManager::X_to_w() {
    require(t.mode == GlobalMode::X, "X_to_w needs X");
    State& s = *state_;
    const std::lock_guard lock(s.mutex);
    s.X = false;
    s.upgrading = 0;
    ++s.upgrades_done;
    t.mode = GlobalMode::w;
    s.changed.notify_all();
}

void LockManager::lock_database(std::string_view db, bool exclusive) {
    require(t.mode == GlobalMode::w || (t.mode == GlobalMode::r && !exclusive),
            "a database lock needs the global intent of its kind");
    require(t.database == nullptr, "one database lock at a time");
    DatabaseState& database = state_->database(db);
    if (!database.try_take(exclusive)) {
        const base::BlockingSection section;
        const ShownWait wait(exclusive);
        state_->park(t.mode);
        database.wait_and_take(exclusive);
        state_->unpark(t.mode);
        database.times.add_acquiring(exclusive, wait.elapsed());
    }
    t.database = &database;
    t.exclusive = exclusive;
    t.locked_at = now_us();
    show_hold(exclusive);
    show_locks();
}

void LockManager::unlock_database() {
    require(t.database != nullptr, "unlocking a database that is not locked");
    const int64_t now = now_us();
    t.database->times.add_locked(t.exclusive, now - t.locked_at);
    show_release(now);
    t.database->release(t.exclusive);
    t.database = nullptr;
    t.exclusive = false;
    show_locks();
}

bool LockManager::contended() const {
    const State& s = *state_;
    if (t.database != nullptr) {
        if (t.database->waiting_writers > 0) return true;
        if (t.exclusive && t.database->waiting_readers > 0) return true;
    }
    switch (t.mode) {
        case GlobalMode::r:
            return s.waiting_W > 0 || s.upgrading > 0 || s.R_to_W;
        case GlobalMode::w:
            return s.waiting_R > 0 || s.waiting_W > 0 || s.upgrading > 0;
        case GlobalMode::R:
            return s.waiting_w > 0 || s.waiting_W > 0 || s.R_to_W;
        case GlobalMode::W:
        case GlobalMode::X:
            return s.anybody_waits();
        case GlobalMode::none:
            break;
    }
    return false;
}

void LockManager::append_global_status(bson::Builder& out) const {
    State& s = *state_;
    int queued_readers = s.waiting_r + s.waiting_R;
    int queued_writers = s.waiting_w + s.waiting_W;
    {
        const std::lock_guard lock(s.databases_mutex);
        for (const auto& [name, database] : s.databases) {
            queued_readers += database->waiting_readers;
            queued_writers += database->waiting_writers;
        }
    }
    out.append("totalTime", now_us() - s.started_us);
    out.append("lockTime", s.times.locked_write.load());
    {
        bson::Builder queue = out.sub_object("currentQueue");
        queue.append("total", queued_readers + queued_writers);
        queue.append("readers", queued_readers).append("writers", queued_writers);
    }
    const int readers = s.readers, writers = s.writers;
    bson::Builder active = out.sub_object("activeClients");
    active.append("total", readers + writers);
    active.append("readers", readers).append("writers", writers);
}

void LockManager::append_lock_status(bson::Builder& out) const {
    const auto append = [&out](std::string_view name, const Times& times, const char* read,
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
        append(name, database->times, "r", "w");
}

DatabaseLock::DatabaseLock(LockManager& manager, std::string_view db, bool exclusive)
    : manager_(manager), db_(db), exclusive_(exclusive) {
    const GlobalMode held = LockManager::mode();
    covered_ = held != GlobalMode::none;
    if (covered_) {
        require(held != GlobalMode::R || !exclusive, "writing under global R");
        require(held != GlobalMode::r && held != GlobalMode::w, "one database lock at a time");
        return;
    }
    manager_.lock_global(exclusive ? GlobalMode::w : GlobalMode::r);
    manager_.lock_database(db_, exclusive);
}

DatabaseLock::~DatabaseLock() {
    if (covered_) return;
    manager_.unlock_database();
    manager_.unlock_global();
}

void DatabaseLock::yield() {
    if (covered_) return;
    manager_.unlock_database();
    manager_.unlock_global();
    manager_.lock_global(exclusive_ ? GlobalMode::w : GlobalMode::r);
    manager_.lock_database(db_, exclusive_);
}

}  // namespace storage
