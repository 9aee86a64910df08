// base/error.h - how failures travel.
//
// User-visible failures (bad argument, duplicate key, damaged file) are thrown as base::Error: a
// numeric code that clients act on and a text. They are caught at one place per boundary: the
// command dispatcher, the start-up code, a tool's main. What must not be survived (a failed journal
// write, a broken invariant) calls base::fatal, which logs and stops the process at once with exit
// code 14, so that recovery starts from what is on disk.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_codes.h"

namespace base {

// The name of a code for the field codeName ("BadValue"); "Location<code>" where it has none.
std::string code_name(int code);

// A user-visible failure. `details`, if set, points to an already encoded BSON document whose
// fields the command layer appends to the error reply (keyPattern/keyValue of a duplicate key).
// Copyable, cheap to throw.
class Error : public std::runtime_error {
  public:
    // A longer text is cut: what it quotes came from a client, and may be 16 MB of a document.
    static constexpr size_t kTextBytesMax = 1024;

    Error(int code, const std::string& text) : std::runtime_error(cut(text)), code_(code) {
        trace();
    }
    Error(int code, const std::string& text, std::span<const unsigned char> details)
        : std::runtime_error(cut(text)),
          code_(code),
          details_(std::make_shared<std::vector<unsigned char>>(details.begin(), details.end())) {
        trace();
    }

    int code() const { return code_; }
    const std::vector<unsigned char>* details() const { return details_.get(); }

  private:
    static std::string cut(const std::string& text);
    void trace() const;  // set_trace_errors

    int code_;
    std::shared_ptr<std::vector<unsigned char>> details_;
};

// Parameter traceExceptions: every Error is logged when it is made.
bool trace_errors();
void set_trace_errors(bool on);

// fail(kBadValue, "bad {}", x): throws Error.
template <typename... Args>
[[noreturn]] void fail(int code, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Exit codes of the process (wire spec 6.2).
enum ExitCode : int {
    kExitClean = 0,
    kExitError = 1,
    kExitBadOptions = 2,
    kExitAbrupt = 14,
    kExitNetError = 48,
    kExitUncaught = 100,
};

// Logs "Fatal assertion <id> <text>" and ends the process at once with exit code 14. No destructor,
// no flush of data: the journal is what counts. `id` is the old server's assertion number where it
// has one, else 0.
[[noreturn]] void fatal(int id, std::string_view text);

}  // namespace base
