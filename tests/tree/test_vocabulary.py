"""One vocabulary: no text of the project has a word or an identifier that was retired.

docs/glossary.md has the terms that are used instead. RETIRED is the one table of what is retired:
to retire another word, add a line to it.
"""

import os
import re
import unittest

from test_style import TOP, tracked_files


def word(stem, endings=''):
    """A word in prose and inside identifiers of each form: mend, MENDED, needs_mending,
    needsMending, kMend."""
    return r'(?<![a-zA-Z])(?i:%s%s)(?![a-z])|(?<=[a-z])%s%s(?![a-z])' % (
        stem, endings, stem.capitalize(), endings)


# (what is looked for, the term to use, where; None: everywhere). Words that begin with (?i), or are
# made by word(), are found in any case and inside identifiers: there \b is no end of a word.
RETIRED = [(re.compile(pattern), term, where) for pattern, term, where in (
    # Compute slots, yields, interrupts.
    (r'\bTurns::|\b(class|struct) Turns\b|\bbase/turns\b', 'ComputeSlots', None),
    (r'LockBreak|lock_break|lock break', 'yield', None),
    (r'Undoable|undoable', 'reversible', None),
    (r'\bComputeSlots::over\b', 'must_yield', None),
    (r'\bComputeSlots::pass\b', 'yield_slot', None),
    (r'\bComputeSlots::places\b', 'capacity', None),
    (r'\bComputeSlots::(leave|give_back)\b', 'release, release_held', None),
    (r'\bis_to_end\b', 'interrupted', None),
    (r'\bspend\b', 'on_tick_budget_exhausted', ('src/base/', 'src/sched/')),
    (r'(?i)(?<![a-z])ways?[ _-]?out(?![a-z])', 'interrupt check', None),
    (r'\bcomes_too_early\b', 'should_defer, deferral', None),
    (r'(?i)crowd', 'overload', None),
    (r'(?i)(?<![a-z])(com(e|es|ing)|came)[ _]?back', 'retry_later, retry', None),
    (r'(?i)(?<![a-z])let(s|ting)?[ _]?(the )?others?[ _]?in(?![a-z])', 'yield', None),
    (r'(?i)(?<![a-z])g[ai]v(e|es|ing|en)[ _]?way(?![a-z])', 'yield', None),
    (r'(?i)patience|(?<!im)patient', 'limit, timeout', None),
    # Operations and sessions.
    (r'\bend_behind_shutdown\b', 'fail_if_shutting_down', None),
    (r'\bLockForGood\b', 'PermanentGlobalLock', None),
    (r'\breport_nowhere\b', 'clear_wait_fields', None),
    (r'\bruns_here\b', 'attach_to_this_thread', None),
    (r'(?i)stranger', 'unauthenticated client, unknown client', None),
    (r'\btell_what_is_wrong\b', 'rethrow_parse_error', None),
    (r'\bone_line\b', 'escape_control_chars', ('src/',)),
    (r'\blate_(?!\w)', 'evicted_', ('src/wire/',)),
    (r'\btaken\(\)', 'reply_sent()', ('src/wire/',)),
    # Commits. The patch journal-open-gate-bytes, its option and its counter keep their names.
    (r'(?<![Oo]pen)(?<![Oo]pen[-_])(?:%s)' % word('gate', '[sd]?'),
     'commit latch; authorization', None),
    (r'(?i)open gate', 'pipelined commits', None),
    (word('gather', '(s|ed|ing)?'), 'commit delay; collect', None),
    (r'(?i)lonely', 'has_single_waiter', None),
    # Dialects.
    (r'(?i)over_msg|\bby_msg\(|\bNames::later\b|check_newer_sort|legacy_(query|update|insert)'
     r'|LegacyFind|LegacyExplain', 'dialect', ('src/',)),
    # Metrics. Figures that were measured may be called so.
    (r'(?i)(?<!con)figure', 'metrics', ('src/',)),
    (r'\bFigure(Registration|Source)\b|\b(figures_of|append_figures|g_figures)\b'
     r'|\bjournal/figures\b', 'metrics', ('docs/', 'patches/', 'tests/mutants/')),
    (r'(?i)\bfigures? of .?serverStatus|serverStatus\S* has the figures', 'metrics', None),
    (r'(?i)(?<!con)figure', 'metrics', ('port/', 'patches/upstream/', 'jstests/')),
    # Data files.
    (word('sound', '(ness)?') + '|' + word('unsound', '(ness)?'),
     'checked_...; consistent, plausible', None),
    (word('mend', '(s|ed|ing)?'), 'repair, fix', None),
    (word('gap', 's?'), 'SearchPosition', ('src/storage/mmapv1/btree/',)),
    (r'\bspill\(', 'move_upper_half', ('src/storage/mmapv1/btree/',)),
    (r'\bremove_what_is_left_of\b', 'remove_remnants', None),
    # Constants: the limit last, but for the names that clients know.
    (r'\bk(Max|Most)(?!Key\b|SubPipeline)(?![a-z])\w*|\bk\w*Most\b', 'k...Max', None),
    # Tickets define their terms.
    (r'(?i)\bin company\b', 'in the full series', ('docs/', 'patches/', 'perf/', 'README.md')),
    # One name for several things: each says what is placed, or what waits.
    (r'\b(struct|class|enum) (Place|Waiter)\b', 'a name of its own', None),
    # Sentences have a subject that can be named.
    (r'(?i)nobody|somebody|anybody|everybody|some_?one(?![a-z])',
     'the client, thread; no ...; all ...', None),
    (r'(?i)who(m)?ever', 'the client, thread that ...', None),
    (r'(?i)meanwhile', 'during ..., while ...', None),
    (r'(?i)(?<![a-z])(is|are|was|were|be|been|being)[ _]told(?![a-z])',
     'is notified, is known', None),
)]

