// count and distinct (wire spec 3.7, semantics 2), and text of 2.4 and 2.6: what a search finds, by
// score. Clients of today send $text.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "command/commands/families.h"
#include "command/commands/find.h"
#include "command/commands/request_expressions.h"
#include "command/commands/views.h"
#include "command/context/locks.h"
#include "command/context/scripts.h"
#include "command/cursor/query_cursors.h"
#include "command/request/bind.h"
#include "command/request/fields_of_today.h"
#include "command/request/invocation.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/requests.h"
#include "query/match/regex_flags.h"
#include "query/match/text_clause.h"
#include "query/plan/distinct.h"
#include "query/plan/executor.h"
#include "query/plan/explain.h"
#include "query/plan/sort.h"
#include "sched/interruption.h"
#include "sched/work_limit.h"

namespace command {

namespace {

constexpr int kBadDistinctQuery = 17216;

// A hint that names no index counts as none.
constexpr Reader<bson::Element> kHint{types::hint, [](const bson::Element& e, dialect::Dialect) {
                                          return e.is_string() || e.is_object() ? e
                                                                                : bson::Element();
                                      }};

int64_t read_limit(const bson::Element& e, dialect::Dialect) {
    // The smallest number has no counterpart.
    return std::abs(std::max(e.to_int64(), -INT64_MAX));
}
constexpr Reader<int64_t> kLimit{types::number, read_limit};

int64_t read_skip(const bson::Element& e, dialect::Dialect dialect) {
    if (!e.is_number()) base::fail(base::kBadValue, "skip value is not a valid number");
    // NaN was the smallest of all numbers of documents.
    if (e.to_int64() < 0 || std::isnan(e.to_double()))
        base::fail(dialect.code(base::kBadValue, 51024), "skip value is negative in count query");
    return e.to_int64();
}
constexpr Reader<int64_t> kSkip{types::number, read_skip};

constexpr Row<CountRequest> kCountRows[] = {
    row<lenient::object, &CountRequest::query>("query"),
    row<kLimit, &CountRequest::limit>("limit"),
    row<kSkip, &CountRequest::skip>("skip"),
    row<kHint, &CountRequest::hint>("hint"),
    // The fields of the documents to return; old shells send it.
    without_effect("fields", types::any),
    row<lenient::object_element, &CountRequest::collation>(kCollation),
    refused("encryptionInformation", "6.0"),
};
constexpr RequestTable kCount(kCountRows);

// The path comes as text, or it is that of no field.
constexpr Reader<std::string_view> kPath{
    types::string, [](const bson::Element& e, dialect::Dialect) {
        return e.is_string() ? e.as_string() : std::string_view();
    }};

constexpr Row<DistinctRequest> kDistinctRows[] = {
    row<kPath, &DistinctRequest::key>(required("key", types::string)),
    row<lenient::object, &DistinctRequest::query>("query"),
    row<lenient::object_element, &DistinctRequest::collation>(kCollation),
    row<lenient::hint, &DistinctRequest::hint>(of_today("hint", types::hint, "7.1")),
};
constexpr RequestTable kDistinct(kDistinctRows);

void append_count(bson::Builder& reply, int64_t n) {
    DCHECK(n >= 0);
    if (n <= INT32_MAX) {
        reply.append("n", static_cast<int32_t>(n));
    } else {
        reply.append("n", n);
    }
}

// A count of keys is a scan of its index to today's clients; to old ones a collection that was
// asked for its number of documents has no plan.
std::string told_plan(const std::string& plan, dialect::Dialect dialect) {
    constexpr std::string_view kCount = "COUNT";
    if (plan == kCount && !dialect.has(dialect::kExplainShowsPlans)) return {};
    if (plan != kCount && plan.starts_with(kCount) && dialect.has(dialect::kExplainShowsPlans))
        return "IXSCAN" + plan.substr(kCount.size());
    return plan;
}

void run_count(Invocation& invocation) {
    const std::string ns = invocation.ns_or_none();
    const CountRequest request = parse_count(invocation);
    query::FindQuery query;
    query::FindQuery::Parts parts;
    parts.filter = request.query;
    // The number of records is known without a query; a hint has nothing to say then. It has for
    // today's clients: a sparse or a partial index counts what it holds.
    const bool counts =
        !parts.filter.empty() || invocation.dialect().has(dialect::kCountTakesHints);
    const bool ignores_hint =
        !invocation.dialect().has(dialect::kCountTakesHints) && query::asks_for_text(parts.filter);
    if (counts && !ignores_hint) parts.hint = request.hint;
    query.limit = request.limit;
    query.skip = request.skip;
    invocation.records_failure = true;
    if (const auto view = view_of(invocation, ns)) {
        collator_in(*view, request.collation);
        int64_t n = 0;
        each_result(invocation,
                    count_in_view(*view, ns, parts.filter, query.skip, query.limit, parts.hint),
                    [&n](bson::Doc counted) {
                        DCHECK(n == 0);  // the one group
                        n = counted["n"].to_int64();
                    });
        return append_count(*invocation.reply, n);
    }
    set_collation(invocation.client, ns, request.collation, invocation.dialect(), query);
    const RequestExpressions expressions(invocation, query.collator);
    const RequestScripts scripts(invocation.client, ns);
    parts.expressions = expressions.get();
    parts.where = &scripts;
    query.canonicalise(parts);
    if (invocation.dialect().has(dialect::kRegexIsChecked)) query::refuse_odd_flags(*query.matcher);
    CollectionLock lock(invocation.client, ns, false);
    if (lock.collection() == nullptr) {
        if (!invocation.dialect().has(dialect::kStatsAreLeftOut))
            invocation.reply->append("missing", true);
        invocation.reply->append("n", int32_t{0});
        return;
    }
    const query::Count counted =
        query::count(lock.collection(), std::move(query), execution_options(), &lock);
    OpReport& report = invocation.client.report();
    report.add({}, counted.stats);
    report.plan = told_plan(counted.plan, invocation.dialect());
    append_count(*invocation.reply, counted.n);
}

struct DistinctStats {
    int64_t returned = 0;
    int64_t scanned = 0;
    int64_t objects = 0;
    std::string cursor;
};

std::unique_ptr<query::Executor> make_executor(const Invocation& invocation, CollectionLock& lock,
                                               query::FindQuery query) try {
    return query::make_executor(lock.collection(), std::move(query), execution_options(), &lock);
} catch (const base::Error& e) {
    if (invocation.dialect().has(dialect::kBadQueriesAreOfFind)) throw;
    sched::fail_because(e, kBadDistinctQuery, "cannot run the query: {}", e.what());
}

DistinctStats distinct_by_query(Invocation& invocation, CollectionLock& lock,
                                query::FindQuery query, query::DistinctValues& values) {
    const auto executor = make_executor(invocation, lock, std::move(query));
    query::Row row;
    while (executor->next(&row))
        values.add(row.doc);
    report_query(invocation.client, *executor, {}, true);
    const query::ExecutionStats stats = executor->stats();
    bson::Builder explained;
    query::append_explain_v26(explained, executor->report(), {});
    return {stats.returned, std::max(stats.keys_examined, stats.docs_examined), stats.docs_examined,
            std::string(explained.doc()["cursor"].as_string())};
}

void append_stats(bson::Builder& reply, const DistinctStats& stats,
                  sched::Operation::Clock::time_point started) {
    const int64_t took = base::ms_since(started);
    bson::Builder out = reply.sub_object("stats");
    out.append("n", static_cast<int32_t>(stats.returned))
        .append("nscanned", static_cast<int32_t>(stats.scanned))
        .append("nscannedObjects", static_cast<int32_t>(stats.objects))
        .append("timems", static_cast<int32_t>(took))
        .append("cursor", stats.cursor);
}

// Called before the lock is taken, since it may take long: an invalid query is reported only if
// there is a collection.
std::optional<base::Error> canonicalise(query::FindQuery& query,
                                        const query::FindQuery::Parts& parts) {
    DCHECK(storage::LockManager::database().empty());
    try {
        query.canonicalise(parts);
    } catch (const base::Error& e) {
        if (sched::is_interruption(e)) throw;
        return e;
    }
    return std::nullopt;
}

std::string_view checked_key(std::string_view path, dialect::Dialect dialect) {
    if (dialect.has(dialect::kNulIsRefused) && path.find('\0') != std::string_view::npos)
        base::fail(31032, "the key of a distinct cannot contain a NUL byte");
    return path;
}

void run_distinct(Invocation& invocation) {
    const auto started = sched::Operation::Clock::now();
    const std::string ns = invocation.ns_or_none();
    const DistinctRequest request = parse_distinct(invocation);
    query::FindQuery query;
    query::FindQuery::Parts parts;
    parts.filter = request.query;
    parts.hint = request.hint;
    if (const auto view = view_of(invocation, ns)) {
        query::DistinctValues values(checked_key(request.key, invocation.dialect()),
                                     collator_in(*view, request.collation), dialect::kToday);
        each_result(invocation, query_in_view(*view, ns, parts.filter, parts.hint),
                    [&values](bson::Doc doc) { values.add(doc); });
        bson::Builder list = invocation.reply->sub_array("values");
        values.append_to(list);
        return;
    }
    set_collation(invocation.client, ns, request.collation, invocation.dialect(), query);
    const auto collator = query.collator;
    const RequestExpressions expressions(invocation, query.collator);
    const RequestScripts scripts(invocation.client, ns);
    parts.expressions = expressions.get();
    parts.where = &scripts;
    const std::optional<base::Error> bad_query = canonicalise(query, parts);
    if (invocation.dialect().has(dialect::kRegexIsChecked) && !bad_query)
        query::refuse_odd_flags(*query.matcher);
    CollectionLock lock(invocation.client, ns, false);
    if (lock.collection() == nullptr) {
        invocation.reply->sub_array("values").finish();
        if (!invocation.dialect().has(dialect::kStatsAreLeftOut))
            invocation.reply->append("stats",
                                     bson::make("n", 0, "nscanned", 0, "nscannedObjects", 0));
        return;
    }
    if (bad_query && invocation.dialect().has(dialect::kBadQueriesAreOfFind))
        throw base::Error(*bad_query);
    if (bad_query) base::fail(kBadDistinctQuery, "Can't canonicalize query: {}", bad_query->what());
    DCHECK(query.matcher != nullptr);
    const std::string_view path = checked_key(request.key, invocation.dialect());
    query::DistinctValues values(path, collator, invocation.dialect());
    DistinctStats stats;
    if (const auto plan = plan_by_index(lock, path, parts.hint, query, values)) {
        const int64_t keys = query::run_distinct(*lock.collection(), *plan, values, &lock);
        stats.returned = stats.scanned = keys;
        stats.cursor = "DistinctCursor";
        query::ExecutionStats examined;
        examined.keys_examined = keys;
        OpReport& report = invocation.client.report();
        report.add({}, examined);
        report.plan = "DISTINCT";
        if (invocation.dialect().has(dialect::kTimesAreTwoClasses)) values.sort();
    } else {
        stats = distinct_by_query(invocation, lock, std::move(query), values);
    }
    {
        bson::Builder list = invocation.reply->sub_array("values");
        values.append_to(list);
    }
    if (!invocation.dialect().has(dialect::kStatsAreLeftOut))
        append_stats(*invocation.reply, stats, started);
}

constexpr int64_t kResultsUnlessAsked = 100;

int64_t limit_of(const bson::Element& e) {
    const int64_t limit = e.is_number() ? e.to_int32() : 0;
    return limit == 0 ? kResultsUnlessAsked : std::abs(limit);
}

bson::Object filter_of(bson::Doc command) {
    const bson::Element search = command["search"];
    if (!search.is_string() || search.as_string().empty())
        base::fail(base::kBadValue, "no search specified");
    bson::Builder filter;
    if (command["filter"].is_object()) filter.append_all(command["filter"].as_doc());
    {
        bson::Builder text = filter.sub_object("$text");
        text.append_as("$search", search);
        const bson::Element language = command["language"];
        if (language.is_string() && !language.as_string().empty())
            text.append_as("$language", language);
    }
    return filter.object();
}

void append_results(bson::Builder& reply, query::Executor& executor, int64_t* found) {
    bson::Builder results = reply.sub_array("results");
    query::Row row;
    while (executor.next(&row)) {
        if (results.buffer().size() + static_cast<size_t>(row.doc.size()) >
            static_cast<size_t>(bson::kDocumentBytesMax))
            break;  // the reply is full
        ++*found;
        const bson::IndexName place = results.next();
        bson::Builder result = results.sub_object(place.view());
        result.append("score", row.details.score);
        const query::Projection* const projection = executor.query().projection.get();
        if (projection == nullptr) {
            result.append("obj", row.doc);
            continue;
        }
        result.bytes(bson::Type::object, "obj", {});
        const sched::WorkLimit limit(kProjectionWork);
        projection->apply(row.doc, &row.details, result.buffer());
    }
}

void run_text(Invocation& invocation) {
    const auto started = sched::Operation::Clock::now();
    const std::string ns = invocation.ns();
    const bson::Doc command = invocation.body;
    query::FindQuery query;
    query::FindQuery::Parts parts;
    const bson::Object filter = filter_of(command);
    parts.filter = filter;
    if (command["project"].is_object()) parts.projection = command["project"].as_doc();
    query.canonicalise(parts);
    query.sort = bson::make(query::kScoreField, -1);
    query.sort_pattern = std::make_shared<const query::SortPattern>(query.sort);
    query.sorts_by_score = true;
    query.limit = limit_of(command["limit"]);

    CollectionLock lock(invocation.client, ns, false);
    const auto executor =
        query::make_executor(lock.collection(), std::move(query), execution_options(), &lock);
    int64_t found = 0;
    append_results(*invocation.reply, *executor, &found);
    report_query(invocation.client, *executor, {}, true);
    const query::ExecutionStats stats = executor->stats();
    bson::Builder out = invocation.reply->sub_object("stats");
    out.append_number("nscanned", stats.keys_examined)
        .append_number("nscannedObjects", stats.docs_examined)
        .append_number("n", found)
        .append_number("timeMicros", base::ms_since(started) * 1000);
}

// A value of another type counted as left out, but for what is searched.
constexpr Field kTextFields[] = {
    {"search", types::any}, {"filter", types::any},   {"project", types::any},
    {"limit", types::any},  {"language", types::any},
};

constexpr Command kCommands[] = {
    {"count", "", 0, LockKind::read, "count objects in collection", run_count,
     needs::on_collection(auth::action::find), kCount.fields()},
    {"distinct", "", kInTransaction, LockKind::read,
     "{ distinct: collection, key: 'a.b', query: {} }", run_distinct,
     needs::on_collection(auth::action::find), kDistinct.fields()},
    {"text", "", 0, LockKind::read, "{ text: collection, search: words }", run_text,
     needs::on_collection(auth::action::find), kTextFields},
};

}  // namespace

// An index has one of the texts that are equal under a collation for each way to write it. Behind a
// hint documents tell, those that this index has. $near and $text have plans of their own.
std::optional<query::DistinctPlan> plan_by_index(CollectionLock& lock, std::string_view path,
                                                 const bson::Element& hint, query::FindQuery& query,
                                                 const query::DistinctValues& values) {
    if (query.collator != nullptr || !hint.missing() || query.matcher->text() != nullptr ||
        query.matcher->near() != nullptr)
        return std::nullopt;
    return query::plan_distinct(*lock.collection(), path, query, values, &lock);
}

CountRequest parse_count(const Invocation& count) {
    CountRequest request;
    kCount.bind(count.given, count.dialect(), request);
    DCHECK(request.limit >= 0 && request.skip >= 0);
    return request;
}

DistinctRequest parse_distinct(const Invocation& distinct) {
    DistinctRequest request;
    kDistinct.bind(distinct.given, distinct.dialect(), request);
    return request;
}

Family count_commands() {
    return kCommands;
}

}  // namespace command
