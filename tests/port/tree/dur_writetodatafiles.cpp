// small tree, 2.4 2.6: src/mongo/db/dur_writetodatafiles.cpp
// dur_writetodatafiles.cpp - a small stand-in

#include "mongo/skeleton.h"
#include "dur_recover.h"
#include "dur_stats.h"
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
