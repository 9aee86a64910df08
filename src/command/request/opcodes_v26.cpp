#include "command/request/opcodes_v26.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/milliseconds.h"
#include "command/access/local_rule.h"
#include "command/context/client.h"
#include "command/context/default_collation.h"
#include "command/context/scripts.h"
#include "command/cursor/query_cursors.h"
#include "command/observe/counters.h"
#include "command/request/authorization.h"
#include "command/request/bind.h"
#include "command/request/current_op.h"
#include "command/request/database_opener.h"
#include "command/request/find_request.h"
#include "command/write/write_ops.h"
#include "dialect/dialect.h"
#include "query/plan/explain.h"
#include "query/plan/sort.h"
#include "sched/interruption.h"

namespace command {

namespace {

constexpr int64_t kFirstBatchBytes = 1 << 20;
constexpr int64_t kBatchBytes = 4 << 20;
constexpr std::chrono::seconds kAwait{4};
constexpr int kGetMoreOfOtherNs = 17011;
constexpr int kUpdateObjectTooLarge = 10055;

// The stage at which a query failed: the old dialect has one code for each, whatever the reason.
struct Stage {
    int code;
    std::string_view failed;
    bool runs = false;
};
constexpr Stage kReading{17287, "Can't canonicalize query"};
constexpr Stage kPlanning{17007, "Unable to execute query"};
constexpr Stage kFirstBatch{17144, "Executor error", true};
constexpr Stage kNextBatch{17406, "Executor error", true};

// Other failures are none of the stage: that it ran out of time, that it was killed.
template <typename Step>
auto run_stage(const Stage& stage, Step&& step) {
    const auto fail_in_stage = [&stage](const base::Error& e) {
        base::fail(stage.code, "{}: {} {}", stage.failed, base::code_name(e.code()), e.what());
    };
    try {
        return step();
    } catch (const query::SortError& e) {
        if (stage.runs) fail_in_stage(e);  // plans are tried by running them
        throw;
    } catch (const base::Error& e) {
        if (e.code() == base::kBadValue) fail_in_stage(e);
        throw;
    }
}

bson::Object sort_of_array(bson::Doc list) {
    bson::Builder out;
    for (const bson::Element& e : list) {
        if (!e.is_object() || e.as_doc().empty()) base::fail(base::kBadValue, "bad order array");
        out.append(e.as_doc().first());
    }
    return out.object();
}

using Query = query::FindQuery;

bson::Object read_document(const bson::Element& e, dialect::Dialect) {
    if (!e.is_object()) base::fail(base::kBadValue, "{} must be a document", e.name());
    return bson::Object(e.as_doc());
}
constexpr Reader<bson::Object> kDocument{types::object, read_document};

constexpr Reader<int64_t> kNumber{
    types::number, [](const bson::Element& e, dialect::Dialect) { return e.to_int64(); }};

void take_sort(FindRequest& request, const bson::Element& e, dialect::Dialect) {
    if (e.is_object()) {
        request.parts.sort = e.as_doc();
    } else if (e.is_array()) {
        request.sort_of_array = sort_of_array(e.as_doc());
        request.parts.sort = request.sort_of_array;
    } else {
        base::fail(base::kBadValue, "sort must be object or array");
    }
}

int64_t read_max_time(const bson::Element& e, dialect::Dialect) {
    if (!e.is_number()) base::fail(base::kBadValue, "$maxTimeMS must be a number");
    const double given = e.to_double();
    if (!(given >= 0 && given <= 2147483647.0) || given != static_cast<double>(e.to_int64()))
        base::fail(base::kBadValue, "$maxTimeMS is out of range");
    return e.to_int64();
}
constexpr Reader<int64_t> kTimeLimit{types::number, read_max_time};

void take_hint(FindRequest& request, const bson::Element& e, dialect::Dialect) {
    const bool a_name = e.is_string() && !e.as_string().empty();
    if (a_name || e.is_object()) {
        request.parts.hint = e;
    } else {
        // Whatever else it is, no index answers to it; where there is no collection, none has to.
        bson::Builder unknown;
        unknown.append_as("$hint", e);
        request.query.hint = unknown.object();
    }
}

void take_show_disk_loc(FindRequest& request, const bson::Element& e, dialect::Dialect) {
    request.query.show_record_id = e.truthy();
    request.query.record_id_as_place = true;
}

// The modifiers beside the filter of OP_QUERY (wire spec 3.10), in any order. Others say nothing.
constexpr Row<FindRequest> kModifierRows[] = {
    {{"orderby"}, take_sort},
    {{"$orderby"}, take_sort},
    row<lenient::flag, &FindRequest::explain>("$explain"),
    row<lenient::flag, &FindRequest::query, &Query::snapshot>("$snapshot"),
    row<kDocument, &FindRequest::query, &Query::min>("$min"),
    row<kDocument, &FindRequest::query, &Query::max>("$max"),
    {{"$hint"}, take_hint},
    row<lenient::flag, &FindRequest::query, &Query::return_key>("$returnKey"),
    row<kNumber, &FindRequest::query, &Query::max_scan>("$maxScan"),
    {{"$showDiskLoc"}, take_show_disk_loc},
    row<kTimeLimit, &FindRequest::max_time_ms>("$maxTimeMS"),
};
constexpr RequestTable kModifiers(kModifierRows, nullptr, Repeated::last);

bool one_batch(const wire::QueryMessage& message) {
    return message.to_return < 0 || message.to_return == 1;
}

FindRequest take_apart(const wire::QueryMessage& message) {
    FindRequest out;
    out.parts.filter = message.query;
    out.parts.projection = message.fields;
    bson::Element wrapped = message.query["query"];
    if (!wrapped.is_object() && !wrapped.is_array()) wrapped = message.query["$query"];
    if (wrapped.is_object() || wrapped.is_array()) {
        out.parts.filter = wrapped.as_doc();
        kModifiers.read(message.query, "query", dialect::kV26, out);
    }
    if (message.skip < 0) base::fail(base::kBadValue, "bad skip value in query");
    // It has no counterpart, so it says no number of documents.
    if (message.to_return == std::numeric_limits<int32_t>::min())
        base::fail(base::kBadValue, "bad numberToReturn in query");
    out.query.skip = message.skip;
    out.query.tailable = (message.flags & wire::kTailable) != 0;
    out.await_data = (message.flags & wire::kAwaitData) != 0;
    out.no_timeout = (message.flags & wire::kNoCursorTimeout) != 0;
    // A positive number counts for the first batch only.
    if (message.to_return < 0 && !out.query.tailable)
        out.query.limit = std::abs(int64_t{message.to_return});
    if (message.to_return > 0) out.query.top = message.to_return;
    if (out.query.tailable) check_tailable_sort(out.parts.sort);
    return out;
}

void reply_one(bson::Buffer& reply, const wire::Header& header, int32_t flags,
               const std::function<void(bson::Builder&)>& write) {
    wire::ReplyWriter writer(reply, header.request_id);
    bson::Builder doc = writer.document();
    write(doc);
    doc.finish();
    writer.finish(flags, 0, 0);
}

void reply_explain(std::string_view host, CollectionLock& lock, FindRequest&& find,
                   const wire::QueryMessage& message, bson::Buffer& reply) {
    const auto started = sched::Operation::Clock::now();
    const auto executor = run_stage(kPlanning, [&] {
        return query::make_executor(lock.collection(), std::move(find.query), execution_options(),
                                    &lock);
    });
    query::Row row;
    while (executor->next(&row)) {
    }
    const int64_t took = base::ms_since(started);
    reply_one(reply, message.header, wire::ReplyWriter::kAwaitCapable, [&](bson::Builder& doc) {
        query::append_explain_v26(doc, executor->report(), {took, host, true});
    });
}

std::shared_ptr<const bson::Object> stages_of(const query::Executor& executor) {
    if (executor.stats().id_hack) return nullptr;
    bson::Builder stages;
    query::append_stage_counts(stages, executor.report());
    return std::make_shared<const bson::Object>(stages.object());
}

// Two alternatives, of which neither is a sort.
void tell_sort_with_limit(const query::ExecutionStats& stats, OpReport& report) {
    report.scanned = std::max(stats.keys_examined, stats.docs_examined);
    report.scanned_objects = stats.docs_examined;
    report.scan_and_order = false;
    report.plan = fmt::format("{0}, {0}", report.plan);
}

void first_batch(CursorManager& cursors, Client& client, CollectionLock& lock, FindRequest&& find,
                 const wire::QueryMessage& message, std::unique_ptr<Cursor>& cursor,
                 bson::Buffer& reply) {
    cursor = run_stage(kPlanning, [&] { return open_cursor(lock, std::move(find.query)); });
    cursor->await_data = find.await_data;
    cursor->no_timeout = find.no_timeout;
    cursor->default_batch = message.to_return;

    BatchLimits limits;
    if (message.to_return == 0) {
        limits.documents = kFirstBatchDocuments;
        limits.bytes = kFirstBatchBytes;
    } else {
        limits.documents = std::abs(int64_t{message.to_return});
        limits.bytes = kBatchBytes;
    }
    DCHECK(limits.documents > 0);
    bool exhausted = false;
    wire::ReplyWriter writer(reply, message.header.request_id);
    const int64_t count = fill_reply(*cursor, limits, writer, reply, &exhausted);
    client.metrics().returned.fetch_add(count, std::memory_order_relaxed);
    OpReport& report = client.report();
    report.returned = count;
    report.to_return = message.to_return;
    report.to_skip = message.skip;
    // A tailable cursor outlives any first batch but that of one document.
    const bool tailable = cursor->tailable;
    const bool close = tailable ? std::abs(int64_t{message.to_return}) == 1 : one_batch(message);
    std::optional<query::ExecutionStats> top;
    if (const query::Executor* executor = cursor->source->executor()) {
        const bool too_few = count < std::abs(int64_t{message.to_return});
        if (!executor->query().sort.empty() && executor->stats().scan_and_order)
            top = query::sort_with_limit(executor->report(), too_few);
        if (report.wants_stages) report.stages = stages_of(*executor);
    }
    const int64_t id = keep_cursor(cursors, lock, cursor, exhausted, close);
    DCHECK((id == 0) == (cursor != nullptr));
    report.cursor_id = id;
    if (top) tell_sort_with_limit(*top, report);
    writer.finish(wire::ReplyWriter::kAwaitCapable, id, 0);
}

}  // namespace

bool pseudo_query_v26(OperationContexts& contexts, storage::FsyncLock& fsync_lock, Client& client,
                      const wire::QueryMessage& message, bson::Buffer& reply) {
    const std::string_view collection = catalog::split(message.ns).collection;
    if (collection.starts_with("$cmd.sys.inprog")) {
        try {
            reply_one(reply, message.header, 0, [&](bson::Builder& doc) {
                append_operations(contexts, fsync_lock, &client, message.query, dialect::kV26, doc);
            });
        } catch (const base::Error& e) {
            // There is no error reply to this.
            throw wire::DecodeError(wire::DecodeError::Reaction::close, e.code(), e.what());
        }
    } else if (collection.starts_with("$cmd.sys.killop")) {
        reply_one(reply, message.header, 0,
                  [&](bson::Builder& doc) { kill_operation(contexts, message.query["op"], doc); });
    } else if (collection.starts_with("$cmd.sys.unlock")) {
        reply_one(reply, message.header, 0, [&](bson::Builder& doc) {
            if (catalog::split(message.ns).db != "admin" || !may_administer(client.info())) {
                doc.append("err", "unauthorized")
                    .append("ok", 0.0)
                    .append("errmsg", "unauthorized");
            } else if (const std::optional<int64_t> left = fsync_lock.unlock()) {
                doc.append("ok", 1.0).append("info", "unlock completed");
                if (*left > 0) doc.append("lockCount", *left);
            } else {
                doc.append("ok", 0.0).append("errmsg", "not locked");
            }
        });
    } else {
        return false;
    }
    return true;
}

void query_v26(DatabaseOpener& opener, CursorManager& cursors, std::string_view host,
               Client& client, const wire::QueryMessage& message, bson::Buffer& reply) {
    FindRequest find = run_stage(kReading, [&] {
        FindRequest taken = take_apart(message);
        client.operation().set_deadline_ms(taken.max_time_ms);
        inherit_collation(client, message.ns, taken.query);
        const RequestScripts scripts(client, message.ns);
        taken.parts.where = &scripts;
        taken.query.canonicalise(taken.parts);
        taken.parts.where = nullptr;
        return taken;
    });
    find.query.oplog_replay = (message.flags & wire::kOplogReplay) != 0;
    if (find.query.oplog_replay)
        run_stage(kPlanning, [&] { check_oplog_replay(find.parts.filter); });

    opener.open_again(catalog::split(message.ns).db);
    std::unique_ptr<Cursor> cursor;  // freed after the lock is given up
    CollectionLock lock(client, message.ns, false);
    run_stage(kFirstBatch, [&] {
        if (find.explain) return reply_explain(host, lock, std::move(find), message, reply);
        first_batch(cursors, client, lock, std::move(find), message, cursor, reply);
    });
}

bool get_more_v26(CursorManager& cursors, Client& client, const wire::GetMoreMessage& message,
                  bson::Buffer& reply) {
    GetMore work;
    work.id = message.cursor_id;
    work.ns = message.ns;
    work.limits.documents = message.to_return == 0 ? -1 : std::max(message.to_return, 1);
    work.wrong_ns_code = kGetMoreOfOtherNs;
    // The cursors of listIndexes and listCollections go on under names of no collection.
    work.need_collection = message.ns.find(".$cmd.") == std::string_view::npos;
    work.limits.bytes = kBatchBytes;
    work.await = kAwait;
    client.report().cursor_id = work.id;
    client.report().to_return = message.to_return;
    client.report().returned = 0;
    const size_t start = reply.size();
    wire::ReplyWriter writer(reply, message.header.request_id);
    GetMore::Result result;
    try {
        admit_get_more(client, cursors, work.id, work.ns, work.need_collection);
        result = get_more(cursors, client, work,
                          [&](Cursor& cursor, const BatchLimits& limits, bool* exhausted) {
                              return run_stage(kNextBatch, [&] {
                                  return fill_reply(cursor, limits, writer, reply, exhausted);
                              });
                          });
    } catch (const query::PositionLost&) {
        // A tailable cursor that the ring has overtaken is simply gone.
        writer.finish(wire::ReplyWriter::kCursorNotFound, 0, static_cast<int32_t>(work.returned));
        return false;
    }
    switch (result.status) {
        case GetMore::Status::wait:
            reply.truncate(start);
            return true;
        case GetMore::Status::not_found:
            writer.finish(wire::ReplyWriter::kCursorNotFound, 0, 0);
            break;
        case GetMore::Status::done:
            writer.finish(wire::ReplyWriter::kAwaitCapable, result.next_id,
                          static_cast<int32_t>(result.starting_from));
            break;
    }
    return false;
}

void insert_v26(DatabaseOpener& opener, OpCounters& counters, Client& client,
                const wire::InsertMessage& message) {
    catalog::check_insertable(message.ns, storage::kOldNameLimits);
    const bool go_on = (message.flags & wire::InsertMessage::kContinueOnError) != 0;
    bson::Buffer& scratch = client.scratch();
    int64_t index = 0;
    int64_t& inserted = client.report().inserted;
    inserted = 0;
    opener.open_again(catalog::split(message.ns).db);
    CollectionLock lock(client, message.ns, storage::Access::documents);
    for (const bson::Doc doc : message.documents) {
        try {
            yield_before_insert(lock, index++, doc);
            const int64_t count = insert_document(lock, doc, scratch);
            counters.insert.fetch_add(1, std::memory_order_relaxed);
            inserted += count;
            client.metrics().inserted.fetch_add(count, std::memory_order_relaxed);
        } catch (const base::Error& e) {
            if (!go_on || sched::is_interruption(e)) throw;
            counters.insert.fetch_add(1, std::memory_order_relaxed);
            ++inserted;  // to the report, as it always was
            client.last_error().record_error(e.code(), e.what());
        }
    }
}

void update_v26(DatabaseOpener& opener, OpCounters& counters, Client& client,
                const wire::UpdateMessage& message) {
    catalog::check_writable(message.ns, storage::kOldNameLimits);
    if (message.update.size() > bson::kDocumentBytesMax)
        base::fail(kUpdateObjectTooLarge,
                   "update object too large: {} bytes, at most {} are allowed",
                   message.update.size(), bson::kDocumentBytesMax);
    UpdateRequest request;
    request.query = message.selector;
    request.update = message.update;
    request.upsert = (message.flags & wire::UpdateMessage::kUpsert) != 0;
    request.multi = (message.flags & wire::UpdateMessage::kMulti) != 0;
    counters.update.fetch_add(1, std::memory_order_relaxed);
    opener.open_again(catalog::split(message.ns).db);
    const UpdateOutcome outcome = update_documents(client, message.ns, request);
    report_update(client.report(), outcome);
    client.last_error().record_update(outcome.existing(), outcome.n(), outcome.upserted);
}

void delete_v26(DatabaseOpener& opener, OpCounters& counters, Client& client,
                const wire::DeleteMessage& message) {
    catalog::check_writable(message.ns, storage::kOldNameLimits);
    const bool just_one = (message.flags & wire::DeleteMessage::kSingle) != 0;
    counters.remove.fetch_add(1, std::memory_order_relaxed);
    opener.open_again(catalog::split(message.ns).db);
    const int64_t removed = delete_documents(client, message.ns, message.selector, {}, just_one);
    client.report().deleted = removed;
    client.last_error().record_delete(removed);
}

void kill_cursors_v26(CursorManager& cursors, Client& client,
                      const wire::KillCursorsMessage& message) {
    if (message.count >= wire::KillCursorsMessage::kRefuseCount)
        base::fail(base::kBadValue, "killCursors: {} cursors are too many", message.count);
    if (message.count > wire::KillCursorsMessage::kWarnCount)
        base::log::warning("killCursors: many cursors at once: {}", message.count);
    for (int32_t i = 0; i < message.count; ++i) {
        if (may_kill_cursor(client, cursors, message.id(i))) cursors.kill(message.id(i));
    }
}

}  // namespace command
