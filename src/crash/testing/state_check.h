// crash/testing/state_check.h - whether a server recovers what it acknowledged from what a cut has
// left.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "crash/testing/image.h"
#include "crash/testing/setting.h"
#include "os/testing/sim_file_system.h"

namespace crash {

// A disk, and what a server may find on it.
struct State {
    std::unique_ptr<os::SimFileSystem> disk;
    std::vector<ImagePtr> accepted;  // from the last acknowledged commit to the last one written
    bool journal = true;  // else the server ran without: it recovers from a clean stop only
    // The process was killed, and the system still has what it had not synced: the cuts that matter
    // are those of the recovery.
    bool killed = false;
    std::string id;     // how to find it again
    uint64_t seed = 0;  // of what is done with it
};

// Contents of data files that have been examined whole. Any thread.
class Known {
  public:
    bool add(uint64_t image) {  // false: it was there
        const std::lock_guard lock(mutex_);
        return images_.insert(image).second;
    }
    size_t size() const {
        const std::lock_guard lock(mutex_);
        return images_.size();
    }

  private:
    mutable std::mutex mutex_;
    std::unordered_set<uint64_t> images_;
};

struct CheckCounts {
    std::atomic<uint64_t> states{0};
    std::atomic<uint64_t> deeper[3]{};   // cuts during the recovery, during that one's, ...
    std::atomic<uint64_t> validated{0};  // contents that were not known
    std::atomic<uint64_t> gone_on{0};    // that took a write, a stop and a start more
    std::atomic<uint64_t> refused{0};    // after a life without a journal, as they must be
};

// Recovers, compares, validates new contents, cuts the recovery itself down to depth 3, and lets
// one of eight go on instead of validating it. But for what is validated all follows from the state
// alone. After a life without a journal: the start is refused, or shows the last clean stop. Empty:
// all is as promised; else what is not. Any thread.
std::string check_state(State state, const Setting& setting, Known& known, CheckCounts& counts,
                        int depth = 0);

}  // namespace crash
