"""journal-pad-bytes in the original trees (upstream map 4).

The unit that sections are padded to was one constant for writer and reader. It becomes a property
of each file, as the version in its header says: 0x414a for 4096 bytes, everything else 8192. The
header itself, preallocation and the latency tests keep their own 8192."""

from port.recipe import sections
from port.steps import After, Include, Rename, Replace, ReplaceStatement

FORMAT = 'dur_journalformat.h'
RECOVER = dict(file='dur_recover.cpp', scope='RecoveryJob::processFileBuffer')

CODE = sections(__file__[:-2] + 'code')

STEPS = [
    Include('dur_journal.cpp', 'dur_options.h', 'dur_journalformat.h'),
    # The format: both versions, and the unit of each.
    After(FORMAT, 'unsigned short _version', scope='type JHeader', code=CODE['the unit']),
    Replace(FORMAT, '_version == CurrentVersion', scope='versionOk',
            code='( _version == CurrentVersion || unit() == 4096 )'),
    Replace(FORMAT, 'sectionLenWithPadding ( )', scope='type JSectHeader', part='( )',
            code='( unsigned unit )'),
    Rename(FORMAT, 'sectionLen ( ) + (', 'Alignment', 'unit', 2, scope='type JSectHeader'),
    Rename(FORMAT, 'x % Alignment', 'Alignment', 'unit', 1, scope='type JSectHeader'),
    # The writer.
    Replace('dur_journal.cpp', '_version = CurrentVersion', scope='JHeader::JHeader',
            part='CurrentVersion', code='versionOfUnit( durTuning().padBytes )'),
    ReplaceStatement('dur_journal.cpp', 'verify ( 0xffffe000', scope='Journal::journal',
                     uses={'Alignment': 1},
                     code='const unsigned unit = durTuning().padBytes;'),
    Rename('dur_journal.cpp', 'L = ( lenUnpadded', 'Alignment', 'unit', 2,
           scope='Journal::journal'),
    Rename('dur_journal.cpp', '% Alignment', 'Alignment', 'unit', 1, scope='Journal::journal'),
    # The reader: the unit of the file that it is in.
    After(anchor='unsigned long long fileId', code='unsigned unit = 8192;', **RECOVER),
    After(anchor='fileId = h . fileId', code='unit = h.unit();', **RECOVER),
    Replace(anchor='sectionLenWithPadding ( )', part='( )', code='( unit )', **RECOVER),
]
