// findAndModify (wire spec 3.6, semantics 3).
#include "base/error.h"
#include "command/find.h"
#include "command/registry.h"
#include "command/session.h"
#include "command/write_ops.h"
#include "query/executor.h"

namespace command {

namespace {

constexpr int kBadQuery = 17383;
constexpr int kBadQueryOrSort = 13106;

struct Request {
    bson::Doc query;
    bson::Doc sort;
    bson::Doc fields;
    bson::Element hint;
    bson::Doc update;
    bool has_update = false;
    bool remove = false;
    bool upsert = false;
    bool return_new = false;
};

void refuse_unsupported(bson::Doc body) {
    for (const char* field : {"arrayFilters", "let"}) {
        const bson::Element e = body[field];
        if ((e.is_object() || e.is_array()) && !e.as_doc().empty())
            base::fail(base::kInvalidOptions, "'{}' is not supported by this server", field);
    }
    const bson::Element collation = body["collation"];
    if (collation.is_object() && !collation.as_doc().empty() &&
        !(collation.as_doc()["locale"].is_string() &&
          collation.as_doc()["locale"].as_string() == "simple"))
        base::fail(base::kInvalidOptions, "only the simple collation is supported");
    if (body["update"].is_array())
        base::fail(base::kFailedToParse, "updates by a pipeline are not supported by this server");
}

Request parse(bson::Doc body) {
    refuse_unsupported(body);
    const auto document = [&body](const char* field) {
        const bson::Element e = body[field];
        return e.is_object() || e.is_array() ? e.as_doc() : bson::Doc();
    };
    Request request;
    request.query = document("query");
    request.fields = document("fields");
    request.hint = body["hint"];
    request.update = document("update");
    // An empty update is none, but beside a sort it empties the document.
    request.has_update =
        body["update"].is_object() && (!request.update.empty() || !document("sort").empty());
    request.remove = body["remove"].truthy();
    request.upsert = body["upsert"].truthy();
    request.return_new = body["new"].truthy();
    const bson::Element sort = body["sort"];
    if (sort.is_object()) {
        request.sort = sort.as_doc();
    } else if (sort && sort.type() != bson::Type::null) {
        base::fail(10065, "invalid parameter: expected an object (sort)");
    }
    if (request.remove && request.upsert)
        base::fail(base::kFailedToParse, "remove and upsert can't co-exist");
    if (request.remove && request.return_new)
        base::fail(base::kFailedToParse, "remove and returnNew can't co-exist");
    if (!request.remove && !request.has_update)
        base::fail(base::kFailedToParse, "need remove or update");
    return request;
}

// `fields` are looked at only here: their mistakes show when there is something to return.
void append_value(Invocation& invocation, const Request& request, bson::Doc doc) {
    const auto projection = query::Projection::parse_by_name(request.fields);
    if (projection == nullptr) {
        invocation.reply->append("value", doc);
        return;
    }
    invocation.reply->bytes(bson::Type::object, "value", {});
    projection->apply(doc, nullptr, invocation.reply->buffer());
}

void append_last_error(Invocation& invocation, bool update, bool existing,
                       const bson::Object& upserted, int32_t n) {
    bson::Builder last = invocation.reply->sub_object("lastErrorObject");
    if (update) last.append("updatedExisting", existing);
    last.append("n", n);
    if (!upserted.empty()) last.append_as("upserted", upserted.doc().first());
}

class FindAndModify {
  public:
    FindAndModify(Invocation& invocation, const Request& request)
        : invocation_(invocation),
          service_(invocation.service),
          request_(request),
          ns_(invocation.ns()) {
        if (request.remove) {
            catalog::check_writable(ns_);
        } else {
            check_updatable(ns_);
        }
        query::FindQuery::Parts parts;
        parts.filter = request.query;
        parts.sort = request.sort;
        parts.hint = request.hint;
        try {
            find_.canonicalise(parts);
        } catch (const base::Error& e) {
            base::fail(request.sort.empty() ? kBadQuery : kBadQueryOrSort,
                       "Can't canonicalize query: {}", e.what());
        }
        find_.limit = 1;
    }

