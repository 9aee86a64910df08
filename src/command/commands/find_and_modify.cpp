// findAndModify (wire spec 3.6, semantics 3).
#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "command/commands/families.h"
#include "command/commands/find.h"
#include "command/commands/projection_of_today.h"
#include "command/commands/request_expressions.h"
#include "command/commands/write_history.h"
#include "command/context/scripts.h"
#include "command/cursor/query_cursors.h"
#include "command/request/authorization.h"
#include "command/request/bind.h"
#include "command/request/fields_of_today.h"
#include "command/request/invocation.h"
#include "command/write/document_change.h"
#include "command/write/write_ops.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/requests.h"
#include "dialect/updates.h"
#include "oplog/statement.h"
#include "query/match/regex_flags.h"
#include "query/plan/executor.h"
#include "query/plan/sort.h"
#include "query/stage/computed_projection.h"
#include "query/stage/update_pipeline.h"
#include "sched/interruption.h"
#include "sched/work_limit.h"

namespace command {

namespace {

constexpr int kBadQuery = 17383;
constexpr int kBadQueryOrSort = 13106;
constexpr int kCannotRun = 17384;
constexpr int kRemoveBesideUpdate = 12515;

using Request = FindAndModifyRequest;

class FindAndModify {
  public:
    FindAndModify(Invocation& invocation, const Request& request)
        : invocation_(invocation),
          client_(invocation.client),
          counters_(invocation.service.counters()),
          request_(request),
          ns_(invocation.ns()),
          asked_(collation_of(invocation, request)),
          expressions_(invocation.dialect(), request.let, asked_.collator),
          statement_(invocation.turn, 0) {
        if (!request.remove)
            check_updatable(client_, ns_, catalog::code_of_bad_name(invocation.dialect()));
    }

    // False: others have changed or removed what was found, or it takes another lock; again.
    bool run() {
        DCHECK(storage::LockManager::database().empty());
        not_shown_ = nullptr;  // of a try before
        canonicalise();
        parse_update();
        if (sends_requests()) client_.last_error().next_request();
        CollectionLock lock(client_, ns_, access_);
        // A removal from a collection that is not there changes nothing, whatever its name.
        if (request_.remove && lock.collection() != nullptr)
            catalog::check_writable(ns_, client_.name_limits(),
                                    catalog::code_of_bad_name(invocation_.dialect()));
        find_.want_details = true;
        if ((sends_requests() || invocation_.dialect().has(dialect::kPositionalNeedsNoSort)) &&
            !request_.computes)
            positional_ = parse_positional();
        const auto executor = plan(lock);
        query::Row row;
        const bool found = executor->next(&row);
        if (!found && request_.upsert && lock.is_concurrent() && client_.transaction() == nullptr) {
            // Another thread must not insert it between the look and the insert.
            access_ = storage::Access::all;
            return false;
        }
        report_query(client_, *executor, {}, true);
        if (found && !request_.sort.empty() && executor->stats().scan_and_order &&
            !still_matches(lock, *executor, row))
            return false;
        if (found && request_.remove_beside_update)
            base::fail(kRemoveBesideUpdate, "can't remove and update");
        if (!found) {
            change_nothing(lock, *executor);
            return true;
        }
        bson::Object sorted;  // as it was when the sort chose it
        if (lock.must_lock_records() && !request_.sort.empty()) sorted = bson::Object(row.doc);
        executor->save();
        return change_document(lock, [&] {
            const query::Matcher* const filter = executor->query().matcher.get();
            if (!hold_document(lock, row, filter)) return false;
            const bson::Doc now = lock.collection()->records().get(row.id);
            if (!sorted.empty() && !std::ranges::equal(now.bytes(), sorted.bytes())) return false;
            change(lock, row, now);
            return true;
        });
    }

  private:
    std::unique_ptr<query::Executor> plan(CollectionLock& lock) {
        DCHECK(find_.matcher != nullptr && find_.limit == 1);
        query::ExecutorOptions options = execution_options();
        options.for_write = true;
        const bool needs_index = options.no_table_scan || find_.matcher->near() != nullptr;
        try {
            return query::make_executor(lock.collection(), std::move(find_), options, &lock);
        } catch (const base::Error& e) {
            if (invocation_.dialect().has(dialect::kBadQueriesAreOfFind) || !needs_index) throw;
            sched::fail_because(e, request_.sort.empty() ? kCannotRun : kBadQueryOrSort,
                                "cannot run the query: {}", e.what());
        }
    }

    static query::FindQuery collation_of(Invocation& invocation, const Request& request) {
        query::FindQuery asked;
        set_collation(invocation.client, invocation.ns(), request.collation, invocation.dialect(),
                      asked);
        return asked;
    }

