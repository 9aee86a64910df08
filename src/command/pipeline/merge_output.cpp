#include "command/pipeline/merge_output.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/validate.h"
#include "command/context/locks.h"
#include "command/write/write_ops.h"
#include "dialect/dialect.h"
#include "query/update/update.h"
#include "sched/tick.h"
#include "storage/lock.h"

namespace command {

namespace {

using Matched = query::MergeSpec::Matched;
using NotMatched = query::MergeSpec::NotMatched;

constexpr int kNoUniqueIndex = 51183;
constexpr int kSpecialCollection = 31319;
constexpr int kInternalDatabase = 31320;
constexpr int kNoMatchingDocument = 13113;
// The ticks of one result, beside what the write itself counts (sched/tick.h).
constexpr int64_t kTicksPerResult = 64;

std::string full_name(const Invocation& invocation, const query::OutputTarget& target) {
    return fmt::format("{}.{}", target.db.empty() ? invocation.db : std::string_view(target.db),
                       target.collection);
}

}  // namespace

MergeOutput::MergeOutput(Invocation& invocation, const query::PipelineOutput& output,
                         std::shared_ptr<const collation::Collator> collator, Validation validation)
    : client_(invocation.client),
      spec_(*output.merge),
      target_(full_name(invocation, output.target)),
      collator_(std::move(collator)),
      validation_(validation) {
    check_target();
    const CollectionLock lock(client_, target_, false);
    if (!has_unique_index(lock.collection()))
        base::fail(kNoUniqueIndex, "Cannot find index to verify that join fields will be unique");
}

void MergeOutput::check_target() const {
    const auto [db, collection] = catalog::split(target_);
    if (!catalog::valid_database_name(db) ||
        !catalog::valid_collection_name(db, collection, client_.name_limits()))
        base::fail(base::kInvalidNamespace, "Invalid $merge target namespace: '{}'", target_);
    catalog::refuse_leading_dot(collection);
    if (db == "admin" || db == "config" || db == "local")
        base::fail(kInternalDatabase, "Cannot $merge to internal database: {}", db);
    if (catalog::is_system(collection))
        base::fail(kSpecialCollection, "Cannot $merge to special collection: {}", collection);
}

bool MergeOutput::has_unique_index(const catalog::Collection* collection) const {
    if (spec_.on().size() == 1 && spec_.is_on("_id")) return true;
    return collection != nullptr &&
           std::ranges::any_of(collection->indexes(),
                               [this](const auto& index) { return is_over(*index); });
}

// Whether it says of all documents that no two have the same values in the fields that results are
// matched by.
bool MergeOutput::is_over(const catalog::Index& index) const {
    if (!index.unique || !index.ready || index.generator == nullptr ||
        index.generator->filter() != nullptr ||
        !collation::is_same(index.generator->collator(), collator_.get()) ||
        index.key_pattern.field_count() != static_cast<int>(spec_.on().size()))
        return false;
    for (const bson::Element& key : index.key_pattern)
        if (!spec_.is_on(key.name())) return false;
    return true;
}

void MergeOutput::fill(PipelineSource& source) {
    DCHECK(storage::LockManager::database().empty());
    bson::Doc result;
    while (source.next(&result)) {
        sched::tick(kTicksPerResult);
        store(result);
    }
}

void MergeOutput::store(bson::Doc result) {
    bson::check_depth(result, "a document for $merge");  // what is stored has to be read again
    fixed_.clear();
    if (spec_.is_on("_id") && result["_id"].missing() &&
        query::fix_for_insert(result, true, fixed_, dialect::kToday))
        result = bson::Doc(fixed_.data());
    if (spec_.matched() == Matched::fail)
        insert(result);
    else
        update(result);
}

void MergeOutput::insert(bson::Doc result) {
    bson::Buffer scratch;
    CollectionLock lock(client_, target_, storage::Access::documents);
    client_.metrics().inserted.fetch_add(
        insert_document(lock, result, scratch, dialect::kToday, validation_),
        std::memory_order_relaxed);
}

void MergeOutput::update(bson::Doc result) {
    const bson::Object filter = spec_.filter(result);
    const query::FilterExpressions variables(spec_.variables(result));
    UpdateRequest request;
    request.query = filter;
    request.update = spec_.stages();
    request.by_pipeline = true;
    request.upsert = spec_.not_matched() == NotMatched::insert;
    request.dialect = dialect::kToday;
    request.validation = validation_;
    request.expressions = &variables;
    request.collator = collator_;
    request.inserted = result;
    const UpdateOutcome outcome = update_documents(client_, target_, request);
    if (outcome.matched == 0 && spec_.not_matched() == NotMatched::fail)
        base::fail(kNoMatchingDocument,
                   "$merge could not find a matching document in the target collection for at "
                   "least one document in the source collection");
}

}  // namespace command
