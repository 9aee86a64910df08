// base/testing/failed_check.h - for tests: what a DCHECK says when it does not hold.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/dcheck.h"
#include "base/testing/fatal_handler.h"

namespace base {

// The text of the first check that fails in `action`, which it ends; empty if all hold, and in
// builds that check nothing.
template <typename Action>
std::string failed_check(Action&& action) {
    struct Failed : std::runtime_error {
        using std::runtime_error::runtime_error;
    };
    set_fatal_handler([](int, std::string_view text) { throw Failed(std::string(text)); });
    std::string text;
    try {
        action();
    } catch (const Failed& failed) {
        text = failed.what();
    }
    set_fatal_handler(nullptr);
    return text;
}

// Whether a check fails there; true where nothing is checked, without running it.
template <typename Action>
bool is_refused(Action&& action) {
    return !kDebugChecks || !failed_check(action).empty();
}

}  // namespace base
