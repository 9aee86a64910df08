"""journal-preallocate in the original trees (upstream map 5).

The speed test at start-up is one term of a condition; the option decides around it. Under `always`
a file that is too short or has holes is written anew, and recovery recycles what it has replayed.
"""

from port.steps import After, AtStart, Include, Replace, WrapCondition

STEPS = [
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
]
