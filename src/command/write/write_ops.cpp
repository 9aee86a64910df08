#include "command/write/write_ops.h"

#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/thread_scratch.h"
#include "command/context/default_collation.h"
#include "command/context/scripts.h"
#include "command/cursor/query_cursors.h"
#include "command/write/document_change.h"
#include "dialect/dialect.h"
#include "query/match/regex_flags.h"
#include "query/plan/executor.h"
#include "query/stage/update_pipeline.h"
#include "query/update/idempotent.h"
#include "sched/interruption.h"
#include "sched/tick.h"
#include "sched/work_limit.h"

namespace command {

namespace {

constexpr int kUpdateTooLarge = 17419;
constexpr int kUpsertTooLarge = 17420;
constexpr int kRemoveFromCapped = 10101;
constexpr int kUpdateOfIndexes = 10156;
constexpr int kUpdateOfReserved = 10155;
constexpr int kRemoveFromReserved = 10100;
constexpr int kUpdateCannotRun = 17243;
constexpr int kDeleteCannotRun = 17219;
constexpr int kRemoveFromIndexes = 12050;
// The bytes of the form in which a log of changes hears of an update.
constexpr size_t kUsualFormBytes = 256;
constexpr size_t kKeptFormBytes = 4096;

// Collections whose documents users may not change or remove.
bool kept_by_server(std::string_view ns) {
    const std::string_view collection = catalog::split(ns).collection;
    return collection == "system.indexes" || collection == "system.profile";
}

// A `$` in the name of the collection has been refused before; here it is the database's.
bool reserved(std::string_view ns) {
    return catalog::split(ns).db.find('$') != std::string_view::npos;
}

bool touches_index(const catalog::Collection& collection, const query::UpdateResult& result) {
    if (result.whole) return true;
    for (const std::string& path : result.touched_paths) {
        if (collection.path_indexed(path)) return true;
    }
    return false;
}

// Throws base::Error `cannot_run` where no index helps and one has to: under notablescan, of $near.
std::unique_ptr<query::Executor> writing_executor(CollectionLock& lock, query::FindQuery query,
                                                  int cannot_run) {
    query::ExecutorOptions options = execution_options();
    options.for_write = true;
    const bool needs_index = options.no_table_scan ||
                             (query.matcher->near() != nullptr && cannot_run != kDeleteCannotRun);
    try {
        return query::make_executor(lock.collection(), std::move(query), options, &lock);
    } catch (const base::Error& e) {
        if (!needs_index) throw;
        sched::fail_because(e, cannot_run, "cannot run the query: {}", e.what());
    }
}

// The collation that a request asks for, or else the one that the collection has.
struct Collation {
    Collation(OperationContext& context, std::string_view ns,
              const std::optional<std::shared_ptr<const collation::Collator>>& asked)
        : is_inherited(!asked), collator(asked ? *asked : default_collator(context, ns)) {}

