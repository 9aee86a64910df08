// small tree, 2.4 2.6: src/mongo/db/dur_recover.cpp
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_recover.cpp
// dur_recover.cpp - a small stand-in

#include "dur_recover.h"

#include "dur_journal.h"
#include "dur_stats.h"

namespace mongo {
    namespace dur {

        void RecoveryJob::write( unsigned len ) {
            if( len )
#if VERSION <= 26
                stats.curr->_writeToDataFilesBytes += len;
#else  // VERSION
                stats.curr()->_writeToDataFilesBytes += len;
#endif  // VERSION
        }

        /** @return true if it ended abruptly */
        bool RecoveryJob::processFileBuffer(const void *p, unsigned len) {
            unsigned long long fileId;
            const char *at = (const char *) p;
            const char *end = at + len;
            {
                const JHeader& h = *(const JHeader*) at;
                if( !h.valid() )
                    return true;
                if( !h.versionOk() ) {
                    log() << "version mismatch, expected " << JHeader::CurrentVersion << std::endl;
                    return true;
                }
                fileId = h.fileId;
            }
            at += sizeof(JHeader);
            while( at < end ) {
                const JSectHeader& h = *(const JSectHeader*) at;
                if( h.fileId != fileId )
                    return true;
                unsigned slen = h.sectionLen();
                if( slen == 0 )
                    return true;
                sections++;
                write( slen );
                at += h.sectionLenWithPadding();
            }
            return false;
        }

        void recover() {
            RecoveryJob::get()._recovering = true;
            boost::filesystem::path p = journalDir + "/j._0";
            if( exists( p ) )
                removeOldJournalFile( p );
            RecoveryJob::get()._recovering = false;
        }

    }
}