# Not ours to word: recordings, data, results.
DATA = ('tests/fixtures/', 'tests/fuzz/kept/', 'perf/results/', 'LICENSE')
DATA_SUFFIXES = ('.jsonl', '.json', '.xz', '.gz', '.png', '.svg', '.bin')
# {file: why it may have retired words}
NAMES_THEM = {
    'docs/glossary.md': 'says what replaces what',
    'tests/tree/test_vocabulary.py': 'names what it looks for',
}
# (part of a line, why it may have a retired word): the part is taken out before the line is read.
ALLOWED = [(re.compile(pattern), why) for pattern, why in (
    (r'scatter/gather', "the field's term for writing from several buffers"),
    (r'indexes: sound\b|<< "sound\\n"', 'dbpath_check prints it'),
    (r'\b(extents|collections) are told by the', 'the salvage report prints it'),
    (r'\bnobody can log in\b', 'the log prints it at a start'),
    (r'\bis somebody else here|process %d is somebody ', '--shutdown prints it'),
)]


def faults(name, text):
    """Sentences that name file, line, word and the term to use."""
    for pattern, _ in ALLOWED:
        text = pattern.sub('', text)
    for pattern, term, where in RETIRED:
        if where is None or name.startswith(where):
            for found in pattern.finditer(text):
                yield "%s:%d: '%s': say %s" % (
                    name, text.count('\n', 0, found.start()) + 1, found.group(), term)


def texts():
    for name in tracked_files():
        if name.startswith(DATA) or name.endswith(DATA_SUFFIXES) or name in NAMES_THEM:
            continue
        try:
            with open(os.path.join(TOP, name), encoding='utf-8') as file:
                yield name, file.read()
        except UnicodeDecodeError:
            continue


