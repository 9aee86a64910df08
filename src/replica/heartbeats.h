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
    // The member outlives this.
    explicit Heartbeats(Member& member, peer::Identity identity = {})
        : member_(member), identity_(std::move(identity)) {}
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
    const peer::Identity identity_;
    peer::Interrupt end_;
    std::map<std::string, std::unique_ptr<peer::Connection>> connections_;  // of the thread
    std::thread thread_;
};

}  // namespace replica
