"""journal-file-mb in the original trees (upstream map 5).

How large a journal file may be is a variable, which smallfiles lowers. It is read when files are
made in advance and when a section has been written, never before preallocateFiles.
"""

from port.own_files import Header
from port.recipe import Option, Recipe
from port.steps import AtStart, Include

RECIPE = Recipe(
    slug='journal-file-mb',
    ticket='SERVER-13346',
    subject='choose the size of journal files by option',
    option=Option(
        name='journalFileMB', yaml='fileMB', type='unsigned',
        help='size of a journal file, for those made in advance and for the point at which one is '
             'left, 0 to 4096 MB; 0: 1024, or 128 with smallfiles',
        refuse='value > 4096', message='must be a whole number from 0 to 4096',
        store='mongo::dur::durTuning().fileMB = value;'),
    header=Header('megabytes of a journal file; 0: as many as without the option.',
                  members='unsigned fileMB;', initial='fileMB = 0;'),
    steps=[
        Include('dur_journal.cpp', 'dur_options.h', 'dur_journalformat.h'),
        AtStart('dur_journal.cpp', scope='void preallocateFiles', code='''
            if ( durTuning().fileMB > 0 ) {
                DataLimitPerJournalFile =
                    static_cast<unsigned long long>( durTuning().fileMB ) * 1024 * 1024;
            }'''),
    ],
    try_it='--journalPreallocate always --journalFileMB 128',
    expect='At the first start three files prealloc.0 to prealloc.2 of 134217728 bytes are written '
           'in full and synced; a server of before writes 1 GB each. j._1 is begun once j._0 has '
           '128 MB.',
)
