// storage/space_request.h - where an engine asks for space in its data files: for a record, for
// buckets of an index, for an extent. Each of these can need a new file, and so fail on
// a full disk; nothing of what is asked for has been changed by then.
#pragma once

namespace storage {

// Called at each of them. Null but in tests, which refuse one by throwing base::Error.
inline void (*g_space_request_hook)() = nullptr;

inline void ask_for_space() {
    if (g_space_request_hook != nullptr) g_space_request_hook();
}

}  // namespace storage
