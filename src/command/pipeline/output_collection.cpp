#include "command/pipeline/output_collection.h"

#include <atomic>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/validate.h"
#include "catalog/index_spec.h"
#include "command/context/locks.h"
#include "command/write/write_ops.h"
#include "dialect/collections.h"
#include "dialect/pipelines.h"
#include "query/update/update.h"
#include "sched/interruption.h"
#include "sched/tick.h"
#include "sched/work_limit.h"
#include "storage/lock.h"

namespace command {

namespace {

// The bytes that are stored under one lock.
constexpr size_t kBatchBytes = 256 * 1024;
constexpr int kInternalDatabase = 31321;

uint64_t next_number() {
    static std::atomic<uint64_t> number{1};
    return number.fetch_add(1);
}

void copy_indexes(catalog::Database& db, const catalog::Collection* old,
                  catalog::Collection& output) {
    if (old == nullptr) return;
    for (const auto& index : old->indexes()) {
        if (index->is_id) continue;
        db.create_index(output, catalog::spec_to_copy(index->spec));
    }
}

// It has the validator and the collation of the collection whose place it takes.
bson::Object options_of_output(OperationContext& context, catalog::Collection* old) {
    bson::Builder options;
    options.append("temp", true);
    append_uuid_of_new(context, options);
    if (old == nullptr) return options.object();
    for (const bson::Element& e : old->store().options())
        if (catalog::is_validation_option(e.name()) || e.name() == "collation") options.append(e);
    return options.object();
}

}  // namespace

OutputCollection::OutputCollection(Invocation& invocation, const query::OutputTarget& target,
                                   Validation validation, Of of)
    : client_(invocation.client),
      cursors_(invocation.service.cursors()),
      dialect_(invocation.dialect()),
      validation_(validation),
      of_(of),
      db_(target.db.empty() ? invocation.db : std::string_view(target.db)),
      target_(fmt::format("{}.{}", db_, target.collection)),
      temporary_(fmt::format("{}.tmp.agg_out.{}", db_, next_number())) {
    const std::string& name = target.collection;
    if (name.empty()) base::fail(16997, "$out needs the name of a collection");
    if (dialect_.has(dialect::kNamesOfCollectionsAreChecked)) catalog::refuse_leading_dot(name);
    if (name.find('\0') != std::string::npos)
        base::fail(base::kInvalidNamespace, "the name of a collection has no NUL byte in it");
    if (name.find('$') != std::string::npos || catalog::is_system(name))
        base::fail(17385, "Can't $out to special collection: {}", name);
    if (!catalog::valid_database_name(db_))
        base::fail(base::kInvalidNamespace, "Invalid $out target namespace: '{}'", target_);
    const bool internal = db_ == "admin" || db_ == "config" || db_ == "local";
    if (dialect_.has(dialect::kOutputsOfToday) && internal)
        base::fail(kInternalDatabase, "Can't $out to internal database: {}", db_);
}

void OutputCollection::fill(PipelineSource& source) {
    fill_from([&source](bson::Buffer& out) { return source.next(out); });
}

void OutputCollection::fill_from(const Next& next) {
    DCHECK(storage::LockManager::database().empty());
    create();
    const auto drop_temporary = [this] {
        const storage::DatabaseLock lock(client_.locks(), catalog::split(target_).db, true);
        if (catalog::Database* db = database(); db != nullptr && find() != nullptr)
            db->drop(temporary_);
    };
    sched::undo_if_fails(
        [&] {
            insert_all(next);
            replace_target();
        },
        drop_temporary);
}

void OutputCollection::refuse_capped(const catalog::Collection* old) const {
    if (of_ == Of::pipeline && old != nullptr && old->capped())
        base::fail(17152, "can't $out to the capped collection {}", target_);
}

void OutputCollection::create() {
    CollectionLock lock(client_, target_, true);
    catalog::Database& db = lock.make_database();
    catalog::Collection* old = db.collection(target_);
    refuse_capped(old);
    catalog::Collection& output = db.create(temporary_, options_of_output(client_, old));
    try {
        copy_indexes(db, old, output);
    } catch (...) {
        db.drop(temporary_);
        throw;
    }
    incarnation_ = output.incarnation();
}

catalog::Database* OutputCollection::database() const {
    return client_.catalog().database(catalog::split(target_).db);
}

// Null where it has gone: others may drop the collection, or the whole database.
catalog::Collection* OutputCollection::find() const {
    DCHECK(incarnation_ != 0);
    catalog::Database* db = database();
    catalog::Collection* output = db == nullptr ? nullptr : db->collection(temporary_);
    return output != nullptr && output->incarnation() == incarnation_ ? output : nullptr;
}

catalog::Collection& OutputCollection::found() const {
    catalog::Collection* output = find();
    if (output == nullptr)
        base::fail(base::kNamespaceNotFound,
                   "the collection that $out was filling has been dropped: {}", temporary_);
    return *output;
}

void OutputCollection::insert_all(const Next& next) {
    bson::Buffer results;
    for (bool more = true; more;) {
        results.clear();
        while (results.size() < kBatchBytes && (more = next(results))) {
        }
        insert(results);
    }
}

// Documents, one behind another.
void OutputCollection::insert(const bson::Buffer& results) {
    CollectionLock lock(client_, target_, true);
    int64_t number = 0;
    for (size_t at = 0; at < results.size();) {
        const bson::Doc doc(results.data() + at);
        at += static_cast<size_t>(doc.size());
        DCHECK(at <= results.size());
        yield_before_insert(lock, number++, doc);
        insert(found(), doc);
    }
}

void OutputCollection::insert(catalog::Collection& output, bson::Doc doc) {
    bson::check_depth(doc, "a document for $out");  // what is stored has to be read again
    fixed_.clear();
    try {
        const sched::WorkLimit limit(kInsertWork);
        if (of_ == Of::map_reduce) {
            validate(output, validation_, doc);
            output.insert(doc);
            return;
        }
        const bool rewritten = query::fix_for_insert(doc, true, fixed_, dialect_);
        const bson::Doc fixed = rewritten ? bson::Doc(fixed_.data()) : doc;
        validate(output, validation_, fixed);
        output.insert(fixed);
    } catch (const base::Error& e) {
        if (of_ == Of::map_reduce && e.code() == base::kDuplicateKey) return;
        if (of_ == Of::map_reduce || e.code() == base::kDocumentValidationFailure) throw;
        sched::fail_because(e, 16996, "insert for $out failed: {}", e.what());
    }
}

void OutputCollection::replace_target() {
    CollectionLock lock(client_, target_, true);
    found();
    refuse_capped(lock.collection());
    cursors_.kill_collection(target_);
    try {
        lock.database()->replace(temporary_, target_, false);
    } catch (...) {
        // find() would not find it: a rename that failed has opened it anew.
        lock.database()->drop(temporary_);
        throw;
    }
}

}  // namespace command
