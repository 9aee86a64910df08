"""journal-skip-compression-bytes in the original trees (upstream map 3).

Journal::journal compresses each section in one statement. It is wrapped: where our predicate holds,
the section becomes one Snappy literal. journal-compressor shares the wrapping; each brings its own
term of the predicate."""

from port.shared import STORE_UNCOMPRESSED

STEPS = STORE_UNCOMPRESSED
