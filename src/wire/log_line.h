// wire/log_line.h - log lines where the connections must go on whatever happens: without memory for
// a line, the line is what is left out.
#pragma once

#include <exception>
#include <utility>

#include "base/log.h"

namespace wire {

template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
    try {
        base::log::warning(format, std::forward<Args>(args)...);
    } catch (const std::exception&) {
    }
}

}  // namespace wire
