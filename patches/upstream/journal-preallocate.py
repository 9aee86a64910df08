"""journal-preallocate in the original trees (upstream map 5).

The speed test at start-up is one term of a condition; the option decides around it. Under `always`
a file that is too short or has holes is written anew, and recovery recycles what it has replayed.
"""

from port.own_files import Header
from port.recipe import Option, Recipe, sections
from port.steps import After, AtStart, Include, Replace, WrapCondition

CODE = sections(__file__[:-2] + 'code')

RECIPE = Recipe(
    slug='journal-preallocate',
    ticket='SERVER-13346',
    subject='decide by option whether journal files are preallocated',
    option=Option(
        name='journalPreallocate', yaml='preallocate', type='string',
        help='makes three journal files in advance and uses old ones again: always, never, or auto '
             '(files of an earlier run and a speed test decide)',
        refuse='value != "auto" && value != "always" && value != "never"',
        message='must be auto, always or never',
        store='mongo::dur::setPreallocate(value);'),
    header=Header(
        'whether journal files are made in advance and used again.',
        members='''
            enum Preallocate { PreallocateAuto, PreallocateAlways, PreallocateNever };
            Preallocate preallocate;''',
        initial='preallocate = PreallocateAuto;',
        includes=['<string>', '<sys/stat.h>'],
        code=CODE['header']),
    steps=[
        Include('dur_journal.cpp', 'dur_options.h', 'dur_journalformat.h'),
        Include('dur.cpp', 'dur_options.h', 'dur_journal.h'),
        WrapCondition('dur_journal.cpp', 'exists ( preallocPath ( 0', scope='void preallocateFiles',
                      code='durTuning().preallocate != DurTuning::PreallocateNever &&\n'
                           '( durTuning().preallocate == DurTuning::PreallocateAlways || (',
                      closing=') )'),
        AtStart('dur_journal.cpp', scope='findPrealloced', code='''
            if ( durTuning().preallocate == DurTuning::PreallocateNever )
                return boost::filesystem::path();'''),
        Replace('dur_journal.cpp', 'exists ( p )', scope='void preallocateFile', part=')',
                code=') && keepsPreallocated( p.string(), len )'),
        After('dur_journal.cpp', 'usingPreallocate = false', code='''

            void preallocateBeforeRecovery() {
                if ( durTuning().preallocate == DurTuning::PreallocateAlways )
                    usingPreallocate = true;
            }'''),
        After('dur.cpp', 'journalMakeDir (', scope='void startup', code='''
            // Known before recovery, so that the files it has replayed can be kept.
            preallocateBeforeRecovery();'''),
    ],
    try_it='--journalPreallocate always',
    expect='At the first start three files prealloc.0 to prealloc.2 are written in full and '
           'synced. Then per commit lseek, write, fdatasync as before, on a file that does not '
           'grow. After kill -9 and a restart j._0 is recycled, not unlinked.',
)
