// dur_preplogbuffer.cpp - a small stand-in

#include "mongo/skeleton.h"
#include "mongo/db/storage/mmap_v1/dur_journalformat.h"
#include "mongo/db/storage/mmap_v1/dur_stats.h"
#include "mongo/util/alignedbuilder.h"

namespace mongo {
namespace dur {

void PREPLOGBUFFER(/*out*/ JSectHeader& h, AlignedBuilder& ab) {
    Timer t;
    h.setSectionLen(0xffffffff);
    h.seqNumber = 1;
    h.fileId = 42;
    ab.appendBytes("some bytes", 10);
    stats.curr()->_prepLogBufferMicros += t.micros();
}

}
}
