// small tree, 2.4 2.6: src/mongo/db/dur_commitjob.cpp
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_commitjob.cpp
// dur_commitjob.cpp - a small stand-in

#include "dur_commitjob.h"

#include "dur_stats.h"

namespace mongo {
    namespace dur {

        static ThreadLocalIntents intentsOfThisThread;

        void ThreadLocalIntents::push( int intent ) {
            if( ++n == 21 && !condense() )
                unspool();
        }

        bool ThreadLocalIntents::condense() { return false; }

        void ThreadLocalIntents::unspool() {
            if( n ) {
                SimpleMutex::scoped_lock lk( commitJob.groupCommitMutex );
                n = 0;
            }
        }

        void unspoolWriteIntents() { intentsOfThisThread.unspool(); }

        CommitJob::CommitJob() :
            groupCommitMutex("groupCommit"), _commitNumber(0),
            _hasWritten(false), _bytes(0) {
        }

#if VERSION <= 26
        /** a call of this sort, commitJob.noteOp(1), is no definition;
            nor is stats.curr->_commits++ */
#else  // VERSION
/** a call of this sort, commitJob.noteOp(1), is no definition; nor is commitJob.note(p, 1) */
#endif  // VERSION
        void CommitJob::noteOp( int op ) {
            _hasWritten = true;
            SimpleMutex::scoped_lock lk(groupCommitMutex);
            _bytes += op;
        }

        void CommitJob::note( void *p, int len ) {
            _hasWritten = true;
            // with groupCommitMutex
            groupCommitMutex.dassertLocked();
            if( p )
                _bytes += len;
        }

        void CommitJob::commitingBegin() {
            _commitNumber = _notify.now();
#if VERSION <= 26
            stats.curr->_commits++;
#endif  // VERSION
        }

    }
}
