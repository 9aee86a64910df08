/* Makes a quick disk slow: with this library preloaded (LD_PRELOAD) every call that waits for the
 * device takes longer by DEVICE_DELAY_US microseconds: fsync, fdatasync, msync with MS_SYNC, and
 * writes to a file that was opened with O_DSYNC or O_SYNC, or with such flags of their own.
 *
 * Calls of several threads wait beside each other, as on a device that merges flushes. What the
 * kernel writes back by itself is not delayed, nor are reads. perf/run.py --device-delay uses it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static struct timespec delay; /* set before main() */

__attribute__((constructor)) static void begin(void) {
    const char* text = getenv("DEVICE_DELAY_US");
    long us = text ? atol(text) : 0;
    delay = (struct timespec){us / 1000000, us % 1000000 * 1000};
}

/* The C library's own function of that name. */
#define NEXT(name)                 \
    static __typeof__(&name) next; \
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, #name)

/* After a call that succeeded; keeps errno. */
static void wait_for_device(void) {
    int kept = errno;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += delay.tv_sec;
    end.tv_nsec += delay.tv_nsec;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
    }
    errno = kept;
}

/* O_SYNC has the bit of O_DSYNC. */
static int is_synchronous(int fd) {
    int kept = errno, flags = fcntl(fd, F_GETFL);
    errno = kept;
    return flags >= 0 && (flags & O_DSYNC);
}

#define SYNC(name, parameters, arguments, synchronous)       \
    int name parameters {                                    \
        NEXT(name);                                          \
        int result = next arguments;                         \
        if (result == 0 && (synchronous)) wait_for_device(); \
        return result;                                       \
    }

#define WRITE(name, parameters, arguments, synchronous)     \
    ssize_t name parameters {                               \
        NEXT(name);                                         \
        ssize_t result = next arguments;                    \
        if (result > 0 && (synchronous)) wait_for_device(); \
        return result;                                      \
    }

SYNC(fsync, (int fd), (fd), 1)
SYNC(fdatasync, (int fd), (fd), 1)
SYNC(msync, (void* from, size_t size, int flags), (from, size, flags), flags& MS_SYNC)

WRITE(write, (int fd, const void* data, size_t size), (fd, data, size), is_synchronous(fd))
WRITE(pwrite, (int fd, const void* data, size_t size, off_t at), (fd, data, size, at),
      is_synchronous(fd))
WRITE(pwrite64, (int fd, const void* data, size_t size, off64_t at), (fd, data, size, at),
      is_synchronous(fd))
WRITE(writev, (int fd, const struct iovec* parts, int count), (fd, parts, count),
      is_synchronous(fd))
WRITE(pwritev, (int fd, const struct iovec* parts, int count, off_t at), (fd, parts, count, at),
      is_synchronous(fd))
WRITE(pwritev64, (int fd, const struct iovec* parts, int count, off64_t at), (fd, parts, count, at),
      is_synchronous(fd))
WRITE(pwritev2, (int fd, const struct iovec* parts, int count, off_t at, int flags),
      (fd, parts, count, at, flags), (flags & (RWF_DSYNC | RWF_SYNC)) || is_synchronous(fd))
WRITE(pwritev64v2, (int fd, const struct iovec* parts, int count, off64_t at, int flags),
      (fd, parts, count, at, flags), (flags & (RWF_DSYNC | RWF_SYNC)) || is_synchronous(fd))
