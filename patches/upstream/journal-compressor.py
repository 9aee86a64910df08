"""journal-compressor in the original trees (upstream map 3): see journal-skip-compression-bytes."""

from port.shared import STORE_UNCOMPRESSED

STEPS = STORE_UNCOMPRESSED