    void canonicalise() {
        query::FindQuery::Parts parts;
        parts.filter = request_.query;
        parts.sort = request_.sort;
        parts.hint = request_.hint;
        // An upsert takes values from its query, and what $expr says is none.
        parts.expressions = expressions_.get();
        if (invocation_.dialect().has(dialect::kExpressionsInFilters) && request_.upsert)
            parts.expressions = &query::kNoExpressionsHere;
        const RequestScripts scripts(client_, ns_);
        parts.where = &scripts;
        find_ = query::FindQuery();
        find_.collator = asked_.collator;
        find_.inherits_collation = asked_.inherits_collation;
        if (request_.computes)
            computed_ = query::make_computed_projection(request_.fields, expressions_.let(),
                                                        asked_.collator);
        try {
            find_.canonicalise(parts);
        } catch (const base::Error& e) {
            if (invocation_.dialect().has(dialect::kBadQueriesAreOfFind) ||
                e.code() == script::kScriptError)
                throw;
            sched::fail_because(e, request_.sort.empty() ? kBadQuery : kBadQueryOrSort,
                                "Can't canonicalize query: {}", e.what());
        }
        if (invocation_.dialect().has(dialect::kRegexIsChecked))
            query::refuse_odd_flags(*find_.matcher);
        find_.limit = 1;
    }

    // Parses the update before the lock is taken, since it may take long. A fault in one that came
    // by the old messages is reported only where there is something to update.
    void parse_update() {
        if (request_.remove || update_ != nullptr || bad_update_) return;
        try {
            update_ =
                query::parse_update(request_.update, request_.by_pipeline,
                                    {.upsert = request_.upsert,
                                     .dialect = invocation_.dialect(),
                                     .array_filters = request_.array_filters,
                                     .keeps_empty_timestamps = request_.keeps_empty_timestamps,
                                     .collator = asked_.collator},
                                    expressions_.let());
        } catch (const base::Error& e) {
            if (invocation_.dialect().has(dialect::kBadUpdateIsRefused) || sched::is_end_of_work(e))
                throw;
            bad_update_ = std::current_exception();
        }
    }
    query::Update& update() {
        DCHECK((update_ != nullptr) != (bad_update_ != nullptr));
        if (bad_update_) std::rethrow_exception(bad_update_);
        return *update_;
    }

    void change_nothing(CollectionLock& lock, query::Executor& executor) {
        bson::Builder value;
        try {
            if (request_.upsert) return upsert(lock, executor);
            value.append_null("value");
            append_reply(value.doc(), {.update = request_.has_update});
            // Today a write of nothing waits, too.
            invocation_.skip_concern =
                !invocation_.dialect().has(dialect::kFindAndModifyIsOneRequest);
        } catch (const base::Error& e) {
            fail_with_details(e, value.doc());
        }
    }

    // The document that was found.
    void change(CollectionLock& lock, query::Row& row, bson::Doc doc) {
        DCHECK(!request_.remove_beside_update);
        bson::Builder value;
        not_shown_ = nullptr;
        try {
            if (!request_.return_new) {
                show(doc, &row.details, value);
                rethrow_parse_error();
            }
            if (request_.remove)
                remove(lock, row, value.doc());
            else
                modify(lock, row, value);
        } catch (const base::Error& e) {
            fail_with_details(e, value.doc());
        }
    }

    struct Outcome {
        bool update = false;
        bool existing = false;
        int32_t n = 0;
        bson::Object upserted = {};
    };

    // The old server sent itself a query, a write and a getLastError for a request with a sort, as
    // its clients see; without one it did the work in one go, which getLastError knows nothing of.
    bool sends_requests() const {
        return !request_.sort.empty() &&
               !invocation_.dialect().has(dialect::kFindAndModifyIsOneRequest);
    }

    // `fields` if they ask for the array element that the query chose. Other mistakes in them show
    // when there is something to return.
    std::unique_ptr<query::Projection> parse_positional() const {
        try {
            auto projection = query::Projection::parse(request_.fields, find_.matcher.get(),
                                                       expressions_.get(), asked_.collator);
            return projection != nullptr && projection->needs_details() ? std::move(projection)
                                                                        : nullptr;
        } catch (const base::Error& e) {
            if (invocation_.dialect().has(dialect::kBadUpdateIsRefused)) throw;
            try {
                query::Projection::parse_by_name(request_.fields, expressions_.get());
            } catch (const base::Error&) {
                if (sched::is_end_of_work(e)) throw;
                return nullptr;
            }
            sched::fail_because(e, kBadQueryOrSort, "Can't canonicalize query: {}", e.what());
        }
    }

