"""journal-pad-bytes in the original trees (upstream map 4).

The unit that sections are padded to was one constant for writer and reader. It becomes a property
of each file, as the version in its header says: 0x414a for 4096 bytes, everything else 8192. The
header itself, preallocation and the latency tests keep their own 8192.
"""

from port.own_files import Header, Metrics
from port.recipe import Option, Recipe, sections
from port.steps import After, Include, Rename, Replace, ReplaceStatement

FORMAT = 'dur_journalformat.h'
RECOVER = dict(file='dur_recover.cpp', scope='RecoveryJob::processFileBuffer')

CODE = sections(__file__[:-2] + 'code')

RECIPE = Recipe(
    slug='journal-pad-bytes',
    ticket='SERVER-13344',
    subject='pad journal sections to 4096 bytes by option',
    option=Option(
        name='journalPadBytes', yaml='padBytes', type='unsigned',
        help='unit that journal sections are padded to: 8192 or 4096; servers without this option '
             'refuse a journal of 4096, so shut down cleanly before going back',
        refuse='value != 8192 && value != 4096', message='must be 8192 or 4096',
        needs_dbpath=True,
        late=[('value == 4096 && mongo::dur::deviceBlockBytes(dbpath) > 4096',
               '"--journalPadBytes 4096 is not possible: the device of " + dbpath +\n'
               '" writes larger blocks; use 8192"')],
        store='mongo::dur::durTuning().padBytes = value;'),
    header=Header(
        'unit that the sections of new journal files are padded to, 8192 or 4096.',
        members='unsigned padBytes;',
        initial='padBytes = 8192;',
        includes=['<fstream>', '<sstream>', '<string>', '<sys/stat.h>'],
        code=CODE['header']),
    metrics=Metrics('the unit, where it is not the old one', '''
        if (durTuning().padBytes != 8192) {
            BSONObjBuilder padBytes;
            padBytes.append("unitBytes", static_cast<int>(durTuning().padBytes));
            b.append("padBytes", padBytes.obj());
        }'''),
    steps=[
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
    ],
    try_it='--journalPadBytes 4096',
    expect='write(j._0, ..., 4096) for each small commit, where the unpatched server writes 8192. '
           'Bytes 2 and 3 of j._0 are 4a 41 and not 49 41; an unpatched server refuses the file '
           '(13536, exit code 100).',
)
