// replica/set_limits.h - how long the names and index keys may be that a primary takes: as long as
// every member of the set keeps them. Members say in their heartbeats whether their engine keeps
// those of today's servers; one that has not been heard of since the start of this server may not.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "replica/config.h"
#include "replica/peers.h"
#include "storage/engine.h"

namespace replica {

// Any thread may call its methods.
class SetLimits {
  public:
    // The arguments outlive this object.
    SetLimits(storage::Engine& engine, const Peers& peers) : engine_(engine), peers_(peers) {}

    // Whether the engine of this server keeps long ones.
    bool keeps_long() const { return engine_.keeps_long(); }
    // Another configuration is in force, before this server takes writes by it; null: none is.
    void configure(std::shared_ptr<const Config> config);
    // A member has said what it keeps.
    void heard();

  private:
    void apply();

    storage::Engine& engine_;
    const Peers& peers_;
    std::mutex mutex_;
    std::shared_ptr<const Config> config_;  // guarded by mutex_, as the next
    std::string lacking_;                   // a member that may keep none; empty: all do
};

}  // namespace replica