    const bool is_inherited;
    const std::shared_ptr<const collation::Collator> collator;
};

query::FindQuery canonical(const RequestScripts& scripts, bson::Doc filter,
                           const bson::Element& hint, const query::ExpressionParser* expressions,
                           const Collation& collation, bson::Doc sort = {}) {
    query::FindQuery query;
    query.collator = collation.collator;
    query.inherits_collation = collation.is_inherited;
    query::FindQuery::Parts parts;
    parts.filter = filter;
    parts.sort = sort;
    parts.hint = hint;
    parts.expressions = expressions;
    parts.where = &scripts;
    query.canonicalise(parts);
    if (expressions != nullptr) query::refuse_odd_flags(*query.matcher);
    return query;
}

}  // namespace

void validate(const catalog::Collection& collection, Validation validation, bson::Doc doc,
              const bson::Doc* before) {
    DCHECK(storage::LockManager::may_write(catalog::split(collection.ns()).db));
    const catalog::Validator* validator = collection.validator();
    if (validator != nullptr && validation == Validation::asked)
        validator->check(collection.ns(), doc, before);
}

bool hold_document(CollectionLock& lock, query::Row& row, const query::Matcher* filter) {
    DCHECK(!row.id.is_null());
    if (!lock.must_lock_records()) return true;
    if (!lock.is_same()) query::throw_dropped(lock.ns());
    storage::RecordStore& records = lock.collection()->records();
    if (!records.lock_record(row.id)) return false;
    if (filter == nullptr) return true;
    // A script is not run anew where nothing has changed.
    if (row.outlives_save && std::ranges::equal(records.get(row.id).bytes(), row.doc.bytes()))
        return true;
    const sched::WorkLimit limit(query::kMatchWork);
    const bool wanted = row.details.want_index;
    row.details = query::MatchDetails{};
    row.details.want_index = wanted;
    return filter->matches(records.get(row.id), &row.details);
}

ComputedUpdate compute_update(catalog::Collection& collection, query::Update& update,
                              storage::RecordId id, query::MatchDetails& details,
                              bson::Buffer& out) {
    DCHECK(storage::LockManager::may_write(catalog::split(collection.ns()).db));
    ComputedUpdate computed;
    computed.update = &update;
    computed.before = collection.records().get(id);
    out.clear();
    computed.result = update.apply(computed.before, details, out);
    return computed;
}

bson::Doc updated_document(const ComputedUpdate& computed, bson::Buffer& out) {
    return query::updated_document(computed.before, computed.result, out);
}

bool store_update(OperationContext& context, catalog::Collection& collection,
                  const ComputedUpdate& computed, Validation validation, storage::RecordId* id,
                  bson::Buffer& out) {
    DCHECK(computed.update != nullptr && !id->is_null());
    const query::UpdateResult& result = computed.result;
    if (!result.changed) return false;
    if (collection.validator() != nullptr)
        validate(collection, validation, updated_document(computed, out), &computed.before);
    Metrics& metrics = context.metrics();
    struct Told {  // to the log of changes
        bson::Buffer bytes{kUsualFormBytes};
    };
    bson::Buffer& told = base::thread_scratch<Told>().bytes;
    const struct AtEnd {  // of an error as well
        ~AtEnd() { told.trim(kKeptFormBytes); }
        bson::Buffer& told;
    } at_end{told};
    bson::Doc form;
    if (collection.change_log() != nullptr)
        form = query::idempotent_form(*computed.update, result, computed.before, out, told);
    if (result.in_place && !touches_index(collection, result)) {
        collection.patch(*id, result.patches, form);
        metrics.fastmod.fetch_add(1, std::memory_order_relaxed);
        context.report().fast_mod = true;
        return true;
    }
    const bson::Doc changed = updated_document(computed, out);
    if (changed.size() > bson::kDocumentBytesMax)
        base::fail(kUpdateTooLarge, "Resulting document after update is larger than {}",
                   bson::kDocumentBytesMax);
    const catalog::UpdatedRecord record = collection.update(*id, changed, form);
    if (record.moved) metrics.moves.fetch_add(1, std::memory_order_relaxed);
    context.report().moved += record.moved ? 1 : 0;
    context.report().key_updates += record.keys_changed;
    if (!record.moved) context.report().last_key_updates = record.keys_changed;
    *id = record.id;
    return true;
}

bson::Object insert_upsert(CollectionLock& lock, bson::Doc doc, Validation validation) {
    DCHECK(!doc["_id"].missing());
    if (doc.size() > bson::kDocumentBytesMax)
        base::fail(kUpsertTooLarge, "Document to upsert is larger than {}",
                   bson::kDocumentBytesMax);
    change_document(lock, [&] {
        catalog::Collection& collection = lock.make();
        validate(collection, validation, doc);
        collection.insert(doc);
    });
    lock.context().metrics().updated.fetch_add(1, std::memory_order_relaxed);
    bson::Builder id;
    id.append_as("", doc["_id"]);
    return id.object();
}

void check_updatable(const OperationContext& context, std::string_view ns, int code) {
    catalog::check_writable(ns, context.name_limits(), code);
    if (reserved(ns)) base::fail(kUpdateOfReserved, "cannot update reserved $ collection: {}", ns);
    if (kept_by_server(ns)) base::fail(kUpdateOfIndexes, "cannot update system collection: {}", ns);
}

namespace {

// Returns the variables of the command, and behind them the constants of its item.
std::shared_ptr<const query::LetVariables> variables_of(const UpdateRequest& request) {
    auto of_command = query::let_of(request.expressions);
    if (!request.constants.is_object()) return of_command;
    auto all = std::make_shared<query::LetVariables>(std::move(of_command));
    for (const bson::Element& constant : sched::ticked(request.constants.as_doc()))
        all->define(constant.name(), constant);
    return all;
}

}  // namespace

std::unique_ptr<query::Update> make_update(const UpdateRequest& request,
                                           std::shared_ptr<const collation::Collator> collator) {
    return query::parse_update(request.update, request.by_pipeline,
                               {.multi = request.multi,
                                .upsert = request.upsert,
                                .dialect = request.dialect,
                                .array_filters = request.array_filters,
                                .keeps_empty_timestamps = request.keeps_empty_timestamps,
                                .collator = std::move(collator)},
                               variables_of(request));
}

void report_update(OpReport& report, const UpdateOutcome& outcome) {
    report.matched = outcome.matched;
    report.modified = outcome.modified;
    report.upsert = !outcome.upserted.empty();
}

namespace {

// Whether the write is never seen in part (wire spec 4.2). A transaction never is.
bool is_isolated(const OperationContext& context, bson::Doc filter) {
    if (context.transaction() != nullptr) return false;
    for (const bson::Element& e : filter) {
        if (!e.name().starts_with('$')) continue;
        return filter["$isolated"].truthy() || filter["$atomic"].truthy();
    }
    return false;
}

class UpdateRun {
  public:
    UpdateRun(OperationContext& context, std::string_view ns, const UpdateRequest& request)
        : context_(context),
          ns_(ns),
          request_(request),
          collation_(context, ns, request.collator),
          update_(make_update(request, collation_.collator)) {}

