// dur_journal.h - a small stand-in
#pragma once

#include "mongo/db/dur_journalformat.h"
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
