"""journal-commit-delay in the original trees (upstream map 7a).

The journal thread of journal-commit-interval calls delayCommit before it commits for waiters; what
that does is here. NotifyAll knows how many waited when the last commit ended, and when that was.
"""

from port.own_files import Header, Metrics
from port.recipe import Option, Recipe, sections
from port.shared import AWAIT_ARRIVALS, COUNT_WAITERS, OLD, WAITERS, WAITERS_H
from port.steps import After, AroundDefinition, Before

CODE = sections(__file__[:-2] + 'code')

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
    metrics=Metrics('commits that were delayed, and groups that became complete',
                    CODE['metrics'], delay=CODE['metrics, delay']),
    steps=[
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
    ],
    try_it='--journalCommitInterval 0 --journalCommitDelay',
    expect='The calls are those of --journalCommitInterval 0. With eight clients that insert with '
           'j:true each commit has the writes of nearly all of them, where it has those of half '
           'without the option; serverStatus().dur.commitDelay counts the delays.',
    notes={'2.4': 'The duration of a commit counts until the data files have it.',
           '2.6': 'The duration of a commit counts until the data files have it.'},
)
