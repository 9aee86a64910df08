#include "storage/kv/store.h"

#include <algorithm>
#include <utility>

#include "base/damage.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "sched/operation.h"
#include "storage/kv/bytes.h"

namespace kv {

namespace {

auto row_of(Table table) {
    return big_endian(static_cast<uint32_t>(table));
}

auto counter_row_of(Table table, uint32_t session) {
    return big_endian(uint64_t{static_cast<uint32_t>(table)} << 32 | session);
}

Counts counts_of(Bytes value) {
    Counts counts;
    if (value.size() == sizeof counts) std::memcpy(&counts, value.data(), sizeof counts);
    return counts;
}

// Calls `use` with each row of a table's counter: key and value. A version before this one had a
// single row, without the number of a session.
template <typename Use>
void each_counter_row(Overlay& session, Table table, const Use& use) {
    const auto begin = row_of(table);
    const auto rows = session.cursor(kCounters);
    for (rows->seek(begin); !rows->at_end(); rows->next()) {
        if (!std::ranges::equal(rows->key().first(begin.size()), begin)) return;
        use(rows->key(), rows->value());
    }
}

}  // namespace

Store::Store(std::unique_ptr<Map> map, storage::LockManager& locks, Expected found,
             InjectedConflict injected_conflict)
    : map_(std::move(map)), found_(found), injected_conflict_(std::move(injected_conflict)) {
    DCHECK(map_ != nullptr);
    locks.set_hooks(this);
    try {
        start();
    } catch (...) {
        t_held = {};  // before the map goes
        throw;
    }
}

void Store::start() {
    if (found_ != Expected::nothing && !map_->has_table(kCatalogue))
        base::fail(base::Damaged{base::kInternalError},
                   "the catalogue of all collections, table t{}, is missing",
                   static_cast<uint32_t>(kCatalogue));
    expect(kCatalogue, Kind::entries, "the catalogue");
    expect(kCounters, Kind::entries, "the counts of documents");
    expect(kDropped, Kind::entries, "the list of what is to be dropped");
    std::vector<Table> dropped;
    {
        const auto cursor = session().cursor(kDropped);
        for (cursor->seek({}); !cursor->at_end(); cursor->next())
            dropped.push_back(Table{from_big_endian<uint32_t>(cursor->key())});
    }
    for (const Table table : dropped) {
        named_.insert(table);
        note_used(table);
        transaction().dropped.push_back(table);
    }
    commit();
}

Store::~Store() {
    if (t_held.store == this) t_held = {};
}

Store::Transaction& Store::transaction() {
    if (t_held.store == this) return *t_held.transaction;
    DCHECK(t_held.store == nullptr || t_held.transaction->session.changed_bytes() == 0);
    t_held = {this, take_idle(), false};
    return *t_held.transaction;
}

std::unique_ptr<Store::Transaction> Store::take_idle() {
    std::unique_ptr<Transaction> taken;
    uint32_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            taken = std::move(idle_.back());
            idle_.pop_back();
        } else {
            number = sessions_++;
        }
    }
    if (taken == nullptr)
        taken.reset(new Transaction{.session = Overlay(map_->session()), .number = number});
    DCHECK(taken->added.empty() && taken->row_locks.empty() && !taken->is_changing);
    return taken;
}

void Store::give_back(std::unique_ptr<Transaction> transaction) {
    DCHECK(transaction->added.empty() && !transaction->has_snapshot);
    transaction->session.end_cursors();
    transaction->found.release();
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(transaction));
}

Overlay& Store::session() {
    Transaction& mine = transaction();
    DCHECK(!mine.has_snapshot || !mine.is_changing);
    if (!mine.has_snapshot && !mine.is_changing && storage::LockManager::is_concurrent())
        begin_snapshot(mine);
    return mine.session;
}

void Store::begin_snapshot(Transaction& transaction) {
    transaction.tables_end = next_table_.load();
    transaction.session.begin_snapshot();
    transaction.has_snapshot = true;
}

void Store::end_snapshot(Transaction& transaction) {
    if (std::exchange(transaction.has_snapshot, false)) transaction.session.end_snapshot();
}

