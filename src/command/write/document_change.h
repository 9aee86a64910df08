// command/write/document_change.h - changing one document while other threads change others.
//
// A change under storage::Access::documents goes: look for the document; lock it, and see whether
// it is still what was looked for; change it, with all its index entries. A conflict with another
// thread shows before the first byte that stays (storage/write_conflict.h). The change is then done
// again, here and nowhere else.
#pragma once

#include <type_traits>

#include "command/context/locks.h"
#include "query/match/match_tree.h"

namespace command {

// Calls `change` until it ends without a conflict. It must not leave anything of a try that has a
// conflict. If the lock had to be given up between two tries, lock.is_same() may be false.
template <typename Change>
auto change_document(CollectionLock& lock, const Change& change) {
    while (true) {
        try {
            if constexpr (std::is_void_v<decltype(change())>) {
                change();
                return lock.context().set_may_defer(false);
            } else {
                auto result = change();
                lock.context().set_may_defer(false);
                return result;
            }
        } catch (const storage::WriteConflict& conflict) {
            lock.settle(conflict);
        }
    }
}

// Begins a change of a document that was found. Returns false if another thread has removed it, or
// it does not match `filter` any more (null: it need not). If it returns true, nothing changes the
// document before this thread does, and the details of `row` are those of the match. Cursors are
// saved or used no more. Throws what query::throw_dropped() does.
bool hold_document(CollectionLock& lock, query::Row& row, const query::Matcher* filter);

// A sort in memory gives what it read before others had the lock. Returns whether the document as
// it is now is found, and sorted, as it was then. REQUIRES: the row is one of such a sort, which
// keeps its document while others are read.
bool still_matches(const CollectionLock& lock, const query::Executor& executor, query::Row& row);

}  // namespace command
