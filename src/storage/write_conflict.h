// storage/write_conflict.h - what a change of a document ends with where another thread is in its
// way.
#pragma once

namespace storage {

class SortedIndex;

// Thrown where documents are changed concurrently (Access::documents), before the first byte that
// could not be undone: by RecordStore::lock_record, by a unique index, and where the change needs
// more. No base::Error, so that it is never taken for an answer to a client: change_document
// (command/write/document_change.h) tries again.
struct WriteConflict {
    bool needs_all = false;  // the change is one for Access::all
    // Since this index would get its first array; null: for another reason.
    const SortedIndex* first_array_of = nullptr;
};

}  // namespace storage
