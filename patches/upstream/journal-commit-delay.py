"""journal-commit-delay in the original trees (upstream map 7a).

The journal thread of journal-commit-interval calls delayCommit before it commits for waiters; what
that does is here. NotifyAll knows how many waited when the last commit ended, and when that was."""

from port.recipe import sections
from port.shared import AWAIT_ARRIVALS, COUNT_WAITERS, OLD, WAITERS, WAITERS_H
from port.steps import After, AroundDefinition, Before

CODE = sections(__file__[:-2] + 'code')

STEPS = [
    *COUNT_WAITERS,
    *AWAIT_ARRIVALS,
    After(WAITERS_H, 'unsigned _nWaiting ;', scope='type NotifyAll', only=OLD, code='''
        // The group of the last notifyAll: how many waited then, and when that was.
        unsigned _waitedBefore;
        boost::xtime _releasedAt;'''),
    AroundDefinition(WAITERS_H, 'unsigned nWaiting', where='after', only=OLD,
                     code=CODE['isGroupComplete']),
    After(WAITERS, '_nWaiting = 0', scope='NotifyAll::NotifyAll', only=OLD, code='''
        _waitedBefore = 0;
        _releasedAt = incxtimemillis( 0 );'''),
    Before(WAITERS, '_nWaiting = 0', scope='NotifyAll::notifyAll', only=OLD, code='''
        _waitedBefore = waited;
        _releasedAt = incxtimemillis( 0 );'''),
    AroundDefinition(WAITERS, 'NotifyAll::notifyAll', where='after', only=OLD,
                     code=CODE['awaitGroup']),
]
