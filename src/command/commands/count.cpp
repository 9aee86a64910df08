// count and distinct (wire spec 3.7, semantics 2).
#include "command/commands/count.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/milliseconds.h"
#include "command/commands/families.h"
#include "command/commands/request_expressions.h"
#include "command/commands/views.h"
#include "command/context/locks.h"
#include "command/cursor/query_cursors.h"
#include "command/request/fields_of_today.h"
#include "command/request/invocation.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/requests.h"
#include "query/match/regex_flags.h"
#include "query/plan/distinct.h"
#include "query/plan/executor.h"
#include "query/plan/explain.h"
#include "sched/interruption.h"

namespace command {

namespace {

constexpr int kBadDistinctQuery = 17216;

bson::Doc query_of(bson::Doc body) {
    const bson::Element query = body["query"];
    return query.is_object() ? query.as_doc() : bson::Doc();
}

void append_count(bson::Builder& reply, int64_t n) {
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
    const bson::Doc body = invocation.body;
    const std::string ns = invocation.ns_or_none();
    query::FindQuery query;
    query::FindQuery::Parts parts;
    parts.filter = query_of(body);
    // The number of records is known without a query; a hint has nothing to say then. It has for
    // today's clients: a sparse or a partial index counts what it holds.
    const bson::Element hint = body["hint"];
    const bool counts =
        !parts.filter.empty() || invocation.dialect().has(dialect::kCountTakesHints);
    if ((hint.is_string() || hint.is_object()) && counts) parts.hint = hint;
    query.limit = count_limit(body);
    query.skip = count_skip(invocation);
    invocation.records_failure = true;
    if (const auto view = view_of(invocation, ns)) {
        collator_in(*view, body[kCollation.name]);
        int64_t n = 0;
        each_result(invocation,
                    count_in_view(*view, ns, parts.filter, query.skip, query.limit, parts.hint),
                    [&n](bson::Doc counted) { n = counted["n"].to_int64(); });
        return append_count(*invocation.reply, n);
    }
    set_collation(invocation.client, ns, body[kCollation.name], invocation.dialect(), query);
    const RequestExpressions expressions(invocation, query.collator);
    parts.expressions = expressions.get();
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

std::unique_ptr<query::Executor> plan_distinct(const Invocation& invocation, CollectionLock& lock,
                                               query::FindQuery query) try {
    return query::make_executor(lock.collection(), std::move(query), execution_options(), &lock);
} catch (const base::Error& e) {
    if (invocation.dialect().has(dialect::kBadQueriesAreOfFind)) throw;
    sched::fail_because(e, kBadDistinctQuery, "cannot run the query: {}", e.what());
}

DistinctStats distinct_by_query(Invocation& invocation, CollectionLock& lock,
                                query::FindQuery query, query::DistinctValues& values) {
    const auto executor = plan_distinct(invocation, lock, std::move(query));
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
    try {
        query.canonicalise(parts);
    } catch (const base::Error& e) {
        if (sched::is_interruption(e)) throw;
        return e;
    }
    return std::nullopt;
}

std::string_view key_of(const Invocation& invocation) {
    const bson::Element key = invocation.body["key"];
    const std::string_view path = key.is_string() ? key.as_string() : std::string_view();
    if (invocation.dialect().has(dialect::kNulIsRefused) &&
        path.find('\0') != std::string_view::npos)
        base::fail(31032, "the key of a distinct cannot contain a NUL byte");
    return path;
}

void run_distinct(Invocation& invocation) {
    const auto started = sched::Operation::Clock::now();
    const std::string ns = invocation.ns_or_none();
    query::FindQuery query;
    query::FindQuery::Parts parts;
    parts.filter = query_of(invocation.body);
    if (const auto view = view_of(invocation, ns)) {
        query::DistinctValues values(key_of(invocation),
                                     collator_in(*view, invocation.body[kCollation.name]),
                                     dialect::kToday);
        each_result(invocation, query_in_view(*view, ns, parts.filter),
                    [&values](bson::Doc doc) { values.add(doc); });
        bson::Builder list = invocation.reply->sub_array("values");
        values.append_to(list);
        return;
    }
    set_collation(invocation.client, ns, invocation.body[kCollation.name], invocation.dialect(),
                  query);
    const auto collator = query.collator;
    const RequestExpressions expressions(invocation, query.collator);
    parts.expressions = expressions.get();
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
    const std::string_view path = key_of(invocation);
    query::DistinctValues values(path, collator, invocation.dialect());
    DistinctStats stats;
    std::optional<int64_t> keys;
    // An index has one of the texts that are equal under a collation for each way to write it.
    if (collator == nullptr)
        keys = parts.filter.empty()
                   ? query::distinct_by_index(*lock.collection(), path, values, &lock)
                   : query::distinct_by_bounds(*lock.collection(), path, query, values, &lock);
    if (keys) {
        stats.returned = stats.scanned = *keys;
        stats.cursor = "DistinctCursor";
        query::ExecutionStats examined;
        examined.keys_examined = *keys;
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

constexpr Field kCountFields[] = {
    {"query", types::object},
    {"limit", types::number},
    {"skip", types::number},
    {"hint", types::hint},
    // The fields of the documents to return; old shells send it.
    without_effect("fields", types::any),
    kCollation,
    refused("encryptionInformation", "6.0"),
};
constexpr Field kDistinctFields[] = {
    required("key", types::string),
    {"query", types::object},
    kCollation,
    refused("hint", "7.1"),
};

constexpr Command kCommands[] = {
    {"count", "", 0, LockKind::read, "count objects in collection", run_count,
     needs::on_collection(auth::action::find), kCountFields},
    {"distinct", "", 0, LockKind::read, "{ distinct: collection, key: 'a.b', query: {} }",
     run_distinct, needs::on_collection(auth::action::find), kDistinctFields},
};

}  // namespace

int64_t count_limit(bson::Doc count) {
    // The smallest number has no counterpart.
    return std::abs(std::max(count["limit"].to_int64(), -INT64_MAX));
}

int64_t count_skip(const Invocation& count) {
    const bson::Element skip = count.field("skip");
    if (skip.missing()) return 0;
    if (!skip.is_number()) base::fail(base::kBadValue, "skip value is not a valid number");
    // NaN was the smallest of all numbers of documents.
    if (skip.to_int64() < 0 || std::isnan(skip.to_double()))
        base::fail(count.dialect().code(base::kBadValue, 51024),
                   "skip value is negative in count query");
    return skip.to_int64();
}

Family count_commands() {
    return kCommands;
}

}  // namespace command
