// journal/debug_flags.h - the bits of --journalOptions, for diagnosis (journal spec 4.7).
#pragma once

namespace journal {

enum DebugFlag : int {
    kDumpJournal = 1,
    kScanOnly = 2,
    kRecoverOnly = 4,
    kParanoid = 8,
    kAlwaysCommit = 16,  // accepted, and nothing acts on it, as in the old server
    kAlwaysRemap = 32,
    kNoCheckSpace = 64,
};

}  // namespace journal
