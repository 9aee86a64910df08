// base/turns.h - who computes while many long operations do.
//
// Some of them compute at once, so that what is short finds a processor, and what wants a lock that
// they hold waits for few threads. The others wait for a place, first come first served, and hold
// no lock then. An operation is long when it has computed for a base::Operation::kSlice; it keeps a
// place for as long again where others wait, and gives it back when its thread leaves it, or waits
// long for a lock. What has no point at which it could give its locks up computes without a place.
#pragma once

namespace base {

class Turns {
  public:
    // As many as may compute at once.
    static int places();

    // For the operation of the calling thread, which may hold locks: whether it has to give these
    // up and call pass(). A place that is free it just takes.
    static bool over();
    // Without locks: gives the place to whoever waits, and waits for another. Returns without one
    // when the operation is to end (its next check() says why).
    static void pass();
    // The calling thread leaves its operation, or waits for something that may take long.
    static void leave() {
        if (has_place_) [[unlikely]]
            give_back();
    }

    // How many wait for a place.
    static int waiting();

  private:
    static void give_back();
    static inline thread_local constinit bool has_place_ = false;
};

}  // namespace base
