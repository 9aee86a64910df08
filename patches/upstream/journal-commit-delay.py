"""journal-commit-delay in the original trees (upstream map 7a).

The journal thread of journal-commit-interval calls delayCommit before it commits for waiters; what
that does is here. NotifyAll knows how many waited when the last commit ended, and when that was.
"""

from port.own_files import Header, Metrics
from port.recipe import Option, Recipe
from port.shared import AWAIT_ARRIVALS, COUNT_WAITERS, OLD, WAITERS, WAITERS_H
from port.steps import After, AroundDefinition, Before

RECIPE = Recipe(
    slug='journal-commit-delay',
    ticket=None,
    subject='let a journal commit wait for the clients that shared the last one',
    unportable={
        '3.4': 'it is for commits by demand, and journal-commit-interval is not for this version',
    },
    option=Option(
        name='journalCommitDelay', yaml='commitDelay', type='flag',
        help='with journalCommitInterval 0 lets a commit wait until the clients that shared the '
             'last one wait again, half of its duration or twice that of one that blocked them, 5 '
             'ms at most',
        store='mongo::dur::durTuning().commitDelay = value;'),
    header=Header(
        'whether commits by demand are delayed. Below it, how many were, and how often all came.',
        members='''
            bool commitDelay;
            volatile long long commitDelays, completeGroups;''',
        initial='''
            commitDelay = false;
            commitDelays = completeGroups = 0;'''),
    metrics=Metrics('commits that were delayed, and groups that became complete', '''
        if (durTuning().commitDelay) {
            BSONObjBuilder delay;
            delay.append("delays", static_cast<long long>(durTuning().commitDelays));
            delay.append("complete", static_cast<long long>(durTuning().completeGroups));
            b.append("commitDelay", delay.obj());
        }''', delay='''
        // Until as many wait as at the end of the last commit: half of its duration from its end
        // on, twice that if no waiter came while it ran, since then those of the other group have
        // yet to write; 5 ms at most. After a delay in vain the next commit does without, then the
        // next 3, 7, ... 63.
        static int toSkip, skippedBefore;  // journal thread only
        if (durTuning().commitDelay && !waiters.isGroupComplete()) {
            if (toSkip > 0) {
                toSkip--;
                return;
            }
            const unsigned long long worth =
                waiters.noNewWaiters() ? 2 * lastCommitMicros : lastCommitMicros / 2;
            if (waiters.awaitGroup(worth < 5000 ? worth : 5000))
                durTuning().commitDelays = durTuning().commitDelays + 1;
            if (waiters.isGroupComplete()) {
                durTuning().completeGroups = durTuning().completeGroups + 1;
                skippedBefore /= 2;
            }
            else {
                skippedBefore = skippedBefore < 31 ? 2 * skippedBefore + 1 : 63;
            }
            toSkip = skippedBefore;
        }'''),
    steps=[
        *COUNT_WAITERS,
        *AWAIT_ARRIVALS,
        After(WAITERS_H, 'unsigned _nWaiting ;', scope='type NotifyAll', only=OLD, code='''
            // The group of the last notifyAll: how many waited then, and when that was.
            unsigned _waitedBefore;
            boost::xtime _releasedAt;'''),
        AroundDefinition(WAITERS_H, 'unsigned nWaiting', where='after', only=OLD, code='''
            // Whether as many wait as at the last notifyAll, with those that it released.
            bool isGroupComplete() const { return _stillWaiting >= _waitedBefore; }
            // Whether the last notifyAll released all.
            bool noNewWaiters() const { return _waitedBefore == _lastGroup; }
            // Waits for the group, at most so many microseconds from the last notifyAll on.
            // Returns whether there was any time left to do so.
            bool awaitGroup( long long micros );'''),
        After(WAITERS, '_nWaiting = 0', scope='NotifyAll::NotifyAll', only=OLD, code='''
            _waitedBefore = 0;
            _releasedAt = incxtimemillis( 0 );'''),
        Before(WAITERS, '_nWaiting = 0', scope='NotifyAll::notifyAll', only=OLD, code='''
            _waitedBefore = waited;
            _releasedAt = incxtimemillis( 0 );'''),
        AroundDefinition(WAITERS, 'NotifyAll::notifyAll', where='after', only=OLD, code='''
            bool NotifyAll::awaitGroup( long long micros ) {
                boost::xtime released;
                {
                    mongo::mutex::scoped_lock lock( _mutex );
                    released = _releasedAt;
                }
                const boost::xtime now = incxtimemillis( 0 );
                const long long since = ( now.sec - released.sec ) * 1000000LL +
                                        ( now.nsec - released.nsec ) / 1000;
                if ( since >= micros )
                    return false;
                awaitArrivals( _waitedBefore, released, micros, false );
                return true;
            }'''),
    ],
    try_it='--journalCommitInterval 0 --journalCommitDelay',
    expect='The calls are those of --journalCommitInterval 0. With eight clients that insert with '
           'j:true each commit has the writes of nearly all of them, where it has those of half '
           'without the option; serverStatus().dur.commitDelay counts the delays.',
    notes={'2.4': 'The duration of a commit counts until the data files have it.',
           '2.6': 'The duration of a commit counts until the data files have it.'},
)
