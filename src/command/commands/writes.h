// command/commands/writes.h - what the items of update and delete may have, and doing them: shared
// by the write commands, bulkWrite and explain.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "command/commands/request_expressions.h"
#include "command/commands/write_history.h"
#include "command/request/bind.h"
#include "command/request/fields.h"
#include "command/request/invocation.h"
#include "command/write/write_ops.h"
#include "dialect/dialect.h"

namespace command {

// A flag that only a boolean sets. Throws base::Error 9.
bool read_bool(const bson::Element& e, dialect::Dialect dialect);
inline constexpr Reader<bool> kBool{types::boolean, read_bool};
// Values that are looked at later.
inline constexpr Reader<bson::Element> kBoolean{types::boolean, as_it_came};
inline constexpr Reader<bson::Element> kNumber{types::number, as_it_came};

// The fields of an update, as they were sent.
struct UpdateItem {
    bson::Element query, update, multi, upsert, hint, sort, array_filters, collation, constants;
};
Fields update_item_fields();
// Throws base::Error for what is no such item: 9, 14, 40414, 40415, 72, 51198, 40324.
UpdateRequest parse_update_item(bson::Doc item, dialect::Dialect dialect);
// The same for fields that are read already. REQUIRES: the query is a document, the update one or
// an array.
UpdateRequest make_update_request(const UpdateItem& item, dialect::Dialect dialect);

struct DeleteRequest {
    bson::Doc item;  // as it was sent
    bson::Doc query;
    bson::Element hint;
    std::optional<std::shared_ptr<const collation::Collator>> collator = {};
    bool just_one = false;
};
Fields delete_item_fields();

// Do it, unless the statement is done already (write_history.h). A request with a number may change
// no more than one document: base::Error 72.
UpdateOutcome update_once(Invocation& invocation, const std::string& ns, WriteHistory& history,
                          const UpdateRequest& request, int32_t statement);
// Returns how many documents were removed.
int64_t delete_once(Invocation& invocation, const std::string& ns, const DeleteRequest& request,
                    const query::FilterExpressions* expressions, int32_t statement);

}  // namespace command
