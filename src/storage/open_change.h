// storage/open_change.h - a mark on the thread: it has changed something whose entry in the log of
// changes (catalog/change_log.h) is still to come. Nothing may commit in between, or a stop of the
// server leaves one without the other. Engines ask for it in a DCHECK where they commit in the
// middle of an operation; builds without checks have no mark.
#pragma once

#include "base/dcheck.h"

namespace storage {

class OpenChange {
  public:
    explicit OpenChange(bool logged) : counted_(base::kDebugChecks && logged) {
        if (counted_) count(1);
    }
    ~OpenChange() {
        if (counted_) count(-1);
    }
    OpenChange(const OpenChange&) = delete;
    OpenChange& operator=(const OpenChange&) = delete;

    // Whether the thread may commit what it has changed.
    static bool none();

  private:
    static void count(int by);  // in lock.cpp, beside the locks of the thread
    const bool counted_;
};

}  // namespace storage