    void run() {
        CollectionLock lock(service_, ns_, true, &invocation_.session.current());
        find_.want_details = true;
        query::ExecutorOptions options;
        options.for_write = true;
        const auto executor =
            query::make_executor(lock.collection(), std::move(find_), options, &lock);
        query::Row row;
        const bool found = executor->next(&row);
        report_query(service_, &invocation_.session.current(), *executor, {}, true);
        if (!found) {
            if (request_.upsert) return upsert(lock, *executor->query().matcher);
            append_last_error(invocation_, request_.has_update, false, {}, 0);
            invocation_.reply->append_null("value");
            invocation_.skip_concern = true;
            return;
        }
        if (request_.remove) return remove(lock, row);
        modify(lock, row);
    }

  private:
    void remove(CollectionLock& lock, const query::Row& row) {
        check_removable(*lock.collection());
        append_last_error(invocation_, false, false, {}, 1);
        append_value(invocation_, request_, lock.collection()->records().get(row.id));
        lock.collection()->remove(row.id);
        invocation_.session.current().report.deleted = 1;
        service_.counters().remove.fetch_add(1, std::memory_order_relaxed);
        service_.metrics().deleted.fetch_add(1, std::memory_order_relaxed);
    }

    // The update is parsed only now: nothing of it is checked when no document matches.
    void modify(CollectionLock& lock, const query::Row& row) {
        const auto update =
            query::Update::parse(request_.update, {.multi = false, .upsert = false});
        catalog::Collection& collection = *lock.collection();
        storage::RecordId id = row.id;
        const bson::Doc doc = collection.records().get(id);
        append_last_error(invocation_, true, true, {}, 1);
        if (!request_.return_new) append_value(invocation_, request_, doc);
        bson::Buffer out;
        const bool changed = apply_update(service_, &invocation_.session.current(), collection,
                                          *update, &id, doc, row.details, out);
        if (request_.return_new) append_value(invocation_, request_, collection.records().get(id));
        report_update(invocation_.session.current().report, {1, changed ? 1 : 0, {}});
        service_.counters().update.fetch_add(1, std::memory_order_relaxed);
        service_.metrics().updated.fetch_add(changed ? 1 : 0, std::memory_order_relaxed);
    }

    void upsert(CollectionLock& lock, const query::Matcher& matcher) {
        const auto update = query::Update::parse(request_.update, {.multi = false, .upsert = true});
        bson::Buffer out;
        const bson::Object id = insert_upsert(service_, lock.make(), *update, matcher, out);
        append_last_error(invocation_, true, false, id, 1);
        report_update(invocation_.session.current().report, {0, 0, id});
        if (request_.return_new) {
            append_value(invocation_, request_, bson::Doc(out.data()));
        } else if (!request_.sort.empty()) {
            // The old server did these by another way, which showed.
            invocation_.reply->append("value", bson::Doc());
        } else {
            invocation_.reply->append_null("value");
        }
        service_.counters().update.fetch_add(1, std::memory_order_relaxed);
    }

    Invocation& invocation_;
    Service& service_;
    const Request& request_;
    const std::string ns_;
    query::FindQuery find_;
};

void run_find_and_modify(Invocation& invocation) {
    const Request request = parse(invocation.body);
    if (!invocation.first().is_string() && !request.upsert) {
        // What is no name leads to no collection.
        append_last_error(invocation, request.has_update, false, {}, 0);
        invocation.reply->append_null("value");
        return;
    }
    FindAndModify(invocation, request).run();
}

constexpr Command kCommands[] = {
    {"findAndModify", "findandmodify", kRecordsFailure, LockKind::write,
     "{ findAndModify: collection, query, sort, update | remove: true, new, fields, upsert }",
     run_find_and_modify},
};

}  // namespace

std::span<const Command> find_and_modify_commands() {
    return kCommands;
}

}  // namespace command
