// dur_writetodatafiles.cpp - a small stand-in

#include "mongo/skeleton.h"
#include "mongo/db/dur_recover.h"
#include "mongo/db/dur_stats.h"
#include "mongo/util/alignedbuilder.h"

namespace mongo {
    namespace dur {

#if 0
        static void otherWay() {
            stats.curr->_writeToDataFilesBytes += 1;
            stats.curr->_writeToDataFilesBytes += 2;
        }
#endif

        void WRITETODATAFILES(const JSectHeader& h, AlignedBuilder& uncompressed) {
            Timer t;
            RecoveryJob::get().processSection( uncompressed.len() );
            long long m = t.micros();
            stats.curr->_writeToDataFilesMicros += m;
        }

    }
}
