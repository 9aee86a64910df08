#include "command/commands/aggregate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "bson/validate.h"
#include "command/commands/change_stream.h"
#include "command/commands/families.h"
#include "command/commands/request_expressions.h"
#include "command/commands/server_stages.h"
#include "command/commands/views.h"
#include "command/context/default_collation.h"
#include "command/context/locks.h"
#include "command/cursor/batch.h"
#include "command/cursor/query_cursors.h"
#include "command/pipeline/foreign_reader.h"
#include "command/pipeline/merge_output.h"
#include "command/pipeline/output_collection.h"
#include "command/pipeline/pipeline_query.h"
#include "command/pipeline/pipeline_source.h"
#include "command/request/authorization.h"
#include "command/request/fields_of_today.h"
#include "command/request/member_state.h"
#include "command/write/write_ops.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/pipelines.h"
#include "dialect/requests.h"
#include "query/plan/explain.h"
#include "query/stage/foreign.h"
#include "query/stage/output.h"
#include "query/stage/pipeline.h"
#include "query/update/update.h"
#include "sched/interruption.h"
#include "sched/tick.h"
#include "sched/work_limit.h"

namespace command {

namespace {

constexpr int kResultTooLarge = 16389;
// The most bytes of a first batch: a document that would exceed it goes into the next one.
constexpr int64_t kFirstBatchBytes = 4 * 1024 * 1024;

void take_batch_size(PipelineRequest& request, const bson::Element& e, dialect::Dialect dialect) {
    if (!e.is_number()) base::fail(16956, "cursor.batchSize must be a number");
    if (e.to_int64() < 0)
        base::fail(dialect.code(16957, 51024), "Cursor batchSize must not be negative");
    request.batch_size = e.to_int64();
}

void refuse_in_cursor(PipelineRequest&, const bson::Element&, dialect::Dialect) {
    base::fail(16955, "cursor object can't contain fields other than batchSize");
}

constexpr Row<PipelineRequest> kCursorRows[] = {{kCursorFields[0], take_batch_size}};
constexpr RequestTable kCursor(kCursorRows, refuse_in_cursor, Repeated::last);

void take_cursor(PipelineRequest& request, const bson::Element& e, dialect::Dialect dialect) {
    if (!e.is_object()) base::fail(16954, "cursor field must be missing or an object");
    request.as_cursor = true;
    kCursor.read(e.as_doc(), "cursor", dialect, request);
}

constexpr Reader<bson::Object> kPipeline{
    types::array, [](const bson::Element& e, dialect::Dialect) {
        if (!e.is_array()) base::fail(13111, "wrong type for field (pipeline): expected an array");
        return bson::Object(e.as_doc());
    }};

constexpr Reader<bool> kDiskUse{types::boolean, [](const bson::Element& e, dialect::Dialect) {
                                    if (e.type() != bson::Type::boolean)
                                        base::fail(16949, "allowDiskUse must be a bool, not a {}",
                                                   static_cast<int>(e.type()));
                                    return e.as_bool();
                                }};

void take_explain(PipelineRequest& request, const bson::Element& e, dialect::Dialect) {
    if (e.type() != bson::Type::boolean)
        base::fail(13111, "wrong type for field (explain): expected a boolean");
    if (e.as_bool()) request.explain = Verbosity::query_planner;
}

void refuse_field(PipelineRequest&, const bson::Element& e, dialect::Dialect dialect) {
    if (!dialect.has(dialect::kFieldsAreChecked))
        base::fail(base::kFailedToParse, "unrecognized field '{}'", e.name());
}

constexpr Row<PipelineRequest> kAggregateRows[] = {
    row<kPipeline, &PipelineRequest::stages>(required("pipeline", types::array)),
    {{"cursor", types::object}, take_cursor},
    row<kDiskUse, &PipelineRequest::allow_disk_use>("allowDiskUse"),
    row<lenient::hint, &PipelineRequest::hint>("hint"),
    {{"explain", types::boolean}, take_explain},
    row<kValidation, &PipelineRequest::validation>(kBypassValidation),
    row<lenient::object_element, &PipelineRequest::collation>(kCollation),
    row<lenient::object_element, &PipelineRequest::let_given>(kLet),
    {refused("encryptionInformation", "6.0"), refuse_field},
    // A part of the work for another server, which goes on with it.
    {refused("fromRouter"), refuse_field},
    {refused("fromMongos"), refuse_field},
    {refused("needsMerge"), refuse_field},
};
constexpr RequestTable kAggregate(kAggregateRows, refuse_field, Repeated::last);

PipelineRequest parse(const Invocation& invocation) {
    PipelineRequest out;
    out.allow_disk_use =
        invocation.dialect().has(dialect::kSortsUseFiles);  // later servers, since 6.0
    const bson::Element target = invocation.first();
    out.whole_database = target.is_number() && target.to_double() == 1.0;
    out.ns = out.whole_database ? fmt::format("{}.$cmd.aggregate", invocation.db) : invocation.ns();
    out.source_ns = out.ns;
    kAggregate.bind(invocation.given, invocation.dialect(), out);
    return out;
}

std::unique_ptr<query::Pipeline> parse_pipeline(Invocation& invocation,
                                                const PipelineRequest& request,
                                                std::shared_ptr<ForeignReader> foreign,
                                                bson::Doc given) {
    query::PipelineContext context;
    context.allow_disk_use = request.allow_disk_use;
    if (request.allow_disk_use)
        context.scratch_directory = invocation.service.engine().scratch_directory();
    context.dialect = invocation.dialect();
    context.reads_collection = !request.whole_database;
    context.foreign = std::move(foreign);
    context.collator = request.collator;
    if (request.let != nullptr) context.variables = request.let->variables();
    context.let = request.let;
    context.find_first_stage = [&](std::string_view stage) {
        return find_first_stage(invocation, request.ns, stage);
    };
    context.narrows = !is_change_stream(invocation, request.stages);  // each event has its `_id`
    return query::Pipeline::parse(given, context);
}

// Null where the client takes this for a server that has no such stages.
std::shared_ptr<ForeignReader> foreign_reader(Invocation& invocation,
                                              const PipelineRequest& request) {
    if (!invocation.dialect().has(dialect::kStagesReadOthers)) return nullptr;
    auto reader = std::make_shared<ForeignReader>(
        invocation.db,
        request.allow_disk_use ? invocation.service.engine().scratch_directory() : "");
    reader->set_context(invocation.client);
    return reader;
}

// Returns the names of the collections that stages read besides their own.
std::vector<std::string> foreign_namespaces(const Invocation& invocation, bson::Doc stages) {
    std::vector<std::string> found;
    all_foreign(stages, [&](std::string_view name) {
        found.push_back(fmt::format("{}.{}", invocation.db, name));
        return true;
    });
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return found;
}

void reply_inline(bson::Builder& reply, PipelineSource* source) {
    bson::Builder results = reply.sub_array("result");
    bson::Doc doc;
    while (source != nullptr && source->next(&doc)) {
        results.push(doc);
        if (results.size() > static_cast<size_t>(bson::kDocumentBytesMax))
            base::fail(kResultTooLarge, "aggregation result exceeds maximum document size (16MB)");
    }
}

void reply_explain(bson::Builder& reply, const PipelineSource& source) {
    bson::Builder stages = reply.sub_array("stages");
    if (const query::Executor* executor = source.executor()) {
        bson::Builder first = stages.sub_object(stages.next().view());
        bson::Builder cursor = first.sub_object("$cursor");
        cursor.append("query", source.query().match());
        if (!source.query().sort().empty()) {
            cursor.append("sort", source.query().sort());
            if (source.stages().leading_limit() > 0)
                cursor.append("limit", source.stages().leading_limit());
        }
        const bson::Object fields = source.stages().fields();
        if (!fields.empty()) cursor.append("fields", fields);
        bson::Builder plan = cursor.sub_object("plan");
        query::append_plan_v26(plan, executor->report());
    }
    for (const bson::Object& stage : source.stages().describe())
        stages.push(stage.doc());
}

// Appends the plan of a query that all documents come from, as a find by that query shows it.
void append_cursor_plan(bson::Builder& out, const PipelineRequest& request,
                        const query::Executor& executor, int64_t millis) {
    DCHECK(request.explain.has_value());
    query::CommandExplain how;
    how.ns = request.source_ns;
    how.millis = millis;
    how.execution_stats = *request.explain != Verbosity::query_planner;
    how.all_plans = *request.explain == Verbosity::all_plans;
    how.of_today = true;
    query::append_explain(out, executor.report(), how);
}

// Explains as today's servers do: a pipeline whose query does all the work is explained as a find.
void reply_explain_of_today(Invocation& invocation, const PipelineRequest& request,
                            PipelineSource& source, std::optional<CollectionLock>& lock) {
    DCHECK(lock.has_value() || source.executor() == nullptr);
    bson::Builder& reply = *invocation.reply;
    const auto started = sched::Operation::Clock::now();
    std::vector<bson::Object> stages = source.stages().describe();
    if (const query::PipelineOutput* output = source.stages().output())
        stages.push_back(output->describe(invocation.db));
    if (*request.explain != Verbosity::query_planner) {
        bson::Doc doc;
        while (source.next(&doc)) {
        }
    }
    // The plan is that of its collection.
    if (lock && lock->collection() == nullptr && lock->incarnation() != 0) lock->take();
    const int64_t millis = base::ms_since(started);
    reply.append("explainVersion", "1");
    const query::Executor* executor = source.executor();
    if (stages.empty() && executor != nullptr) {
        append_cursor_plan(reply, request, *executor, millis);
    } else {
        bson::Builder list = reply.sub_array("stages");
        if (executor != nullptr) {
            bson::Builder first = list.sub_object(list.next().view());
            bson::Builder cursor = first.sub_object("$cursor");
            append_cursor_plan(cursor, request, *executor, millis);
        }
        for (const bson::Object& stage : stages)
            list.push(stage.doc());
    }
    append_server(reply, invocation.service.context());
    append_explained(reply, invocation);
}

void reply_empty_cursor(bson::Builder& reply, std::string_view ns) {
    bson::Builder cursor = reply.sub_object("cursor");
    cursor.sub_array("firstBatch").finish();
    cursor.append("id", int64_t{0}).append("ns", ns);
}

// Null where the results go to the client.
std::unique_ptr<ResultWriter> result_writer(Invocation& invocation, const PipelineRequest& request,
                                            const query::Pipeline& stages) {
    const query::PipelineOutput* output = stages.output();
    if (output == nullptr) return nullptr;
    if (!request.explain) {
        check_takes_writes(invocation.service.context(),
                           output->target.db.empty() ? invocation.db : output->target.db,
                           invocation.dialect());
        invocation.check_concern();
    }
    if (output->merge == nullptr)
        return std::make_unique<OutputCollection>(invocation, output->target, request.validation);
    return std::make_unique<MergeOutput>(invocation, *output, request.collator, request.validation);
}

bson::Object stages_behind_first(bson::Doc stages) {
    bson::Builder behind;
    bool is_first = true;
    for (const bson::Element& stage : stages)
        if (!std::exchange(is_first, false)) behind.append_as(behind.next().view(), stage);
    return behind.object();
}

}  // namespace

void run_pipeline(Invocation& invocation, const PipelineRequest& request) {
    DCHECK(storage::LockManager::database().empty());
    DCHECK(request.batch_size >= 0 && (request.as_cursor || !request.single_batch));
    if (is_change_stream(invocation, request.stages)) {
        check_change_stream(invocation, request);
        const bson::Object behind = stages_behind_first(request.stages);
        return run_change_stream(invocation, request,
                                 parse_pipeline(invocation, request, nullptr, behind));
    }
    // The stages may hold much: they are freed when the lock has been given up.
    std::shared_ptr<ForeignReader> foreign = foreign_reader(invocation, request);
    const std::shared_ptr<query::Pipeline> stages =
        parse_pipeline(invocation, request, foreign, request.stages);
    if (!reads_others(request.stages)) foreign = nullptr;
    if (!request.whole_database && query::begins_with_documents(request.stages))
        base::fail(base::kInvalidNamespace,
                   "$documents needs {{aggregate: 1}}, not the name of a collection");
    if (request.whole_database && !stages->has_own_source())
        base::fail(base::kInvalidNamespace, "{{aggregate: 1}} is not valid for this pipeline");
    const std::unique_ptr<ResultWriter> writer = result_writer(invocation, request, *stages);

    std::optional<PipelineQuery> query;
    std::optional<CollectionLock> lock;
    if (!stages->has_own_source()) {
        query.emplace(*stages, request.hint);
        lock.emplace(invocation.client, request.source_ns, false);
    }
    auto source = std::make_unique<PipelineSource>(stages, std::move(foreign), std::move(query),
                                                   lock ? &*lock : nullptr);
    // Only a find in a view has one, which is of clients of today.
    source->set_projection(query::Projection::parse(request.projection, nullptr,
                                                    &query::kNoExpressionsHere, request.collator));
    if (request.explain && !invocation.dialect().has(dialect::kExplainShowsPlans))
        return reply_explain(*invocation.reply, *source);
    if (request.explain) return reply_explain_of_today(invocation, request, *source, lock);
    const auto report = [&](const CursorSource& done) {
        if (done.executor() != nullptr) report_query(invocation.client, *done.executor(), {}, true);
    };
    if (writer != nullptr) {
        source->save();
        writer->fill(*source);
        report(*source);
        invocation.wrote = true;
        if (request.as_cursor) return reply_empty_cursor(*invocation.reply, request.ns);
        return reply_inline(*invocation.reply, nullptr);
    }
    if (!request.as_cursor) {
        reply_inline(*invocation.reply, source.get());
        report(*source);
        return;
    }

    auto cursor = std::make_unique<Cursor>();
    cursor->ns = request.ns;
    cursor->foreign_ns = request.foreign_ns;
    cursor->source = std::move(source);
    if (!lock)
        return reply_with_cursor(invocation.service.cursors(), invocation.client, std::move(cursor),
                                 request.batch_size, *invocation.reply);
    cursor->collection_ns = request.source_ns;
    BatchLimits limits;
    limits.documents = request.batch_size;
    limits.max_bytes = kFirstBatchBytes;
    limits.may_be_empty = true;
    bool exhausted = false;
    // The id comes first, as it always did here, and is known last.
    bson::Builder reply = invocation.reply->sub_object("cursor");
    reply.append("id", int64_t{0});
    const size_t id_offset = reply.buffer().size() - sizeof(int64_t);
    reply.append("ns", request.ns);
    {
        bson::Builder batch = reply.sub_array("firstBatch");
        fill_array(*cursor, limits, batch, &exhausted);
    }
    cursor->returned = 0;  // OP_GET_MORE counts from here
    const int64_t id =
        keep_cursor(invocation.service.cursors(), *lock, cursor, exhausted, request.single_batch);
    DCHECK((id == 0) == (cursor != nullptr));
    reply.buffer().store<int64_t>(id_offset, id);
}

void each_result(Invocation& invocation, const PipelineRequest& request,
                 const std::function<void(bson::Doc)>& use) {
    DCHECK(storage::LockManager::database().empty());
    std::shared_ptr<ForeignReader> foreign = foreign_reader(invocation, request);
    const std::shared_ptr<query::Pipeline> stages =
        parse_pipeline(invocation, request, foreign, request.stages);
    if (!reads_others(request.stages)) foreign = nullptr;
    std::optional<PipelineQuery> query(std::in_place, *stages, request.hint);
    CollectionLock lock(invocation.client, request.source_ns, false);
    PipelineSource source(stages, std::move(foreign), std::move(query), &lock);
    bson::Doc doc;
    while (source.next(&doc))
        use(doc);
    if (source.executor() != nullptr) report_query(invocation.client, *source.executor(), {}, true);
}

namespace {

// Turns what the client asks of a view into a request to the collection below it.
PipelineRequest resolved(Invocation& invocation, PipelineRequest request) {
    request.foreign_ns = foreign_namespaces(invocation, request.stages);
    const auto view =
        request.whole_database ? std::nullopt : view_of(invocation, request.source_ns);
    const bson::Element collation = request.collation;
    if (view)
        request.collator = collator_in(*view, collation);
    else if (names_collation(collation, invocation.dialect()) || request.whole_database)
        request.collator = collator_of(collation, invocation.dialect());
    else
        request.collator = default_collator(invocation.client, request.source_ns);
    request.let =
        RequestExpressions(invocation.dialect(), request.let_given, request.collator).let();
    if (!view) return request;
    const bson::Element first = request.stages.doc().first();
    if (is_change_stream(invocation, request.stages) ||
        (first.is_object() &&
         find_first_stage(invocation, request.ns, first.as_doc().first().name())))
        base::fail(base::kCommandNotSupportedOnView, "Namespace {} is a view, not a collection",
                   request.ns);
    request.source_ns = view->ns;
    request.stages = stages_behind(*view, request.stages);
    return request;
}

// Throws base::Error 263: these write at once, or read what is no collection of the snapshot.
void refuse_in_transaction(Invocation& invocation, const PipelineRequest& request) {
    const auto refuse = [](std::string_view what) {
        base::fail(base::kOperationNotSupportedInTransaction,
                   "{} is not supported in a multi-document transaction", what);
    };
    if (request.explain) refuse("explain");
    for (const bson::Element& stage : request.stages.doc()) {
        const bson::Doc fields = stage.is_object() ? stage.as_doc() : bson::Doc();
        const std::string_view name = fields.first().name();
        const bool asks_server = stage.name() == "0" && name != "$documents" &&
                                 (find_first_stage(invocation, request.ns, name) ||
                                  is_change_stream(invocation, request.stages));
        if (asks_server || query::output_target(fields)) refuse(name);
    }
}

void run_aggregate(Invocation& invocation) {
    const PipelineRequest request = parse(invocation);
    if (invocation.in_transaction) refuse_in_transaction(invocation, request);
    if (invocation.dialect().has(dialect::kCursorIsNeeded) && !request.as_cursor &&
        !request.explain)
        base::fail(base::kFailedToParse,
                   "The 'cursor' option is required, except for aggregate with the explain "
                   "argument");
    run_pipeline(invocation, resolved(invocation, request));
}

// The first stage reads a collection, or asks about the server; others read what all_foreign()
// says, and only $out and $merge write.
bool may_read(const Invocation& invocation, const Rights& rights, std::string_view stage) {
    const bson::Element target = invocation.first();
    const std::string_view name = target.is_string() ? target.as_string() : std::string_view();
    if (stage == "$currentOp") return rights.on_cluster(auth::action::inprog);
    if (stage == "$listLocalSessions" || stage == "$documents") return true;
    if (stage == "$collStats") return rights.on(invocation.db, name, auth::action::collStats);
    if (stage == "$planCacheStats")
        return rights.on(invocation.db, name, auth::action::planCacheRead);
    if (stage == "$indexStats") return rights.on(invocation.db, name, auth::action::indexStats);
    return rights.on(invocation.db, name, auth::action::find);
}

bool may_write(const Invocation& invocation, const Rights& rights, bson::Doc stage) {
    constexpr auth::Actions kReplaces = auth::action::insert | auth::action::remove;
    constexpr auth::Actions kMerges = auth::action::insert | auth::action::update;
    const std::optional<query::OutputTarget> target = query::output_target(stage);
    return !target || rights.on(target->db.empty() ? invocation.db : std::string_view(target->db),
                                target->collection, stage["$out"] ? kReplaces : kMerges);
}

bool may_run(const Invocation& invocation, const Rights& rights, bson::Doc stages) {
    const bson::Element first = stages.first();
    if (is_change_stream(invocation, stages))
        return may_follow(invocation, rights, first.as_doc().first());
    if (!may_read(invocation, rights,
                  first.is_object() ? first.as_doc().first().name() : std::string_view()))
        return false;
    if (!all_foreign(stages, [&](std::string_view name) {
            return rights.on(invocation.db, name, auth::action::find);
        }))
        return false;
    for (const bson::Element& stage : stages) {
        if (stage.is_object() && !may_write(invocation, rights, stage.as_doc())) return false;
    }
    return true;
}

bool may_aggregate(const Invocation& invocation, const Rights& rights) {
    if (!rights.logged_in()) return false;
    bool any = false;
    for (const bson::Element& e : invocation.body) {
        if (e.name() != "pipeline" || !e.is_array()) continue;
        any = true;
        if (!may_run(invocation, rights, e.as_doc())) return false;
    }
    return any || may_read(invocation, rights, "");
}

constexpr Command kCommands[] = {
    {"aggregate", "", kRecordsFailure | kInTransaction, LockKind::read,
     "{ aggregate: collection, pipeline: [ ... ], cursor: {}, allowDiskUse: bool }", run_aggregate,
     needs::decided(may_aggregate), kAggregate.fields()},
};

}  // namespace

void explain_aggregate(Invocation& invocation, Verbosity verbosity) {
    PipelineRequest request = resolved(invocation, parse(invocation));
    request.explain = verbosity;
    run_pipeline(invocation, request);
}

Family aggregate_commands() {
    return kCommands;
}

}  // namespace command
