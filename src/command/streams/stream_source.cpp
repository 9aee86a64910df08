#include "command/streams/stream_source.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/context/locks.h"
#include "command/context/waits.h"
#include "command/cursor/query_cursors.h"
#include "query/plan/executor.h"
#include "sched/tick.h"

namespace command {

namespace {

constexpr std::string_view kHistoryLost =
    "Resume of change stream was not possible, as the resume point may no longer be in the oplog.";
constexpr int kDocumentTooLarge = 10334;

// The bounds of what is read under one lock.
constexpr int kEntriesMax = 1000;
constexpr size_t kBytesMax = 1 << 20;

}  // namespace

StreamSource::StreamSource(OperationContext& context, const oplog::Log& log, StreamRequest request,
                           std::shared_ptr<query::Pipeline> stages)
    : request_(std::move(request)),
      log_(log),
      stages_(std::move(stages)),
      look_up_([this](std::string_view ns, bson::Doc key, bson::Buffer& out) {
          return look_up(ns, key, out);
      }),
      context_(&context) {
    stages_->set_source(query::DocumentSource([this](bson::Doc* doc) { return pull(doc); }));
    CollectionLock lock(context, oplog::kSetLog, false);
    if (lock.collection() == nullptr)
        base::fail(base::kNotYetInitialized, "this member has no log of writes yet");
    start(lock);
}

StreamSource::~StreamSource() = default;

void StreamSource::start(CollectionLock& lock) {
    const oplog::Position last = log_.last();
    is_checked_ = !request_.after;
    if (request_.after) {
        token_ = *request_.after;
        is_checked_ = token_.is_time();
        from_ts_ = token_.position.ts + (token_.is_time() ? 1 : 0);
    } else if (request_.start_at) {
        from_ts_ = *request_.start_at;
        token_ = ResumeToken::behind_time(std::max<uint64_t>(from_ts_, 1) - 1);
    } else {
        from_ts_ = last.ts + 1;
        token_ = {last, 0, ResumeToken::Kind::scanned};
    }
    check_history(*lock.collection());
    token_before_ = token_;
    query::FindQuery find;
    bson::Builder filter;
    filter.sub_object("ts").append_timestamp("$gte", std::min(from_ts_, last.ts));
    const bson::Object kept = filter.object();
    find.tailable = find.oplog_replay = true;
    query::FindQuery::Parts parts;
    parts.filter = kept;
    find.canonicalise(parts);
    query::ExecutorOptions options = execution_options();
    options.no_table_scan = false;
    executor_ = query::make_executor(lock.collection(), std::move(find), options, &lock);
    executor_->save();
    executor_->set_yield_point(nullptr);
}

// The entry from which on it goes, or one before it, has to be there.
void StreamSource::check_history(catalog::Collection& ring) const {
    const storage::HeldCursor oldest = ring.records().cursor(storage::Direction::forward);
    const auto first = oldest->next();
    if (!first || (first->doc["ts"].as_timestamp() > from_ts_))
        fail_for_good(base::kChangeStreamHistoryLost, kHistoryLost);
}

// The first entry that is read has to be that of the token.
void StreamSource::check_resumed(const oplog::EntryFields& entry) {
    is_checked_ = true;
    if (entry.position != request_.after->position)
        fail_for_good(base::kChangeStreamFatalError,
                      "cannot resume stream; the resume token was not found.");
}

bool StreamSource::next(bson::Buffer& out) {
    if (std::exchange(again_, false)) {
        out.append(last_.data(), last_.size());
        std::swap(token_, token_before_);
        return true;
    }
    if (has_ended_) return false;
    token_before_ = token_;
    bson::Doc doc;
    if (!stages_->next(&doc)) return false;
    const bson::Element id = doc["_id"];
    if (!std::ranges::equal(id.value_bytes(), bson::Doc(event_.data()).first().value_bytes()))
        fail_for_good(base::kChangeStreamFatalError,
                      "Encountered an event whose _id field, which contains the resume token, was "
                      "modified by the pipeline. Modifying the _id field of an event makes it "
                      "impossible to resume the stream from that point. Only transformations that "
                      "retain the unmodified _id field are allowed.");
    if (doc.size() > bson::kInternalBytesMax)
        base::fail(kDocumentTooLarge, "an event of {} bytes is too large, at most {}", doc.size(),
                   bson::kInternalBytesMax);
    last_.clear();
    last_.append(doc.data(), static_cast<size_t>(doc.size()));
    out.append(doc.data(), static_cast<size_t>(doc.size()));
    return true;
}

bool StreamSource::put_back() {
    std::swap(token_, token_before_);
    return again_ = true;
}

// Gives the stages the next event.
bool StreamSource::pull(bson::Doc* doc) {
    for (;;) {
        if (next_event_ < coming_.size()) {
            const ChangeEvent& event = coming_[next_event_++];
            event_.clear();
            ChangeEvents::write(event, entry_, request_.looks_up ? &look_up_ : nullptr, event_);
            token_ = event.token;
            has_ended_ = event.ends_stream;
            *doc = bson::Doc(event_.data());
            return true;
        }
        if (has_ended_) return false;
        find_events();
        if (!coming_.empty()) continue;
        const bool is_more = read();
        if (entries_.size() == 0 && read_.ts >= from_ts_ && read_ > token_.position)
            token_ = {read_, 0, ResumeToken::Kind::scanned};
        if (!is_more) return false;
    }
}

// Finds those of the next entry that has some; none: there is none of those that were read.
void StreamSource::find_events() {
    coming_.clear();
    next_event_ = 0;
    while (coming_.empty() && next_entry_ < entries_.size()) {
        const bson::Doc next(entries_.data() + next_entry_);
        next_entry_ += static_cast<size_t>(next.size());
        entry_ = oplog::EntryFields(next);
        events_.add(entry_, coming_);
        // Behind the token, where it is of this entry.
        if (request_.after && entry_.position == request_.after->position)
            std::erase_if(coming_, [this](const ChangeEvent& event) {
                return !request_.after->is_before(event.token.number);
            });
    }
}

// Reads some entries; false: there are no more for now.
bool StreamSource::read() {
    DCHECK(next_entry_ == entries_.size());
    entries_.clear();
    next_entry_ = 0;
    sched::Operation::check();
    CollectionLock lock(*context_, oplog::kSetLog, false);
    if (lock.collection() == nullptr) fail_for_good(base::kChangeStreamHistoryLost, kHistoryLost);
    executor_->set_yield_point(&lock);
    try {
        executor_->restore();
        const bool is_more = fill();
        executor_->save();
        executor_->set_yield_point(nullptr);
        return is_more;
    } catch (const query::PositionLost&) {
        executor_.reset();
        fail_for_good(base::kChangeStreamHistoryLost, kHistoryLost);
    } catch (...) {
        executor_.reset();
        throw;
    }
}

bool StreamSource::fill() {
    query::Row row;
    for (int i = 0; i < kEntriesMax && entries_.size() < kBytesMax; ++i) {
        if (!executor_->next(&row)) return entries_.size() != 0;
        const oplog::EntryFields entry(row.doc);
        read_ = entry.position;
        has_read_ = true;
        if (read_.ts < from_ts_) continue;
        if (!is_checked_) check_resumed(entry);
        if (events_.may_concern(entry))
            entries_.append(row.doc.data(), static_cast<size_t>(row.doc.size()));
    }
    return true;
}

bool StreamSource::wake_on_data(DataWait& wait) {
    CollectionLock lock(*context_, oplog::kSetLog, false);
    if (lock.collection() == nullptr) return true;
    const oplog::Position last = log_.last();
    // Others write: to be woken by each of their changes would cost them much.
    if (std::exchange(has_read_, false) || (read_ != last && last.ts >= from_ts_)) return false;
    entries_.trim(0);
    next_entry_ = 0;
    std::vector<ChangeEvent>().swap(coming_);
    event_.trim(0);
    last_.trim(0);
    wait.wake_on_insert(*lock.collection());
    return true;
}

bool StreamSource::look_up(std::string_view ns, bson::Doc key, bson::Buffer& out) const {
    query::FindQuery find;
    find.limit = 1;
    query::FindQuery::Parts parts;
    parts.filter = key;
    find.canonicalise(parts);
    CollectionLock lock(*context_, ns, false, CollectionLock::Views::taken);
    if (lock.collection() == nullptr) return false;
    query::ExecutorOptions options = execution_options();
    options.no_table_scan = false;
    const std::unique_ptr<query::Executor> executor =
        query::make_executor(lock.collection(), std::move(find), options, &lock);
    query::Row row;
    if (!executor->next(&row)) return false;
    out.append(row.doc.data(), static_cast<size_t>(row.doc.size()));
    return true;
}

}  // namespace command
