// base/unobserved_reads.h - reads that the thread sanitizer does not examine, while this is in
// scope; in other builds it is nothing. What the thread writes, and its locks, are examined.
//
// For reads that are meant to race, because they stand for the kernel's, and for those of whole
// files under a lock that keeps all writers out: the sanitizer notes each byte that it examines in
// memory of its own, several times as much.
#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace base {

class [[nodiscard]] UnobservedReads {
  public:
#if defined(__SANITIZE_THREAD__)
    UnobservedReads() {
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    }
    ~UnobservedReads() {
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
#else
    UnobservedReads() = default;
#endif
    UnobservedReads(const UnobservedReads&) = delete;
    UnobservedReads& operator=(const UnobservedReads&) = delete;
};

}  // namespace base
