// command/request/newer_fields.h - values of fields that later servers read otherwise than the old
// one. They are refused: taken for what they were, they would lead to wrong answers or wrong
// documents (wire spec 0 rule 7).
#pragma once

#include <memory>
#include <optional>

#include "bson/view.h"
#include "collation/collator.h"
#include "command/request/fields.h"
#include "command/write/write_ops.h"
#include "query/plan/query.h"

namespace command {

// The old messages may have it, too: it asks for less than the old server had.
inline constexpr Field kBypassValidation = {"bypassDocumentValidation", types::flag,
                                            Field::Use::read, "3.2"};
inline Validation validation_of(bson::Doc command) {
    return command[kBypassValidation.name].truthy() ? Validation::bypassed : Validation::asked;
}

inline constexpr Field kKeepsEmptyTimestamps =
    by_msg("bypassEmptyTsReplacement", types::boolean, "8.0");

inline constexpr Field kCollation = by_msg("collation", types::object, "3.4");
// Whether it is there: what is not has the collation of its collection.
bool names_collation(const bson::Element& spec, bool over_msg);
// Null: texts are compared by their bytes. Throws what collation::Collator::make does.
std::shared_ptr<const collation::Collator> collator_of(const bson::Element& spec, bool over_msg);
// Returns the collation of an item of a command; none: that of its collection.
std::optional<std::shared_ptr<const collation::Collator>> collator_of(bson::Doc fields,
                                                                      bool over_msg);
// Sets the collation of a query of a command: `spec`, or that of the collection. REQUIRES: no lock
// is held.
void set_collation(OperationContext& context, std::string_view ns, const bson::Element& spec,
                   bool over_msg, query::FindQuery& query);

// Throws base::Error 9 when `update` is a pipeline, which the old messages do not have.
void refuse_pipeline(const bson::Element& update, bool over_msg);
// The arrayFilters of an update; missing: none. Throws base::Error 72 for such by the old messages.
bson::Element array_filters_of(bson::Doc update, bool over_msg);

}  // namespace command
