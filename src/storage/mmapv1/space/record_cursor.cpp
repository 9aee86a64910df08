#include "storage/mmapv1/space/record_cursor.h"

#include "base/dcheck.h"
#include "storage/mmapv1/space/checked.h"
#include "storage/mmapv1/space/natural_order.h"

namespace mmapv1 {

void CursorList::before_removal(const NamespaceStorage& storage, DiskLoc loc) {
    DCHECK(loc.is_valid());
    const std::lock_guard guard(mutex_);
    for (NaturalCursor* cursor = head_; cursor != nullptr; cursor = cursor->next_) {
        if (cursor->at_ != loc || cursor->storage_ != &storage || cursor->lost_) continue;
        Views& views = storage.files().bucket_views();
        if (views.keeps_undo())
            views.on_undo([list = cursor->list_, cursor, loc, returned = cursor->returned_] {
                list->stand_again(cursor, loc, returned);
            });
        cursor->record_goes(loc);
    }
}

// The cursor may have gone. One that was made since, at the same address, has gone too: it was made
// by the thread whose changes are taken back, which alone has had the lock.
void CursorList::stand_again(const NaturalCursor* moved, DiskLoc at, bool returned) {
    const std::lock_guard guard(mutex_);
    for (NaturalCursor* cursor = head_; cursor != nullptr; cursor = cursor->next_) {
        if (cursor != moved) continue;
        cursor->at_ = at;
        cursor->returned_ = returned;
        cursor->lost_ = false;
    }
}

void CursorList::invalidate_all() {
    const std::lock_guard guard(mutex_);
    for (NaturalCursor* cursor = head_; cursor != nullptr; cursor = cursor->next_)
        cursor->lost_ = true;
}

void CursorList::detach_all() {
    const std::lock_guard guard(mutex_);
    for (NaturalCursor* cursor = head_; cursor != nullptr; cursor = cursor->next_)
        cursor->storage_ = nullptr;
}

NaturalCursor::NaturalCursor(const NamespaceStorage& storage, std::shared_ptr<CursorList> list,
                             storage::Direction direction)
    : storage_(&storage), list_(std::move(list)), direction_(direction), ahead_(&storage.files()) {
    const std::lock_guard guard(list_->mutex_);
    next_ = list_->head_;
    if (next_ != nullptr) next_->prev_ = this;
    list_->head_ = this;
}

NaturalCursor::~NaturalCursor() {
    const std::lock_guard guard(list_->mutex_);
    DCHECK(prev_ != nullptr ? prev_->next_ == this : list_->head_ == this);
    if (next_ != nullptr) next_->prev_ = prev_;
    (prev_ != nullptr ? prev_->next_ : list_->head_) = next_;
}

std::optional<storage::Record> NaturalCursor::next() {
    if (storage_ == nullptr || lost_) return std::nullopt;
    DiskLoc loc = at_;
    if (!started_)
        loc = first_record(*storage_, direction_);
    else if (returned_)
        loc = next_record(*storage_, at_, direction_);
    if (!loc.is_valid()) {  // a later call looks again
        passed_ = look_at_ = 0;
        return std::nullopt;
    }
    started_ = returned_ = true;
    at_ = loc;
    ahead_.come_to(loc);
    const storage::Record record{loc.id(), storage_->files().document(loc)};
    count(record.doc.size());
    return record;
}

// More records than there is room for, or far more bytes: a damaged chain leads back into itself,
// or its records lie in each other. While others write a scan may well meet more bytes than there
// are, but not so many times.
void NaturalCursor::count(int32_t document_bytes) {
    constexpr int32_t kTimes = 16;
    constexpr int64_t kLookEvery = 1 << 20;
    passed_ += kRecordHeaderBytes + document_bytes / kTimes;
    if (passed_ < look_at_) return;
    if (passed_ > storage_->files().total_bytes())
        storage_->files().damaged(at_,
                                  "a chain of records runs in a circle, or they lie in each other");
    look_at_ = passed_ + kLookEvery;
}

void NaturalCursor::seek(storage::RecordId id) {
    if (storage_ == nullptr) return;
    const DiskLoc loc = DiskLoc::from(id);
    started_ = true;
    returned_ = false;
    at_ = is_live_record(storage_->files(), loc) ? loc : DiskLoc::null();
}

void NaturalCursor::record_goes(DiskLoc loc) {
    if (storage_->details().is_capped != 0) {
        lost_ = true;
        return;
    }
    at_ = next_record(*storage_, loc, direction_);
    returned_ = false;
}

}  // namespace mmapv1
