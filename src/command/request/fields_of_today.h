// command/request/fields_of_today.h - values of fields that later servers read otherwise than the
// old one. They are refused: taken for what they were, they would lead to wrong answers or wrong
// documents (wire spec 0 rule 7).
#pragma once

#include <memory>
#include <optional>

#include "bson/view.h"
#include "collation/collator.h"
#include "command/request/bind.h"
#include "command/request/fields.h"
#include "command/write/write_ops.h"
#include "dialect/dialect.h"
#include "query/plan/query.h"

namespace command {

// The old messages may have it, too: it asks for less than the old server had.
inline constexpr Field kBypassValidation = {"bypassDocumentValidation", types::flag,
                                            Field::Use::read, "3.2"};
inline constexpr Reader<Validation> kValidation{
    types::flag, [](const bson::Element& e, dialect::Dialect) {
        return e.truthy() ? Validation::bypassed : Validation::asked;
    }};

inline constexpr Field kKeepsEmptyTimestamps =
    of_today("bypassEmptyTsReplacement", types::boolean, "8.0");

inline constexpr Field kCollation = of_today("collation", types::object, "3.4");
// Whether it is there: what is not has the collation of its collection.
bool names_collation(const bson::Element& spec, dialect::Dialect dialect);
// Null: texts are compared by their bytes. Throws what collation::Collator::make does.
std::shared_ptr<const collation::Collator> collator_of(const bson::Element& spec,
                                                       dialect::Dialect dialect);
// The same for an item of a command; none: that of its collection.
std::optional<std::shared_ptr<const collation::Collator>> named_collator(const bson::Element& spec,
                                                                         dialect::Dialect dialect);
// Sets the collation of a query of a command: `spec`, or that of the collection. REQUIRES: no lock
// is held.
void set_collation(OperationContext& context, std::string_view ns, const bson::Element& spec,
                   dialect::Dialect dialect, query::FindQuery& query);

// Throws base::Error 9 when `update` is a pipeline, which the old messages do not have.
void refuse_pipeline(const bson::Element& update, dialect::Dialect dialect);
// The arrayFilters of an update; missing: none. By the old messages they ask for nothing, or
// base::Error 72 is thrown.
bson::Element read_array_filters(const bson::Element& filters, dialect::Dialect dialect);

}  // namespace command
