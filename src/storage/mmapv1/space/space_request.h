// storage/mmapv1/space/space_request.h - where the engine asks for space in the data files: for a
// record, for buckets of an index, for an extent. Each of these can need a new file, and so fail on
// a full disk; nothing of what is asked for has been changed by then.
#pragma once

namespace mmapv1 {

// Called at each of them. Null but in tests, which refuse one by throwing base::Error.
inline void (*g_space_request_hook)() = nullptr;

inline void ask_for_space() {
    if (g_space_request_hook != nullptr) g_space_request_hook();
}

}  // namespace mmapv1