class Vocabulary(unittest.TestCase):
    maxDiff = None

    def test_samples_that_pass(self):
        for name, text in (
                ('src/a.cpp', 'ComputeSlots::must_yield(); // the thread waits for the latch'),
                ('patches/series', 'journal-open-gate-bytes.patch'),
                ('docs/a.md', '`dur.openGateBytes`, `kMaxKey`, `aggregate`'),
                ('docs/a.md', '3 databases, 13 indexes: sound'),
                ('docs/a.md', 'the figures of a run; it turns and spends; recommend, amend'),
                ('src/query/spill/run.h', 'void spill(); int gap;')):
            self.assertEqual(list(faults(name, text)), [], text)

    def test_samples_that_fail(self):
        for name, text, word, term in (
                ('src/a.cpp', 'if (Turns::over())', 'Turns::', 'ComputeSlots'),
                ('src/a.cpp', 'WayOut out; take_way_out();', 'WayOut', 'interrupt check'),
                ('src/a.cpp', 'const CommitGate gate(g);', 'gate', 'commit latch'),
                ('src/a.h', '#include "command/gate.h"', 'gate', 'authorization'),
                ('src/a.cpp', 'TEST(A, LeavesNothingToNobody)', 'Nobody', 'no ...'),
                ('src/a.cpp', 'if (notifier_.anybody_registered())', 'anybody', 'all ...'),
                ('src/a.cpp', 'if (is_stranger())', 'stranger', 'unauthenticated'),
                ('src/a.cpp', 'sound_extent(loc); is_sound()', 'sound', 'checked_'),
                ('patches/a.patch', '+    bool needs_mending = false;', 'mending', 'repair'),
                ('docs/a.md', 'A MENDED file; kMend, needsMending', 'MENDED', 'repair'),
                ('docs/a.md', 'kMend', 'Mend', 'repair'),
                ('tests/oracle/a.py', 'def comes_back(): pass', 'comes_back', 'retry'),
                ('tests/oracle/README.md', 'for nobody', 'nobody', 'no ...'),
                ('docs/a.md', 'what someone wrote', 'someone', 'the client'),
                ('src/os/a.cpp', '// a commit that gathers waiters', 'gathers', 'delay'),
                ('patches/upstream/a.py', 'onDemand.append("gathered")', 'gathered', 'delay'),
                ('patches/upstream/a.py', 'BSONObj totalFigures() {', 'Figure', 'metrics'),
                ('docs/a.md', 'the figure of `serverStatus().dur`', 'figure of `serverStatus',
                 'metrics'),
                ('src/a.h', 'struct LockBreak {', 'LockBreak', 'yield'),
                ('src/a.h', 'class Undoable {', 'Undoable', 'reversible'),
                ('src/a.h', 'struct Waiter {', 'struct Waiter', 'of its own'),
                ('src/a.h', 'struct Place {', 'struct Place', 'of its own'),
                ('src/a.cpp', 'constexpr int kMost = 3;', 'kMost', 'k...Max'),
                ('src/a.cpp', 'constexpr int kMax = 3;', 'kMax', 'k...Max'),
                ('src/a.cpp', 'constexpr int kBytesMost = 3;', 'kBytesMost', 'k...Max'),
                ('src/a.cpp', 'class Patience {', 'Patience', 'limit'),
                ('src/a.cpp', 'constexpr int kMostWaiters = 3;', 'kMostWaiters', 'k...Max'),
                ('src/wire/a.cpp', 'if (late_) taken();', 'late_', 'evicted_'),
                ('src/storage/mmapv1/btree/a.h', 'struct Gap {', 'Gap', 'SearchPosition'),
                ('docs/a.md', 'Meanwhile others', 'Meanwhile', 'during'),
                ('docs/a.md', 'and gives way to them', 'gives way', 'yield'),
                ('docs/a.md', 'which lets others in', 'lets others in', 'yield')):
            found = '\n'.join(faults(name, text))
            self.assertIn("%s:1: '%s': say " % (name, word), found)
            self.assertIn(term, found)

    def test_every_text(self):
        found = [fault for name, text in texts() for fault in faults(name, text)]
        self.assertEqual(found, [], '\n' + '\n'.join(found))
