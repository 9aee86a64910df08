// small tree, 2.4 2.6: src/mongo/db/dur_recover.h
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_recover.h
// dur_recover.h - a small stand-in
#pragma once

#include "dur_journalformat.h"

namespace mongo {
    namespace dur {

        class RecoveryJob {
        public:
            RecoveryJob() : _recovering(false), sections(0) { }
            bool processFileBuffer( const void *p, unsigned len );
            void processSection( unsigned len ) { write( len ); }
            static RecoveryJob& get() { static RecoveryJob job; return job; }
            bool _recovering;
            int sections;
        private:
            void write( unsigned len );
        };
        void recover();

    }
}
