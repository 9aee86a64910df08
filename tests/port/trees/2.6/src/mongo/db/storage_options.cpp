// storage_options.cpp - a small stand-in

#include "mongo/db/storage_options.h"

namespace mongo {

    StorageGlobalParams storageGlobalParams;

    bool isJournalingEnabled() { return storageGlobalParams.dur; }
    void setJournalCommitInterval( unsigned newValue ) {
        storageGlobalParams.journalCommitInterval = newValue;
    }
    unsigned getJournalCommitInterval() { return storageGlobalParams.journalCommitInterval; }

}
