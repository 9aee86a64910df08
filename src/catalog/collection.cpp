#include "catalog/collection.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/thread_scratch.h"
#include "catalog/names.h"
#include "options/server_parameters.h"
#include "sched/tick.h"
#include "sched/work_limit.h"
#include "storage/write_conflict.h"

namespace catalog {

namespace {

// The ticks for putting a key into an index or taking one out (sched/tick.h).
constexpr int64_t kTicksPerKey = 8;
constexpr int64_t kBytesPerEntry = 32 << 10;  // leaf, parent, and what a split moves

// Runs something at the end of a scope.
template <typename Work>
class AtEnd {
  public:
    explicit AtEnd(Work work) : work_(std::move(work)) {}
    ~AtEnd() { work_(); }
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;

  private:
    Work work_;
};

// Finds the keys as part of a write that can still be undone, since it may take long.
void derive_keys(const Index& index, bson::Doc doc, KeySet& keys) {
    const sched::MayEnd no_change_yet;
    index.generator->keys(doc, keys);
}

// Counts the work of writing the keys before it begins, since nothing ends it then.
void check_work(size_t keys) {
    sched::WorkLimit::check(static_cast<int64_t>(keys) * kTicksPerKey);
}

}  // namespace

Collection::Collection(storage::CollectionStore& store, storage::Durability& durability,
                       const query::ExpressionParser* expressions, ChangeLog* log)
    : store_(store),
      durability_(durability),
      records_(store.records()),
      capped_(records_.capped()),
      is_system_(split(store.ns()).collection.starts_with("system.")),
      marks_(capped_ ? std::make_unique<RingMarks>() : nullptr),
      log_(log != nullptr && log->covers(store.ns()) ? log : nullptr),
      kept_by_log_(log != nullptr && log->keeps(store.ns())),
      expressions_(expressions) {
    reload_indexes(true);
    read_collation();
    reload_validator();
    if (!capped_) return;
    records_.set_before_capped_removal([this](const storage::Record& record) {
        // Each removal is whole by itself. But an entry belongs to a change that has begun.
        if (!is_appending_) storage::WriteUnit::between(durability_);
        marks_->removed(record);
        unindex(record);
    });
}

// The buffers of a thread that a change needs for as long as it takes.
struct Collection::Scratch {
    KeySet keys;                     // of an insert or removal
    std::vector<KeyChange> changes;  // of an update, one per index
    bson::Buffer which;              // name_of()

