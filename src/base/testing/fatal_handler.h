// base/testing/fatal_handler.h - for tests: what base::fatal() does instead of ending the process.
#pragma once

#include <string_view>

namespace base {

using FatalHandler = void (*)(int id, std::string_view text);
extern FatalHandler g_fatal_handler;  // base/error.cpp

// Called after the fatal error has been logged. It may throw, and must not return. Null: the
// process ends.
inline void set_fatal_handler(FatalHandler handler) {
    g_fatal_handler = handler;
}

}  // namespace base
