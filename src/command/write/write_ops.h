// command/write/write_ops.h - changing documents: what write commands, the old opcodes,
// findAndModify and the TTL monitor have in common.
//
// Each function takes the database lock itself, yields between documents, and leaves what was
// done before a failure in place (wire spec 3.3 to 3.5, semantics 3).
//
// The room write: changes to documents, when they count as done (write_concern.h), the removal of
// expired documents (ttl.h), new users (add_user.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error_codes.h"
#include "bson/builder.h"
#include "collation/collator.h"
#include "command/context/locks.h"
#include "dialect/dialect.h"
#include "query/expression/filter_expression.h"
#include "query/match/match_tree.h"
#include "query/update/update.h"

namespace command {

// The names of the work for sched::WorkLimit.
constexpr const char* kInsertWork = "the insert of one document";
constexpr const char* kUpdateWork = "the update of one document";

// Yields where others wait; called before each of the documents that are inserted under one lock
// (the first has number 0). It looks for others every few documents, and before each large one.
void yield_before_insert(CollectionLock& lock, int64_t number, bson::Doc doc);

// Whether a collection's validator is asked (catalog/validator.h); else the client has said
// bypassDocumentValidation.
enum class Validation : bool { asked, bypassed };
// Validates a document before it is stored, with a lock to write held; `before`: the one that it
// replaces, if any. Throws what catalog::Validator::check does.
void validate(const catalog::Collection& collection, Validation validation, bson::Doc doc,
              const bson::Doc* before = nullptr);

// Inserts one document under a lock to write that the caller holds; makes the collection where it
// is missing. A document for system.indexes builds the index. Returns how many documents were
// inserted (0: an index that exists already). `scratch` is for documents that must be rewritten;
// `dialect`, `fills_timestamps`: see query::fix_for_insert.
int64_t insert_document(CollectionLock& lock, bson::Doc doc, bson::Buffer& scratch,
                        dialect::Dialect dialect = dialect::kV26,
                        Validation validation = Validation::asked, bool fills_timestamps = true);

struct UpdateRequest {
    bson::Doc query;
    bson::Doc update;
    bool by_pipeline = false;  // `update` is an array of stages
    bson::Element hint;
    bson::Doc sort;  // of an update of one document: the first by it; empty: any
    bool multi = false;
    bool upsert = false;
    dialect::Dialect dialect = dialect::kV26;  // see query::Update::Options
    bson::Doc item;                            // as it was sent, for reports
    bson::Element array_filters;
    bson::Element constants;  // {name: value, ...} for an update by pipeline; no object: none
    Validation validation = Validation::asked;
    bool keeps_empty_timestamps = false;                    // see query::Update::Options
    const query::FilterExpressions* expressions = nullptr;  // by OP_MSG, and the variables
    // None: that of the collection.
    std::optional<std::shared_ptr<const collation::Collator>> collator = {};
    bson::Doc inserted = {};  // by an upsert; empty: what query and update make
};
struct UpdateOutcome {
    int64_t matched = 0;
    int64_t modified = 0;
    bson::Object upserted;  // {"": _id} if a document was inserted
    bool existing() const { return matched > 0; }
    // n of the reply.
    int64_t n() const { return matched + (upserted.empty() ? 0 : 1); }
};
// Returns the update of a document that the request asks for. `collator`: under which it compares
// texts. Throws what query::parse_update does, and query::LetVariables::define.
std::unique_ptr<query::Update> make_update(const UpdateRequest& request,
                                           std::shared_ptr<const collation::Collator> collator);
void report_update(OpReport& report, const UpdateOutcome& outcome);
UpdateOutcome update_documents(OperationContext& context, std::string_view ns,
                               const UpdateRequest& request);

// A record's document and what becomes of it.
struct ComputedUpdate {
    const query::Update* update = nullptr;
    bson::Doc before;
    query::UpdateResult result;
};
// Computes what `update` makes of a record (lock to write held); a new document is written to
// `out`.
ComputedUpdate compute_update(catalog::Collection& collection, query::Update& update,
                              storage::RecordId id, query::MatchDetails& details,
                              bson::Buffer& out);
// The document afterwards: in `out`, or as it was.
bson::Doc updated_document(const ComputedUpdate& computed, bson::Buffer& out);
// Stores it. Returns whether anything changed; *id follows a moved record.
bool store_update(OperationContext& context, catalog::Collection& collection,
                  const ComputedUpdate& computed, Validation validation, storage::RecordId* id,
                  bson::Buffer& out);
// Inserts what an upsert has made of a query; makes the collection where it is missing. Cursors are
// saved or used no more. Returns {"": _id}.
bson::Object insert_upsert(CollectionLock& lock, bson::Doc doc, Validation validation);

// Returns the number of removed documents. `expressions`: of a request by OP_MSG; null: the filter
// is read as the old server did. `collator`: none: that of the collection.
int64_t delete_documents(
    OperationContext& context, std::string_view ns, bson::Doc query, const bson::Element& hint,
    bool just_one, const query::FilterExpressions* expressions = nullptr,
    const std::optional<std::shared_ptr<const collation::Collator>>& collator = {});

// Throws base::Error 10156 for system.indexes, and what catalog::check_writable does with `code`.
void check_updatable(const OperationContext& context, std::string_view ns,
                     int code = base::kBadValue);
// Throws base::Error 10101 for capped collections, 12050 for system.indexes.
void check_removable(const catalog::Collection& collection);

}  // namespace command
