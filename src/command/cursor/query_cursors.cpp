#include "command/cursor/query_cursors.h"

#include <algorithm>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "catalog/collection.h"
#include "command/context/client.h"
#include "command/observe/profiler.h"
#include "options/general.h"
#include "sched/operation.h"

namespace command {

namespace {

constexpr int kCollectionDropped = 17356;
// Later servers have these numbers.
constexpr int kOutsideSessions = 50736;
constexpr int kNeedsSession = 50737;
constexpr int kOtherSession = 50738;
constexpr int kNeedsTransaction = 50741;
constexpr int kOtherTransaction = 50740;
constexpr std::string_view kDroppedText = "collection dropped between getMore calls";

// Entries that come so soon behind others of a log are read together.
constexpr std::chrono::milliseconds kLooksAgain{3};

// Brings a pinned cursor back to life under its collection's lock. Throws base::Error 17356 when
// the collection has gone.
void wake_cursor(Cursor& cursor, CollectionLock& lock) {
    if (lock.collection() == nullptr || lock.collection()->incarnation() != cursor.incarnation)
        base::fail(kCollectionDropped, "{}", kDroppedText);
    cursor.source->set_lock(&lock);
    cursor.source->restore();
}

void check_transaction(const Cursor& cursor, const Transactions::Use* transaction) {
    if (transaction == nullptr && !cursor.transaction) return;
    if (transaction == nullptr)
        base::fail(kNeedsTransaction,
                   "cursor {} belongs to the transaction {}, and a getMore for it has to be of it",
                   cursor.id, *cursor.transaction);
    if (cursor.transaction != transaction->number())
        base::fail(kOtherTransaction, "cursor {} does not belong to the transaction {}", cursor.id,
                   transaction->number());
}

// Whether this request may go on with the cursor; throws base::Error if not.
void check_asker(const Cursor& cursor, Client& client, const GetMore& work) {
    if (cursor.ns != work.ns)
        base::fail(work.wrong_ns_code,
                   "Requested getMore on namespace '{}', but cursor belongs to a different "
                   "namespace {}",
                   work.ns, cursor.ns);
    if (work.await_is_given && !cursor.await_data)
        base::fail(base::kBadValue,
                   "cannot set maxTimeMS on getMore command for a non-awaitData cursor");
    const std::optional<SessionId>& session = client.current().session();
    if (session == cursor.session) return check_transaction(cursor, client.transaction());
    if (!session)
        base::fail(kNeedsSession,
                   "cursor {} belongs to session {}; a getMore for it must have its lsid", work.id,
                   cursor.session->text());
    if (!cursor.session)
        base::fail(kOutsideSessions,
                   "cursor {} belongs to no session, and a getMore for it may not have the lsid {}",
                   work.id, session->text());
    base::fail(kOtherSession, "cursor {} belongs to session {}, not to session {}", work.id,
               cursor.session->text(), session->text());
}

// The old server counted the scans of operations that it logged or profiled: by the old messages
// it is known at their end whether they count.
bool counts_at_once(const OpReport& report) {
    return report.as_command;
}

void count_scan(Metrics& metrics, int64_t keys, int64_t objects) {
    metrics.scanned.fetch_add(keys, std::memory_order_relaxed);
    metrics.scanned_objects.fetch_add(objects, std::memory_order_relaxed);
}

// An $and at the top is the top.
bool says_from_which_ts(bson::Doc filter) {
    for (const bson::Element& e : filter) {
        if (e.name() == "ts" && e.is_object() && (e.as_doc().has("$gt") || e.as_doc().has("$gte")))
            return true;
        if (e.name() != "$and" || !e.is_array()) continue;
        for (const bson::Element& part : e.as_doc())
            if (part.is_object() && says_from_which_ts(part.as_doc())) return true;
    }
    return false;
}

}  // namespace

void report_query(OperationContext& context, const query::Executor& executor,
                  const query::ExecutionStats& before, bool first) {
    const query::ExecutionStats now = executor.stats();
    if (first && now.scan_and_order && counts_at_once(context.report()))
        context.metrics().scan_and_order.fetch_add(1, std::memory_order_relaxed);
    report_scan(context, before, now);
    if (first) context.report().plan = executor.summary();
}

void report_scan(OperationContext& context, const query::ExecutionStats& before,
                 const query::ExecutionStats& now) {
    if (counts_at_once(context.report()))
        count_scan(context.metrics(), now.keys_examined - before.keys_examined,
                   now.docs_examined - before.docs_examined);
    context.report().add(before, now);
}

void count_scans_if_told(OperationContext& context, const Profiler& profiler, std::string_view ns,
                         int64_t millis) {
    const OpReport& report = context.report();
    if (counts_at_once(report) || report.scanned == OpReport::kNone) return;
    const bool slow = millis >= profiler.slow_ms();
    if (!slow && base::log::verbosity() == 0) {
        const int level = report.profiled_at == OpReport::kLevelOfDatabase
                              ? profiler.level(catalog::split(ns).db)
                              : report.profiled_at;
        if (level < 2) return;
    }
    Metrics& metrics = context.metrics();
    count_scan(metrics, report.scanned, std::max<int64_t>(report.scanned_objects, 0));
    if (report.id_hack) metrics.idhack.fetch_add(1, std::memory_order_relaxed);
    if (report.scan_and_order) metrics.scan_and_order.fetch_add(1, std::memory_order_relaxed);
}

void report_id_lookup(OperationContext& context, int64_t found) {
    DCHECK(found == 0 || found == 1);
    OpReport& report = context.report();
    if (counts_at_once(report)) {
        context.metrics().idhack.fetch_add(1, std::memory_order_relaxed);
        count_scan(context.metrics(), found, found);
    }
    report.plan = "IDHACK";
    report.id_hack = true;
    report.scanned = report.scanned_objects = found;
}

void check_tailable_sort(bson::Doc sort) {
    if (sort.empty()) return;
    const bson::Element first = sort.first();
    // Backwards there is nothing that could still come.
    if (first.name() != "$natural" || (first.is_number() && first.to_double() < 0))
        base::fail(base::kBadValue,
                   "cannot use tailable option with a sort other than {{ $natural: 1 }}");
}

void check_oplog_replay(bson::Doc filter) {
    if (!says_from_which_ts(filter))
        base::fail(base::kBadValue,
                   "OplogReplay query does not contain top-level $gt or $gte over the 'ts' field.");
}

query::ExecutorOptions execution_options() {
    query::ExecutorOptions options;
    options.no_table_scan = options::no_table_scan.get();
    return options;
}

std::unique_ptr<Cursor> open_cursor(CollectionLock& lock, query::FindQuery query) {
    DCHECK(storage::LockManager::may_read(catalog::split(lock.ns()).db));
    catalog::Collection* collection = lock.collection();
    auto cursor = std::make_unique<Cursor>();
    cursor->ns = lock.ns();
    cursor->collection_ns = lock.ns();
    cursor->tailable = query.tailable;
    if (query.tailable && collection != nullptr && !collection->capped())
        base::fail(base::kBadValue, "tailable cursor requested on non capped collection");
    if (query.tailable && query.natural < 0)
        base::fail(base::kBadValue, "tailable cursor requested with a hint of {{ $natural: -1 }}");
    query::ExecutorOptions options = execution_options();
    if (query.allow_disk_use && !query.sort.empty())
        options.scratch_directory = lock.context().catalog().engine().scratch_directory();
    cursor->source = std::make_unique<ExecutorSource>(
        query::make_executor(collection, std::move(query), options, &lock));
    return cursor;
}

int64_t keep_cursor(CursorManager& cursors, CollectionLock& lock, std::unique_ptr<Cursor>& cursor,
                    bool exhausted, bool close) {
    const bool can_grow = cursor->tailable && lock.collection() != nullptr &&
                          lock.collection()->records().count() > 0;
    const bool done = close || ((exhausted || is_exhausted(*cursor)) && !can_grow);
    // First saved, then reported: what was found ahead counts for the batch that returns it.
    if (!done) cursor->source->save();
    if (const query::Executor* executor = cursor->source->executor())
        report_query(lock.context(), *executor, {}, true);
    if (done) return 0;
    cursor->source->set_lock(nullptr);
    cursor->incarnation = lock.incarnation();
    note_opener(*cursor, lock.context());
    const int64_t id = cursors.add(std::move(cursor));
    lock.context().report().left_open = id;
    return id;
}

GetMore::Result get_more(CursorManager& cursors, Client& client, GetMore& work,
                         const BatchFiller& fill) {
    GetMore::Result result;
    if (work.need_collection) {
        const CollectionLock named(client, work.ns, false);
        if (named.collection() == nullptr) base::fail(kCollectionDropped, "{}", kDroppedText);
    }
    auto cursor = cursors.pin(work.id);
    if (cursor == nullptr) return result;
    try {
        // The request that waits for it is served again; another one may not take what it waits
        // for.
        if (!client.data_wait().is_retry() && !cursor->awaited.expired())
            base::fail(kCursorInUse, "{}", kInUseText);
        check_asker(*cursor, client, work);
    } catch (...) {
        cursors.unpin(std::move(cursor));
        throw;
    }
    DCHECK(cursor->id == work.id);
    cursor->source->set_context(client);
    work.returned = result.starting_from = cursor->returned;
    result.status = GetMore::Status::done;
    result.shows_majority = cursor->shows_majority;
    std::optional<CollectionLock> lock;
    try {
        OpReport& report = client.report();
        report.cursor_id = work.id;
        if (client.data_wait().is_retry())
            report.idle_millis = base::ms_since(client.operation().started());
        report.to_return = std::max<int64_t>(work.limits.documents, 0);
        query::ExecutionStats before;
        if (const query::Executor* executor = cursor->source->executor())
            before = executor->stats();
        if (cursor->source->reads_collections()) {
            lock.emplace(client, cursor->collection_ns, false);
            wake_cursor(*cursor, *lock);
        }
        client.operation().check_interrupt();  // it may have been woken for that
        bool exhausted = false;
        const int64_t count = fill(*cursor, work.limits, &exhausted);
        DataWait& wait = client.data_wait();
        if (cursor->await_data && !wait.is_retry())
            wait.set_deadline(sched::Operation::Clock::now() + work.await);
        result.look_again = wait.deadline();
        if (count == 0 && cursor->await_data && !lock && !cursor->source->has_ended() &&
            wait.may_wait_longer()) {
            result.status = GetMore::Status::wait;
            if (!cursor->source->wake_on_data(wait))
                result.look_again =
                    std::min(result.look_again, sched::Operation::Clock::now() + kLooksAgain);
        }
        client.metrics().returned.fetch_add(count, std::memory_order_relaxed);
        report.returned = count;
        if (const query::Executor* executor = cursor->source->executor())
            report_query(client, *executor, before, false);
        const bool done = exhausted || (cursor->source->at_end() && cursor->pending.size() == 0);
        result.resume_token = cursor->source->resume_token();
        if ((done && !cursor->tailable) || cursor->source->has_ended()) {
            lock.reset();  // before what may be much is freed
            cursors.finish(std::move(cursor));
            return result;
        }
        if (lock) {
            cursor->source->save();
            cursor->source->set_lock(nullptr);
            cursor->incarnation = lock->incarnation();
        }
        if (lock && count == 0 && cursor->await_data && wait.may_wait_longer()) {
            DCHECK(lock->collection() != nullptr);
            wait.wake_on_insert(*lock->collection());
            result.status = GetMore::Status::wait;
        }
        if (result.status == GetMore::Status::wait) cursor->awaited = wait.waker();
        result.next_id = report.left_open = work.id;
        cursors.unpin(std::move(cursor));
    } catch (...) {
        lock.reset();
        if (cursor != nullptr) cursors.finish(std::move(cursor));
        throw;
    }
    return result;
}

}  // namespace command
