// base/testing/failure.h - the code of the error that an action of a test ends with.
#pragma once

#include "base/error.h"

namespace base {

// The code of the base::Error that the action throws; 0 if it throws none.
template <typename Action>
int failure(Action&& action) {
    try {
        action();
    } catch (const Error& e) {
        return e.code();
    }
    return 0;
}

}  // namespace base
