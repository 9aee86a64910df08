#include "crash/testing/history.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <stdexcept>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/testing/json.h"
#include "journal/format.h"
#include "storage/mmapv1/mapping/data_file_name.h"

namespace crash {

namespace {

using Call = os::SimFileSystem::Call;

// The additional time that a growing file costs.
constexpr int64_t kGrowthUs = 3000;

// The size of data files that are made in advance: as long as the second one of a small database.
constexpr uint64_t kFileInAdvanceBytes = 32 << 20;

std::vector<std::string> journal_files_on(os::SimFileSystem& disk) {
    const std::string directory = os::join(kDbpath, mmapv1::kJournalDirectory);
    std::vector<std::string> paths;
    if (!disk.exists(directory)) return paths;
    for (const std::string& name : disk.list(directory))
        if (name.starts_with("j._")) paths.push_back(os::join(directory, name));
    return paths;
}

// Whose disk the calling thread has used last, or whose clock.
thread_local History* t_history = nullptr;

}  // namespace

const char* name_of(Situation situation) {
    switch (situation) {
        case Situation::promised_before_the_reply:
            return "promised before the reply";
        case Situation::several_journal_files:
            return "a state with several journal files";
        case Situation::unsynced_behind_other_files:
            return "an unsynced section behind other journal files";
        case Situation::journal_file_begun_in_a_flush:
            return "a journal file begun during a flush";
        case Situation::journal_file_let_go:
            return "a journal file let go by a server that runs";
        case Situation::journal_file_stays:
            return "a journal file that cannot be removed";
        case Situation::committed_between_two_files:
            return "committed between the flushes of two files";
        case Situation::flushed_during_a_commit:
            return "flushed during a commit";
        case Situation::files_opened_again:
            return "data files written after they were opened again";
        case Situation::flushed_while_files_are_closed:
            return "flushed while other data files are closed";
        case Situation::flush_asked_for:
            return "flushed early, as so much was written";
        case Situation::changed_while_pages_are_copied:
            return "changed between copying and storing pages";
        case Situation::how_many:
            break;
    }
    return "";
}

History::History(uint64_t seed, uint64_t number, const Setting& setting, const Wanted& wanted,
                 Begins begins, Sink sink)
    : seed_(seed),
      number_(number),
      setting_(setting),
      wanted_(wanted),
      begins_(std::move(begins)),
      sink_(std::move(sink)),
      random_(mixed(seed, 2)),
      operations_left_(wanted.operations) {
    if (!base::kDebugChecks)
        throw std::logic_error(
            "this build has no checks (base/dcheck.h), which end what is left of a server when a "
            "call to its disk has failed. Build with checks=1, as ./lab crash does");
}

History::~History() {
    end_session();
}

void History::end_session() {
    died_ = true;  // what threads still do while they end changes nothing
    waiting_.clear();
    if (engine_ != nullptr) give_locks_back(*engine_);
    server_.reset();  // waits for its threads
    engine_ = nullptr;
    // The server's threads know by the observer whose they are, if a call of theirs fails.
    if (disk_) disk_->set_observer(nullptr);
}

// Starts from the disk as it is now.
void History::start(std::unique_ptr<os::SimFileSystem> disk) {
    disk_ = std::move(disk);
    disk_->set_observer([this](const os::SimFileSystem::Event& event) { note(event); });
    clock_ = std::make_unique<os::StepClock>();
    // A life that has ended takes its threads with it, also those that have not used the disk.
    clock_->set_on_wake([this] { t_history = this; });
    starting_ = true;
    const std::vector<ImagePtr> expected = accepted_after(*disk_);
    server_ = std::make_unique<LiveServer>(*disk_, *clock_, setting_.engine_options(journal_));
    engine_ = &server_->engine();
    starting_ = false;
    const ImagePtr found = image_of(*disk_);
    failed_drops_.clear();
    staying_.clear();
    if (!images_.empty() && std::none_of(expected.begin(), expected.end(),
                                         [&](const ImagePtr& each) { return *each == *found; }))
        throw std::runtime_error("the start shows none of the commits that may be there:" +
                                 difference(*found, *images_.back()));
    images_.push_back(found);
    acknowledge();
    server_->prepare();
}

void History::end_if_expected() {
    if (t_history == nullptr) return;
    if (t_history->died_ || t_history->disk_->has_failed()) t_history->die();
}

SomeSurvives History::choices_of_a_cut() {
    const int percent = static_cast<int>(random_.below(6)) * 20;
    return SomeSurvives(random_.next(), percent);
}

// Ends the life on the thread that noticed; the others are notified when its stack is gone.
void History::die() {
    if (!died_.exchange(true)) {
        ++deaths_;
        disk_->set_full_at_write_back(false);
        SomeSurvives choices = choices_of_a_cut();
        next_ = wanted_.script != nullptr && wanted_.script->disturbance == Script::Disturbance::cut
                    ? disk_->power_cut(choices, setting_.sector_bytes)
                    : disk_->process_kill(random_.chance(50));
    }
    if (std::this_thread::get_id() == life_) {
        if (starting_) clock_->run_free();  // for joining threads during unwinding
        throw Died{};
    }
    // Another thread waits for a result of such a thread (storage::FsyncLock).
    if (!clock_->has_slept()) throw std::runtime_error("the server has ended");
    // Others go on for a moment that would have ended with it, and may want its locks.
    static thread_local struct AtItsEnd {
        os::StepClock* clock = nullptr;
        storage::Engine* engine = nullptr;
        ~AtItsEnd() {
            if (clock == nullptr) return;
            if (engine != nullptr) give_locks_back(*engine);  // null: it has not started yet
            clock->thread_ends();
        }
    } at_its_end;
    at_its_end.clock = clock_.get();
    at_its_end.engine = engine_;
    ::pthread_exit(nullptr);
}

void History::check_alive() {
    if (died_) die();
}

void History::note(const os::SimFileSystem::Event& event) {
    t_history = this;
    if (died_) return;
    if (event.call == Call::map && closing_ && may_flush_beside() && random_.chance(30)) {
        note(Situation::flushed_while_files_are_closed);
        flush_beside();
    }
    switch (event.call) {
        case Call::open:
        case Call::close:
        case Call::read:
        case Call::seek:
        case Call::map:
        case Call::store:
            return;
        default:
            break;
    }
    ++calls_;
    // A growing file costs the device more: what the speed test of preallocation looks for.
    if (setting_.slow_growth && event.call == Call::write &&
        event.offset >= disk_->file_length(event.path))
        clock_->advance_us(kGrowthUs);
    const bool written = event.call == Call::write || event.call == Call::write_at;
    const bool of_journal = os::base_name(event.path).starts_with("j._");
    const bool section = written && of_journal && event.offset >= journal::kFileHeaderBytes;
    const bool drop = event.call == Call::remove && event.path.ends_with(".ns");
    if ((section || drop) && !starting_ && journal_)
        images_.push_back(image_of(*disk_, drop ? event.path : ""));
    // Its next database is made when no old file can reappear.
    if (!starting_)
        std::erase_if(failed_drops_, [&](const auto& each) { return disk_->exists(each.first); });
    if (drop && !starting_) {
        dropped_ = {event.path, *image_of(*disk_)};
        const ImagePtr others = image_of(*disk_, event.path);
        std::erase_if(dropped_.second,
                      [&](const auto& file) { return others->contains(file.first); });
    }
    const bool begun = written && of_journal && event.offset == 0 && !starting_ && !stopping_;
    if (begun) {
        ++journal_files_begun_;
        if (flushing_) note(Situation::journal_file_begun_in_a_flush);
    }
    if (of_journal && (event.call == Call::remove || event.call == Call::rename) && !starting_ &&
        !stopping_ && operation_ != "fsyncLock")
        note(Situation::journal_file_let_go);
    if (event.call == Call::remove && event.path == staying_) {
        note(Situation::journal_file_stays);
        staying_.clear();
    }
    if (is_disturbed()) take_states(of_journal && event.call == Call::sync_data);
    disturb(event);
    if (flushing_ && event.call == Call::sync_mapping) flush_in_between();
    if (begun && may_flush_beside() && random_.chance(30)) {
        note(Situation::flushed_during_a_commit);
        flush_beside();
    }
}

bool History::has_option(const char* name, const char* value) const {
    return std::ranges::count(setting_.options, std::pair<std::string, std::string>(name, value)) !=
           0;
}

// Also whether the calling thread is one that can end there.
bool History::may_flush_beside() const {
    const bool waits_for_commits = has_option("dataFileWrites", "flush");
    return !flushing_ && !in_between_ && !waits_for_commits && wanted_.script == nullptr &&
           (std::this_thread::get_id() == life_ || clock_->has_slept());
}

// A recovery must not trust the files that a kill leaves between the writing and the syncing of a
// section; so there are more of those states than chance would give.
void History::take_states(bool section_unsynced) {
    if (wanted_.only_call != 0 && wanted_.only_call != calls_) return;
    Random random(mixed(seed_, calls_ * 2 + 1));
    if (!random.chance(section_unsynced ? wanted_.percent_per_sync : wanted_.percent_per_call))
        return;
    if (journal_files_on(*disk_).size() > 1) {
        note(Situation::several_journal_files);
        if (section_unsynced) note(Situation::unsynced_behind_other_files);
    }
    State state;
    state.journal = journal_;
    if (random.chance(section_unsynced ? 30 : 10)) {
        state.killed = true;
        state.disk = disk_->process_kill();
    } else {
        const int percent = static_cast<int>(random.below(6)) * 20;
        SomeSurvives choices(random.next(), percent);
        state.disk = disk_->power_cut(choices, setting_.sector_bytes);
    }
    state.accepted = accepted_after(*state.disk);
    if (state.accepted.empty()) state.accepted.push_back(std::make_shared<Image>());
    state.id = fmt::format("{}:{} ({}, call {})", number_, calls_, operation_, calls_);
    state.seed = random.next();
    sink_(std::move(state));
}

// Returns the images that a server may show that starts from the disk, or from one that was cut in
// that start.
std::vector<ImagePtr> History::accepted_after(const os::SimFileSystem& disk) const {
    std::vector<ImagePtr> accepted(images_.begin() + static_cast<ptrdiff_t>(acknowledged_),
                                   images_.end());
    if (failed_drops_.empty()) return accepted;
    SomeSurvives nothing(0, 0);
    const auto cut = disk.power_cut(nothing, setting_.sector_bytes);
    for (const auto& [namespace_file, files] : failed_drops_) {
        if (!cut->exists(namespace_file)) continue;
        for (size_t i = 0, count = accepted.size(); i < count; ++i) {
            const auto with_it = std::make_shared<Image>(*accepted[i]);
            with_it->insert(files.begin(), files.end());
            accepted.push_back(with_it);
        }
    }
    return accepted;
}

bool History::run(const std::string& name, const std::string& db, const std::string& command,
                  Promise promise) {
    operation_ = name;
    auto exchange = server_->begin(db, bson::from_json(command), [this] {
        note(Situation::promised_before_the_reply);
        acknowledge();
    });
    check_alive();
    // Others go on while it waits.
    if (!exchange->done() && !in_between_ && wanted_.script == nullptr && random_.chance(40)) {
        waiting_.push_back({name, std::move(exchange)});
        return false;
    }
    const bool good = settle(name, *exchange);
    if (good && promise == Promise::all) acknowledge();
    if (good && promise == Promise::committed) acknowledged_ = images_.size() - 1;
    if (!in_between_) settle_waiting(false);
    return good;
}

// Whether a command that is done, or is now waited for, has succeeded.
bool History::settle(const std::string& name, Exchange& exchange) {
    server_->finish(exchange, [this] { return !died_; });
    check_alive();
    Done& done = done_[name];
    ++done.tried;
    if (!succeeded(exchange.reply())) return false;
    ++done.succeeded;
    return true;
}

// Settles the exchanges whose commits have come; or all.
void History::settle_waiting(bool all) {
    for (Waiting& each : waiting_)
        if (all || each.exchange->woken()) settle(each.name, *each.exchange);
    std::erase_if(waiting_, [](const Waiting& each) { return each.exchange->done(); });
}

// Takes everything that there is now for durable, whether its section is on the disk, or is written
// later than it should be. Without a journal nothing is durable until a clean stop.
void History::acknowledge() {
    if (died_) return;
    if (journal_) {
        const ImagePtr now = image_of(*disk_);
        if (*now != *images_.back()) images_.push_back(now);
    }
    acknowledged_ = images_.size() - 1;
}

// A journal file stays, once, when it is no longer needed: it is neither used again nor removed.
void History::let_a_journal_file_stay() {
    const std::vector<std::string> files = journal_files_on(*disk_);
    if (files.empty()) return;
    staying_ = random_.pick(files);
    disk_->fail(Call::rename, staying_, std::errc::io_error);
    disk_->fail(Call::remove, staying_, std::errc::io_error);
}

// One of the calls that come fails, once, or a store finds no page. A full disk stays full, and a
// device that is gone stays away, until the server has ended.
void History::let_a_call_fail() {
    struct Way {
        Call call;
        const char* path_end;
        std::errc reason;
        size_t skipped;  // of such calls, at most
    };
    static constexpr Way kWays[] = {
        {Call::sync_data, "", std::errc::io_error, 4},
        {Call::sync_mapping, "", std::errc::io_error, 6},
        {Call::sync, "", std::errc::io_error, 3},
        {Call::sync_directory, "", std::errc::io_error, 3},
        {Call::write, "", std::errc::no_space_on_device, 4},
        {Call::write, "", std::errc::io_error, 4},
        {Call::write_at, "", std::errc::io_error, 2},
        {Call::allocate, "", std::errc::no_space_on_device, 1},
        {Call::truncate, "", std::errc::io_error, 1},
        {Call::rename, "", std::errc::io_error, 1},
        {Call::remove, "", std::errc::io_error, 2},
        {Call::remove, ".ns", std::errc::io_error, 0},
        {Call::open, "", std::errc::too_many_files_open, 3},
        {Call::map, "", std::errc::not_enough_memory, 1},
        {Call::create_directory, "", std::errc::no_space_on_device, 0},
    };
    ++failed_calls_;
    if (random_.chance(25)) return let_a_journal_file_stay();
    if (random_.chance(15)) return disk_->set_full_at_write_back(true);
    if (random_.chance(10))
        return disk_->end_at_store("", static_cast<int>(random_.below(30)), [this] { die(); });
    if (setting_.own_device && random_.chance(20))
        return disk_->fail_device(random_.chance(50) ? Setting::kJournalDevice : 1,
                                  std::errc::io_error);
    const Way& way = random_.pick(kWays);
    disk_->fail(way.call, way.path_end, way.reason,
                static_cast<int>(random_.below(way.skipped + 1)));
}

void History::stop() {
    operation_ = "stop";
    settle_waiting(true);
    // Without a journal nothing else tells what the files are to show.
    if (!journal_) images_.push_back(image_of(*disk_));
    stopping_ = true;
    server_->stop();
    check_alive();
    stopping_ = false;
    images_.push_back(image_of(*disk_));
    acknowledge();
    take_states(false);
    backup_ = disk_->process_kill();
}

// A process that has ended in the middle of its work has left this. Without a journal it is of no
// use: the next life starts from the last clean stop, as from a backup, or from nothing.
void History::leave_killed(std::unique_ptr<os::SimFileSystem> disk) {
    if (journal_) {
        next_ = std::move(disk);
    } else {
        next_ = backup_ ? backup_->process_kill() : setting_.make_disk();
    }
}

void History::end_life() {
    switch (random_.below(4)) {
        case 0:
        case 1:
            stop();
            operation_ = "start";
            next_ = disk_->process_kill();
            if (setting_.journal_changes) journal_ = random_.chance(50);
            return;
        case 2:
            operation_ = "start after a kill";
            return leave_killed(disk_->process_kill());
        default: {
            operation_ = "start after a cut";
            SomeSurvives choices = choices_of_a_cut();
            return leave_killed(disk_->power_cut(choices, setting_.sector_bytes));
        }
    }
}

bool History::is_disturbed() const {
    return wanted_.script == nullptr || calls_ >= wanted_.script->at_call;
}

// Before the call is carried out.
void History::disturb(const os::SimFileSystem::Event& event) {
    if (wanted_.script == nullptr || calls_ != wanted_.script->at_call) return;
    switch (wanted_.script->disturbance) {
        case Script::Disturbance::none:
            return;
        case Script::Disturbance::fail:
            if (starting_) return;
            ++failed_calls_;
            return disk_->fail(event.call, event.path, std::errc::io_error);
        case Script::Disturbance::kill:
        case Script::Disturbance::cut:
            die();
    }
}

// Makes the file as a program does that does not sync its name. Gives up on disk errors.
void History::make_in_advance(const std::string& path) {
    if (disk_->exists(path) || !disk_->exists(os::parent(path))) return;
    const std::string growing = os::join(os::parent(path), "growing");
    try {
        {
            const auto file =
                disk_->open(growing, {.access = os::Access::read_write, .create = true});
            file->allocate(kFileInAdvanceBytes);
            file->sync();
        }
        disk_->rename(growing, path);
    } catch (const os::IoError&) {
        return;
    }
}

// A client that gets an error tries again.
void History::perform(const Script::Step& step) {
    if (step.command.empty()) return make_in_advance(os::join(kDbpath, step.name));
    for (int tries = 0; tries < 2; ++tries) {
        if (run(step.name, step.db, step.command, Promise::all)) return;
        images_.push_back(image_of(*disk_));
    }
}

void History::live_by_script() {
    const auto& lives = wanted_.script->lives;
    if (lives_++ < lives.size())
        for (const Script::Step& step : lives[lives_ - 1])
            perform(step);
    stop();
    operation_ = "start";
    if (lives_ < lives.size()) next_ = disk_->process_kill();
}

// On a thread of its own.
void History::live() try {
    start(std::move(next_));
    if (wanted_.script != nullptr) return live_by_script();
    for (int done = 0; operations_left_ > 0; ++done) {
        --operations_left_;
        if (random_.chance(3) || done == wanted_.operations_per_life) return end_life();
        if (setting_.calls_fail && journal_ && random_.chance(20)) let_a_call_fail();
        operate();
        if (journal_ && server_->wants_flush()) {
            note(Situation::flush_asked_for);
            flush_now();
        }
    }
    stop();
} catch (const Died&) {
    operation_ = "start after an end by itself";
} catch (const base::Error&) {
    // The rest of a process that another thread has ended may fail too; its state is taken.
    if (died_) {
        operation_ = "start after an end by itself";
        return;
    }
    // A stop that cannot do all of it says so and ends.
    if (!stopping_ || !disk_->has_failed()) throw;
    next_ = disk_->process_kill(random_.chance(50));
}

void History::run() {
    operation_ = "first start";
    next_ = setting_.make_disk();
    journal_ = !setting_.journal_changes || random_.chance(50);
    for (uint64_t life = 0; next_; ++life) {
        setting_.options = life < kLivesAtLeast ? make_options(seed_, option_choice(number_, life))
                                                : some_options(mixed(seed_, life));
        begins_(setting_);
        std::exception_ptr failure;
        std::thread([&] {
            life_ = std::this_thread::get_id();
            died_ = false;
            starting_ = flushing_ = closing_ = flush_is_long_ = stopping_ = in_between_ = false;
            try {
                live();
            } catch (...) {
                failure = std::current_exception();
            }
            end_session();
        }).join();
        try {
            if (failure) std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            throw std::runtime_error(fmt::format("{}: {}", operation_, error.what()));
        }
    }
}

}  // namespace crash