Overlay& Store::changing() {
    if (is_long()) return session();
    Transaction& mine = transaction();
    end_snapshot(mine);
    mine.is_changing = true;
    DCHECK(!mine.has_snapshot);
    return mine.session;
}

void Store::lock_row(Table table, Bytes key) {
    changing();
    if (!storage::LockManager::is_concurrent()) return take_over(table, key);
    DCHECK(storage::LockManager::may_write());
    std::optional<storage::WriteConflict> conflict;
    if (injected_conflict_ && !is_long()) conflict = injected_conflict_();
    if (!conflict) {
        Transaction& mine = transaction();
        const RowLocks::Taken taken = row_locks_.take(mine.row_locks, table, key);
        const bool changed =
            taken == RowLocks::Taken::now && is_long() && !is_as_it_was(mine, table, key);
        if (taken == RowLocks::Taken::refused || changed) conflict.emplace();
    }
    if (!conflict) return;
    conflicts_.fetch_add(1, std::memory_order_relaxed);
    throw storage::WriteConflict(*conflict);
}

bool Store::has_row_locks() const {
    return t_held.store == this && !t_held.transaction->row_locks.empty();
}

bool Store::may_change(Table table, Bytes key) {
    return !storage::LockManager::is_concurrent() ||
           row_locks_.has(transaction().row_locks, table, key);
}

bool Store::await_conflict(bool may_defer) {
    DCHECK(!is_long());
    if (t_held.store != this) return true;
    commit();
    return row_locks_.await_refused(t_held.transaction->row_locks, may_defer);
}

Store::Transaction& Store::now(Transaction& of_long) {
    if (of_long.now == nullptr) of_long.now = take_idle();
    return *of_long.now;
}

// The first row that begins with the key: a record, or the entry that a unique index has of it.
bool Store::is_as_it_was(Transaction& of_long, Table table, Bytes key) {
    DCHECK(of_long.has_snapshot);
    const auto first = [&](Overlay& rows) {
        auto cursor = rows.committed(table);
        cursor->seek(key);
        const bool is_there = !cursor->at_end() && cursor->key().size() >= key.size() &&
                              std::ranges::equal(cursor->key().first(key.size()), key);
        if (!is_there) cursor.reset();
        return cursor;
    };
    const auto then = first(of_long.session);
    const auto now = first(this->now(of_long).session);
    if (then == nullptr || now == nullptr) return then == now;
    return std::ranges::equal(then->key(), now->key()) &&
           std::ranges::equal(then->value(), now->value());
}

size_t Store::changed_bytes() {
    if (t_held.store != this) return 0;
    return t_held.transaction->session.changed_bytes() + t_held.transaction->step_bytes;
}

void Store::check_space(size_t bytes) {
    Transaction& mine = transaction();
    mine.begun_bytes += bytes;
    begun_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    ask_for_space(0);
}

void Store::ask_for_space(size_t bytes) {
    Transaction& mine = transaction();
    if (!mine.has_space) map_->check_space(begun_bytes_.load(std::memory_order_relaxed) + bytes);
    mine.has_space = true;
}

void Store::check_commit(size_t bytes) {
    const auto all = static_cast<int64_t>(changed_bytes() + bytes);
    if (all > map_->commit_bytes_max())
        base::fail(
            base::kOperationFailed,
            "the change has {} bytes, with its keys in indexes, and with as little memory as "
            "this server may have one commit carries {}",
            all, map_->commit_bytes_max());
}

void Store::begin_undo() {
    changing().mark();
    Transaction& mine = transaction();
    if (mine.before.size() == mine.undos) mine.before.emplace_back();
    Before& before = mine.before[mine.undos++];
    before.added = mine.added;
    before.calls = mine.calls.size();
    before.steps = mine.steps.size();
    before.step_bytes = mine.step_bytes;
}

