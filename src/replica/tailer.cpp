#include "replica/tailer.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signal_stack.h"
#include "replica/elections.h"
#include "replica/initial_sync.h"
#include "replica/rollback.h"
#include "sched/operation.h"

namespace replica {

namespace {

using namespace std::chrono_literals;

constexpr auto kPause = 500ms;      // where there is nothing to do, or something has failed
constexpr auto kShortPause = 50ms;  // of a member whose next primary may be elected soon
constexpr auto kLongPause = 10s;    // where only an administrator can help

}  // namespace

Tailer::Tailer(catalog::Catalog& catalog, Member& member, oplog::Applier::RunCommand run,
               Connect connect, Applied applied)
    : catalog_(catalog),
      member_(member),
      applier_(catalog, std::move(run)),
      connect_(std::move(connect)),
      applied_(std::move(applied)) {}

void Tailer::start() {
    DCHECK(!thread_.joinable());
    thread_ = std::thread([this] { run(); });
}

void Tailer::stop() {
    end_.set();
    member_.following().leave_source();
    if (thread_.joinable()) thread_.join();
}

void Tailer::run() {
    const base::SignalStack signal_stack;
    base::log::set_context("rsSync");
    ::pthread_setname_np(::pthread_self(), "rsSync");
    while (!end_.is_set()) {
        bool goes_on = false;
        try {
            goes_on = step();
        } catch (const std::exception& error) {
            base::log::warning("{}", error.what());
        }
        if (!goes_on) end_.wait_for(pause());
    }
}

std::chrono::milliseconds Tailer::pause() const {
    const bool is_recovering = member_.role().state() == State::recovering;
    if (member_.elections() == nullptr) return is_recovering ? kLongPause : kPause;
    return is_recovering ? kPause : kShortPause;
}

bool Tailer::step() try {
    if (source_ == nullptr) source_end_ = member_.following().begin_source();
    if (end_.is_set()) return false;
    const std::shared_ptr<const Config> config = member_.config();
    if (config == nullptr || !member_.role().follows() || !config->has_primary() ||
        config->is_of_primary()) {
        source_ = nullptr;
        return false;
    }
    if (source_ != nullptr && source_end_->is_set()) {
        source_ = nullptr;
        return true;
    }
    if (source_ == nullptr) {
        reads_log_ = false;
        copied_term_ = 0;
        source_ = connect_(config->primary().host, *source_end_);
        member_.following().begin_reports();
        member_.following().counts().sources.fetch_add(1, std::memory_order_relaxed);
    }
    if (!reads_log_) return begin();
    source_->report({member_.last(), member_.durable()});
    apply(source_->next_entries());
    if (const oplog::Position committed = source_->committed(); committed.term <= known_term())
        member_.note_committed(committed);
    return true;
} catch (const std::exception& error) {
    source_ = nullptr;
    if (end_.is_set() || sched::Operation::shutting_down()) return false;
    if (source_end_->is_set()) return true;                          // there is another primary
    if (member_.elections() != nullptr) member_.peers().ask_soon();  // or there may be soon
    // A primary that is away is no news each time.
    if (std::exchange(last_error_, error.what()) != error.what())
        base::log::warning("cannot follow: {}", error.what());
    member_.set_following(member_.role().state(), "", last_error_);
    return false;
}

// A copy where there is no data, then the place in the log of the primary.
bool Tailer::begin() {
    DCHECK(source_ != nullptr && !reads_log_);
    bool lacks_data = member_.last().ts == 0;
    {
        const storage::DatabaseLock lock(catalog_.engine().locks(), "local", false);
        lacks_data |= InitialSync::is_under_way(catalog_);
    }
    if (lacks_data) {
        if (member_.elections() != nullptr) check_leads(member_.needed_config()->term);
        member_.set_following(State::startup2, source_->host(), "initial sync");
        InitialSync(catalog_, member_.log(), applier_, *source_).run();
        applied_({});
    }
    const oplog::Position last = member_.last();
    source_->read_log(last.ts);
    const bson::Doc batch = source_->next_entries();
    const bson::Element first = batch.first();
    const auto goes_on = [this, last](bson::Doc entry) {
        const int64_t hash = last_hash();
        return oplog::position_of(entry) == last ? entry["h"].to_int64() == hash
                                                 : oplog::comes_directly_after(hash, entry);
    };
    if (!first || !goes_on(first.as_doc())) {
        const bson::Object oldest = source_->oldest_entry();
        if (oldest.empty())
            base::fail(base::kIllegalOperation, "{} has no log of writes yet", source_->host());
        const bool too_stale = oplog::position_of(oldest) > last;
        if (!too_stale && member_.elections() != nullptr) return roll_back();
        stay_behind(too_stale ? fmt::format("error RS102 too stale to catch up: the log of {} "
                                            "begins after the last entry here",
                                            source_->host())
                              : fmt::format("the last entry here is not in the log of {}: the "
                                            "histories have parted, and only a copy of its data "
                                            "helps",
                                            source_->host()));
        return false;
    }
    reads_log_ = true;
    last_error_.clear();
    show_whether_complete();
    apply(batch);
    return true;
}

// Another member was elected before it had what is at the end of this log.
bool Tailer::roll_back() {
    const std::shared_ptr<const Config> config = member_.config();
    if (config == nullptr || config->term == 0 || config->primary().host != source_->host())
        return false;
    check_leads(config->term);
    member_.set_following(State::recovering, source_->host(), "rollback");
    Rollback rollback(catalog_, member_.log(), applier_, *source_, member_.rollback_folder());
    const oplog::Position common = rollback.find_common();
    if (!member_.elections()->begin_copy(config->term, common)) return false;
    member_.begin_rollback();
    if (!rollback.run())
        base::log::warning("rollback: commands are among the entries: all data is copied anew");
    applied_({});
    member_.following().note_applied(member_.last());
    return true;
}

// What is kept here is given up only for a primary of the term that this member follows: any other
// one may have come with an older copy, or be about to take back what it has (E17).
void Tailer::check_leads(int64_t term) {
    if (const int64_t led = source_->term_led(); led != term)
        base::fail(base::kNotWritablePrimary, "{} is not the primary of term {}{}", source_->host(),
                   term, led == 0 ? "" : fmt::format(", but of {}", led));
}

void Tailer::stay_behind(const std::string& why) {
    DCHECK(!why.empty());
    if (std::exchange(last_error_, why) != why)
        base::log::error(
            "{}. Stop this member, empty its directory, or put a copy of another "
            "member's there, and start it again",
            why);
    source_ = nullptr;
    member_.set_following(State::recovering, "", why);
}

// The latest term that this member has heard of; any is known where members elect none.
int64_t Tailer::known_term() const {
    return member_.elections() == nullptr ? std::numeric_limits<int64_t>::max()
                                          : member_.elections()->term();
}

int64_t Tailer::last_hash() const {
    const storage::DatabaseLock lock(catalog_.engine().locks(), "local", false);
    return member_.log().last_hash();
}

// Applies the entries of the batch that this member has not yet; the first batch begins with the
// entry from which the log is read, which is here already.
//
// A source that follows another primary by now gets entries of later terms. What this member
// promises of the terms that it knows would not be true with those (E17).
void Tailer::apply(bson::Doc batch) {
    DCHECK(reads_log_);
    const oplog::Position last = member_.last();
    const int64_t known = known_term();
    std::vector<bson::Doc> entries;
    int64_t unknown_term = 0;
    for (const bson::Element& each : batch) {
        const oplog::Position at = oplog::position_of(each.as_doc());
        if (at.term > known) unknown_term = at.term;
        if (unknown_term != 0) break;
        if (at > last) entries.push_back(each.as_doc());
    }
    apply(entries);
    complete_copy();
    if (batch.empty()) return;
    member_.following().counts().batches.fetch_add(1, std::memory_order_relaxed);
    member_.following().note_applied(member_.last());
    if (unknown_term != 0)
        base::fail(base::kNotWritablePrimary,
                   "{} has entries of term {}, of which this member has not heard yet",
                   source_->host(), unknown_term);
}

// A copy whose member is not yet a voter, or not again, is complete once it has all that the
// primary had at a time of its term.
void Tailer::complete_copy() {
    Elections* const elections = member_.elections();
    if (elections == nullptr || !elections->is_blank()) return;
    const std::shared_ptr<const Config> config = member_.config();
    if (config == nullptr || config->term == 0 || config->primary().host != source_->host()) return;
    if (copied_term_ != config->term) {
        copied_until_ = oplog::position_of(source_->newest_entry());
        check_leads(config->term);
        copied_term_ = config->term;
    }
    if (member_.last() < copied_until_) return;
    elections->copied(copied_term_);
    show_whether_complete();
}

// A member that takes no part in elections until its copy is complete is no secondary until then:
// people, and a primary that looks for an heir, see it.
void Tailer::show_whether_complete() {
    const bool is_blank = member_.elections() != nullptr && member_.elections()->is_blank();
    member_.set_following(is_blank ? State::recovering : State::secondary, source_->host(),
                          is_blank ? "completing the copy" : "");
}

void Tailer::apply(std::span<const bson::Doc> entries) {
    while (!entries.empty() && !end_.is_set() && member_.role().follows()) {
        const std::lock_guard applying(member_.following().applying());
        if (source_end_->is_set()) return;
        size_t count = apply_run(entries);
        if (count == 0) {
            oplog::ForeignChange foreign(member_.log(), entries.front());
            applier_.apply(entries.front(), oplog::Manner::exact);
            foreign.finish();
            note_applied(entries.front());
            count = 1;
        }
        entries = entries.subspan(count);
    }
}

void Tailer::note_applied(bson::Doc entry) {
    applied_(entry);
    member_.following().counts().entries.fetch_add(1, std::memory_order_relaxed);
    member_.following().counts().bytes.fetch_add(entry.size(), std::memory_order_relaxed);
}

// Applies the entries in front that change documents of one database, in one hold of its lock, as
// long as no other thread waits for it; returns how many.
size_t Tailer::apply_run(std::span<const bson::Doc> entries) {
    constexpr size_t kEntriesMax = 256;
    const std::string db(oplog::Applier::changed_database(entries.front()));
    if (db.empty()) return 0;
    const storage::DatabaseLock lock(catalog_.engine().locks(), db, true);
    if (!member_.role().follows()) return 0;
    size_t count = 0;
    do {
        const bson::Doc entry = entries[count];
        oplog::ForeignChange foreign(member_.log(), entry);
        applier_.apply_locked(entry, oplog::Manner::exact);
        foreign.finish();
        note_applied(entry);
        ++count;
    } while (count < std::min(entries.size(), kEntriesMax) && !lock.should_yield() &&
             oplog::Applier::changed_database(entries[count]) == db);
    return count;
}

}  // namespace replica
