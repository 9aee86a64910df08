// storage/space_request.h - where an engine asks for space in its data files: for a record, for
// buckets of an index, for an extent. Each of these can need a new file, and so fail on
// a full disk; nothing of what is asked for has been changed by then.
#pragma once

namespace storage {

// Called at each of them.
void ask_for_space();

}  // namespace storage
