// replica/heartbeats.h - asks the other members how they are, again and again, all at the same
// time: what rs.status() shows, and how a newer configuration gets around. In the same rhythm a
// primary that could not begin its term, for want of room, tries again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "peer/connection.h"
#include "replica/member.h"

namespace replica {

class Heartbeats {
  public:
    // The member outlives this.
    explicit Heartbeats(Member& member, peer::Identity identity = {});
    ~Heartbeats();
    Heartbeats(const Heartbeats&) = delete;
    Heartbeats& operator=(const Heartbeats&) = delete;

    // Asks each once, and waits for the answers; before start().
    void ask_all();
    void start();
    // Waits for the threads.
    void stop();

  private:
    class Asker;

    void tell_askers();
    std::chrono::milliseconds interval_of(const Config& config) const;
    void run();

    Member& member_;
    const peer::Identity identity_;
    peer::Interrupt end_;
    std::map<std::string, std::unique_ptr<Asker>> askers_;  // by host; of the thread
    std::thread thread_;
};

}  // namespace replica
