#include "command/long_update.h"

#include <algorithm>
#include <optional>

#include "query/plan/executor.h"

namespace command {

namespace {

// Work under the lock that outlasts so many slices of the operation's time is given up.
class TooLong final : public base::Operation::Pause {
  public:
    struct Over {};
    explicit TooLong(int slices) : slices_left_(slices) {}
    void pause() override {
        if (--slices_left_ <= 0) throw Over();
    }

  private:
    int slices_left_;
};

// The document of a record that may have gone.
std::optional<bson::Doc> find_document(const CollectionLock& lock, storage::RecordId id) {
    if (!lock.is_same()) return std::nullopt;
    const auto cursor = lock.collection()->records().cursor(storage::Direction::forward);
    cursor->seek(id);
    const std::optional<storage::Record> record = cursor->next();
    if (!record || record->id != id) return std::nullopt;
    return record->doc;
}

// The document as it is now, if it still matches. That may take long, too.
std::optional<bson::Doc> match_again(const CollectionLock& lock, storage::RecordId id,
                                     const query::Matcher& filter, query::MatchDetails& details) {
    for (;;) {
        const std::optional<bson::Doc> now = find_document(lock, id);
        if (!now) return std::nullopt;
        const bson::Object copy(*now);
        if (!filter.matches(copy, &details)) return std::nullopt;
        const std::optional<bson::Doc> then = find_document(lock, id);
        if (then && std::ranges::equal(then->bytes(), copy.doc().bytes())) return then;
    }
}

}  // namespace

bool is_still(const CollectionLock& lock, storage::RecordId id, bson::Doc doc) {
    const std::optional<bson::Doc> now = find_document(lock, id);
    return now && std::ranges::equal(now->bytes(), doc.bytes());
}

void LockBreak::pause() {
    if (!lock_.should_yield()) return;
    if (executor_ != nullptr) executor_->save();
    executor_ = nullptr;
    taken_ = true;
    lock_.yield();
}

bool plan_update(CollectionLock& lock, query::Executor* executor, const query::Matcher* filter,
                 query::Update& update, storage::RecordId id, query::MatchDetails& details,
                 bson::Buffer& out, Patience& patience, PlannedUpdate* planned) {
    planned->before = lock.collection()->records().get(id);
    LockBreak others(lock, executor);
    for (;;) {
        try {
            TooLong in_place(patience.slices());
            const base::Operation::PauseScope scope(&in_place);
            out.clear();
            planned->result = update.apply(planned->before, details, out);
            return true;
        } catch (const TooLong::Over&) {
        }
        const base::Operation::PauseScope scope(&others);
        const bson::Object copy(planned->before);
        others.pause();  // a slice is over
        out.clear();
        planned->result = update.apply(copy, details, out);
        std::optional<bson::Doc> now = find_document(lock, id);
        if (!now) return false;
        planned->before = *now;
        if (std::ranges::equal(now->bytes(), copy.doc().bytes())) return true;
        patience.grow();
        if (filter == nullptr) return false;
        now = match_again(lock, id, *filter, details);
        if (!now) return false;
        planned->before = *now;
    }
}

bool build_upsert(CollectionLock& lock, query::Executor& executor, query::Update& update,
                  bson::Buffer& out) {
    LockBreak others(lock, &executor);
    const base::Operation::PauseScope scope(&others);
    out.clear();
    update.build_upsert(*executor.query().matcher, out);
    return !others.taken();
}

}  // namespace command