    UpdateOutcome run() {
        if (is_isolated(context_, request_.query)) access_ = storage::Access::all;
        while (!run_once()) {
        }
        DCHECK(outcome_.modified <= outcome_.matched);
        DCHECK(outcome_.matched == 0 || outcome_.upserted.empty());
        // The number has also those that were as they should be.
        context_.metrics().updated.fetch_add(outcome_.matched, std::memory_order_relaxed);
        return std::move(outcome_);
    }

  private:
    // False: nothing is done yet: others have changed what a sort chose, or it takes more than the
    // lock had; again.
    bool run_once() {
        const bool by_id = !request_.multi && !request_.upsert && request_.hint.missing() &&
                           request_.sort.empty() && !update_->needs_details() &&
                           query::is_id_query(request_.query);
        std::optional<query::FindQuery> query;  // only where it is needed: it takes memory
        if (!by_id) query = canonical_query();
        CollectionLock lock(context_, ns_, access_);
        if (lock.collection() == nullptr && !request_.upsert) return true;
        if (by_id && query::finds_by_id(*lock.collection(), collation_.collator.get())) {
            update_by_id(lock);
            return true;
        }
        if (by_id) query = canonical_query();
        return update_found(lock, std::move(*query));
    }

    query::FindQuery canonical_query() const {
        return canonical(RequestScripts(context_, ns_), request_.query, request_.hint,
                         expressions(), collation_, request_.sort);
    }

    // An upsert takes values from its query, and what $expr says is none.
    const query::ExpressionParser* expressions() const {
        if (request_.expressions != nullptr && request_.upsert) return &query::kNoExpressionsHere;
        return request_.expressions;
    }

    void update_by_id(CollectionLock& lock) {
        query::Row row;
        row.id = query::find_by_id(*lock.collection(), request_.query["_id"]);
        report_id_lookup(context_, row.id ? 1 : 0);
        if (row.id) update_record(lock, row, nullptr);
    }

    bool update_found(CollectionLock& lock, query::FindQuery query) {
        query.want_details = update_->needs_details();
        const bool sorts = !request_.sort.empty();
        if (sorts) query.limit = 1;
        const auto executor = writing_executor(lock, std::move(query), kUpdateCannotRun);
        if (sorts && !update_sorted(lock, *executor)) return false;
        if (request_.multi)
            update_each(lock, *executor);
        else if (!sorts)
            update_first(lock, *executor);
        const bool inserts = outcome_.matched == 0 && request_.upsert;
        // Another thread must not insert it between the look and the insert.
        if (inserts && lock.is_concurrent() && context_.transaction() == nullptr) {
            access_ = storage::Access::all;
            return false;
        }
        report_query(context_, *executor, {}, true);
        if (inserts) upsert(lock, *executor);
        return true;
    }

    void update_first(CollectionLock& lock, query::Executor& executor) {
        query::Row row;
        while (executor.next(&row)) {
            if (lock.must_lock_records()) executor.save();
            if (update_record(lock, row, executor.query().matcher.get())) return;
            lock.commit_between();  // gives the lock up
            executor.restore();
        }
    }

    // False: what the sort chose has changed since.
    bool update_sorted(CollectionLock& lock, query::Executor& executor) {
        query::Row row;
        if (!executor.next(&row)) return true;
        if (executor.stats().scan_and_order && !still_matches(lock, executor, row)) return false;
        bson::Object chosen;
        if (lock.must_lock_records()) chosen = bson::Object(row.doc);
        executor.save();
        return update_record(lock, row, executor.query().matcher.get(), &chosen);
    }

    void update_each(CollectionLock& lock, query::Executor& executor) {
        query::Row row;
        const bool isolated = is_isolated(context_, request_.query);
        while (executor.next(&row)) {
            if (isolated) lock.keep();
            const storage::RecordId found = row.id;
            executor.save();
            update_record(lock, row, executor.query().matcher.get());
            lock.commit_between();
            executor.restore();
            if (row.id != found) executor.skip_record(row.id);
        }
    }

