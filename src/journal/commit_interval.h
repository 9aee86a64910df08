// journal/commit_interval.h - the interval between group commits, as the option
// journalCommitInterval says (options/journal.h; journal spec 5.3, 5.8).
#pragma once

#include <cstdint>
#include <optional>

namespace journal {

// Microseconds; nothing means "not set": 100 ms, or 30 ms with the journal on a device of its own.
using CommitInterval = std::optional<int64_t>;

// The option's value now.
CommitInterval configured_commit_interval();

}  // namespace journal
