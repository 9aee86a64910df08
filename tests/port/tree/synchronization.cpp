// small tree, 2.4 2.6: src/mongo/util/concurrency/synchronization.cpp
// synchronization.cpp - a small stand-in

#include "mongo/util/concurrency/synchronization.h"

namespace mongo {

    Notification::Notification() : _nWaiting(0) { }

    void Notification::notifyOne() {
        _nWaiting--;
    }

    NotifyAll::NotifyAll() : _mutex("NotifyAll") {
        _lastDone = 0;
        _lastReturned = 0;
        _nWaiting = 0;
    }

    NotifyAll::When NotifyAll::now() {
        scoped_lock lock( _mutex );
        return ++_lastReturned;
    }

    void NotifyAll::awaitBeyondNow() {
        scoped_lock lock( _mutex );
        _nWaiting++;
        When e = ++_lastReturned;
        while( _lastDone <= e ) {
            _condition.wait( lock.boost() );
        }
    }

    void NotifyAll::notifyAll(When e) {
        scoped_lock lock( _mutex );
        _lastDone = e;
        _nWaiting = 0;
        _condition.notify_all();
    }

}
