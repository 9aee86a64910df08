// options/journal.h - the base's options of the journal (journal spec 4.7, 5.3, 5.8). The options
// that patches add lie in journal/options/.
#pragma once

#include "options/option.h"
#include "options/storage.h"

namespace options {

inline Flag journal_on({
    .name = "journal",
    .yaml = {"storage.journal.enabled"},
    .group = Group::journal,
    .default_value = true,
    .help = "Write changes to a journal before the data files, so that a crash loses at most the "
            "last commit interval, and nothing that was acknowledged with j: true. Default "
            "{default}.",
    .loss = "nothing that was acknowledged with j: true",
});

inline Flag journal_off({
    .name = "nojournal",
    .yaml = {"storage.journal.enabled"},
    .yaml_opposite = true,
    .group = Group::journal,
    .help = "No journal: a crash can lose up to syncdelay seconds and leaves files that need "
            "--repair.",
    .loss = "all work since the last flush of the data files; they need a repair then",
});

// Not set: 100 ms, or 30 ms with the journal on a device of its own (journal spec 5.3).
inline Integer journal_commit_interval({
    .name = "journalCommitInterval",
    .yaml = {"storage.journal.commitIntervalMs", "storage.mmapv1.journal.commitIntervalMs"},
    .group = Group::journal,
    .value_name = "MS",
    .unit = "ms",
    .default_value = 0,
    .default_text = "100, or 30 when the journal lies on another device than the data",
    .range = Range{2, 300},
    .parameter_range = Range{2, 499},
    // The lower bound in this text is wrong; operators and scripts know it so (D9).
    .range_error = "--journalCommitInterval out of allowed range (0-300ms)",
    .parameter_range_error = "{name} must be between 2 and 499 ms, not {value}",
    .help = "Longest time between group commits, {low} to {high}; a commit with waiters "
            "comes after a third of it. This much unacknowledged work a crash can lose. Default "
            "{default}.",
    .loss = "with j: true nothing; without, the work of one interval",
    .parameter = Parameter::always,
    .tells_old_value = false,
    .needs_journal = true,
});

inline Integer journal_options({
    .name = "journalOptions",
    .yaml = {"storage.journal.debugFlags", "storage.mmapv1.journal.debugFlags"},
    .group = Group::journal,
    .value_name = "BITS",
    .default_value = 0,
    .range = Range{0, 127},
    .engine = "mmapv1",
    .help =
        "For diagnosis, added up: 1 log the journal during recovery, 2 scan it only (and stop), "
        "4 recover only (and stop), 8 check that every changed byte was declared, 16 nothing (as "
        "in the old server), 32 remap after every commit, 64 do not check for free space. "
        "Default {default}.",
});

inline Flag old_journal_on({
    .name = "dur",
    .group = Group::journal,
    .default_value = true,
    .help = "The old name of --journal.",
    .hidden = true,
});

inline Flag old_journal_off({
    .name = "nodur",
    .group = Group::journal,
    .help = "The old name of --nojournal.",
    .hidden = true,
});

inline Integer old_journal_options({
    .name = "durOptions",
    .group = Group::journal,
    .value_name = "BITS",
    .default_value = 0,
    .range = Range{0, 127},
    .engine = "mmapv1",
    .help = "The old name of --journalOptions.",
    .hidden = true,
});

inline Flag no_prealloc_journal({
    .name = "nopreallocj",
    .yaml = {"storage.mmapv1.journal.nopreallocj"},
    .group = Group::journal,
    .engine = "mmapv1",
    .help = "Do not make journal files in advance, and do not measure whether that is faster. "
            "Files of an earlier run are still used.",
    .hidden = true,
});

// Whether the server has a journal.
inline bool journal_enabled() {
    return journal_on.get() && old_journal_on.get() && !journal_off.get() &&
           !old_journal_off.get() && !repair.get();
}

}  // namespace options
