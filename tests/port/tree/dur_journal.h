// small tree, 2.4 2.6: src/mongo/db/dur_journal.h
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_journal.h
// dur_journal.h - a small stand-in
#pragma once

#include "dur_journalformat.h"
#include "mongo/util/alignedbuilder.h"

namespace mongo {
    namespace dur {
        void journalMakeDir();
        void preallocateFiles();
        void WRITETOJOURNAL( JSectHeader h, AlignedBuilder& uncompressed );
        void removeOldJournalFile( boost::filesystem::path p );
        extern string journalDir;
        extern bool tellFaster;
    }
}
