#include "command/cursor/cursors.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/spare_descriptors.h"
#include "catalog/catalog.h"
#include "command/context/locks.h"
#include "command/context/waits.h"
#include "sched/memory_metrics.h"
#include "sched/work_limit.h"
#include "spill/run.h"

namespace command {

namespace {

// Returns a number of the system's generator: a client that knows one id must not guess the next
// one, since an id is all that a getMore or killCursors of another connection needs.
int64_t random_id() {
    uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
        base::fail(base::kInternalError, "no random number for a cursor: {}", std::strerror(errno));
    const auto id = static_cast<int64_t>(number >> 1);
    return id == 0 ? 1 : id;
}

// Appends the field at the end of the document that begins at `start`.
void append_to(bson::Buffer& out, size_t start, bson::Doc field) {
    DCHECK(out.size() >= start + 5);
    out.truncate(out.size() - 1);
    out.append(field.data() + 4, static_cast<size_t>(field.size()) - 4);
    out.store<int32_t>(start, static_cast<int32_t>(out.size() - start));
}

}  // namespace

// $recordId, or by its old name the two halves, which say file and offset with mmapv1.
void ExecutorSource::append_record_id(storage::RecordId id, size_t start, bson::Buffer& out) const {
    bson::Builder shown;
    if (executor_->query().record_id_as_place) {
        shown.sub_object("$diskLoc")
            .append("file", static_cast<int32_t>(id.value >> 32))
            .append("offset", static_cast<int32_t>(id.value & 0xffffffff));
    } else {
        shown.append("$recordId", static_cast<int64_t>(id.value));
    }
    append_to(out, start, shown.doc());
}

void ExecutorSource::set_lock(CollectionLock* lock) {
    executor_->set_yield_point(lock);
}

bool ExecutorSource::next(bson::Buffer& out) {
    query::Row row;
    if (!executor_->next(&row)) return false;
    const query::Projection* projection = executor_->query().projection.get();
    const size_t start = out.size();
    if (projection == nullptr || row.projected) {
        out.append(row.doc.data(), static_cast<size_t>(row.doc.size()));
    } else {
        const sched::WorkLimit limit(kProjectionWork);
        projection->apply(row.doc, &row.details, out);
    }
    const query::FindQuery& query = executor_->query();
    if (query.show_record_id && !query.return_key) append_record_id(row.id, start, out);
    return true;
}

bool ListSource::next(bson::Buffer& out) {
    if (at_end()) return false;
    const bson::Doc doc = documents_[position_++].doc();
    out.append(doc.data(), static_cast<size_t>(doc.size()));
    return true;
}

Cursor::~Cursor() {
    if (const auto waiting = awaited.lock()) waiting->wake();
}

void note_opener(Cursor& cursor, OperationContext& opener) {
    cursor.session = opener.current().session();
    if (const Transactions::Use* const transaction = opener.transaction())
        cursor.transaction = transaction->number();
    cursor.owners = opener.owners();
    if (opener.connection() != nullptr) cursor.opener = opener.connection()->number;
}

void CursorManager::set_limits(const CursorLimits& limits) {
    const std::lock_guard guard(mutex_);
    limits_ = limits;
}

bool CursorManager::is_full() const {
    return static_cast<int64_t>(slots_.size()) >= limits_.all;
}

void CursorManager::check_limits(int64_t opener) const {
    const auto found = by_opener_.find(opener);
    const int64_t of_opener = found == by_opener_.end() ? 0 : found->second;
    const bool all = is_full();
    if (!all && of_opener < limits_.of_opener) return;
    base::fail(
        base::kOperationFailed,
        "too many open cursors: {} {} (parameter memoryLimitMB); end those that are not read "
        "to their end, or wait until idle ones expire",
        all ? static_cast<int64_t>(slots_.size()) : of_opener,
        all ? "in all" : "of this connection");
}

CursorManager::Slots::iterator CursorManager::erase(Slots::iterator at) {
    // The cursor has been taken out: to free it may take long, and wakes who waits for it.
    DCHECK(at->second.cursor == nullptr);
    const auto opener = by_opener_.find(at->second.opener);
    DCHECK(opener != by_opener_.end() && opener->second > 0);
    if (--opener->second == 0) by_opener_.erase(opener);
    held_.memory -= at->second.held.memory;
    held_.disk -= at->second.held.disk;
    held_.descriptors -= at->second.held.descriptors;
    DCHECK(held_.memory >= 0 && held_.disk >= 0 && held_.descriptors >= 0);
    const auto lived = Cursor::Clock::now() - at->second.opened;
    const auto longer = std::ranges::upper_bound(kLifespans, lived);
    ++ever_.ended[static_cast<size_t>(longer - std::begin(kLifespans))];
    return slots_.erase(at);
}

// The longest idle one of them; null: there is none.
std::unique_ptr<Cursor> CursorManager::take_left_behind() {
    auto oldest = slots_.end();
    for (auto it = slots_.begin(); it != slots_.end(); ++it) {
        const Slot& slot = it->second;
        if (!slot.left_behind || slot.cursor == nullptr) continue;
        if (oldest == slots_.end() || slot.cursor->last_used < oldest->second.cursor->last_used)
            oldest = it;
    }
    if (oldest == slots_.end()) return nullptr;
    std::unique_ptr<Cursor> taken = std::move(oldest->second.cursor);
    erase(oldest);
    ++ever_.timed_out;
    return taken;
}

void CursorManager::opener_left(int64_t opener) {
    const std::lock_guard guard(mutex_);
    if (!by_opener_.contains(opener)) return;
    for (auto& [id, slot] : slots_)
        if (slot.opener == opener) slot.left_behind = true;
}

int64_t CursorManager::add(std::unique_ptr<Cursor> cursor) {
    DCHECK(cursor->source != nullptr && cursor->id == 0);
    std::unique_ptr<Cursor> gone;  // destroyed outside the mutex
    const std::lock_guard guard(mutex_);
    if (is_full()) gone = take_left_behind();
    check_limits(cursor->opener);
    do {
        cursor->id = random_id();
    } while (slots_.contains(cursor->id));
    const int64_t id = cursor->id;
    cursor->last_used = Cursor::Clock::now();
    Slot slot;
    slot.ns = cursor->collection_ns.empty() ? cursor->ns : cursor->collection_ns;
    slot.asked_ns = cursor->ns;
    slot.session = cursor->session;
    slot.transaction = cursor->transaction;
    slot.reads_collection = !cursor->collection_ns.empty();
    slot.follows_changes = cursor->follows_changes;
    slot.foreign_ns = cursor->foreign_ns;
    slot.owners = cursor->owners;
    slot.opener = cursor->opener;
    slot.no_timeout = cursor->no_timeout;
    slot.opened = cursor->last_used;
    int64_t& of_opener = by_opener_[cursor->opener];
    slots_.emplace(id, std::move(slot)).first->second.cursor = std::move(cursor);
    ++of_opener;
    ++ever_.opened;
    return id;
}

std::unique_ptr<Cursor> CursorManager::pin(int64_t id) {
    const std::lock_guard guard(mutex_);
    const auto found = slots_.find(id);
    if (found == slots_.end() || found->second.killed) return nullptr;
    if (found->second.cursor == nullptr) base::fail(kCursorInUse, "{}", kInUseText);
    if (!std::exchange(found->second.asked_on, true)) ++ever_.asked_on;
    return std::move(found->second.cursor);
}

void CursorManager::unpin(std::unique_ptr<Cursor> cursor) {
    cursor->last_used = Cursor::Clock::now();
    std::unique_ptr<Cursor> gone;  // destroyed outside the mutex
    const std::lock_guard guard(mutex_);
    const auto found = slots_.find(cursor->id);
    if (found == slots_.end()) return;
    if (found->second.killed) {
        gone = std::move(cursor);
        erase(found);
        return;
    }
    DCHECK(found->second.cursor == nullptr);
    found->second.cursor = std::move(cursor);
}

void CursorManager::note_majority(int64_t id) {
    const std::lock_guard guard(mutex_);
    const auto found = slots_.find(id);
    if (found != slots_.end() && found->second.cursor != nullptr)
        found->second.cursor->shows_majority = true;
}

void CursorManager::finish(std::unique_ptr<Cursor> cursor) {
    const std::lock_guard guard(mutex_);
    const auto found = slots_.find(cursor->id);
    if (found != slots_.end()) erase(found);
}

bool CursorManager::kill(int64_t id) {
    std::unique_ptr<Cursor> gone;
    const std::lock_guard guard(mutex_);
    const auto found = slots_.find(id);
    if (found == slots_.end() || found->second.killed) return false;
    if (found->second.cursor == nullptr) {
        found->second.killed = true;
    } else {
        gone = std::move(found->second.cursor);
        erase(found);
    }
    return true;
}

void CursorManager::kill_if(const std::function<bool(const Slot&)>& doomed) {
    std::vector<std::unique_ptr<Cursor>> gone;
    const std::lock_guard guard(mutex_);
    for (auto it = slots_.begin(); it != slots_.end();) {
        if (!doomed(it->second)) {
            ++it;
        } else if (it->second.cursor == nullptr) {
            it->second.killed = true;
            ++it;
        } else {
            gone.push_back(std::move(it->second.cursor));
            it = erase(it);
        }
    }
}

void CursorManager::kill_collection(std::string_view ns) {
    kill_if([ns](const Slot& slot) { return slot.ns == ns; });
}

void CursorManager::kill_database(std::string_view db) {
    kill_if([db](const Slot& slot) { return catalog::split(slot.ns).db == db; });
}

void CursorManager::kill_sessions(const std::function<bool(const SessionId&)>& doomed) {
    kill_if([&doomed](const Slot& slot) { return slot.session && doomed(*slot.session); });
}

void CursorManager::kill_transaction(const SessionId& session, int64_t number) {
    kill_if(
        [&](const Slot& slot) { return slot.transaction == number && slot.session == session; });
}

std::set<SessionId> CursorManager::sessions() const {
    std::set<SessionId> found;
    const std::lock_guard guard(mutex_);
    for (const auto& [id, slot] : slots_)
        if (slot.session) found.insert(*slot.session);
    return found;
}

size_t CursorManager::expire(std::chrono::milliseconds idle) {
    const auto oldest = Cursor::Clock::now() - idle;
    size_t count = 0;
    kill_if([&](const Slot& slot) {
        const bool old = slot.cursor != nullptr && !slot.no_timeout &&
                         slot.cursor->last_used < oldest && slot.cursor->awaited.expired();
        count += old ? 1 : 0;
        return old;
    });
    const std::lock_guard guard(mutex_);
    ever_.timed_out += static_cast<int64_t>(count);
    return count;
}

void CursorManager::note_held(int64_t id, const Held& more) {
    std::vector<std::unique_ptr<Cursor>> taken;  // destroyed outside the mutex
    const std::lock_guard guard(mutex_);
    const auto found = slots_.find(id);
    if (found == slots_.end()) return;
    Held& held = found->second.held;
    for (const auto kind : {&Held::memory, &Held::disk, &Held::descriptors}) {
        const int64_t before =
            std::exchange(held.*kind, std::max<int64_t>(held.*kind + more.*kind, 0));
        held_.*kind += held.*kind - before;
    }
    take_largest(&Held::memory, sched::memory::all_limit() / 2, "bytes of memory", taken);
    take_largest(&Held::disk, spill::limit() / 2, "bytes in temporary files", taken);
    take_largest(&Held::descriptors, base::descriptors_max() / 4, "descriptors of temporary files",
                 taken);
}

// Idle ones, until all together hold no more than `limit`.
void CursorManager::take_largest(int64_t Held::*kind, int64_t limit, std::string_view what,
                                 std::vector<std::unique_ptr<Cursor>>& taken) {
    while (held_.*kind > limit) {
        const auto most = std::ranges::max_element(slots_, {}, [kind](const auto& each) {
            return each.second.cursor == nullptr ? 0 : each.second.held.*kind;
        });
        DCHECK(most != slots_.end());
        if (most->second.cursor == nullptr || most->second.held.*kind == 0) break;
        base::log::info("killing cursor {} of {}: idle cursors hold {} {}, {} of them this one",
                        most->first, most->second.ns, held_.*kind, what, most->second.held.*kind);
        taken.push_back(std::move(most->second.cursor));
        erase(most);
        ++ever_.timed_out;
    }
}

std::optional<CursorManager::Owned> CursorManager::owned(int64_t id) const {
    const std::lock_guard guard(mutex_);
    const auto found = slots_.find(id);
    if (found == slots_.end()) return std::nullopt;
    const Slot& slot = found->second;
    return Owned{slot.asked_ns, slot.reads_collection, slot.follows_changes, slot.foreign_ns,
                 slot.owners};
}

CursorManager::Counts CursorManager::counts() const {
    const std::lock_guard guard(mutex_);
    Counts counts = ever_;
    counts.open = static_cast<int64_t>(slots_.size());
    for (const auto& [id, slot] : slots_) {
        counts.pinned += slot.cursor == nullptr ? 1 : 0;
        counts.no_timeout += slot.no_timeout ? 1 : 0;
    }
    return counts;
}

}  // namespace command
