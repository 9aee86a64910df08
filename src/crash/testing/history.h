// crash/testing/history.h - what a server goes through in one history, and the states that cuts
// and kills leave on the way.
//
// A history is lives of a server, one after the other on what the one before has left: a clean
// stop, a kill, a power cut, or an end of its own because a call to its disk has failed. Its
// clients run alternately; some wait for their commit while others go on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "crash/testing/image.h"
#include "crash/testing/live_server.h"
#include "crash/testing/random.h"
#include "crash/testing/setting.h"
#include "crash/testing/state_check.h"

namespace crash {

// How many operations were tried, and how many of them the server did not refuse.
struct Done {
    uint64_t tried = 0, succeeded = 0;
};
using DoneByName = std::map<std::string, Done>;
// The situations in which a wrong order shows; Met counts how often histories came there. A
// campaign that never does says nothing about it.
enum class Situation : unsigned char {
    promised_before_the_reply,
    several_journal_files,
    unsynced_behind_other_files,
    journal_file_begun_in_a_flush,
    journal_file_let_go,
    journal_file_stays,
    committed_between_two_files,
    flushed_during_a_commit,
    files_opened_again,
    flushed_while_files_are_closed,
    // With patches:
    flush_asked_for,
    changed_while_pages_are_copied,
    how_many,
};
const char* name_of(Situation situation);
// The situations before it come about in every build.
inline constexpr Situation kFirstOfPatches = Situation::flush_asked_for;
using Met = std::array<uint64_t, static_cast<size_t>(Situation::how_many)>;

// The steps that the clients of a history take instead of random ones, and the disturbance of one
// call to the disk.
struct Script {
    struct Step {
        std::string name, db, command;  // no command: `name` is a data file that is made in advance
    };
    enum class Disturbance { none, kill, cut, fail };

    std::vector<std::vector<Step>> lives;
    Disturbance disturbance = Disturbance::none;
    uint64_t at_call = 0;
};

class History {
  public:
    // `sink` gets each state as soon as it is there. One call may give several.
    struct Wanted {
        int operations = 60;
        int operations_per_life = 25;    // at most
        int percent_per_call = 30;       // of the calls to the disk before which a state is taken
        int percent_per_sync = 60;       // of those that sync a section
        uint64_t only_call = 0;          // 0: all calls
        const Script* script = nullptr;  // states are those after its disturbance, if it has one
    };
    using Sink = std::function<void(State)>;
    // `begins` is called for each life before it begins, with the setting that it has: options of
    // the process are the caller's to set. No thread of the life before is left.
    using Begins = std::function<void(const Setting&)>;
    // Throws std::logic_error in a build without DCHECKs.
    History(uint64_t seed, uint64_t number, const Setting& setting, const Wanted& wanted,
            Begins begins, Sink sink);
    ~History();

    // Throws std::exception when the server itself fails; the text says after which operation.
    void run();
    const Setting& setting() const { return setting_; }  // of the last life
    const DoneByName& done() const { return done_; }
    const Met& met() const { return met_; }
    uint64_t calls() const { return calls_; }
    uint64_t failed_calls() const { return failed_calls_; }
    uint64_t deaths() const { return deaths_; }

    // Called by the handler of fatal errors. Does not return if the calling thread is a server's of
    // a history, and a call to its disk has failed: the server has ended as it should.
    static void end_if_expected();

  private:
    // The server has ended itself.
    struct Died {};
    // A command that waits for its commit.
    struct Waiting {
        std::string name;
        std::unique_ptr<Exchange> exchange;
    };

    void note(Situation situation) { ++met_[static_cast<size_t>(situation)]; }
    void live();
    void live_by_script();
    void perform(const Script::Step& step);
    void make_in_advance(const std::string& path);
    void disturb(const os::SimFileSystem::Event& event);
    bool is_disturbed() const;
    void start(std::unique_ptr<os::SimFileSystem> disk);
    void end_session();
    SomeSurvives choices_of_a_cut();
    [[noreturn]] void die();
    void check_alive();
    void note(const os::SimFileSystem::Event& event);
    void take_states(bool section_unsynced);
    std::vector<ImagePtr> accepted_after(const os::SimFileSystem& disk) const;
    void operate();
    void let_a_call_fail();
    void let_a_journal_file_stay();
    void end_life();
    void stop();
    void fill_journal_file(const std::string& db);
    void close_and_open();
    void insert_where_another_was();
    void flush();
    void flush_now();
    void flush_in_between();
    bool may_flush_beside() const;
    void flush_beside();
    bool flushes_around() const;
    void change_during_flush();
    bool has_option(const char* name, const char* value) const;
    void leave_killed(std::unique_ptr<os::SimFileSystem> disk);
    bool settle(const std::string& name, Exchange& exchange);
    void settle_waiting(bool all);
    // The changes that are durable when a command has succeeded: those written until then, or only
    // those that were committed, as if it may have had nothing to do.
    enum class Promise { none, committed, all };
    // Whether it succeeded.
    bool run(const std::string& name, const std::string& db, const std::string& command,
             Promise promise = Promise::none);
    bool write(const std::string& name, const std::string& db, const std::string& fields);
    std::string documents();
    std::string large_insert(const char* concern);
    void acknowledge();

    const uint64_t seed_;
    const uint64_t number_;
    Setting setting_;
    const Wanted wanted_;
    const Begins begins_;
    const Sink sink_;
    Random random_;

    int operations_left_;
    std::unique_ptr<os::SimFileSystem> next_;    // what the next life starts from
    std::unique_ptr<os::SimFileSystem> backup_;  // of the last clean stop
    std::unique_ptr<os::SimFileSystem> disk_;
    std::unique_ptr<os::StepClock> clock_;
    std::unique_ptr<LiveServer> server_;
    std::atomic<storage::Engine*> engine_{nullptr};  // its own, until its threads have ended
    std::vector<Waiting> waiting_;
    std::thread::id life_;  // the thread of this life's clients
    bool journal_ = true;   // in this life
    bool starting_ = false;
    bool flushing_ = false;
    bool flush_is_long_ = false;
    bool closing_ = false;  // data files, so that the journal can let go of what they have
    bool stopping_ = false;
    std::atomic<bool> died_{false};
    bool in_between_ = false;  // in an operation between the flushes of two files
    uint64_t calls_ = 0, failed_calls_ = 0, deaths_ = 0;
    uint64_t journal_files_begun_ = 0;  // by servers that run
    size_t lives_ = 0;                  // that have begun
    std::vector<ImagePtr> images_;      // of each commit that was written
    size_t acknowledged_ = 0;           // the last of them that was promised
    // The data files, by namespace file, that a drop has made an end of, and in this life those of
    // every database whose drop was said to have failed. While no sync of their names succeeds, a
    // cut brings such a database back.
    std::pair<std::string, Image> dropped_;
    std::map<std::string, Image> failed_drops_;
    std::string staying_;  // the journal file that cannot be removed once
    int next_id_ = 0;
    std::string operation_;  // under way
    DoneByName done_;
    Met met_{};
};

}  // namespace crash