    std::span<KeyChange> changes_of(size_t indexes) {
        if (changes.size() < indexes) changes.resize(indexes);
        return {changes.data(), indexes};
    }
};

Collection::Scratch& Collection::scratch() {
    return base::thread_scratch<Scratch>();
}

// Throws storage::WriteConflict before the keys are written if the index would get its first array.
// Such a change concerns more than one document.
void Collection::check_multikey(const Index& index, const KeySet& keys) {
    if (keys.multikey() && !index.multikey && storage::LockManager::is_concurrent())
        throw storage::WriteConflict{.needs_all = true, .first_array_of = index.store};
}

void Collection::expect_arrays(const storage::SortedIndex* store) {
    for (const auto& index : indexes_)
        if (index->store == store) note_arrays(*index);
}

void Collection::note_multikey(Index& index, const KeySet& keys) {
    if (keys.multikey()) note_arrays(index);
}

void Collection::note_arrays(Index& index) {
    if (index.multikey) return;
    if (durability_.keeps_undo()) durability_.on_undo([&index] { index.multikey = false; });
    store_.set_multikey(index.slot);
    index.multikey = true;
}

void Collection::check_lengths(const Index& index, const KeySet& keys) const {
    if (!options::fail_index_key_too_long.get()) return;
    for (size_t i = 0; i < keys.size(); ++i) {
        if (index.store->too_long(keys[i]))
            throw_key_too_long(base::kKeyTooLong, index, ns(), keys[i]);
    }
}

// Returns the bytes of a change with those of its entry, for its admission. `entry_bytes`: of the
// documents in its entry.
int64_t Collection::with_entry(int64_t bytes, int64_t entry_bytes) {
    return log_ == nullptr ? bytes : bytes + log_->prepare(entry_bytes);
}

// Returns the document by which an entry of the log names this one. The result is valid until the
// thread's next change.
bson::Doc Collection::name_of(bson::Doc doc) {
    constexpr size_t kUsualBytes = 4096;
    bson::Buffer& buffer = scratch().which;
    buffer.clear();
    buffer.trim(kUsualBytes);
    bson::Builder which(buffer);
    const bson::Element id = doc["_id"];
    if (id)
        which.append(id);
    else
        which.append_all(doc);
    return which.doc();
}

// A ring must not lose its oldest documents to one that is then refused: whatever could refuse it
// does so here. Returns the bytes of the keys, where they are many.
int64_t Collection::prepare_capped_insert(bson::Doc doc) {
    constexpr int64_t kUsualBytes = 1 << 20;
    KeySet& of_index = scratch().keys;
    int64_t bytes = 0;
    size_t keys = 0;
    needs_.clear();
    for (const auto& index : indexes_) {
        derive_keys(*index, doc, of_index);
        check_lengths(*index, of_index);
        for (size_t i = 0; index->unique && i < of_index.size(); ++i) {
            if (index->store->has_duplicate(of_index[i], storage::RecordId{}))
                throw_duplicate_key(*index, ns(), of_index[i]);
        }
        const auto count = static_cast<int64_t>(of_index.size());
        needs_.emplace_back(count, of_index.bytes());
        bytes += index->store->insertion_bytes(count, of_index.bytes());
        keys += of_index.size();
    }
    check_work(keys);
    return bytes > kUsualBytes ? bytes : 0;
}

// Counts in `done` the keys that the index has.
void Collection::insert_keys(storage::WriteUnit& unit, Index& index, const KeySet& keys,
                             storage::RecordId id, size_t& done) {
    for (done = 0; done < keys.size(); ++done) {
        if (capped_)
            sched::tick(kTicksPerKey);
        else
            unit.count_entry();
        const storage::InsertResult result = index.store->insert(keys[done], id, !index.unique);
        if (result == storage::InsertResult::duplicate)
            throw_duplicate_key(index, ns(), keys[done]);
        if (result == storage::InsertResult::too_long && options::fail_index_key_too_long.get())
            throw_key_too_long(base::kKeyTooLong, index, ns(), keys[done]);
    }
}

storage::RecordId Collection::insert(bson::Doc doc) {
    storage::WriteUnit unit(durability_);
    DCHECK(storage::LockManager::may_write(split(ns()).db));
    check_writable();
    const int64_t of_keys = capped_ ? prepare_capped_insert(doc) : 0;
    unit.admit(with_entry(doc.size() + of_keys, doc.size()));
    for (size_t i = 0; capped_ && i < indexes_.size(); ++i)
        indexes_[i]->store->reserve(needs_[i].first, needs_[i].second);
    KeySet& keys = scratch().keys;
    const AtEnd trim([&keys] { keys.trim(); });
    const storage::RecordId id = records_.insert(doc);
    size_t done = 0;       // indexes
    size_t keys_done = 0;  // of the next one
    const storage::WriteUnit::OnUndo gone(unit, [&] {
        while (keys_done-- > 0)
            indexes_[done]->store->remove(keys[keys_done], id);
        while (done-- > 0)
            unindex(*indexes_[done], {id, doc});
        records_.remove(id);
    });
    for (; done < indexes_.size(); ++done) {
        Index& index = *indexes_[done];
        keys_done = 0;
        // Older documents of a ring may have gone for this one.
        if (capped_) {
            index.generator->keys(doc, keys);
        } else {
            derive_keys(index, doc, keys);
            check_work(keys.size());
            check_multikey(index, keys);
        }
        insert_keys(unit, index, keys, id, keys_done);
        note_multikey(index, keys);
    }
    unit.keep([&] {
        if (log_ != nullptr) log_->inserted(ns(), doc);
    });
    if (capped_) mark_inserted({id, doc});
    waiters_.wake();
    return id;
}

storage::RecordId Collection::append(bson::Doc entry) {
    storage::WriteUnit unit(durability_);
    DCHECK(storage::LockManager::may_write(split(ns()).db));
    DCHECK(capped_ && indexes_.empty());
    is_appending_ = true;
    const AtEnd appended([this] { is_appending_ = false; });
    const storage::RecordId id = records_.insert(entry);
    unit.keep();
    return id;
}

void Collection::announce(const storage::Record& appended) {
    mark_inserted(appended);
    waiters_.wake();
}

// Marks of documents that are taken back would say nothing.
void Collection::mark_inserted(const storage::Record& record) {
    if (durability_.keeps_undo()) durability_.on_undo([this] { marks_->forget(); });
    marks_->inserted(record);
}

void Collection::take_back(storage::RecordId entry) {
    storage::WriteUnit unit(durability_);
    DCHECK(storage::LockManager::may_write(split(ns()).db));
    DCHECK(capped_ && indexes_.empty());
    unit.admit(0);
    marks_->forget();
    records_.remove(entry);
    unit.keep();
}

void Collection::take_back_behind(storage::RecordId entry) {
    storage::WriteUnit unit(durability_);
    DCHECK(storage::LockManager::may_write(split(ns()).db));
    DCHECK(capped_ && indexes_.empty());
    unit.admit(0);
    marks_->forget();
    records_.truncate_after(entry, false);
    unit.keep();
}

void Collection::take_all_back() {
    storage::WriteUnit unit(durability_);
    DCHECK(storage::LockManager::may_write(split(ns()).db));
    DCHECK(capped_ && indexes_.empty());
    unit.admit(0);
    marks_->forget();
    records_.truncate();
    unit.keep();
}

void Collection::unindex(Index& index, const storage::Record& record) {
    KeySet& keys = scratch().keys;
    index.generator->keys(record.doc, keys);
    for (size_t i = 0; i < keys.size(); ++i) {
        sched::tick(kTicksPerKey);
        index.store->remove(keys[i], record.id);
    }
}

// Takes the keys of a record out of all indexes; the record itself stays.
void Collection::unindex(const storage::Record& record) {
    for (const auto& index : indexes_)
        if (index->store != nullptr) unindex(*index, record);
}

void Collection::remove(storage::RecordId id) {
    storage::WriteUnit unit(durability_);
    DCHECK(storage::LockManager::may_write(split(ns()).db));
    check_writable();
    if (capped_) marks_->forget();
    const bson::Doc doc = records_.get(id);
    const bson::Doc which = log_ == nullptr ? bson::Doc() : name_of(doc);
    unit.admit(with_entry(0, which.size()));  // large ones may go where little memory is left
    KeySet& keys = scratch().keys;
    const AtEnd trim([&keys] { keys.trim(); });
    std::optional<storage::WriteUnit::EngineUndo> undo;
    for (const auto& index : indexes_) {
        derive_keys(*index, doc, keys);
        if (!undo && (indexes_.size() > 1 || keys.size() > 1)) undo.emplace(unit);
        for (size_t i = 0; i < keys.size(); ++i) {
            unit.count_entry();
            index->store->remove(keys[i], id);
        }
    }
    // A single entry is as good as gone: only a damaged record keeps it from going.
    const storage::WriteUnit::OnUndo kept(unit, [&] {
        if (!undo && unit.entries() == 1) indexes_.front()->store->insert(keys[0], id, true);
    });
    records_.remove(id);
    if (undo) undo->end();
    unit.keep([&] {
        if (log_ != nullptr) log_->removed(ns(), which);
    });
}

void Collection::plan_change(Index& index, KeyChange& change, bson::Doc before, bson::Doc after,
                             storage::RecordId id) const {
    derive_keys(index, before, change.before);
    derive_keys(index, after, change.after);
    check_multikey(index, change.after);
    change.compare(index.generator->descending_bits());
    for (const uint32_t i : change.added) {
        if (index.unique && index.store->has_duplicate(change.after[i], id))
            throw_duplicate_key(index, ns(), change.after[i]);
    }
}

void Collection::check_all_lengths(std::span<const KeyChange> changes) const {
    if (!options::fail_index_key_too_long.get()) return;
    for (size_t i = 0; i < changes.size(); ++i) {
        for (const uint32_t k : changes[i].added) {
            if (indexes_[i]->store->too_long(changes[i].after[k]))
                throw_key_too_long(base::kKeyTooLong, *indexes_[i], ns(), changes[i].after[k]);
        }
    }
}

// Replaces the entries of one index. The old ones go first, so that their places are used again.
void Collection::change_keys(storage::WriteUnit& unit, Index& index, const KeyChange& change,
                             storage::RecordId from, storage::RecordId to) {
    for (const uint32_t i : change.removed) {
        unit.count_entry();
        index.store->remove(change.before[i], from);
    }
    for (const uint32_t i : change.added) {
        unit.count_entry();
        index.store->insert(change.after[i], to, true);
    }
}

UpdatedRecord Collection::update(storage::RecordId id, bson::Doc new_doc, bson::Doc form) {
    storage::WriteUnit unit(durability_);
    DCHECK(storage::LockManager::may_write(split(ns()).db));
    check_writable();
    if (capped_) marks_->forget();
    const bson::Doc old_doc = records_.get(id);
    if (form.empty()) form = new_doc;
    const bson::Doc which = log_ == nullptr ? bson::Doc() : name_of(old_doc);
    const size_t count = indexes_.size();
    const std::span<KeyChange> changes = scratch().changes_of(count);
    const AtEnd trim([changes] {
        for (KeyChange& change : changes)
            change.trim();
    });
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
        plan_change(*indexes_[i], changes[i], old_doc, new_doc, id);
        // The bytes of all indexes together: each may repeat the document for every element of an
        // array.
        bytes += changes[i].bytes();
        if (bytes > 2 * kKeysBytesMax)
            base::fail(base::kExceededMemoryLimit,
                       "the index keys of one document, before and after its change, need more "
                       "than {} bytes",
                       2 * kKeysBytesMax);
    }

