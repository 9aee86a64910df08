// small tree, 2.4 2.6: src/mongo/db/dur_commitjob.h
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_commitjob.h
// dur_commitjob.h - a small stand-in
#pragma once

#include "mongo/skeleton.h"
#if VERSION <= 26
#include "mongo/util/concurrency/synchronization.h"
#else  // VERSION
#include "commit_notifier.h"
#endif  // VERSION

namespace mongo {
    namespace dur {

        class ThreadLocalIntents {
        public:
            ThreadLocalIntents() : n(0) { }
            void push( int intent );
            void unspool();
        private:
            bool condense();
            int n;
        };

        class CommitJob {
        public:
            CommitJob();
            SimpleMutex groupCommitMutex;

            void note( void *p, int len );
            void noteOp( int op );

            void commitingBegin();
            void commitingNotifyCommitted() {
                groupCommitMutex.dassertLocked();
                _notify.notifyAll( _commitNumber );
            }
            void commitingReset() {
                groupCommitMutex.dassertLocked();
                _hasWritten = false;
                _bytes = 0;
            }
            bool hasWritten() const { return _hasWritten; }
            size_t bytes() const { return _bytes; }
#if VERSION <= 26
            NotifyAll _notify;   // for those who wait for a commit
#else  // VERSION
            CommitNotifier _notify;   // for those who wait for a commit
#endif  // VERSION
        private:
#if VERSION <= 26
            NotifyAll::When _commitNumber;
#else  // VERSION
            CommitNotifier::When _commitNumber;
#endif  // VERSION
            volatile bool _hasWritten;
            size_t _bytes;
        };

        extern CommitJob& commitJob;
        void unspoolWriteIntents();

    }
}
