// small tree, 2.6: src/mongo/db/storage_options.cpp
// small tree, 3.4: src/mongo/db/storage/storage_options.cpp
// storage_options.cpp - a small stand-in

#include "storage_options.h"

#if VERSION == 34
#include "mmap_v1_options.h"

#endif  // VERSION
namespace mongo {

    StorageGlobalParams storageGlobalParams;
#if VERSION == 34
MMAPV1Options mmapv1GlobalOptions;
#endif  // VERSION

#if VERSION == 26
    bool isJournalingEnabled() { return storageGlobalParams.dur; }
    void setJournalCommitInterval( unsigned newValue ) {
        storageGlobalParams.journalCommitInterval = newValue;
    }
    unsigned getJournalCommitInterval() { return storageGlobalParams.journalCommitInterval; }

}
#else  // VERSION
}  // namespace mongo
#endif  // VERSION
