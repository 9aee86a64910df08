// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_journal_writer.cpp
// dur_journal_writer.cpp - a small stand-in

#include "mongo/skeleton.h"
#include "dur_recover.h"
#include "dur_stats.h"
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
