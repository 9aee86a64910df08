#include "base/dcheck.h"
#include "base/error.h"
#include "command/write/document_change.h"
#include "command/write/write_ops.h"
#include "sched/tick.h"
#include "sched/work_limit.h"

namespace command {

namespace {

// An insert into system.indexes makes an index, as the old drivers did it.
int64_t insert_index(CollectionLock& lock, bson::Doc spec) {
    constexpr int kNoCollectionInNs = 16886;
    const bson::Element target = spec["ns"];
    if (!target.is_string())
        base::fail(base::kUnauthorized, "an index definition needs the name of its collection");
    const std::string_view ns = target.as_string();
    if (ns.find('.') == std::string_view::npos)
        base::fail(kNoCollectionInNs, "an index definition needs database and collection: {}", ns);
    if (catalog::split(ns).db != catalog::split(lock.ns()).db)
        base::fail(base::kInvalidOptions, "the index would belong to another database: {}", ns);
    catalog::check_insertable(ns, lock.context().name_limits());
    catalog::Database& db = lock.make_database();
    return db.create_index(db.get_or_create(ns), spec, &lock) ? 1 : 0;
}

}  // namespace

void yield_before_insert(CollectionLock& lock, int64_t number, bson::Doc doc) {
    DCHECK(number >= 0);
    constexpr int64_t kDocuments = 8;
    constexpr int32_t kLargeBytes = 16 * 1024;  // enough for keys that take their time
    sched::tick_bytes(doc.size(), sched::PerTick::walked);
    if (number == 0 || (number % kDocuments != 0 && doc.size() < kLargeBytes)) return;
    if (lock.should_yield()) lock.yield();
}

int64_t insert_document(CollectionLock& lock, bson::Doc doc, bson::Buffer& scratch,
                        dialect::Dialect dialect, Validation validation, bool fills_timestamps) {
    DCHECK(storage::LockManager::may_write(catalog::split(lock.ns()).db));
    if (doc.size() > bson::kDocumentBytesMax)
        base::fail(base::kBadValue, "object to insert too large. size in bytes: {}, max size: {}",
                   doc.size(), bson::kDocumentBytesMax);
    if (catalog::split(lock.ns()).collection == "system.indexes") return insert_index(lock, doc);
    const catalog::Collection* existing = lock.collection();
    const bool need_id = existing == nullptr || existing->id_index() != nullptr;
    const sched::WorkLimit limit(kInsertWork);
    scratch.clear();
    const bool rewritten = query::fix_for_insert(doc, need_id, scratch, dialect, fills_timestamps);
    const bson::Doc fixed = rewritten ? bson::Doc(scratch.data()) : doc;
    change_document(lock, [&] {
        catalog::Collection& collection = lock.make();
        validate(collection, validation, fixed);
        collection.insert(fixed);
    });
    return 1;
}

}  // namespace command
