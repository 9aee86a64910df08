"""journal-compressor in the original trees (upstream map 3): see journal-skip-compression-bytes."""

from port.own_files import Header, Metrics
from port.recipe import Option, Recipe, sections
from port.shared import STORE_UNCOMPRESSED

CODE = sections(__file__[:-2] + 'code')

RECIPE = Recipe(
    slug='journal-compressor',
    ticket='SERVER-13345',
    subject='let the journal go uncompressed',
    option=Option(
        name='journalCompressor', yaml='compressor', type='string',
        help='compression of the journal: snappy or none; servers without this option read both',
        refuse='value != "snappy" && value != "none"', message='must be snappy or none',
        store='mongo::dur::durTuning().storeAll = value == "none";'),
    header=Header(
        'no section is compressed. Below it, what came of it: counted by the thread that commits, '
        'under groupCommitMutex or alone.',
        members='''
            bool storeAll;
            unsigned long long uncompressedSections;
            unsigned long long uncompressedBytes;''',
        initial='''
            storeAll = false;
            uncompressedSections = uncompressedBytes = 0;''',
        stored_if='''
            if (options.storeAll) {
                options.uncompressedSections++;
                options.uncompressedBytes += raw;
                return true;
            }'''),
    metrics=Metrics('sections that were not compressed', CODE['metrics']),
    steps=STORE_UNCOMPRESSED,
    try_it='--journalCompressor none',
    expect='The calls are those of the unpatched server; writes grow with what is not compressed. '
           'Bytes 20 and following of each section: a varint, then the tag f4 or f0, then the '
           'operations as they are.',
)