    UpdatedRecord result;
    result.moved = !records_.fits(id, new_doc.size());
    size_t keys = 0;
    for (const KeyChange& change : changes)
        keys += result.moved ? change.before.size() + change.after.size()
                             : change.removed.size() + change.added.size();
    check_work(keys);
    if (!result.moved) check_all_lengths(changes);
    int64_t bytes_of_keys = 0;
    if (keys > storage::WriteUnit::kFewEntries)
        bytes_of_keys = std::min(static_cast<int64_t>(keys) * kBytesPerEntry,
                                 durability_.commit_bytes() / 4 * 3 - new_doc.size());
    unit.admit(with_entry(new_doc.size() + std::max<int64_t>(bytes_of_keys, 0),
                          which.size() + form.size()));
    result.id = result.moved ? records_.insert_moved(id, new_doc) : id;
    const storage::WriteUnit::OnUndo not_moved(unit, [&] {
        if (result.moved) records_.remove(result.id);
    });
    if (result.moved) {
        check_all_lengths(changes);
        for (KeyChange& change : changes)
            change.take_all();
    }
    for (size_t i = 0; i < count; ++i)
        note_multikey(*indexes_[i], changes[i].after);
    std::optional<storage::WriteUnit::EngineUndo> undo;
    if (keys > 0 || result.moved) undo.emplace(unit);
    for (size_t i = 0; i < count; ++i) {
        change_keys(unit, *indexes_[i], changes[i], id, result.id);
        result.keys_changed += static_cast<int>(changes[i].added.size());
    }
    if (result.moved) records_.remove(id);
    if (undo) undo->end();
    if (!result.moved) records_.overwrite(id, new_doc);
    unit.keep([&] {
        if (log_ != nullptr) log_->updated(ns(), which, form);
    });
    return result;
}

void Collection::patch(storage::RecordId id, std::span<const bson::Patch> patches, bson::Doc form) {
    storage::WriteUnit unit(durability_);
    DCHECK(storage::LockManager::may_write(split(ns()).db));
    if (kept_by_log_) check_writable();
    if (capped_) marks_->forget();
    bson::Doc which;
    if (log_ != nullptr) {
        DCHECK(!form.empty());
        which = name_of(records_.get(id));
        unit.admit(with_entry(form.size(), which.size() + form.size()));
    }
    unit.begin();
    for (const bson::Patch& patch : patches)
        records_.overwrite_range(id, patch.offset, {patch.bytes, static_cast<size_t>(patch.size)});
    unit.keep([&] {
        if (log_ != nullptr) log_->updated(ns(), which, form);
    });
}

}  // namespace catalog
