// journal/commit_interval.h - the setting journalCommitInterval: what may be said and what it
// means.
//
// Command line, configuration file and setParameter all go through here, so that range and error
// text stand in one place (journal spec 5.3, 5.8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace journal {

// Where a value comes from: the allowed ranges differ.
enum class IntervalSource { start_up, runtime };

// Microseconds; nothing means "not set": 100 ms, or 30 ms with the journal on a device of its own.
using CommitInterval = std::optional<int64_t>;

// Throws base::Error 2 with the text an operator sees. Start-up: 2..300 ms; at run time 2..499 ms.
CommitInterval parse_commit_interval(std::string_view milliseconds, IntervalSource source);

// As getParameter and getCmdLineOpts show it: milliseconds; 0 when not set.
double shown_commit_interval_ms(CommitInterval interval);

}  // namespace journal
