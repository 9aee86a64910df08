// dur_journal_writer.cpp - a small stand-in

#include "mongo/skeleton.h"
#include "mongo/db/storage/mmap_v1/dur_recover.h"
#include "mongo/db/storage/mmap_v1/dur_stats.h"
#include "mongo/util/alignedbuilder.h"

namespace mongo {
namespace dur {

void WRITETODATAFILES(const JSectHeader& h, AlignedBuilder& uncompressed) {
    Timer t;
    RecoveryJob::get().processSection(uncompressed.len());
    long long m = t.micros();
    stats.curr()->_writeToDataFilesMicros += m;
}

}
}
