#include <algorithm>

#include "base/dcheck.h"
#include "bson/compare.h"
#include "command/write/document_change.h"
#include "query/plan/executor.h"
#include "query/plan/sort.h"
#include "sched/work_limit.h"

namespace command {

bool still_matches(const CollectionLock& lock, const query::Executor& executor, query::Row& row) {
    DCHECK(executor.stats().scan_and_order && !row.id.is_null());
    const auto cursor = lock.collection()->records().cursor(storage::Direction::forward);
    cursor->seek(row.id);
    const std::optional<storage::Record> record = cursor->next();
    if (!record || record->id != row.id) return false;
    if (std::ranges::equal(record->doc.bytes(), row.doc.bytes())) return true;
    const sched::WorkLimit limit(query::kMatchWork);
    row.details = query::MatchDetails{};
    row.details.want_index = true;
    const query::FindQuery& query = executor.query();
    if (!query.matcher->matches(record->doc, &row.details)) return false;
    if (query.sort_pattern == nullptr) return true;
    bson::Buffer before;
    bson::Buffer now;
    query.sort_pattern->append_key(row.doc, before);
    query.sort_pattern->append_key(record->doc, now);
    return bson::compare_docs(bson::Doc(before.data()), bson::Doc(now.data())) == 0;
}

}  // namespace command
