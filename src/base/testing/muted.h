// base/testing/muted.h - for tests that damage, kill and recover thousands of times: what a process
// would say and where it would end.
#pragma once

#include <string_view>

#include "base/log.h"
#include "base/testing/fatal_handler.h"

namespace base {

// Nothing is logged, while in scope.
class [[nodiscard]] MutedLog {
  public:
    MutedLog() {
        log::set_sink([](log::Severity, std::string_view) {});
    }
    ~MutedLog() { log::set_sink(nullptr); }
    MutedLog(const MutedLog&) = delete;
    MutedLog& operator=(const MutedLog&) = delete;
};

// Called instead of the end of the process, while in scope. It may throw.
class [[nodiscard]] FatalScope {
  public:
    explicit FatalScope(FatalHandler handler) { set_fatal_handler(handler); }
    ~FatalScope() { set_fatal_handler(nullptr); }
    FatalScope(const FatalScope&) = delete;
    FatalScope& operator=(const FatalScope&) = delete;
};

}  // namespace base
