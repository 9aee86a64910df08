"""journal-commit-interval in the original trees (upstream map 7 and 7a).

The old variable of the interval stays what it was: whole milliseconds, 0 for the default. Below
2 ms it is 0 and a member of ours has the microseconds. The journal thread then parks in NotifyAll,
which gets a condition of its own for the opposite direction: waiters that arrive.
"""

from port.own_files import Header, Metrics
from port.recipe import Recipe
from port.shared import (AWAIT_ARRIVALS, COUNT_WAITERS, NOTIFY, OLD, REMAP_TURN, WAITERS,
                         WAITERS_H)
from port.steps import (After, AroundDefinition, BothWays, Include, Receiver, Replace,
                        ReplaceStatement, Uncast)

COUNT_26 = 'count ( "storage.journal.commitIntervalMs" )'
COUNT_24 = 'count ( "journalCommitInterval" )'


def stored(params, key, refusal):
    return '''
        if (%s.count("%s")) {
            const double interval = %s["%s"].as<double>();
            if (!(interval >= 0 && interval <= 300)) {
                %s
            }
            HOLDER.journalCommitInterval = mongo::dur::setCommitInterval(interval);
        }''' % (params, key, params, key, refusal)


RECIPE = Recipe(
    slug='journal-commit-interval',
    ticket=None,
    subject='commit when a client waits: journal commit intervals below 2 ms',
    unportable={
        '3.4': 'its interval is a whole number of at least 1 ms that WiredTiger follows too, and '
               'two threads make a commit; only a wake-up of the first one could be had',
    },
    header=Header(
        'journalCommitInterval below 2 ms, in microseconds; negative for 2 ms and more, and for '
        'the default. Set at start-up and at run time by one thread, read by the journal thread.',
        members='''
            volatile long long demandMicros;
            // What the journal thread did by demand: commits because a client waits, commits of
            // writes without a waiter, waits that ended with nothing to do.
            volatile long long forWaiters, delayed, parked;''',
        initial='''
            demandMicros = -1;
            forWaiters = delayed = parked = 0;''',
        quick_if='durTuning().demandMicros >= 0',
        code='''
            // Takes over an interval in milliseconds; returns what the old variable is to hold.
            inline unsigned setCommitInterval(double ms) {
                if (ms >= 2) {
                    durTuning().demandMicros = -1;
                    return static_cast<unsigned>(ms);
                }
                // A positive value stays one: 0 means something else.
                const long long micros = static_cast<long long>(ms * 1000 + 0.5);
                durTuning().demandMicros = micros == 0 && ms > 0 ? 1 : micros;
                return 0;
            }

            inline double demandMillis() {
                return static_cast<double>(durTuning().demandMicros) / 1000;
            }'''),
    metrics=Metrics('the old metric is not shown for these intervals', '''
        if (durTuning().demandMicros >= 0) {
            b.append("journalCommitIntervalMs", demandMillis());
            BSONObjBuilder onDemand;
            onDemand.append("forWaiters", static_cast<long long>(durTuning().forWaiters));
            onDemand.append("delayed", static_cast<long long>(durTuning().delayed));
            onDemand.append("parked", static_cast<long long>(durTuning().parked));
            b.append("commitInterval", onDemand.obj());
        }''', runs_cycles=True, delays_commits=True),
    steps=[
        # The option.
        Include('db.cpp', 'dur_options.h', 'instance.h', where='before', only=('2.4',)),
        Replace('db.cpp', '"journalCommitInterval" , po :: value < unsigned >', part='unsigned',
                code='double', only=('2.4',)),
        ReplaceStatement('db.cpp', COUNT_24, only=('2.4',),
                         uses={'cmdLine . journalCommitInterval': 3},
                         captures={'params': Receiver('db.cpp', COUNT_24, 'count')},
                         code=stored('$params', 'journalCommitInterval', '''
                out() << "--journalCommitInterval must be a number of ms from 0 to 300"
                      << std::endl;
                dbexit( EXIT_BADOPTIONS );'''.strip()).replace('HOLDER', 'cmdLine')),
        Include('mongod_options.cpp', 'dur_options.h', 'instance.h', where='before',
                only=('2.6',)),
        Replace('mongod_options.cpp', '"journalCommitInterval" , moe :: Unsigned',
                part='Unsigned', code='Double', only=('2.6',)),
        ReplaceStatement('mongod_options.cpp', COUNT_26, scope='storeMongodOptions',
                         only=('2.6',), uses={'storageGlobalParams . journalCommitInterval': 3},
                         captures={'params': Receiver('mongod_options.cpp', COUNT_26, 'count',
                                                      'storeMongodOptions')},
                         code=stored('$params', 'storage.journal.commitIntervalMs', '''
                return Status(ErrorCodes::BadValue,
                              "--journalCommitInterval must be a number of ms from 0 to 300");
                '''.strip()).replace('HOLDER', 'storageGlobalParams')),
        # At run time.
        Include('parameters.cpp', 'dur_options.h', only=OLD),
        Uncast('parameters.cpp', 'int x =', 'int', 'double', scope='type CmdSet', only=OLD),
        ReplaceStatement('parameters.cpp', 'verify ( x > 1', scope='type CmdSet', only=OLD,
                         code='verify( x >= 0 && x <= 499 );'),
        Replace('parameters.cpp', 'setJournalCommitInterval ( x )', scope='type CmdSet', part='x',
                code='mongo::dur::setCommitInterval( x )', only=('2.6',)),
        Replace('parameters.cpp', 'cmdLine . journalCommitInterval = x', scope='type CmdSet',
                part='x', code='mongo::dur::setCommitInterval( x )', only=('2.4',)),
        BothWays('parameters.cpp', 'getJournalCommitInterval ( )', scope='type CmdGet',
                 code='mongo::dur::demandMillis()', only=('2.6',),
                 condition='mongo::dur::durTuning().demandMicros >= 0'),
        # The waiters.
        *COUNT_WAITERS,
        *AWAIT_ARRIVALS,
        AroundDefinition(WAITERS_H, 'unsigned nWaiting', where='after', only=OLD, code='''
            // Waits until a thread is in awaitBeyondNow, at most so many microseconds. Returns
            // whether one is.
            bool awaitWaiter( long long micros ) {
                return awaitArrivals( 1, incxtimemillis( 0 ), micros, false );
            }

            // Waits so many microseconds whatever waiters arrive.
            void rest( long long micros ) {
                awaitArrivals( ~0u, incxtimemillis( 0 ), micros, false );
            }

            // Waits like awaitWaiter, or until noteWork(). After park() writers report their
            // work. REQUIRES: the caller looks for work once more between park() and awaitWork().
            void park();
            bool awaitWork( long long micros ) {
                return awaitArrivals( 1, incxtimemillis( 0 ), micros, true );
            }
            void noteWork();'''),
        AroundDefinition(WAITERS, 'NotifyAll::notifyAll', where='after', only=OLD, code='''
            void NotifyAll::park() {
                mongo::mutex::scoped_lock lock( _mutex );
                _parked = true;
            }

            void NotifyAll::noteWork() {
                if ( !_parked )
                    return;
                mongo::mutex::scoped_lock lock( _mutex );
                _parked = false;
                _arrived.notify_all();
            }
'''),
        # The journal thread.
        Include('dur.cpp', 'dur_options.h', 'dur_journal.h', only=OLD),
        *REMAP_TURN,
        AroundDefinition('dur.cpp', 'void durThread', where='before', only=OLD,
                         captures={'waiters': NOTIFY}, code='''
            // One cycle by demand: parks until a client waits or something is written, and commits.
            // A waiter is served at once at an interval of 0, else after a third; writes
            // without a waiter, after the interval, at 0 after the default one. No lock and no
            // commit while idle.
            static void commitOnDemand( unsigned defaultMillis ) {
                static unsigned long long lastCommitMicros = 0;
                const long long interval = durTuning().demandMicros;
                const long long longest = static_cast<long long>( defaultMillis ) * 1000;
                bool waiter;
                if ( interval == 0 ) {
                    waiter = $waiters.awaitWaiter( longest );
                }
                else {
                    $waiters.park();
                    if ( !commitJob.hasWritten() )
                        $waiters.awaitWork( longest );
                    waiter = $waiters.awaitWaiter( commitJob.hasWritten() ? interval : 0 );
                }
                if ( !waiter && !commitJob.hasWritten() ) {
                    durTuning().parked = durTuning().parked + 1;
                    return;
                }
                volatile long long& why = waiter ? durTuning().forWaiters : durTuning().delayed;
                why = why + 1;
                if ( waiter && interval >= 3 ) {
                    $waiters.rest( interval / 3 );
                }
                else if ( waiter ) {
                    delayCommit( $waiters, lastCommitMicros );
                }
                const unsigned long long began = curTimeMicros64();
                runCycle( durThreadGroupCommit );
                lastCommitMicros = curTimeMicros64() - began;
            }'''),
        After('dur.cpp', 'stats . rotate (', scope='void durThread', only=OLD, code='''
            if ( durTuning().demandMicros >= 0 ) {
                commitOnDemand( ms );
                continue;
            }'''),
        After('dur.cpp', 'unspoolWriteIntents (', scope='void releasingWriteLock', only=OLD,
              captures={'waiters': NOTIFY}, code='$waiters.noteWork();'),
    ],
    try_it='--journalCommitInterval 0',
    expect='An insert with j:true is followed at once by lseek, write, fdatasync. Without '
           'writes there are none of these, and serverStatus().dur.commits stands still.',
    notes={'2.4': 'getParameter shows 0 for every interval below 2 ms.'},
)
