// storage/mmapv1/commit/prepare.h - stage PREPLOGBUFFER: from the declarations of a job to the
// operations of a section (journal spec 1.4).
#pragma once

#include <vector>

#include "journal/op_stream.h"
#include "storage/mmapv1/commit/write_collector.h"
#include "storage/mmapv1/mapping/file_set.h"

namespace mmapv1 {

// Appends to `ops` what `job` declares: created files first, then the declared bytes as they are
// now, however often they were written since the last commit. `intents` becomes the job's, merged.
// A declaration outside of all files is fatal.
// REQUIRES: global R, W or X and the commit latch.
void prepare_ops(const CommitJob& job, FileSet& files, std::vector<WriteIntent>& intents,
                 journal::OpBuffer& ops);

}  // namespace mmapv1
