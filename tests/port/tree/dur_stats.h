// small tree, 2.4 2.6: src/mongo/db/dur_stats.h
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_stats.h
// dur_stats.h - a small stand-in
#pragma once

namespace mongo {
    namespace dur {

        struct Stats {
            Stats();
            void rotate();
            BSONObj asObj();
            struct S {
                BSONObj _asObj();
                void reset();

                unsigned _commits;
                unsigned _earlyCommits;
                unsigned _commitsInWriteLock;
                unsigned long long _journaledBytes;
                unsigned long long _uncompressedBytes;
                unsigned long long _writeToDataFilesBytes;
                unsigned long long _prepLogBufferMicros;
                unsigned long long _writeToJournalMicros;
                unsigned long long _writeToDataFilesMicros;
                unsigned long long _remapPrivateViewMicros;
            };
#if VERSION <= 26
            S *curr;
#else  // VERSION
            S* curr() { return _current; }
#endif  // VERSION
        private:
#if VERSION == 34
            S* _current;
#endif  // VERSION
            S _a, _b;
            unsigned long long _lastRotate;
        };
        extern Stats stats;

    }
}