    // `details`: of the match that found the document; null if it was not there before. The written
    // document is returned in any case, also where the element has gone.
    void append_value(bson::Builder& out, bson::Doc doc, const query::MatchDetails* details) {
        DCHECK(positional_ == nullptr || computed_ == nullptr);
        if (positional_ != nullptr && details != nullptr) {
            try {
                bson::Buffer shown;
                positional_->apply(doc, details, shown);
                out.append("value", bson::Doc(shown.data()));
                return;
            } catch (const base::Error& e) {
                if (!request_.return_new || sched::is_end_of_work(e)) throw;
            }
        }
        if (computed_ != nullptr) {
            out.bytes(bson::Type::object, "value", {});
            computed_->apply(doc, nullptr, out.buffer());
            return;
        }
        const auto projection =
            query::Projection::parse_by_name(request_.fields, expressions_.get(), asked_.collator);
        if (projection == nullptr) {
            out.append("value", doc);
            return;
        }
        out.bytes(bson::Type::object, "value", {});
        projection->apply(doc, nullptr, out.buffer());
    }

    // Appends the document as it was found, or what becomes of it, before anything is written: that
    // may end the operation. An error in `fields` is kept in not_shown_.
    void show(bson::Doc doc, const query::MatchDetails* details, bson::Builder& value) {
        const sched::WorkLimit limit(kProjectionWork);
        const size_t start = value.buffer().size();
        try {
            append_value(value, doc, details);
        } catch (const base::Error& e) {
            if (sched::is_end_of_work(e)) throw;
            not_shown_ = std::current_exception();
            value.buffer().truncate(start);
        }
    }
    void rethrow_parse_error() const {
        if (not_shown_) std::rethrow_exception(not_shown_);
    }

    void append_reply(bson::Doc value, const Outcome& outcome) {
        DCHECK(outcome.n == 0 || outcome.n == 1);
        DCHECK(!outcome.existing || outcome.upserted.empty());
        bson::Builder& reply = *invocation_.reply;
        if (sends_requests() && outcome.n > 0) {
            LastError& last = client_.last_error();
            if (outcome.update) {
                last.record_update(outcome.existing, outcome.n, outcome.upserted);
            } else {
                last.record_delete(outcome.n);
            }
            append_get_last_error(reply);
            reply.append_all(value);
            return;
        }
        reply.append_all(value);
        if (!invocation_.dialect().has(dialect::kLastErrorIsTold) && outcome.n == 0)
            return;  // as the old server
        bson::Builder last = reply.sub_object("lastErrorObject");
        if (outcome.update) last.append("updatedExisting", outcome.existing);
        last.append("n", outcome.n);
        if (!outcome.upserted.empty()) last.append_as("upserted", outcome.upserted.doc().first());
    }

    void append_get_last_error(bson::Builder& out) const {
        bson::Builder reply = out.sub_object("lastErrorObject");
        reply.append("connectionId", static_cast<int32_t>(client_.info().number));
        client_.last_error().append_last(reply);
        if (!client_.last_error().failed())
            reply.append("syncMillis", 0).append_null("writtenTo").append_null("err");
        reply.append("ok", 1.0);
    }

    // Keeps what is shown, for a client that sends the request again. `value` lives until the
    // change is made.
    void keep_shown(bson::Doc value) {
        if (!statement_.has_turn()) return;
        if (const bson::Element shown = value["value"]; shown.is_object())
            statement_.show(shown.as_doc());
    }

    // A failed write is reported together with what had been found, or by a getLastError.
    [[noreturn]] void fail_with_details(const base::Error& error, bson::Doc value) {
        bson::Builder details;
        if (error.details() != nullptr) details.append_all(bson::Doc(error.details()->data()));
        if (sends_requests()) {
            client_.last_error().record_error(error.code(), error.what());
            append_get_last_error(details);
        } else {
            details.append_all(value);
        }
        throw base::Error(error.code(), error.what(), details.object().bytes());
    }

    void remove(CollectionLock& lock, const query::Row& row, bson::Doc value) {
        check_removable(*lock.collection());
        keep_shown(value);
        lock.collection()->remove(row.id);
        client_.report().deleted = 1;
        append_reply(value, {.n = 1});
        counters_.remove.fetch_add(1, std::memory_order_relaxed);
        client_.metrics().deleted.fetch_add(1, std::memory_order_relaxed);
    }

    // An update that came by OP_MSG is shown as a part of the command.
    void tell_update() {
        if (invocation_.dialect().has(dialect::kProfileShowsCommands)) return;
        client_.report().update = request_.update;
        client_.report().has_update = true;
    }

