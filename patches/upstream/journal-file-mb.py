"""journal-file-mb in the original trees (upstream map 5).

How large a journal file may be is a variable, which smallfiles lowers. It is read when files are
made in advance and when a section has been written, never before preallocateFiles."""

from port.steps import AtStart, Include

STEPS = [
    Include('dur_journal.cpp', 'dur_options.h', 'dur_journalformat.h'),
    AtStart('dur_journal.cpp', scope='void preallocateFiles', code='''
        if ( durTuning().fileMB > 0 ) {
            DataLimitPerJournalFile =
                static_cast<unsigned long long>( durTuning().fileMB ) * 1024 * 1024;
        }'''),
]
