#include "storage/ordered/home.h"

#include <algorithm>
#include <utility>

#include "base/damage.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "sched/blocking.h"
#include "storage/ordered/bytes.h"

namespace ordered {

thread_local Home::Held Home::t_held;

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
void each_counter_row(Session& session, Table table, const Use& use) {
    const auto begin = row_of(table);
    const auto rows = session.cursor(kCounters);
    for (rows->seek(begin); !rows->at_end(); rows->next()) {
        if (!std::ranges::equal(rows->key().first(begin.size()), begin)) return;
        use(rows->key(), rows->value());
    }
}

}  // namespace

Home::Home(std::unique_ptr<Map> map, storage::LockManager& locks, Found found,
           ConflictOnPurpose conflict_on_purpose)
    : map_(std::move(map)), found_(found), conflict_on_purpose_(std::move(conflict_on_purpose)) {
    locks.set_hooks(this);
    try {
        start();
    } catch (...) {
        t_held = {};  // before the map goes
        throw;
    }
}

void Home::start() {
    if (found_ != Found::nothing && !map_->has_table(kCatalogue))
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
        work().dropped.push_back(table);
    }
    commit();
}

Home::~Home() {
    if (t_held.home == this) t_held = {};
}

Home::Work& Home::work() {
    if (t_held.home == this) return *t_held.work;
    DCHECK(t_held.home == nullptr || t_held.work->session->changed_bytes() == 0);
    std::unique_ptr<Work> taken;
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
        taken = std::make_unique<Work>(Work{.session = map_->session(), .number = number});
    t_held = {this, std::move(taken)};
    return *t_held.work;
}

Session& Home::session() {
    Work& mine = work();
    if (!mine.is_frozen && !mine.is_changing && storage::LockManager::is_beside_others()) {
        mine.session->freeze();
        mine.is_frozen = true;
    }
    return *mine.session;
}

void Home::thaw(Work& work) {
    if (std::exchange(work.is_frozen, false)) work.session->thaw();
}

Session& Home::changing() {
    Work& mine = work();
    thaw(mine);
    mine.is_changing = true;
    return *mine.session;
}

void Home::claim(Table table, Bytes key) {
    changing();
    if (!storage::LockManager::is_beside_others()) return;
    DCHECK(storage::LockManager::may_write());
    std::optional<storage::WriteConflict> conflict;
    if (conflict_on_purpose_) conflict = conflict_on_purpose_();
    if (!conflict && !claims_.take(work().claims, table, key)) conflict.emplace();
    if (!conflict) return;
    conflicts_.fetch_add(1, std::memory_order_relaxed);
    throw storage::WriteConflict(*conflict);
}

bool Home::has_claims() const {
    return t_held.home == this && !t_held.work->claims.empty();
}

bool Home::may_change(Table table, Bytes key) {
    return !storage::LockManager::is_beside_others() || claims_.has(work().claims, table, key);
}

void Home::await_conflict() {
    if (t_held.home != this) return;
    commit();
    claims_.await_refused(t_held.work->claims);
}

size_t Home::changed_bytes() {
    return t_held.home == this ? t_held.work->session->changed_bytes() : 0;
}

void Home::check_space(size_t bytes) {
    Work& mine = work();
    mine.begun_bytes += bytes;
    const uint64_t begun = begun_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (!mine.has_space) map_->check_space(begun);
    mine.has_space = true;
}

void Home::commit() {
    if (t_held.home == this) commit(*t_held.work);
}

void Home::commit(Work& work) {
    thaw(work);
    work.is_changing = work.has_space = false;
    write_counters(work);
    if (work.session->changed_bytes() != 0) commit(*work.session);
    begun_bytes_.fetch_sub(std::exchange(work.begun_bytes, 0), std::memory_order_relaxed);
    for (const Added& added : work.added) {
        added.counter->rows.fetch_add(added.counts.rows, std::memory_order_relaxed);
        added.counter->bytes.fetch_add(added.counts.bytes, std::memory_order_relaxed);
    }
    work.added.clear();
    claims_.release(work.claims);
    if (work.dropped.empty()) return;
    const sched::BlockingSection section;
    // That they are dropped has been committed with what dropped them.
    for (const Table table : std::exchange(work.dropped, {})) {
        map_->drop(table);
        work.session->erase(kDropped, row_of(table));
    }
    commit(*work.session);
}

