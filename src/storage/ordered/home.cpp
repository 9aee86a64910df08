#include "storage/ordered/home.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "sched/blocking.h"
#include "storage/ordered/bytes.h"

namespace ordered {

thread_local Home::Held Home::t_held;

namespace {

auto row_of(Table table) {
    return big_endian(static_cast<uint32_t>(table));
}

struct Counts {
    int64_t rows;
    int64_t bytes;
};

}  // namespace

Home::Home(std::unique_ptr<Map> map, storage::LockManager& locks) : map_(std::move(map)) {
    locks.set_hooks(this);
    try {
        start();
    } catch (...) {
        t_held = {};  // before the map goes
        throw;
    }
}

void Home::start() {
    for (const Table table : {kCatalogue, kCounters, kDropped})
        map_->add_table(table, Kind::entries);
    std::vector<Table> dropped;
    {
        const auto cursor = session().cursor(kDropped);
        for (cursor->seek({}); !cursor->at_end(); cursor->next())
            dropped.push_back(Table{from_big_endian<uint32_t>(cursor->key())});
    }
    for (const Table table : dropped) {
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
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            taken = std::move(idle_.back());
            idle_.pop_back();
        }
    }
    if (taken == nullptr) taken = std::make_unique<Work>(Work{.session = map_->session()});
    t_held = {this, std::move(taken)};
    return *t_held.work;
}

Session& Home::session() {
    return *work().session;
}

size_t Home::changed_bytes() {
    return t_held.home == this ? t_held.work->session->changed_bytes() : 0;
}

void Home::check_space() {
    Work& mine = work();
    if (!mine.has_space) map_->check_space();
    mine.has_space = true;
}

void Home::commit() {
    if (t_held.home != this) return;
    Work& work = *t_held.work;
    work.has_space = false;
    for (Counter* counter : work.touched) {
        const Counts counts{counter->rows, counter->bytes};
        work.session->put(kCounters, row_of(counter->table),
                          {reinterpret_cast<const uint8_t*>(&counts), sizeof counts});
        counter->is_touched = false;
    }
    work.touched.clear();
    if (work.session->changed_bytes() != 0) commit(*work.session);
    if (work.dropped.empty()) return;
    const sched::BlockingSection section;
    // That they are dropped has been committed with what dropped them.
    for (const Table table : std::exchange(work.dropped, {})) {
        map_->drop(table);
        work.session->erase(kDropped, row_of(table));
    }
    commit(*work.session);
}

void Home::commit(Session& session) {
    if (map_->is_stalling()) sched::BlockingSection();
    session.commit();
    commits_.fetch_add(1, std::memory_order_release);
}

// The lock goes whatever happens, and others see then what could not be committed as a whole.
void Home::before_unlock() try {
    if (t_held.home != this) return;
    commit();
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

void Home::note_used(Table table) {
    const uint32_t behind = static_cast<uint32_t>(table) + 1;
    if (behind > next_table_) next_table_ = behind;
}

void Home::drop(Table table) {
    work().session->put(kDropped, row_of(table), {});
    work().dropped.push_back(table);
}

void Home::count(Counter& counter, int64_t rows, int64_t bytes) {
    counter.rows.fetch_add(rows, std::memory_order_relaxed);
    counter.bytes.fetch_add(bytes, std::memory_order_relaxed);
    if (std::exchange(counter.is_touched, true)) return;
    work().touched.push_back(&counter);
}

void Home::read(Counter& counter) {
    Bytes value;
    Counts counts{0, 0};
    if (session().get(kCounters, row_of(counter.table), &value) && value.size() == sizeof counts)
        std::memcpy(&counts, value.data(), sizeof counts);
    counter.rows = counts.rows;
    counter.bytes = counts.bytes;
}

void Home::forget(Counter& counter) {
    Work& mine = work();
    std::erase(mine.touched, &counter);
    counter.is_touched = false;
    mine.session->erase(kCounters, row_of(counter.table));
}

}  // namespace ordered
