// options/testing/reset.h - for tests: an option as it is before anything sets it.
#pragma once

#include "options/option.h"

namespace options {

struct OptionReset {
    static void run(Option& option) {
        const Value& value = option.description().default_value;
        const std::lock_guard guard(option.follow_mutex_);
        option.store(value);
        option.is_set_ = false;
        if (option.told_) option.told_(value);
    }
};

// The default is in force again.
inline void reset(Option& option) {
    OptionReset::run(option);
}

}  // namespace options