// By a cursor: what get() has given last may be in use.
void Home::write_counters(Work& work) {
    constexpr size_t kKept = 1000;
    if (work.counters.size() > kKept) work.counters.clear();
    for (const Added& added : work.added) {
        if (added.counts.rows == 0 && added.counts.bytes == 0) continue;
        const Table table = added.counter->table;
        const auto row = counter_row_of(table, work.number);
        const auto [kept, is_new] = work.counters.try_emplace(table);
        if (is_new) {
            const auto rows = work.session->cursor(kCounters);
            rows->seek(row);
            if (!rows->at_end() && std::ranges::equal(rows->key(), row))
                kept->second = counts_of(rows->value());
        }
        const Counts& counts = kept->second += added.counts;
        work.session->put(kCounters, row,
                          {reinterpret_cast<const uint8_t*>(&counts), sizeof counts});
    }
}

void Home::commit(Session& session) {
    if (map_->is_stalling()) sched::BlockingSection();
    session.commit();
    commits_.fetch_add(1, std::memory_order_release);
    if (schedule_ != nullptr) schedule_->note_write();
}

// The lock goes whatever happens, and others see then what could not be committed as a whole.
void Home::before_unlock() try {
    if (t_held.home != this) return;
    commit();
    t_held.work->session->end_cursors();
    t_held.home = nullptr;
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(t_held.work));
} catch (const std::exception& error) {
    base::fatal(0, error.what());
}

Table Home::new_table(Kind kind) {
    const Table table{next_table_.fetch_add(1)};
    map_->add_table(table, kind);
    return table;
}

void Home::note_named(Table table, Kind kind, std::string_view what) {
    expect(table, kind, what);
    note_used(table);
}

void Home::expect(Table table, Kind kind, std::string_view what) {
    bool is_missing = found_ != Found::nothing && !map_->has_table(table);
    // Without some of its rows it would look as if there were no such collections.
    if (found_ == Found::remains && !is_missing && table != kCatalogue)
        is_missing = !map_->repair(table);
    const auto number = static_cast<uint32_t>(table);
    if (is_missing && found_ == Found::everything)
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

void Home::end_start() {
    const std::set<Table> named = std::exchange(named_, {});
    if (std::exchange(found_, Found::everything) == Found::everything) map_->keep_only(named);
}

void Home::note_used(Table table) {
    const uint32_t behind = static_cast<uint32_t>(table) + 1;
    if (behind > next_table_) next_table_ = behind;
}

void Home::drop(Table table) {
    work().session->put(kDropped, row_of(table), {});
    work().dropped.push_back(table);
}

void Home::count(Counter& counter, int64_t rows, int64_t bytes) {
    if (rows == 0 && bytes == 0) return;
    std::vector<Added>& added = work().added;
    auto mine = std::ranges::find(added, &counter, &Added::counter);
    if (mine == added.end()) mine = added.insert(mine, Added{&counter, {}});
    mine->counts += {rows, bytes};
}

Counts Home::total(const Counter& counter) const {
    Counts sum{counter.rows.load(std::memory_order_relaxed),
               counter.bytes.load(std::memory_order_relaxed)};
    if (t_held.home != this) return sum;
    for (const Added& added : t_held.work->added)
        if (added.counter == &counter) sum += added.counts;
    return sum;
}

Counts Home::seen(const Counter& counter) {
    Counts sum;
    each_counter_row(session(), counter.table,
                     [&](Bytes, Bytes value) { sum += counts_of(value); });
    for (const Added& added : work().added)
        if (added.counter == &counter) sum += added.counts;
    return sum;
}

void Home::read(Counter& counter) {
    const Counts counts = seen(counter);
    counter.rows = counts.rows;
    counter.bytes = counts.bytes;
}

void Home::forget(Counter& counter) {
    Work& mine = work();
    std::erase_if(mine.added, [&](const Added& added) { return added.counter == &counter; });
    std::vector<std::vector<uint8_t>> rows;
    each_counter_row(*mine.session, counter.table,
                     [&](Bytes key, Bytes) { rows.emplace_back(key.begin(), key.end()); });
    for (const std::vector<uint8_t>& row : rows)
        mine.session->erase(kCounters, row);
}

}  // namespace ordered
