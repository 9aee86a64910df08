// explain in its command form (wire spec 3.7): how a find, count, distinct, update, delete or
// findAndModify would be executed.
#include "command/commands/explain.h"

#include <algorithm>
#include <iterator>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "command/commands/aggregate.h"
#include "command/commands/families.h"
#include "command/commands/find.h"
#include "command/commands/projection_of_today.h"
#include "command/commands/request_expressions.h"
#include "command/commands/views.h"
#include "command/commands/writes.h"
#include "command/context/locks.h"
#include "command/context/scripts.h"
#include "command/cursor/query_cursors.h"
#include "command/request/authorization.h"
#include "command/request/fields_of_today.h"
#include "command/request/run_command.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/requests.h"
#include "query/match/regex_flags.h"
#include "query/plan/distinct.h"
#include "query/plan/executor.h"
#include "query/plan/explain.h"
#include "sched/work_limit.h"

namespace command {

namespace {

// The query part of an explainable command, as a find.
FindRequest as_find(const Invocation& inner) {
    const bson::Doc command = inner.body;
    const std::string_view name = command.first().name();
    const dialect::Dialect dialect = inner.dialect();
    if (name == "find") return parse_find(inner);
    FindRequest request;
    request.collation = command[kCollation.name];
    const auto take = [&request](const bson::Element& filter, const bson::Element& hint) {
        if (filter.is_object()) request.parts.filter = filter.as_doc();
        request.parts.hint = hint;
    };
    const auto first_item = [&](const char* field, Fields fields) {
        const bson::Element list = command[field];
        const bson::Element item = list.is_array() ? list.as_doc().first() : bson::Element();
        if (!item.is_object() || list.as_doc().field_count() != 1)
            base::fail(base::kInvalidLength, "explained write batches must be of size 1");
        read_fields(item.as_doc(), fmt::format("{}.{}", name, field), fields, dialect);
        request.collation = item.as_doc()[kCollation.name];
        return item.as_doc();
    };
    if (name == "count") {
        const CountRequest count = parse_count(inner);
        request.parts.filter = count.query;
        if (count.hint.is_string() || dialect.has(dialect::kCountTakesHints))
            request.parts.hint = count.hint;
        request.query.limit = count.limit;
        request.query.skip = count.skip;
        request.collation = count.collation;
    } else if (name == "distinct") {
        const DistinctRequest distinct = parse_distinct(inner);
        request.parts.filter = distinct.query;
        request.parts.hint = distinct.hint;
        request.collation = distinct.collation;
    } else if (name == "findAndModify" || name == "findandmodify") {
        const FindAndModifyRequest change = bind_find_and_modify(inner);
        refuse_pipeline(change.given_update, dialect);
        request.parts.filter = change.query;
        request.parts.hint = change.hint;
        request.collation = change.collation;
        if (dialect.has(dialect::kProjectionsCompute))
            is_computed_projection(change.fields, change.query);
        if (change.given_sort.is_object()) request.parts.sort = change.given_sort.as_doc();
        if (dialect.has(dialect::kSortsAreChecked))
            check_sort_of_today(request.parts.sort, change.query);
        // The stage above the plan takes one, where it is shown.
        (dialect.has(dialect::kExplainShowsPlans) ? request.query.top : request.query.limit) = 1;
    } else if (name == "update") {
        const bson::Doc item = first_item("updates", update_item_fields());
        refuse_pipeline(item["u"], dialect);
        if (item["sort"].is_object()) request.parts.sort = item["sort"].as_doc();
        take(item["q"], item["hint"]);
    } else if (name == "delete") {
        const bson::Doc item = first_item("deletes", delete_item_fields());
        take(item["q"], item["hint"]);
    } else {
        base::fail(base::kCommandNotFound, "Explain failed due to unknown command: {}", name);
    }
    return request;
}

Verbosity verbosity_of(const Invocation& invocation) {
    const bson::Element verbosity = invocation.field("verbosity");
    const std::string_view level =
        verbosity.is_string() ? verbosity.as_string() : "allPlansExecution";
    if (level == "queryPlanner") return Verbosity::query_planner;
    if (level == "executionStats") return Verbosity::execution_stats;
    if (level == "allPlansExecution") return Verbosity::all_plans;
    base::fail(invocation.dialect().code(base::kFailedToParse, base::kBadValue),
               "verbosity string must be one of {{'queryPlanner', 'executionStats', "
               "'allPlansExecution'}}");
}

// The stage that today's servers show above the plan of the query, and whether it ends with one
// document.
struct Work {
    query::TopStage stage;
    bool of_one = false;
};

Work work_of(const Invocation& inner) {
    const bson::Doc command = inner.body;
    const bool modifies = inner.name == "findAndModify" || inner.name == "findandmodify";
    if (modifies && command["remove"].truthy()) return {{"DELETE", "nWouldDelete", true}, true};
    if (modifies) return {{"UPDATE", "nMatched", true}, true};
    if (inner.name == "count") return {{"COUNT", "nCounted"}};
    if (inner.name == "update") {
        const bson::Doc item = command["updates"].as_doc().first().as_doc();
        DCHECK(command["updates"].as_doc().field_count() == 1);
        return {{"UPDATE", "nMatched"}, !item["multi"].truthy()};
    }
    if (inner.name == "delete") {
        const bson::Doc item = command["deletes"].as_doc().first().as_doc();
        DCHECK(command["deletes"].as_doc().field_count() == 1);
        return {{"DELETE", "nWouldDelete"}, item["limit"].truthy()};
    }
    return {};
}

// An update that today's servers examine, and do, but for storing what it makes.
class TriedUpdate {
  public:
    // Throws what the update would. REQUIRES: as_find() has taken the command.
    TriedUpdate(const Invocation& inner, const query::FilterExpressions* expressions,
                std::shared_ptr<const collation::Collator> collator) {
        DCHECK(work_of(inner).stage.name == "UPDATE");
        UpdateRequest request;
        if (inner.name == "update") {
            request =
                parse_update_item(inner.body["updates"].as_doc().first().as_doc(), dialect::kToday);
        } else {
            const FindAndModifyRequest change = bind_find_and_modify(inner);
            const bson::Element& update = change.given_update;
            if (!update.is_object() && !update.is_array()) return;  // it removes
            request.update = update.as_doc();
            request.by_pipeline = update.is_array();
            request.array_filters = change.array_filters;
            request.upsert = change.upsert;
            request.dialect = dialect::kToday;
        }
        request.expressions = expressions;
        upserts_ = request.upsert;
        update_ = make_update(request, std::move(collator));
    }

