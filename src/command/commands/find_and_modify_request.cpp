// The fields of findAndModify, and which of them it may not have at the same time.
#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/find.h"
#include "command/commands/projection_of_today.h"
#include "command/commands/request_expressions.h"
#include "command/request/bind.h"
#include "command/request/fields_of_today.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/requests.h"
#include "dialect/updates.h"
#include "query/stage/computed_projection.h"
#include "query/stage/update_pipeline.h"

namespace command {

namespace {

using Request = FindAndModifyRequest;

constexpr Reader<bson::Element> kAsItCame{
    types::object | types::array, [](const bson::Element& e, dialect::Dialect) { return e; }};
// The old server took an array for a document.
constexpr Reader<bson::Doc> kDocument{types::object, [](const bson::Element& e, dialect::Dialect) {
                                          return e.is_object() || e.is_array() ? e.as_doc()
                                                                               : bson::Doc();
                                      }};

constexpr Row<Request> kRows[] = {
    row<kDocument, &Request::query>("query"),
    row<kAsItCame, &Request::given_update>("update"),
    row<lenient::flag, &Request::return_new>("new"),
    row<lenient::flag, &Request::upsert>("upsert"),
    row<lenient::flag, &Request::remove>("remove"),
    row<lenient::object_element, &Request::given_sort>("sort"),
    row<kDocument, &Request::fields>("fields"),
    row<lenient::hint, &Request::hint>("hint"),
    row<kValidation, &Request::validation>(kBypassValidation),
    row<lenient::flag, &Request::keeps_empty_timestamps>(kKeepsEmptyTimestamps),
    row<lenient::array_element, &Request::array_filters>("arrayFilters"),
    row<lenient::object_element, &Request::collation>(kCollation),
    row<lenient::object_element, &Request::let>(kLet),
    refused("encryptionInformation", "6.0"),
};
constexpr RequestTable kFindAndModify(kRows);

}  // namespace

FindAndModifyRequest parse_find_and_modify(const Invocation& invocation) {
    const dialect::Dialect dialect = invocation.dialect();
    Request request = bind_find_and_modify(invocation);
    const bson::Element& update = request.given_update;
    const bson::Element& sort = request.given_sort;
    const auto is_document = [](const bson::Element& e) { return e.is_object() || e.is_array(); };
    const bson::Doc order = is_document(sort) ? sort.as_doc() : bson::Doc();
    refuse_pipeline(update, dialect);
    if (dialect.has(dialect::kProjectionsCompute))
        request.computes = is_computed_projection(request.fields, request.query);
    if (dialect.has(dialect::kBadUpdateIsRefused) && !request.computes)
        query::Projection::parse_by_name(request.fields, &query::kNoExpressionsHere);
    if (dialect.has(dialect::kSortsAreChecked)) check_sort_of_today(order, request.query);
    request.array_filters = read_array_filters(request.array_filters, dialect);
    if (is_document(update)) request.update = update.as_doc();
    request.by_pipeline = update.is_array();
    // An empty update empties the document. The old messages allow that only beside a sort; else it
    // is no update.
    const bool may_be_empty = dialect.has(dialect::kEmptyUpdateEmpties) || !order.empty();
    request.has_update =
        request.by_pipeline || (update.is_object() && (!request.update.empty() || may_be_empty));
    if (sort.is_object()) {
        request.sort = sort.as_doc();
    } else if (sort && sort.type() != bson::Type::null) {
        base::fail(10065, "invalid parameter: expected an object (sort)");
    }
    // A request with a sort went another way, which examined its rules when it had a document.
    request.remove_beside_update = request.remove && !request.sort.empty() && !update.missing();
    if (dialect.has(dialect::kRemovalsAreChecked) && request.remove && !update.missing())
        base::fail(base::kFailedToParse, "Cannot specify both an update and remove=true");
    if (request.remove && request.array_filters)
        base::fail(base::kFailedToParse, "Cannot specify arrayFilters and remove=true");
    if (request.remove && request.upsert)
        base::fail(base::kFailedToParse, "remove and upsert can't co-exist");
    if (request.remove && request.return_new && !request.remove_beside_update)
        base::fail(base::kFailedToParse, "remove and returnNew can't co-exist");
    if (!request.remove && !request.has_update)
        base::fail(base::kFailedToParse, "need remove or update");
    DCHECK(!request.upsert || request.has_update);
    return request;
}

FindAndModifyRequest bind_find_and_modify(const Invocation& invocation) {
    FindAndModifyRequest request;
    kFindAndModify.bind(invocation.given, invocation.dialect(), request);
    return request;
}

Fields find_and_modify_fields() {
    return kFindAndModify.fields();
}

}  // namespace command
