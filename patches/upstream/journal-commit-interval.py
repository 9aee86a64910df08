"""journal-commit-interval in the original trees (upstream map 7 and 7a).

The old variable of the interval stays what it was: whole milliseconds, 0 for the default. Below
2 ms it is 0 and a member of ours has the microseconds. The journal thread then parks in NotifyAll,
which gets a condition of its own for the opposite direction: waiters that arrive.
"""

from port.own_files import Header, Metrics
from port.recipe import Recipe, sections
from port.shared import (AWAIT_ARRIVALS, COUNT_WAITERS, NOTIFY, OLD, REMAP_TURN, WAITERS, WAITERS_H)
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


CODE = sections(__file__[:-2] + 'code')

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
        code=CODE['header']),
    metrics=Metrics('the old metric is not shown for these intervals', CODE['metrics'],
                    runs_cycles=True, delays_commits=True),
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
        AroundDefinition(WAITERS_H, 'unsigned nWaiting', where='after', only=OLD,
                         code=CODE['awaitWaiter']),
        AroundDefinition(WAITERS, 'NotifyAll::notifyAll', where='after', only=OLD,
                         code=CODE['park']),
        # The journal thread.
        Include('dur.cpp', 'dur_options.h', 'dur_journal.h', only=OLD),
        *REMAP_TURN,
        AroundDefinition('dur.cpp', 'void durThread', where='before', only=OLD,
                         captures={'waiters': NOTIFY}, code=CODE['commitOnDemand']),
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
