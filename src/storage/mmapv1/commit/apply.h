// storage/mmapv1/commit/apply.h - the one way of a journaled operation into a data file: stage
// WRITETODATAFILES of a commit, and recovery, which reads the same operations after a crash
// (journal spec 1.4, 4).
#pragma once

#include <cstdint>
#include <span>

#include "journal/op_stream.h"
#include "storage/mmapv1/mapping/file_set.h"

namespace mmapv1 {

// Stores what `op`, a basic write, says into `file`, the one that it names. Returns how many bytes
// that were. Throws base::Error 13622, and stores nothing, when it reaches beyond the end of the
// file.
uint64_t store_op(DurableFile& file, const journal::Op& op);

// Stores all of a section that was written and synced, in its order, into files that are open. The
// journal's own reading of the section decides what reaches them. Returns how many bytes were
// stored. Throws base::Error as store_op(), and when a file is not open.
uint64_t store_section(std::span<const uint8_t> ops, FileSet& files);

}  // namespace mmapv1
