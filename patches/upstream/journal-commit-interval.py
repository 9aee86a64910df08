"""journal-commit-interval in the original trees (upstream map 7 and 7a).

The old variable of the interval stays what it was: whole milliseconds, 0 for the default. Below
2 ms it is 0 and a member of ours has the microseconds. The journal thread then parks in NotifyAll,
which gets a condition of its own for the opposite direction: waiters that arrive."""

from port.recipe import sections
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

STEPS = [
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
]
