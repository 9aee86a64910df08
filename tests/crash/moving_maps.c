/* A server that is preloaded with this (LD_PRELOAD) gets its data files mapped anywhere: most often
 * where one of another file was, at random. A kernel may do that at any time. What is remembered of
 * an address must then not be taken for the file that is there now.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 4096
#define LEAST_BYTES (1 << 20) /* of a data file */
#define RESERVED_BYTES ((size_t)64 << 30)

static struct {
    char* begin;
    size_t bytes;
    int used;
} slots[SLOTS];
static int count;
static char *arena, *unused;
static unsigned seed;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The C library's own function of that name. */
#define NEXT(name)                 \
    static __typeof__(&name) next; \
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, #name)

static void* map_next(void* address, size_t bytes, int protection, int flags, int fd,
                      off_t offset) {
    NEXT(mmap);
    return next(address, bytes, protection, flags, fd, offset);
}

static size_t whole_pages(size_t bytes) {
    return (bytes + 4095) / 4096 * 4096;
}

static int begin(void) {
    if (arena) return 1;
    void* reserved = map_next(NULL, RESERVED_BYTES, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    seed = (unsigned)now.tv_nsec ^ (unsigned)getpid();
    arena = unused = reserved;
    return 1;
}

/* One of those that are free and large enough, or, one time in eight, a new one. -1: none. */
static int choose(size_t bytes) {
    int fitting = 0, chosen = -1;
    for (int i = 0; i < count; i++)
        if (!slots[i].used && slots[i].bytes >= bytes && rand_r(&seed) % ++fitting == 0) chosen = i;
    if (chosen >= 0 && rand_r(&seed) % 8 != 0) return chosen;
    if (count == SLOTS || unused + bytes > arena + RESERVED_BYTES) return chosen;
    slots[count].begin = unused;
    slots[count].bytes = bytes;
    unused += bytes;
    return count++;
}

void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) {
    if (address || fd < 0 || bytes < LEAST_BYTES)
        return map_next(address, bytes, protection, flags, fd, offset);
    pthread_mutex_lock(&mutex);
    int at = begin() ? choose(whole_pages(bytes)) : -1;
    if (at >= 0) slots[at].used = 1;
    pthread_mutex_unlock(&mutex);
    if (at < 0) return map_next(address, bytes, protection, flags, fd, offset);
    void* mapped = map_next(slots[at].begin, bytes, protection, flags | MAP_FIXED, fd, offset);
    if (mapped == MAP_FAILED) slots[at].used = 0;
    return mapped;
}

int munmap(void* address, size_t bytes) {
    NEXT(munmap);
    pthread_mutex_lock(&mutex);
    int at = count;
    while (at-- > 0 && !(slots[at].used && slots[at].begin == address)) {
    }
    int result = 0;
    if (at >= 0) {
        if (map_next(address, whole_pages(bytes), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
            result = -1;
        else
            slots[at].used = 0;
    }
    pthread_mutex_unlock(&mutex);
    return at >= 0 ? result : next(address, bytes);
}
