// storage_options.h - a small stand-in
#pragma once

#include "mongo/skeleton.h"

namespace mongo {

    struct StorageGlobalParams {
        StorageGlobalParams() :
            dur(true), preallocj(true), journalCommitInterval(0) { }
        string dbpath;
        bool dur;
        bool preallocj;
        unsigned journalCommitInterval;   // ms; 0 is the default
    };
    extern StorageGlobalParams storageGlobalParams;

    bool isJournalingEnabled();
    void setJournalCommitInterval( unsigned newValue );
    unsigned getJournalCommitInterval();

}
