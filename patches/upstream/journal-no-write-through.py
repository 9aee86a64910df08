"""journal-no-write-through in the original trees (upstream map 8).

One of two flags with which the journal file is opened on Windows. It is gone upstream from 2.4.6
on; before, it becomes an option. Releases that have dropped the flag flush nothing in its place,
and neither does this: without preallocated files the length of a growing file is written lazily."""

from port.steps import Include, Replace

STEPS = [
    Include('logfile.cpp', 'dur_options.h'),
    Replace('logfile.cpp', 'FILE_FLAG_NO_BUFFERING | FILE_FLAG_WRITE_THROUGH',
            part='FILE_FLAG_WRITE_THROUGH', inside='LogFile::LogFile',
            code='( mongo::dur::durTuning().noWriteThrough ? 0 : FILE_FLAG_WRITE_THROUGH )'),
]
