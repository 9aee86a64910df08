// small tree, 3.4: src/mongo/db/storage/mmap_v1/commit_notifier.cpp
// commit_notifier.cpp - a small stand-in

#include "commit_notifier.h"

namespace mongo {

Notification::Notification() : _nWaiting(0) { }

void Notification::notifyOne() {
            _nWaiting--;
}

CommitNotifier::CommitNotifier() : _mutex("CommitNotifier") {
            _lastDone = 0;
            _lastReturned = 0;
            _nWaiting = 0;
}

CommitNotifier::When CommitNotifier::now() {
            scoped_lock lock(_mutex);
            return ++_lastReturned;
}

void CommitNotifier::awaitBeyondNow() {
            scoped_lock lock(_mutex);
            _nWaiting++;
            When e = ++_lastReturned;
            while (_lastDone <= e) {
                _condition.wait(lock.boost());
            }
}

void CommitNotifier::notifyAll(When e) {
            scoped_lock lock(_mutex);
            _lastDone = e;
            _nWaiting = 0;
            _condition.notify_all();
}

}