    void modify(CollectionLock& lock, query::Row& row, bson::Builder& value) {
        DCHECK(!request_.remove);
        const sched::WorkLimit limit(kUpdateWork);
        tell_update();
        catalog::Collection& collection = *lock.collection();
        storage::RecordId id = row.id;
        bson::Buffer out;
        const ComputedUpdate computed = compute_update(collection, update(), id, row.details, out);
        if (request_.return_new) show(updated_document(computed, out), &row.details, value);
        keep_shown(value.doc());
        const bool changed =
            store_update(client_, collection, computed, request_.validation, &id, out);
        rethrow_parse_error();
        report_update(client_.report(), {1, changed ? 1 : 0, {}});
        append_reply(value.doc(), {.update = true, .existing = true, .n = 1});
        count_update();
        client_.metrics().updated.fetch_add(1, std::memory_order_relaxed);
    }

    void upsert(CollectionLock& lock, query::Executor& executor) {
        DCHECK(!lock.is_concurrent() || client_.transaction() != nullptr);
        const sched::WorkLimit limit(kUpdateWork);
        tell_update();
        bson::Buffer made;
        update().build_upsert(*executor.query().matcher, made);
        const bson::Doc doc(made.data());
        executor.save();
        bson::Builder value;
        if (request_.return_new) {
            show(doc, nullptr, value);
        } else if (sends_requests()) {
            value.append("value", bson::Doc());
        } else {
            value.append_null("value");
        }
        keep_shown(value.doc());
        const bson::Object id = insert_upsert(lock, doc, request_.validation);
        rethrow_parse_error();
        report_update(client_.report(), {0, 0, id});
        append_reply(value.doc(), {.update = true, .n = 1, .upserted = id});
        count_update();
    }

    // The old server sent itself an update where there was a sort, and else counted none.
    void count_update() {
        if (sends_requests() || invocation_.dialect().has(dialect::kFindAndModifyIsOneRequest))
            counters_.update.fetch_add(1, std::memory_order_relaxed);
    }

    Invocation& invocation_;
    Client& client_;
    OpCounters& counters_;
    const Request& request_;
    const std::string ns_;
    const query::FindQuery asked_;  // its collation
    const RequestExpressions expressions_;
    oplog::Statement statement_;
    storage::Access access_ = storage::Access::documents;
    query::FindQuery find_;
    std::unique_ptr<query::Update> update_;
    std::exception_ptr bad_update_;
    std::exception_ptr not_shown_;
    // The projection of a request with a sort, which went through a query that knew the element.
    std::unique_ptr<query::Projection> positional_;
    std::unique_ptr<query::Projection> computed_;
};

// Gives the answer that the write got when it came for the first time.
void answer_again(const WriteHistory::Found& found, bool removes, bson::Builder& reply) {
    DCHECK(found.upserted.empty() || found.op == 'i');
    if (found.has_shown)
        reply.append("value", found.shown);
    else
        reply.append_null("value");
    bson::Builder last = reply.sub_object("lastErrorObject");
    if (!removes) last.append("updatedExisting", found.op == 'u');
    last.append("n", 1);
    if (!found.upserted.empty()) last.append_as("upserted", found.upserted.doc().first());
}

void run_find_and_modify(Invocation& invocation) {
    const Request request = parse_find_and_modify(invocation);
    if (!invocation.dialect().has(dialect::kNamesAreNeeded) && !invocation.first().is_string() &&
        !request.upsert) {
        // A value that is no name leads to no collection.
        invocation.reply->append_null("value");
        return;
    }
    if (const auto found = WriteHistory(invocation.client, invocation.turn).find_and_modify())
        return answer_again(*found, request.remove, *invocation.reply);
    FindAndModify work(invocation, request);
    while (!work.run()) {
    }
}

bool may_find_and_modify(const Invocation& invocation, const Rights& rights) {
    const bson::Element target = invocation.first();
    auth::Actions actions = auth::action::find;
    if (invocation.body["remove"].truthy()) actions |= auth::action::remove;
    if (invocation.body["update"]) actions |= auth::action::update;
    if (invocation.body["upsert"].truthy()) actions |= auth::action::insert;
    return rights.logged_in() &&
           rights.on(invocation.db, target.is_string() ? target.as_string() : std::string_view(),
                     actions);
}

}  // namespace

Family find_and_modify_commands() {
    static const Command kCommands[] = {
        {"findAndModify", "findandmodify", kRecordsFailure | kRetryable | kInTransaction,
         LockKind::write,
         "{ findAndModify: collection, query, sort, update | remove: true, new, fields, upsert }",
         run_find_and_modify, needs::decided(may_find_and_modify), find_and_modify_fields()},
    };
    return kCommands;
}

}  // namespace command
