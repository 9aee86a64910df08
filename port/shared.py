"""Steps that several recipes share: the first one that is applied makes them."""

from port.recipe import sections
from port.steps import After, AroundDefinition, Before, Include, Parameter, Receiver, Replace, Wrap

CODE = sections(__file__[:-2] + 'code')
OLD = ('2.4', '2.6')
WAITERS_H, WAITERS = 'synchronization.h', 'synchronization.cpp'

# Where a section is compressed (upstream map 3). Each recipe brings a term of storeUncompressed.
STORE_UNCOMPRESSED = [
    Include('dur_journal.cpp', 'dur_options.h', 'dur_journalformat.h'),
    Wrap('dur_journal.cpp', 'rawCompress (', scope='Journal::journal', shared=True, code='''
        if (storeUncompressed(uncompressed.len(), headTailSize)) {
            compressedLength = rawStore(uncompressed.buf(), uncompressed.len(), b.cur());
        }
        else {'''),
]

# The object on which threads wait for a commit.
NOTIFY = Receiver('dur.cpp', 'awaitBeyondNow (', 'awaitBeyondNow', 'bool DurableImpl::awaitCommit')

# Who waits, counted exactly: _nWaiting forgets those who come while a commit runs (D4).
COUNT_WAITERS = [
    After(WAITERS_H, 'unsigned _nWaiting ;', scope='type NotifyAll', only=OLD, shared=True, code='''
        // No waiter is forgotten here, while _nWaiting loses those who come between a number from
        // now() and its notifyAll().
        unsigned _stillWaiting;   // in awaitBeyondNow, not yet to be released
        unsigned _lastGroup;      // released by the last notifyAll'''),
    AroundDefinition(WAITERS_H, 'unsigned nWaiting', where='after', only=OLD, shared=True, code='''
        unsigned lastGroup() const { return _lastGroup; }
        unsigned stillWaiting() const { return _stillWaiting; }'''),
    After(WAITERS, '_nWaiting = 0', scope='NotifyAll::NotifyAll', only=OLD, shared=True, code='''
        _stillWaiting = 0;
        _lastGroup = 0;'''),
    After(WAITERS, 'When e = ++ _lastReturned', scope='NotifyAll::awaitBeyondNow', only=OLD,
          shared=True, code='_stillWaiting++;'),
    Before(WAITERS, '_nWaiting = 0', scope='NotifyAll::notifyAll', only=OLD, shared=True,
           captures={'released': Parameter(WAITERS, 'NotifyAll::notifyAll')}, code='''
        // Numbers above this one were taken by those who came since.
        const When later = _lastReturned - $released;
        const unsigned waited = _stillWaiting;
        _stillWaiting = later < waited ? static_cast<unsigned>( later ) : waited;
        _lastGroup = waited - _stillWaiting;'''),
]

# A thread that acts when as many wait as it wants, or when something is written.
AWAIT_ARRIVALS = [
    After(WAITERS_H, 'unsigned _nWaiting ;', scope='type NotifyAll', only=OLD, shared=True, code='''
        // Returns, at most so many microseconds after `since`, whether as many wait as are wanted.
        bool awaitArrivals( unsigned wanted, boost::xtime since, long long micros, bool orWork );
        volatile bool _parked;    // noteWork() is wanted
        boost::condition _arrived;'''),
    After(WAITERS, '_nWaiting = 0', scope='NotifyAll::NotifyAll', only=OLD, shared=True,
          code='_parked = false;'),
    After(WAITERS, 'When e = ++ _lastReturned', scope='NotifyAll::awaitBeyondNow', only=OLD,
          shared=True, code='_arrived.notify_all();'),
    AroundDefinition(WAITERS, 'NotifyAll::notifyAll', where='after', only=OLD, shared=True,
                     code=CODE['awaitArrivals']),
]

# That quick commits do not remap each tenth time. Each recipe brings a term of commitsAreQuick.
REMAP_TURN = [
    AroundDefinition('dur.cpp', 'static void durThreadGroupCommit', where='before', only=OLD,
                     shared=True, code=CODE['remapTurn']),
    Replace('dur.cpp', '++ n % N', scope='static void durThreadGroupCommit', only=OLD, shared=True,
            code='remapTurn( ++n % N )'),
]
