// small tree, 2.6: src/mongo/db/storage_options.h
// small tree, 3.4: src/mongo/db/storage/storage_options.h
// storage_options.h - a small stand-in
#pragma once
#if VERSION == 34

#include <atomic>
#endif  // VERSION

#include "mongo/skeleton.h"

namespace mongo {

    struct StorageGlobalParams {
#if VERSION == 26
        StorageGlobalParams() :
            dur(true), preallocj(true), journalCommitInterval(0) { }
        string dbpath;
        bool dur;
        bool preallocj;
        unsigned journalCommitInterval;   // ms; 0 is the default
#else  // VERSION
            StorageGlobalParams() : dur(true), journalCommitIntervalMs(0) {}
            string dbpath;
            bool dur;
            std::atomic<int> journalCommitIntervalMs;  // WiredTiger follows it too
#endif  // VERSION
    };
    extern StorageGlobalParams storageGlobalParams;

#if VERSION == 26
    bool isJournalingEnabled();
    void setJournalCommitInterval( unsigned newValue );
    unsigned getJournalCommitInterval();

}
#else  // VERSION
}  // namespace mongo
#endif  // VERSION
