#include "os/testing/choices.h"

namespace os {

size_t EveryChoice::choose(size_t alternatives) {
    if (at_ == steps_.size()) steps_.push_back({0, alternatives});
    return steps_[at_++].chosen;
}

bool EveryChoice::next() {
    at_ = 0;
    while (!steps_.empty() && steps_.back().chosen + 1 == steps_.back().alternatives)
        steps_.pop_back();
    if (steps_.empty()) return false;
    ++steps_.back().chosen;
    return true;
}

}  // namespace os