    bool needs_details() const { return update_ != nullptr && update_->needs_details(); }
    void take(const query::Row& row) {
        ++matched_;
        if (update_ == nullptr) return;
        const sched::WorkLimit limit(kUpdateWork);
        out_.clear();
        if (update_->apply(row.doc, row.details, out_).changed) ++modified_;
    }
    query::TopStage::Changes changes() const {
        DCHECK(modified_ <= matched_);
        return {modified_, matched_ == 0 && upserts_ ? 1 : 0};
    }

  private:
    std::unique_ptr<query::Update> update_;
    bool upserts_ = false;
    int64_t matched_ = 0;
    int64_t modified_ = 0;
    bson::Buffer out_;
};

bool reads_only(const Invocation& inner) {
    return inner.name == "find" || inner.name == "count" || inner.name == "distinct";
}

void append_explanation(const Invocation& inner, const query::ExplainReport& report,
                        const query::CommandExplain& how) {
    bson::Builder& reply = *inner.reply;
    if (how.of_today) reply.append("explainVersion", "1");
    query::append_explain(reply, report, how);
    append_server(reply, inner.service.context());
    if (how.of_today) append_explained(reply, inner);
}

// Explains a distinct that takes its values from an index; false: documents tell.
bool explain_by_index(const Invocation& inner, CollectionLock& lock, FindRequest& request,
                      query::CommandExplain how) {
    const auto started = sched::Operation::Clock::now();
    const std::string_view path = parse_distinct(inner).key;
    query::DistinctValues values(path, nullptr, inner.dialect());
    const auto plan = plan_by_index(lock, path, request.parts.hint, request.query, values);
    if (!plan) return false;
    query::ExecutionStats stats;
    if (how.execution_stats) {
        stats.keys_examined = query::run_distinct(*lock.collection(), *plan, values, &lock);
        stats.docs_examined = values.documents();
        stats.returned = values.size();
        how.millis = base::ms_since(started);
    }
    const bson::Object projection = bson::make("_id", 0, path, 1);
    how.projection = projection;
    how.skips_keys = true;
    append_explanation(
        inner, {.query = request.query, .stats = stats, .plan = &plan->plan, .branches = {}}, how);
    return true;
}

void run_explain(Invocation& invocation) {
    const bson::Element target = invocation.first();
    if (!target.is_object())
        base::fail(invocation.dialect().code(base::kFailedToParse, base::kTypeMismatch),
                   "explain command requires a nested object");
    const Verbosity verbosity = verbosity_of(invocation);
    Invocation inner = invocation;
    inner.body = target.as_doc();
    inner.name = inner.first().name();
    if (const Command* command = invocation.service.commands().find(inner.name))
        take_fields(inner, *command);
    if (inner.name == "aggregate") return explain_aggregate(inner, verbosity);

    FindRequest request = as_find(inner);
    const std::string ns = inner.ns();
    const auto view = reads_only(inner) ? view_of(inner, ns) : std::nullopt;
    if (view)
        request.query.collator = collator_in(*view, request.collation);
    else
        set_collation(inner.client, ns, request.collation, inner.dialect(), request.query);
    const RequestExpressions expressions(inner, request.query.collator);
    if (view) {
        PipelineRequest pipeline = find_in_view(*view, ns, request, expressions.let());
        pipeline.explain = verbosity;
        return run_pipeline(inner, pipeline);
    }
    request.parts.expressions = expressions.get();
    const RequestScripts scripts(inner.client, ns);
    request.parts.where = &scripts;
    compile_projection(request, expressions.let());
    request.query.canonicalise(request.parts);
    if (inner.dialect().has(dialect::kRegexIsChecked))
        query::refuse_odd_flags(*request.query.matcher);
    query::CommandExplain how;
    how.execution_stats = verbosity != Verbosity::query_planner;
    how.all_plans =
        inner.dialect().has(dialect::kExplainShowsPlans) && verbosity == Verbosity::all_plans;
    DCHECK(how.execution_stats || !how.all_plans);
    how.ns = ns;
    const Work work = inner.dialect().has(dialect::kExplainShowsPlans) ? work_of(inner) : Work();
    how.top = work.stage;
    how.of_today = inner.dialect().has(dialect::kExplainShowsPlans);
    how.counts_keys = how.of_today && work.stage.name == "COUNT";
    if (inner.name == "find") how.projection = request.parts.projection;
    std::optional<TriedUpdate> update;
    if (work.stage.name == "UPDATE") {
        update.emplace(inner, expressions.get(), request.query.collator);
        request.query.want_details = update->needs_details();
    }
    CollectionLock lock(invocation.client, ns, false);
    if (inner.name == "distinct" && how.of_today && lock.collection() != nullptr &&
        explain_by_index(inner, lock, request, how))
        return;
    const auto started = sched::Operation::Clock::now();
    query::ExecutorOptions options = execution_options();
    options.scratch_directory = invocation.service.engine().scratch_directory();
    options.count_only = how.counts_keys;
    const auto executor =
        query::make_executor(lock.collection(), std::move(request.query), options, &lock);
    if (how.execution_stats) {
        query::Row row;
        while (executor->next(&row)) {
            if (update) update->take(row);
            if (work.of_one) break;
        }
        if (update) how.top.would = update->changes();
        how.millis = base::ms_since(started);
    }
    append_explanation(inner, executor->report(), how);
}

// Whether the client has the rights that the explained command would need.
bool may_explain(const Invocation& invocation, const Rights& rights) {
    if (!invocation.first().is_object()) return rights.logged_in();
    Invocation inner = invocation;
    inner.body = invocation.first().as_doc();
    inner.name = inner.first().name();
    const Command* command = invocation.service.commands().find(inner.name);
    if (command == nullptr || command->run == run_explain) return rights.logged_in();
    return satisfied(command->need, inner, rights);
}

constexpr Field kFields[] = {
    {"verbosity", types::string},
};

constexpr Command kCommands[] = {
    {"explain", "", 0, LockKind::read, "{ explain: { find: ... }, verbosity: 'queryPlanner' }",
     run_explain, needs::decided(may_explain), kFields},
};

}  // namespace

void append_server(bson::Builder& reply, const ServerContext& context) {
    const size_t colon = context.host.rfind(':');
    bson::Builder server = reply.sub_object("serverInfo");
    server.append("host", context.host.substr(0, colon))
        .append("port", colon == std::string::npos
                            ? 0
                            : static_cast<int32_t>(std::atoi(context.host.c_str() + colon + 1)))
        .append("version", context.version)
        .append("gitVersion", context.git_version);
}

void append_explained(bson::Builder& reply, const Invocation& explained) {
    constexpr std::string_view kOfTheRequest[] = {
        "explain",   "lsid",       "readConcern",          "writeConcern",
        "apiStrict", "apiVersion", "apiDeprecationErrors", "backpressure"};
    bson::Builder command = reply.sub_object("command");
    for (const bson::Element& e : explained.body) {
        if (!e.name().starts_with('$') &&
            std::ranges::find(kOfTheRequest, e.name()) == std::end(kOfTheRequest))
            command.append(e);
    }
    command.append("$db", explained.db);
}

Family explain_commands() {
    return kCommands;
}

}  // namespace command
