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
    S* curr() { return _current; }
private:
    S* _current;
    S _a, _b;
    unsigned long long _lastRotate;
};
extern Stats stats;

}
}
