#include "base/error.h"

#include <atomic>
#include <cstdlib>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/utf8.h"

namespace base {

namespace {

std::atomic<bool> g_trace_errors{false};

}  // namespace

void (*g_fatal_handler)(int id, std::string_view text) = nullptr;  // base/testing/fatal_handler.h

std::string code_name(int code) {
    switch (code) {
#define X(number, name, where) \
    case number:               \
        return #name;
        BASE_ERROR_CODES(X)
#undef X
        default:
            return fmt::format("Location{}", code);
    }
}

bool trace_errors() {
    return g_trace_errors.load(std::memory_order_relaxed);
}
void set_trace_errors(bool on) {
    g_trace_errors.store(on, std::memory_order_relaxed);
}

std::string Error::cut(const std::string& text) {
    if (text.size() <= kTextBytesMax) return as_utf8(text);
    constexpr std::string_view kEllipsis = "...";
    return as_utf8(utf8_front(text, kTextBytesMax - kEllipsis.size())).append(kEllipsis);
}

void Error::trace() const {
    if (trace_errors()) log::info("error {} {}: {}", code_, code_name(code_), what());
}

void fatal(int id, std::string_view text) {
    log::write(log::Severity::severe, fmt::format("Fatal assertion {} {}", id, text));
    if (g_fatal_handler != nullptr) g_fatal_handler(id, text);
    std::_Exit(kExitAbrupt);
}

void dcheck_failed(const char* condition, const char* file, int line) {
    fatal(0, fmt::format("check failed: {} at {}:{}", condition, file, line));
}

}  // namespace base
