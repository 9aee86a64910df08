// small tree, 2.4 2.6: src/mongo/db/dur_preplogbuffer.cpp
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_preplogbuffer.cpp
// dur_preplogbuffer.cpp - a small stand-in

#include "mongo/skeleton.h"
#include "dur_journalformat.h"
#include "dur_stats.h"
#include "mongo/util/alignedbuilder.h"

namespace mongo {
    namespace dur {

        void PREPLOGBUFFER(/*out*/ JSectHeader& h, AlignedBuilder& ab) {
            Timer t;
            h.setSectionLen( 0xffffffff );
            h.seqNumber = 1;
            h.fileId = 42;
            ab.appendBytes( "some bytes", 10 );
#if VERSION <= 26
            stats.curr->_prepLogBufferMicros += t.micros();
#else  // VERSION
            stats.curr()->_prepLogBufferMicros += t.micros();
#endif  // VERSION
        }

    }
}
