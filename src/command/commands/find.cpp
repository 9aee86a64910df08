// find, getMore, killCursors (wire spec 3.1, 3.2).
#include "command/commands/find.h"
#include "command/commands/change_stream.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/families.h"
#include "command/commands/projection_of_today.h"
#include "command/commands/request_expressions.h"
#include "command/commands/views.h"
#include "command/context/scripts.h"
#include "command/cursor/query_cursors.h"
#include "command/request/authorization.h"
#include "command/request/bind.h"
#include "command/request/fields_of_today.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/requests.h"
#include "oplog/entry.h"
#include "query/match/regex_flags.h"
#include "query/stage/computed_projection.h"
#include "replica/member.h"
#include "sched/tick.h"
#include "sched/work_limit.h"

namespace command {

namespace {

constexpr std::chrono::seconds kDefaultAwait{1};
constexpr int kEndsWithoutHint = 51173;
// The ticks for looking for a cursor (sched/tick.h).
constexpr int64_t kTicksPerCursor = 4;

using Query = query::FindQuery;
using Parts = query::FindQuery::Parts;

bool read_flag(const bson::Element& e, dialect::Dialect) {
    if (e.type() != bson::Type::boolean && !e.is_number())
        base::fail(base::kTypeMismatch, "Field '{}' must be a boolean", e.name());
    return e.truthy();
}
constexpr Reader<bool> kFlag{types::flag, read_flag};

int64_t read_non_negative(const bson::Element& e, dialect::Dialect) {
    if (!e.is_number()) base::fail(base::kTypeMismatch, "Field '{}' must be a number", e.name());
    if (e.to_double() != static_cast<double>(e.to_int64()))
        base::fail(base::kBadValue, "Field '{}' must be a whole number", e.name());
    if (e.to_int64() < 0) base::fail(base::kBadValue, "{} value must be non-negative", e.name());
    return e.to_int64();
}
constexpr Reader<int64_t> kNonNegative{types::number, read_non_negative};

// Refuses a negative number, which means something only by the old messages.
void refuse_negative(const bson::Element& e, dialect::Dialect dialect) {
    if (!dialect.has(dialect::kNegativeCountsAreRefused) || !e.is_number() || e.to_double() >= 0)
        return;
    base::fail(51024, "BSON field '{}' value must be >= 0, actual value '{}'", e.name(),
               e.to_int64());
}

int64_t read_count(const bson::Element& e, dialect::Dialect dialect) {
    refuse_negative(e, dialect);
    return read_non_negative(e, dialect);
}
constexpr Reader<int64_t> kCount{types::number, read_count};

bson::Doc read_document(const bson::Element& e, dialect::Dialect) {
    if (e.type() == bson::Type::null) return bson::Doc();
    if (!e.is_object())
        base::fail(base::kTypeMismatch, "Expected field '{}' to be a document", e.name());
    return e.as_doc();
}
constexpr Reader<bson::Doc> kDocument{types::object, read_document};

bson::Object read_index_end(const bson::Element& e, dialect::Dialect) {
    if (!e.is_object()) base::fail(base::kBadValue, "{} must be a document", e.name());
    return bson::Object(e.as_doc());
}
constexpr Reader<bson::Object> kIndexEnd{types::object, read_index_end};

bool read_disk_use(const bson::Element& e, dialect::Dialect) {
    if (e.type() != bson::Type::boolean)
        base::fail(base::kTypeMismatch, "Expected field 'allowDiskUse' to be a boolean");
    return e.as_bool();
}
constexpr Reader<bool> kDiskUse{types::boolean, read_disk_use};

// A negative limit asks for that many and no cursor, as with the old messages.
void take_limit(FindRequest& request, const bson::Element& e, dialect::Dialect dialect) {
    refuse_negative(e, dialect);
    const bool negative = e.is_number() && e.to_double() < 0;
    // The smallest number has no counterpart.
    request.query.limit =
        negative ? -std::max(e.to_int64(), -INT64_MAX) : read_non_negative(e, dialect);
    if (negative) request.single_batch = true;
}

void take_to_return(FindRequest& request, const bson::Element& e, dialect::Dialect dialect) {
    request.batch_size = request.to_return = read_non_negative(e, dialect);
}

void check_flag(FindRequest&, const bson::Element& e, dialect::Dialect dialect) {
    read_flag(e, dialect);
}

void refuse_unknown(FindRequest&, const bson::Element& e, dialect::Dialect) {
    base::fail(base::kFailedToParse, "Failed to parse: unrecognized field '{}'", e.name());
}

constexpr Row<FindRequest> kFindRows[] = {
    row<kDocument, &FindRequest::parts, &Parts::filter>("filter"),
    {{"limit", types::number}, take_limit},
    row<kFlag, &FindRequest::single_batch>("singleBatch"),
    row<kCount, &FindRequest::batch_size>("batchSize"),
    row<kDocument, &FindRequest::parts, &Parts::projection>("projection"),
    row<kDocument, &FindRequest::parts, &Parts::sort>("sort"),
    row<kCount, &FindRequest::query, &Query::skip>("skip"),
    row<lenient::hint, &FindRequest::parts, &Parts::hint>("hint"),
    row<kIndexEnd, &FindRequest::query, &Query::min>("min"),
    row<kIndexEnd, &FindRequest::query, &Query::max>("max"),
    row<kFlag, &FindRequest::query, &Query::return_key>("returnKey"),
    row<kFlag, &FindRequest::query, &Query::show_record_id>("showRecordId"),
    row<kFlag, &FindRequest::query, &Query::tailable>("tailable"),
    row<kFlag, &FindRequest::await_data>("awaitData"),
    row<kFlag, &FindRequest::no_timeout>("noCursorTimeout"),
    row<kDiskUse, &FindRequest::query, &Query::allow_disk_use>("allowDiskUse"),
    row<kFlag, &FindRequest::query, &Query::oplog_replay>("oplogReplay"),
    row<kFlag, &FindRequest::query, &Query::snapshot>("snapshot"),
    row<kNonNegative, &FindRequest::query, &Query::max_scan>("maxScan"),
    {{"ntoreturn", types::number}, take_to_return},
    {without_effect("allowPartialResults", types::flag, "3.2"), check_flag},
    row<lenient::object_element, &FindRequest::collation>(kCollation),
    row<lenient::object_element, &FindRequest::let>(kLet),
    refused("encryptionInformation", "6.0"),
    refused("requestResumeToken", "4.4"),
    refused("resumeAfter", "4.4"),
};
constexpr RequestTable kFind(kFindRows, refuse_unknown);

// {_id: value} and nothing that needs a plan: the record is written straight into the reply.
bool plain_id_query(const FindRequest& request) {
    const query::FindQuery& query = request.query;
    return query.projection == nullptr && request.parts.sort.empty() &&
           request.parts.hint.missing() && query.skip == 0 && query.min.empty() &&
           query.max.empty() && !query.return_key && !query.show_record_id && !query.snapshot &&
           !query.tailable && query.max_scan == 0 && request.batch_size != 0 &&
           query::is_id_query(request.parts.filter);
}

bool reply_by_id(Invocation& invocation, FindRequest& request, std::string_view ns,
                 const query::ExpressionParser* expressions) {
    DCHECK(plain_id_query(request));
    std::unique_ptr<query::Projection> projection;
    if (!request.parts.projection.empty()) {
        projection = query::Projection::parse(request.parts.projection, nullptr, expressions,
                                              request.query.collator);
        if (projection != nullptr && projection->needs_details()) return false;
    }
    CollectionLock lock(invocation.client, ns, false);
    const catalog::Collection* collection = lock.collection();
    if (collection != nullptr && !query::finds_by_id(*collection, request.query.collator.get()))
        return false;
    bson::Builder reply = invocation.reply->sub_object("cursor");
    {
        bson::Builder batch = reply.sub_array("firstBatch");
        storage::RecordId id;
        if (collection != nullptr)
            id = query::find_by_id(*collection, request.parts.filter.first());
        if (id) {
            const bson::Doc doc = lock.collection()->records().get(id);
            if (projection == nullptr) {
                batch.push(doc);
            } else {
                batch.bytes(bson::Type::object, batch.next().view(), {});
                const sched::WorkLimit limit(kProjectionWork);
                projection->apply(doc, nullptr, batch.buffer());
            }
            invocation.service.metrics().returned.fetch_add(1, std::memory_order_relaxed);
        }
        report_id_lookup(invocation.client, id ? 1 : 0);
        OpReport& report = invocation.client.report();
        report.returned = id ? 1 : 0;
    }
    reply.append("id", int64_t{0}).append("ns", ns);
    return true;
}

void run_find(Invocation& invocation) {
    invocation.service.counters().query.fetch_add(1, std::memory_order_relaxed);
    FindRequest request = parse_find(invocation);
    const std::string ns = invocation.ns();
    const auto view = view_of(invocation, ns);
    if (view)
        request.query.collator = collator_in(*view, request.collation);
    else
        set_collation(invocation.client, ns, request.collation, invocation.dialect(),
                      request.query);
    const RequestExpressions expressions(invocation.dialect(), request.let, request.query.collator);
    if (view) return run_pipeline(invocation, find_in_view(*view, ns, request, expressions.let()));
    request.parts.expressions = expressions.get();
    compile_projection(request, expressions.let());
    const RequestScripts scripts(invocation.client, ns);
    request.parts.where = &scripts;
    if (plain_id_query(request) && reply_by_id(invocation, request, ns, expressions.get())) return;
    request.query.canonicalise(request.parts);
    if (invocation.dialect().has(dialect::kRegexIsChecked))
        query::refuse_odd_flags(*request.query.matcher);

    std::unique_ptr<Cursor> cursor;  // freed after the lock is given up
    CollectionLock lock(invocation.client, ns, false);
    cursor = open_cursor(lock, std::move(request.query));
    cursor->await_data = request.await_data;
    cursor->no_timeout = request.no_timeout;
    BatchLimits limits;
    limits.documents = request.batch_size < 0 ? kFirstBatchDocuments : request.batch_size;
    limits.max_bytes = kBatchBytesMax;
    bool exhausted = false;
    bson::Builder reply = invocation.reply->sub_object("cursor");
    {
        bson::Builder batch = reply.sub_array("firstBatch");
        fill_array(*cursor, limits, batch, &exhausted);
    }
    DCHECK(cursor->returned <= limits.documents);
    invocation.service.metrics().returned.fetch_add(cursor->returned, std::memory_order_relaxed);
    OpReport& report = invocation.client.report();
    report.returned = cursor->returned;
    report.to_return = std::max<int64_t>(request.batch_size, 0);
    report.to_skip = cursor->source->executor()->query().skip;
    const int64_t id =
        keep_cursor(invocation.service.cursors(), lock, cursor, exhausted, request.single_batch);
    DCHECK((id == 0) == (cursor != nullptr));
    invocation.settle();  // else the client would not learn the cursor's id
    report.cursor_id = id;
    reply.append("id", id).append("ns", ns);
}

replica::Member& member_of_follower(const Invocation& invocation) {
    replica::Member* const member = invocation.service.context().member;
    if (member == nullptr)
        base::fail(base::kInvalidOptions, "getMore: durable is for members of a replica set");
    return *member;
}

// A member that follows hears how far a majority is with each batch, and has said what it knows:
// false, if that is not all, so that an empty batch tells it.
bool awaits_commit_point(Invocation& invocation, const bson::Element& known) {
    if (known.missing()) return true;
    DataWait& wait = invocation.client.data_wait();
    std::shared_ptr<void> watch =
        member_of_follower(invocation)
            .watch_committed(oplog::read_position(known), [waker = wait.waker()] {
                if (const auto wake = waker.lock()) wake->wake();
            });
    if (watch == nullptr) {
        wait.end();
        return false;
    }
    wait.hold(std::move(watch));
    return true;
}

// A member takes entries of the log that this server's journal has.
void await_journal(Invocation& invocation, bson::Doc batch) {
    bson::Element last;
    for (const bson::Element& each : batch)
        last = each;
    if (!last) return;
    const bson::Doc entry = last.as_doc();
    if (entry["ts"].type() != bson::Type::timestamp)
        base::fail(base::kInvalidOptions, "getMore: durable is for the log of a replica set");
    invocation.suspension.add_members({.of = MembersAwaited::Of::log,
                                       .position = oplog::position_of(entry),
                                       .need = {.members = 1, .mode = {}, .durable = true},
                                       .rollbacks = invocation.rollbacks});
}

struct MoreRequest {
    bson::Element collection;
    bson::Element batch_size;
    bool is_of_member = false;  // it follows this one
    bson::Element committed;    // what it knows
};

constexpr Reader<bson::Element> kString{types::string, as_it_came};
constexpr Reader<bson::Element> kNumber{types::number, as_it_came};
constexpr Row<MoreRequest> kMoreRows[] = {
    row<kString, &MoreRequest::collection>(required("collection", types::string)),
    row<kNumber, &MoreRequest::batch_size>("batchSize"),
    row<lenient::flag, &MoreRequest::is_of_member>("durable"),
    row<lenient::object_element, &MoreRequest::committed>("committed"),
};
constexpr RequestTable kMore(kMoreRows);

void run_get_more(Invocation& invocation) {
    const bson::Element id = invocation.first();
    if (id.type() != bson::Type::int64)
        base::fail(base::kTypeMismatch, "Field 'getMore' must be of type long");
    MoreRequest request;
    kMore.bind(invocation.given, invocation.dialect(), request);
    if (!request.collection.is_string())
        base::fail(base::kTypeMismatch, "Field 'collection' must be of type string");
    GetMore work;
    work.id = id.as_int64();
    work.ns = fmt::format("{}.{}", invocation.db, invocation.name_in(request.collection));
    work.limits.documents =
        request.batch_size ? read_non_negative(request.batch_size, invocation.dialect()) : -1;
    if (work.limits.documents == 0) work.limits.documents = -1;
    work.limits.max_bytes = kBatchBytesMax;
    const std::chrono::milliseconds await(invocation.body["maxTimeMS"].to_int64());
    work.await_is_given = await.count() > 0;
    work.await = work.await_is_given ? await : kDefaultAwait;
    if (!invocation.client.data_wait().is_retry())
        invocation.service.counters().getmore.fetch_add(1, std::memory_order_relaxed);

    bson::Builder reply = invocation.reply->sub_object("cursor");
    int64_t next_id = 0;
    size_t batch_at = 0;
    bson::Object resume_token;
    {
        bson::Builder batch = reply.sub_array("nextBatch");
        batch_at = batch.buffer().size() - sizeof(int32_t);
        const auto fill = [&batch](Cursor& cursor, const BatchLimits& limits, bool* exhausted) {
            return fill_array(cursor, limits, batch, exhausted);
        };
        CursorManager& cursors = invocation.service.cursors();
        admit_get_more(invocation.client, cursors, work.id, work.ns, work.need_collection);
        const GetMore::Result result = get_more(cursors, invocation.client, work, fill);
        if (result.status == GetMore::Status::not_found)
            base::fail(base::kCursorNotFound, "cursor id {} not found", work.id);
        if (result.status == GetMore::Status::wait &&
            (!request.is_of_member || awaits_commit_point(invocation, request.committed))) {
            invocation.suspension = Suspension::until_data(result.look_again);
            return;
        }
        if (result.shows_majority) invocation.read_level = ReadLevel::majority;
        next_id = result.next_id;
        resume_token = result.resume_token;
    }
    invocation.settle();  // or the batch would be lost
    append_stream_place(invocation, resume_token, next_id, reply);
    reply.append("id", next_id).append("ns", work.ns);
    DCHECK(batch_at != 0 && batch_at < reply.buffer().size());
    if (!request.is_of_member) return;
    oplog::append_position(reply, "committed",
                           member_of_follower(invocation).progress().committed());
    await_journal(invocation, bson::Doc(reply.buffer().data() + batch_at));
}

void run_kill_cursors(Invocation& invocation) {
    if (invocation.dialect().has(dialect::kNamesAreNeeded))
        invocation.ns();  // which does not matter else
    const bson::Element ids = invocation.body["cursors"];
    if (!ids.is_array() || ids.as_doc().empty())
        base::fail(base::kBadValue, "Must specify at least one cursor id in: {}", "killCursors");
    bson::Builder killed;
    bson::Builder missing;
    for (const bson::Element& e : sched::ticked(ids.as_doc(), kTicksPerCursor)) {
        if (!e.is_number())
            base::fail(invocation.dialect().code(base::kFailedToParse, base::kTypeMismatch),
                       "cursor ids must be numbers");
        if (!may_kill_cursor(invocation.client, invocation.service.cursors(), e.to_int64()))
            base::fail(base::kUnauthorized, "not authorized to kill cursor {}", e.to_int64());
        const bool found = invocation.service.cursors().kill(e.to_int64());
        (found ? killed : missing).push(e.to_int64());
    }
    bson::Builder none;
    const bson::Doc empty = none.doc();
    invocation.reply->append_array("cursorsKilled", killed.doc())
        .append_array("cursorsNotFound", missing.doc())
        .append_array("cursorsAlive", empty)
        .append_array("cursorsUnknown", empty);
}

constexpr Field kKillCursorsFields[] = {
    required("cursors", types::array),
};

constexpr Command kCommands[] = {
    {"find", "", kNotCounted | kInTransaction, LockKind::read, "query a collection", run_find,
     needs::on_collection(auth::action::find), kFind.fields()},
    {"getMore", "", kNotCounted | kOnAnyMember | kInTransaction, LockKind::read,
     "the next documents of a cursor", run_get_more, needs::login, kMore.fields()},
    {"killCursors", "", kInTransaction, LockKind::none, "end cursors", run_kill_cursors,
     needs::login, kKillCursorsFields},
};

}  // namespace

FindRequest parse_find(const Invocation& find) {
    const dialect::Dialect dialect = find.dialect();
    FindRequest request;
    request.query.allow_disk_use =
        dialect.has(dialect::kSortsUseFiles);  // later servers, since 6.0
    kFind.bind(find.given, dialect, request);
    const bool has_ends = !request.query.min.empty() || !request.query.max.empty();
    if (dialect.has(dialect::kEndsNeedHint) && has_ends && request.parts.hint.missing() &&
        !query::is_id_query(request.parts.filter))
        base::fail(kEndsWithoutHint,
                   "When using min()/max() a hint of which index to use must be provided");
    if (dialect.has(dialect::kProjectionsCompute) && !request.parts.projection.empty())
        request.computes = is_computed_projection(request.parts.projection, request.parts.filter);
    if (dialect.has(dialect::kSortsAreChecked) && !request.parts.sort.empty())
        check_sort_of_today(request.parts.sort, request.parts.filter);
    if (request.query.oplog_replay) check_oplog_replay(request.parts.filter);
    if (request.query.tailable) check_tailable_sort(request.parts.sort);
    // The batch is all that is wanted.
    if (request.single_batch && request.batch_size > 0 && request.query.limit == 0)
        request.query.limit = request.batch_size;
    if (request.to_return > 1 && request.query.limit == 0) request.query.top = request.to_return;
    DCHECK(request.query.top == 0 || request.query.limit == 0);
    if (request.await_data && !request.query.tailable)
        base::fail(dialect.code(base::kBadValue, base::kFailedToParse),
                   "Cannot set awaitData without tailable");
    return request;
}

void compile_projection(FindRequest& request,
                        const std::shared_ptr<const query::LetVariables>& let) {
    DCHECK(request.query.matcher == nullptr && request.query.projection == nullptr);
    if (!request.computes) return;
    request.query.projection =
        query::make_computed_projection(request.parts.projection, let, request.query.collator);
    request.parts.projection = bson::Doc();
}

Family find_commands() {
    return kCommands;
}

}  // namespace command