void Store::undo() {
    Transaction& mine = transaction();
    DCHECK(keeps_undo());
    mine.session.roll_back();
    Before& before = mine.before[--mine.undos];
    mine.added.swap(before.added);
    mine.steps.resize(before.steps);
    mine.step_bytes = before.step_bytes;
    for (; mine.calls.size() > before.calls; mine.calls.pop_back())
        mine.calls.back()();
}

void Store::end_undo() {
    DCHECK(keeps_undo());
    Transaction& mine = transaction();
    mine.session.forget_mark();
    if (--mine.undos == 0) mine.calls.clear();
}

// A change has begun: memory for the call may come from the reserve.
void Store::on_undo(std::function<void()> call) {
    DCHECK(keeps_undo());
    const sched::Operation::Scope detached(nullptr);
    transaction().calls.push_back(std::move(call));
}

// The change that the step belongs to has been made.
void Store::add_step(std::unique_ptr<storage::CommitStep> step, size_t bytes) {
    DCHECK(storage::LockManager::is_concurrent());
    const sched::Operation::Scope detached(nullptr);
    Transaction& mine = transaction();
    mine.steps.push_back(std::move(step));
    mine.step_bytes += bytes;
}

void Store::commit() {
    if (t_held.store == this && !is_long()) commit(*t_held.transaction);
}

void Store::commit(Transaction& transaction) {
    DCHECK(transaction.undos == 0);
    end_snapshot(transaction);
    transaction.steps.empty() ? commit_rows(transaction) : commit_with_steps(transaction);
    transaction.is_changing = transaction.has_space = false;
    DCHECK(begun_bytes_ >= transaction.begun_bytes);
    begun_bytes_.fetch_sub(std::exchange(transaction.begun_bytes, 0), std::memory_order_relaxed);
    row_locks_.release(transaction.row_locks);
    DCHECK(transaction.row_locks.empty() && transaction.session.changed_bytes() == 0);
    if (transaction.dropped.empty()) return;
    // The rows of kDropped were committed with the changes that dropped these tables.
    for (const Table table : std::exchange(transaction.dropped, {})) {
        map_->drop(table);
        transaction.session.erase(kDropped, row_of(table));
    }
    commit(transaction.session);
}

void Store::commit_with_steps(Transaction& transaction) {
    const sched::Operation::Scope detached(nullptr);
    const std::lock_guard lock(order_);
    for (const auto& step : transaction.steps)
        step->write();
    commit_rows(transaction);
    for (const auto& step : transaction.steps)
        step->committed();
    transaction.steps.clear();
    transaction.step_bytes = 0;
}

void Store::commit_rows(Transaction& transaction) {
    write_counters(transaction);
    if (transaction.session.changed_bytes() != 0) commit(transaction.session);
    for (const Added& added : transaction.added) {
        added.counter->rows.fetch_add(added.counts.rows, std::memory_order_relaxed);
        added.counter->bytes.fetch_add(added.counts.bytes, std::memory_order_relaxed);
    }
    transaction.added.clear();
}

// Uses a cursor, since the value that get() has given last may be in use.
void Store::write_counters(Transaction& transaction) {
    constexpr size_t kKept = 1000;
    if (transaction.counters.size() > kKept) transaction.counters.clear();
    for (const Added& added : transaction.added) {
        if (added.counts.rows == 0 && added.counts.bytes == 0) continue;
        const Table table = added.counter->table;
        const auto row = counter_row_of(table, transaction.number);
        const auto [kept, is_new] = transaction.counters.try_emplace(table);
        if (is_new) {
            const auto rows = transaction.session.cursor(kCounters);
            rows->seek(row);
            if (!rows->at_end() && std::ranges::equal(rows->key(), row))
                kept->second = counts_of(rows->value());
        }
        const Counts& counts = kept->second += added.counts;
        transaction.session.put(kCounters, row,
                                {reinterpret_cast<const uint8_t*>(&counts), sizeof counts});
    }
}

void Store::commit(Overlay& session) {
    session.commit();
    commits_.fetch_add(1, std::memory_order_release);
    if (schedule_ != nullptr) schedule_->note_write();
}