    // The id follows a moved record. False: it is not there any more, does not match `filter`, or
    // is not as it was when it was `chosen` (null, empty: that does not matter).
    bool update_record(CollectionLock& lock, query::Row& row, const query::Matcher* filter,
                       const bson::Object* chosen = nullptr) {
        return change_document(lock, [&] {
            const sched::WorkLimit limit(kUpdateWork);
            if (!hold_document(lock, row, filter)) return false;
            catalog::Collection& collection = *lock.collection();
            if (chosen != nullptr && !chosen->empty() &&
                !std::ranges::equal(collection.records().get(row.id).bytes(), chosen->bytes()))
                return false;
            const ComputedUpdate computed =
                compute_update(collection, *update_, row.id, row.details, out_);
            const bool changed =
                store_update(context_, collection, computed, request_.validation, &row.id, out_);
            ++outcome_.matched;
            outcome_.modified += changed ? 1 : 0;
            return true;
        });
    }

    void upsert(CollectionLock& lock, query::Executor& executor) {
        DCHECK(!lock.is_concurrent() || context_.transaction() != nullptr);
        const sched::WorkLimit limit(kUpdateWork);
        out_.clear();
        bson::Doc made = request_.inserted;
        if (made.empty())
            update_->build_upsert(*executor.query().matcher, out_);
        else
            query::fix_for_insert(made, true, out_, request_.dialect);
        if (out_.size() > 0) made = bson::Doc(out_.data());
        executor.save();
        outcome_.upserted = insert_upsert(lock, made, request_.validation);
    }

    OperationContext& context_;
    const std::string_view ns_;
    const UpdateRequest& request_;
    const Collation collation_;
    const std::unique_ptr<query::Update> update_;
    storage::Access access_ = storage::Access::documents;
    UpdateOutcome outcome_;
    bson::Buffer out_;
};

}  // namespace

UpdateOutcome update_documents(OperationContext& context, std::string_view ns,
                               const UpdateRequest& request) {
    check_updatable(context, ns);
    return UpdateRun(context, ns, request).run();
}

void check_removable(const catalog::Collection& collection) {
    if (kept_by_server(collection.ns()))
        base::fail(kRemoveFromIndexes, "cannot delete from system namespace");
    if (collection.capped())
        base::fail(kRemoveFromCapped, "can't remove from a capped collection: {}", collection.ns());
}

int64_t delete_documents(
    OperationContext& context, std::string_view ns, bson::Doc filter, const bson::Element& hint,
    bool just_one, const query::FilterExpressions* expressions,
    const std::optional<std::shared_ptr<const collation::Collator>>& collator) {
    if (reserved(ns))
        base::fail(kRemoveFromReserved, "cannot delete from collection with reserved $ in name: {}",
                   ns);
    const Collation collation(context, ns, collator);
    const bool by_id = hint.missing() && query::is_id_query(filter);
    std::optional<query::FindQuery> query;
    const RequestScripts scripts(context, ns);
    if (!by_id) query = canonical(scripts, filter, hint, expressions, collation);
    const bool isolated = is_isolated(context, filter);
    CollectionLock lock(context, ns, isolated ? storage::Access::all : storage::Access::documents);
    if (lock.collection() == nullptr) return 0;
    check_removable(*lock.collection());
    int64_t removed = 0;
    query::Row row;
    const auto remove_record = [&](const query::Matcher* matcher) {
        change_document(lock, [&] {
            if (!hold_document(lock, row, matcher)) return;
            lock.collection()->remove(row.id);
            ++removed;
        });
    };
    if (by_id && query::finds_by_id(*lock.collection(), collation.collator.get())) {
        row.id = query::find_by_id(*lock.collection(), filter["_id"]);
        report_id_lookup(context, row.id ? 1 : 0);
        if (!row.id) return 0;
        remove_record(nullptr);
    } else {
        if (by_id) query = canonical(scripts, filter, hint, expressions, collation);
        auto executor = writing_executor(lock, std::move(*query), kDeleteCannotRun);
        while (executor->next(&row)) {
            if (isolated) lock.keep();
            executor->save();
            remove_record(executor->query().matcher.get());
            if (just_one && removed > 0) break;
            lock.commit_between();
            executor->restore();
        }
        report_query(context, *executor, {}, true);
    }
    DCHECK(removed <= 1 || !just_one);
    context.metrics().deleted.fetch_add(removed, std::memory_order_relaxed);
    return removed;
}

}  // namespace command
