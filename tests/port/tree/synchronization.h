// small tree, 2.4 2.6: src/mongo/util/concurrency/synchronization.h
// synchronization.h - a small stand-in
#pragma once

#include "mongo/skeleton.h"

namespace mongo {

    class NotifyAll;   // a declaration

    /** wakes one; a neighbour of NotifyAll with members of the same names */
    class Notification {
    public:
        Notification();
        void notifyOne();
    private:
        unsigned _nWaiting;
    };

    class NotifyAll {
    public:
        NotifyAll();

        typedef unsigned long long When;

        When now();

        void awaitBeyondNow();

        void notifyAll( When );

        unsigned nWaiting() const { return _nWaiting; }

    private:
        mongo::mutex _mutex;
        boost::condition _condition;
        When _lastDone;
        When _lastReturned;
        unsigned _nWaiting;
    };

}
