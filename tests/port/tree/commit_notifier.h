// small tree, 3.4: src/mongo/db/storage/mmap_v1/commit_notifier.h
// commit_notifier.h - a small stand-in
#pragma once

#include "mongo/skeleton.h"

namespace mongo {

class CommitNotifier;   // a declaration

/** wakes one; a neighbour of CommitNotifier with members of the same names */
class Notification {
public:
            Notification();
            void notifyOne();
private:
            unsigned _nWaiting;
};

class CommitNotifier {
public:
            CommitNotifier();

            typedef unsigned long long When;

            When now();

            void awaitBeyondNow();

            void notifyAll(When);

            unsigned nWaiting() const { return _nWaiting; }

private:
            mongo::mutex _mutex;
            boost::condition _condition;
            When _lastDone;
            When _lastReturned;
            unsigned _nWaiting;
};

}
