// small tree, 2.4 2.6: src/mongo/db/dur_journalimpl.h
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_journalimpl.h
// dur_journalimpl.h - a small stand-in
#pragma once

#if VERSION <= 26
#include "mongo/util/logfile.h"
#else  // VERSION
#include "logfile.h"
#endif  // VERSION

namespace mongo {
    namespace dur {

        class Journal {
        public:
            Journal() : _curLogFileMutex("JournalLfMutex"), _curLogFile(0), _written(0) { }
            void open();
            void journal( const JSectHeader& h, const AlignedBuilder& b );
            void close();
            unsigned long long written() const { return _written; }
        private:
            void _open();
            mutex _curLogFileMutex;
            LogFile *_curLogFile;
            unsigned long long _written;
        };
        extern Journal j;

    }
}
