// small tree, 2.4 2.6: src/mongo/db/dur.h
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur.h
// dur.h - a small stand-in, with what the tests call
#pragma once

#include "mongo/skeleton.h"

namespace mongo {
    class BSONElement { };
    class ServerStatusSection {
    public:
        explicit ServerStatusSection( const char* ) { }
        virtual ~ServerStatusSection() { }
    };
    const unsigned long long privateMapBytes = 0;
    namespace dur {
        bool awaitCommit();
        bool commitNow();
        void releasingWriteLock();
#if VERSION <= 26
        void durThread();
#else  // VERSION
void runDurThread();
#endif  // VERSION
        void startup();
        void stop();
        BSONObj report();
        extern int remaps;
    }
}
