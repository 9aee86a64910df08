"""journal-no-write-through in the original trees (upstream map 8).

One of two flags with which the journal file is opened on Windows. It is gone upstream from 2.4.6
on; before, it becomes an option. Releases that have dropped the flag flush nothing in its place,
and neither does this: without preallocated files the length of a growing file is written lazily.
"""

from port.own_files import Header
from port.recipe import Option, Recipe, sections
from port.steps import Include, Replace

CODE = sections(__file__[:-2] + 'code')

RECIPE = Recipe(
    slug='journal-no-write-through',
    ticket='SERVER-9754',
    subject='open the journal on Windows without write-through by option',
    upstream=('logfile.cpp', 'FILE_FLAG_WRITE_THROUGH',
              'already upstream: SERVER-9754 has dropped the flag, in 2.4.6 and in every release '
              'from 2.6 on'),
    option=Option(
        name='journalNoWriteThrough', yaml='noWriteThrough', type='flag',
        help='Windows only: opens journal files without write-through, which saves a write of the '
             'file system with each commit; wants preallocated journal files',
        refuse='value && !mongo::dur::hasWriteThrough()',
        message='has an effect only on Windows; leave it out here',
        store='mongo::dur::durTuning().noWriteThrough = value;'),
    header=Header(
        'journal files are opened without FILE_FLAG_WRITE_THROUGH.',
        members='bool noWriteThrough;', initial='noWriteThrough = false;',
        code=CODE['header']),
    steps=[
        Include('logfile.cpp', 'dur_options.h'),
        Replace('logfile.cpp', 'FILE_FLAG_NO_BUFFERING | FILE_FLAG_WRITE_THROUGH',
                part='FILE_FLAG_WRITE_THROUGH', inside='LogFile::LogFile',
                code='( mongo::dur::durTuning().noWriteThrough ? 0 : FILE_FLAG_WRITE_THROUGH )'),
    ],
    try_it='--journalNoWriteThrough --journalPreallocate always',
    system='windows',
    expect='the journal file is created and written without Write Through, and the file system '
           'writes its own note of the time less often than once per commit.',
)
