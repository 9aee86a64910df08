// replica/heartbeats.h - asks the other members how they are, again and again, by a thread of its
// own: what rs.status() shows, and how a newer configuration gets around.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "peer/connection.h"
#include "replica/member.h"

namespace replica {

class Heartbeats {
  public:
    // The member outlives this. `key`: of the set, peer::Connection's.
    explicit Heartbeats(Member& member, std::string key = {})
        : member_(member), key_(std::move(key)) {}
    ~Heartbeats() { stop(); }
    Heartbeats(const Heartbeats&) = delete;
    Heartbeats& operator=(const Heartbeats&) = delete;

    // Asks each once, on the calling thread; before start().
    void ask_all();
    void start();
    // Waits for the thread.
    void stop();

  private:
    void ask(const std::string& host);
    void run();

    Member& member_;
    const std::string key_;
    peer::Interrupt end_;
    std::map<std::string, std::unique_ptr<peer::Connection>> connections_;  // of the thread
    std::thread thread_;
};

}  // namespace replica
