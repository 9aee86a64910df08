// base/dcheck.h - DCHECK(condition): what a function requires of its caller, or promises, checked
// while it runs in the builds of the tests (checks=1, sanitize=..., opt="-O0 -g").
//
// It is for mistakes of this program: what comes from a client or a disk may be anything and gets a
// base::Error. A failure is base::fatal, in a test with a handler too (base/error.h). Other
// builds compile the condition and make no code of it, so it must have no effect of its own.
#pragma once

namespace base {

// Builds that look for mistakes at any price.
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kDebugBuild = true;
#else
inline constexpr bool kDebugBuild = false;
#endif

#ifdef MONGOD_DUR_CHECKS
inline constexpr bool kDebugChecks = true;
#else
inline constexpr bool kDebugChecks = kDebugBuild;
#endif

[[noreturn]] void dcheck_failed(const char* condition, const char* file, int line);

}  // namespace base

#define DCHECK(condition)                                                          \
    do {                                                                           \
        if constexpr (base::kDebugChecks) {                                        \
            if (!(condition)) base::dcheck_failed(#condition, __FILE__, __LINE__); \
        }                                                                          \
    } while (false)
