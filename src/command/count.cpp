// count and distinct (wire spec 3.7, semantics 2).
#include <cmath>

#include "base/error.h"
#include "command/find.h"
#include "command/locks.h"
#include "command/registry.h"
#include "command/session.h"
#include "query/distinct.h"
#include "query/executor.h"

namespace command {

namespace {

constexpr int kBadDistinctQuery = 17216;

bson::Doc query_of(bson::Doc body) {
    const bson::Element query = body["query"];
    return query.is_object() ? query.as_doc() : bson::Doc();
}

void refuse_collation(bson::Doc body) {
    const bson::Element collation = body["collation"];
    if (!collation.is_object() || collation.as_doc().empty()) return;
    const bson::Element locale = collation.as_doc()["locale"];
    if (!locale.is_string() || locale.as_string() != "simple")
        base::fail(base::kInvalidOptions, "only the simple collation is supported");
}

void append_count(bson::Builder& reply, int64_t n) {
    if (n <= INT32_MAX) {
        reply.append("n", static_cast<int32_t>(n));
    } else {
        reply.append("n", n);
    }
}

void run_count(Invocation& invocation) {
    const bson::Doc body = invocation.body;
    refuse_collation(body);
    const std::string ns = invocation.ns();
    query::FindQuery query;
    query::FindQuery::Parts parts;
    parts.filter = query_of(body);
    // Without a query the number of records is known; a hint has nothing to say then.
    const bson::Element hint = body["hint"];
    if ((hint.is_string() || hint.is_object()) && !parts.filter.empty()) parts.hint = hint;
    const bson::Element limit = body["limit"];
    if (limit.is_number()) query.limit = std::abs(limit.to_int64());
    if (const bson::Element skip = body["skip"]) {
        if (!skip.is_number()) base::fail(base::kBadValue, "skip value is not a valid number");
        query.skip = skip.to_int64();
        // As a number of documents NaN was the smallest of all.
        if (query.skip < 0 || std::isnan(skip.to_double()))
            base::fail(base::kBadValue, "skip value is negative in count query");
    }
    query.canonicalise(parts);
    CollectionLock lock(invocation.service, ns, false, &invocation.session.current());
    if (lock.collection() == nullptr) {
        invocation.reply->append("missing", true).append("n", int32_t{0});
        return;
    }
    const query::Count counted = query::count(lock.collection(), std::move(query), &lock);
    OpReport& report = invocation.session.current().report;
    report.add({}, counted.stats);
    report.plan = counted.plan;
    append_count(*invocation.reply, counted.n);
}

void append_stats(bson::Builder& reply, const query::Executor& executor, bson::Doc explained,
                  base::Operation::Clock::time_point started) {
    const query::ExecutionStats stats = executor.stats();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        base::Operation::Clock::now() - started);
    bson::Builder out = reply.sub_object("stats");
    out.append("n", static_cast<int32_t>(stats.returned))
        .append("nscanned",
                static_cast<int32_t>(std::max(stats.keys_examined, stats.docs_examined)))
        .append("nscannedObjects", static_cast<int32_t>(stats.docs_examined))
        .append("timems", static_cast<int32_t>(took.count()))
        .append_as("cursor", explained["cursor"]);
}

void run_distinct(Invocation& invocation) {
    const auto started = base::Operation::Clock::now();
    refuse_collation(invocation.body);
    const std::string ns = invocation.ns();
    query::FindQuery query;
    query::FindQuery::Parts parts;
    parts.filter = query_of(invocation.body);
    try {
        query.canonicalise(parts);
    } catch (const base::Error& e) {
        base::fail(kBadDistinctQuery, "Can't canonicalize query: {}", e.what());
    }
    const bson::Element key = invocation.body["key"];
    CollectionLock lock(invocation.service, ns, false, &invocation.session.current());
    query::ExecutorOptions options;
    options.no_table_scan = invocation.service.no_table_scan();
    const auto executor = query::make_executor(lock.collection(), std::move(query), options, &lock);
    query::DistinctValues values(key.is_string() ? key.as_string() : std::string_view());
    query::Row row;
    while (key.is_string() && executor->next(&row))
        values.add(row.doc);
    report_query(invocation.service, &invocation.session.current(), *executor, {}, true);
    {
        bson::Builder list = invocation.reply->sub_array("values");
        values.append_to(list);
    }
    bson::Builder explained;
    executor->append_legacy_explain(explained, {});
    append_stats(*invocation.reply, *executor, explained.doc(), started);
}

constexpr Command kCommands[] = {
    {"count", "", 0, LockKind::read, "count objects in collection", run_count},
    {"distinct", "", 0, LockKind::read, "{ distinct: collection, key: 'a.b', query: {} }",
     run_distinct},
};

}  // namespace

std::span<const Command> count_commands() {
    return kCommands;
}

}  // namespace command
