"""journal-skip-compression-bytes in the original trees (upstream map 3).

Journal::journal compresses each section in one statement. It is wrapped: where our predicate holds,
the section becomes one Snappy literal. journal-compressor shares the wrapping; each brings its own
term of the predicate.
"""

from port.own_files import Header, Metrics
from port.recipe import Option, Recipe, sections
from port.shared import STORE_UNCOMPRESSED

CODE = sections(__file__[:-2] + 'code')

RECIPE = Recipe(
    slug='journal-skip-compression-bytes',
    ticket='SERVER-13343',
    subject='store small journal sections uncompressed',
    option=Option(
        name='journalSkipCompressionBytes', yaml='skipCompressionBytes', type='unsigned',
        help='journal sections of at most this many bytes are stored without compression, 0 to '
             '1048576; 0 compresses all',
        refuse='value > 1048576', message='must be a whole number from 0 to 1048576',
        store='mongo::dur::durTuning().skipCompressionBytes = value;'),
    header=Header(
        'sections of at most this many bytes are not compressed; 0 for none. Below it, what came '
        'of it: counted by the thread that commits, under groupCommitMutex or alone.',
        members='''
            unsigned skipCompressionBytes;
            unsigned long long storedSections;
            unsigned long long storedBytes;''',
        initial='''
            skipCompressionBytes = 0;
            storedSections = storedBytes = 0;''',
        stored_if='''
            if (overhead + raw + 6 <= options.skipCompressionBytes) {
                options.storedSections++;
                options.storedBytes += raw;
                return true;
            }'''),
    metrics=Metrics('sections that were small enough', CODE['metrics']),
    steps=STORE_UNCOMPRESSED,
    try_it='--journalSkipCompressionBytes 4096',
    expect='The calls and their sizes are those of the unpatched server. Bytes 20 and following '
           'of each section show it: a varint, then the tag f4 or f0, then the operations as they '
           'are.',
)
