// count and distinct (wire spec 3.7, semantics 2).
#include <set>

#include "base/error.h"
#include "bson/compare.h"
#include "command/locks.h"
#include "command/registry.h"
#include "command/session.h"
#include "query/executor.h"
#include "query/path.h"

namespace command {

namespace {

constexpr int kDistinctTooBig = 17217;
constexpr int32_t kMaxReplyBytes = bson::kMaxDocumentBytes;

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
    if (body["hint"].is_string() && !parts.filter.empty()) parts.hint = body["hint"];
    const bson::Element limit = body["limit"];
    if (limit.is_number()) query.limit = std::abs(limit.to_int64());
    if (const bson::Element skip = body["skip"]; skip && skip.type() != bson::Type::null) {
        if (!skip.is_number()) base::fail(base::kBadValue, "skip value is not a valid number");
        query.skip = skip.to_int64();
        if (query.skip < 0) base::fail(base::kBadValue, "skip value is negative in count query");
    }
    query.canonicalise(parts);
    CollectionLock lock(invocation.service, ns, false, &invocation.session.current());
    if (lock.collection() == nullptr) {
        invocation.reply->append("missing", true).append("n", int32_t{0});
        return;
    }
    append_count(*invocation.reply, query::count(lock.collection(), std::move(query), &lock));
}

// Values met so far, each once, in the order they came.
class DistinctValues {
  public:
    DistinctValues() : seen_(Less{&bytes_}) {}

    void add(const bson::Element& value) {
        const size_t offset = bytes_.size();
        bytes_.append_byte(static_cast<uint8_t>(value.type()));
        bytes_.append_byte(0);
        bytes_.append(value.value(), value.value_size());
        if (!seen_.insert(offset).second) {
            bytes_.truncate(offset);
            return;
        }
        order_.push_back(offset);
        if (bytes_.size() > static_cast<size_t>(kMaxReplyBytes))
            base::fail(kDistinctTooBig, "distinct too big, 16mb cap");
    }

    void append_to(bson::Builder& out) const {
        bson::Builder list = out.sub_array("values");
        for (const size_t offset : order_)
            list.push_element(bson::Element(bytes_.data() + offset));
    }

  private:
    struct Less {
        const bson::Buffer* bytes;
        bool operator()(size_t a, size_t b) const {
            return bson::compare_values(bson::Element(bytes->data() + a),
                                        bson::Element(bytes->data() + b)) < 0;
        }
    };

    bson::Buffer bytes_;  // elements without names
    std::set<size_t, Less> seen_;
    std::vector<size_t> order_;
};

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
        base::fail(e.code(), "Can't parse distinct query: {}", e.what());
    }
    const bson::Element key = invocation.body["key"];
    CollectionLock lock(invocation.service, ns, false, &invocation.session.current());
    DistinctValues values;
    query::ExecutorOptions options;
    options.no_table_scan = invocation.service.no_table_scan();
    const auto executor = query::make_executor(lock.collection(), std::move(query), options, &lock);
    if (key.is_string()) {
        const query::FieldPath path(key.as_string());
        query::Row row;
        while (executor->next(&row)) {
            query::visit_values(path, row.doc, query::LeafArrays::expand,
                                [&values](const query::PathValue& found) {
                                    if (!found.whole_array && found.value) values.add(found.value);
                                    return false;
                                });
        }
    }
    values.append_to(*invocation.reply);
    bson::Builder explained;
    executor->append_legacy_explain(explained, false);
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
