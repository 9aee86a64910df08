// dur_commitjob.h - a small stand-in
#pragma once

#include "mongo/skeleton.h"
#include "mongo/util/concurrency/synchronization.h"

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
            NotifyAll _notify;   // for those who wait for a commit
        private:
            NotifyAll::When _commitNumber;
            volatile bool _hasWritten;
            size_t _bytes;
        };

        extern CommitJob& commitJob;
        void unspoolWriteIntents();

    }
}