// The lock goes whatever happens, and others see then what could not be committed as a whole.
void Store::before_unlock() try {
    if (t_held.store != this) return;
    if (is_long()) {
        t_held.transaction->session.end_cursors();
        t_held.transaction->found.release();
        return;
    }
    commit();
    t_held.store = nullptr;
    give_back(std::move(t_held.transaction));
} catch (const std::exception& error) {
    base::fatal(0, error.what());
}

Table Store::new_table(Kind kind) {
    const Table table{next_table_.fetch_add(1)};
    DCHECK(table >= Table{kFirstTable});
    map_->add_table(table, kind);
    return table;
}

void Store::note_named(Table table, Kind kind, std::string_view what) {
    expect(table, kind, what);
    note_used(table);
}

void Store::expect(Table table, Kind kind, std::string_view what) {
    DCHECK(!what.empty());
    bool is_missing = found_ != Expected::nothing && !map_->has_table(table);
    // Without some of its rows it would look as if there were no such collections.
    if (found_ == Expected::parts && !is_missing && table != kCatalogue)
        is_missing = !map_->repair(table);
    const auto number = static_cast<uint32_t>(table);
    if (is_missing && found_ == Expected::everything)
        base::fail(base::Damaged{base::kInternalError},
                   "table t{}, {}, is missing; --repair goes on without it", number, what);
    if (is_missing) base::log::error("table t{}, {}, is missing: it is made anew", number, what);
    if (table < Table{kFirstTable} || is_missing) map_->add_table(table, kind);
    try {
        session().cursor(table);
    } catch (const base::Error& error) {
        base::log::error("{}", error.what());
        base::fail(base::Damaged{base::kInternalError}, "table t{}, {}, cannot be opened{}", number,
                   what, table == kCatalogue ? "" : "; --repair keeps what can be read of it");
    }
    named_.insert(table);
}

void Store::end_start() {
    const std::set<Table> named = std::exchange(named_, {});
    next_table_ = std::max(next_table_.load(), map_->tables_end());
    if (std::exchange(found_, Expected::everything) == Expected::everything) map_->keep_only(named);
}

void Store::note_used(Table table) {
    const uint32_t behind = static_cast<uint32_t>(table) + 1;
    if (behind > next_table_) next_table_ = behind;
}

void Store::drop(Table table) {
    DCHECK(table >= Table{kFirstTable});
    transaction().session.put(kDropped, row_of(table), {});
    transaction().dropped.push_back(table);
}

void Store::count(Counter& counter, int64_t rows, int64_t bytes) {
    if (rows == 0 && bytes == 0) return;
    std::vector<Added>& added = transaction().added;
    auto mine = std::ranges::find(added, &counter, &Added::counter);
    if (mine == added.end()) mine = added.insert(mine, Added{&counter, {}});
    mine->counts += {rows, bytes};
}

Counts Store::total(const Counter& counter) const {
    Counts sum{counter.rows.load(std::memory_order_relaxed),
               counter.bytes.load(std::memory_order_relaxed)};
    if (t_held.store != this) return sum;
    for (const Added& added : t_held.transaction->added)
        if (added.counter == &counter) sum += added.counts;
    return sum;
}

Counts Store::seen(const Counter& counter) {
    Counts sum;
    each_counter_row(session(), counter.table,
                     [&](Bytes, Bytes value) { sum += counts_of(value); });
    for (const Added& added : transaction().added)
        if (added.counter == &counter) sum += added.counts;
    return sum;
}

void Store::read(Counter& counter) {
    DCHECK(counter.table >= Table{kFirstTable});
    const Counts counts = seen(counter);
    counter.rows = counts.rows;
    counter.bytes = counts.bytes;
}

void Store::forget(Table table) {
    Transaction& mine = transaction();
    std::erase_if(mine.added, [&](const Added& added) { return added.counter->table == table; });
    std::vector<std::vector<uint8_t>> rows;
    each_counter_row(mine.session, table,
                     [&](Bytes key, Bytes) { rows.emplace_back(key.begin(), key.end()); });
    for (const std::vector<uint8_t>& row : rows)
        mine.session.erase(kCounters, row);
}

}  // namespace kv
