// crash/testing/history.h - what a server goes through in one history, and the states that cuts
// and kills leave on the way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "crash/testing/image.h"
#include "crash/testing/live_server.h"
#include "crash/testing/random.h"
#include "crash/testing/setting.h"
#include "crash/testing/state_check.h"

namespace crash {

// What operations were done, and how many of them the server did not refuse.
struct Done {
    uint64_t tried = 0, succeeded = 0;
};
using DoneByName = std::map<std::string, Done>;

class History {
  public:
    // `sink` gets each state, as soon as it is there. Of one call there may be several.
    struct Wanted {
        int operations = 60;
        int percent_per_call = 60;  // of the calls to the disk that are followed by a state
        uint64_t only_call = 0;     // 0: all calls
    };
    using Sink = std::function<void(State)>;
    History(uint64_t seed, uint64_t number, Setting setting, const Wanted& wanted, Sink sink);
    ~History();

    // Throws std::exception when the server itself fails; the text says after which operation.
    void run();
    const DoneByName& done() const { return done_; }
    uint64_t calls() const { return calls_; }

  private:
    void start(std::unique_ptr<os::SimFileSystem> disk);
    void end_session();
    void note(const os::SimFileSystem::Event& event);
    void take_states();
    void operate();
    void restart();
    void flush_meanwhile();
    // Whether it succeeded. `promises`: what was done is durable then.
    bool run(const std::string& name, const std::string& db, const std::string& command,
             bool promises = false);
    bool write(const std::string& name, const std::string& db, const std::string& fields);
    std::string documents();
    void acknowledge();

    const uint64_t seed_;
    const uint64_t number_;
    const Setting setting_;
    const Wanted wanted_;
    const Sink sink_;
    Random random_;

    std::unique_ptr<os::SimFileSystem> disk_;
    std::unique_ptr<os::StepClock> clock_;
    std::unique_ptr<LiveServer> server_;
    bool starting_ = false;
    bool flushing_ = false;
    bool meanwhile_ = false;  // in an operation between the flushes of two files
    uint64_t calls_ = 0;
    std::vector<ImagePtr> images_;  // of each commit that was written
    size_t acknowledged_ = 0;       // the last of them that was promised
    int next_id_ = 0;
    std::string operation_;  // under way
    DoneByName done_;
};

}  // namespace crash
