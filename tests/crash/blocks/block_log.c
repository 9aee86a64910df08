/* A file whose every write is logged, to put a loop device on: what a disk with a volatile cache is
 * asked to write, in order, with the flushes between. Usage:
 *
 *     block_log IMAGE FILE [LOG]
 *
 * mounts itself (FUSE, needs root) on the empty file FILE, which then has the bytes of IMAGE, and
 * says "ready". With LOG, writes go to IMAGE and to LOG; without, they are kept in memory and go
 * when the program ends, and IMAGE stays as it is. Ends when FILE is unmounted.
 *
 * LOG is a row of records: kind, offset, bytes, each 8 bytes in the order of this machine, and
 * for a write its bytes. A record is whole in the file before the write that it tells of is
 * answered; so the length of LOG is a clock, and what was acknowledged to any client is in front of
 * it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RECORD_WRITE = 1, RECORD_ZERO = 2, RECORD_FLUSH = 3 };
enum { WRITE_MAX = 1 << 20, PAGE = 4096 };

struct record {
    uint64_t kind, offset, bytes;
};

static int device, image_log = -1;
static uint8_t* image;
static uint64_t image_bytes;

static void give_up(const char* what) {
    fprintf(stderr, "block_log: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void append(uint64_t kind, uint64_t offset, uint64_t bytes, const void* data) {
    if (image_log < 0) return;
    struct record record = {kind, offset, bytes};
    struct iovec parts[] = {{&record, sizeof record}, {(void*)data, data ? bytes : 0}};
    ssize_t wanted = (ssize_t)(sizeof record + parts[1].iov_len);
    if (writev(image_log, parts, 2) != wanted) give_up("the log cannot be written");
}

static int is_zero(const uint8_t* data, uint64_t bytes) {
    return bytes == 0 || (data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0);
}

static void answer(const struct fuse_in_header* request, int error, const void* data,
                   size_t bytes) {
    struct fuse_out_header head = {(uint32_t)(sizeof head + bytes), -error, request->unique};
    struct iovec parts[] = {{&head, sizeof head}, {(void*)data, bytes}};
    /* ENOENT: the caller was interrupted and does not wait any more. */
    if (writev(device, parts, 2) < 0 && errno != ENOENT) give_up("an answer cannot be sent");
}

static void answer_attributes(const struct fuse_in_header* request) {
    struct fuse_attr_out out = {.attr_valid = 3600};
    out.attr.ino = FUSE_ROOT_ID;
    out.attr.size = image_bytes;
    out.attr.blocks = image_bytes / 512;
    out.attr.mode = S_IFREG | 0600;
    out.attr.nlink = 1;
    out.attr.blksize = PAGE;
    answer(request, 0, &out, sizeof out);
}

static void answer_init(const struct fuse_in_header* request, const struct fuse_init_in* in) {
    struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION};
    out.max_readahead = in->max_readahead;
    out.flags = in->flags & (FUSE_BIG_WRITES | FUSE_MAX_PAGES);
    out.max_background = 64;
    out.congestion_threshold = 48;
    out.max_write = WRITE_MAX;
    out.max_pages = WRITE_MAX / PAGE;
    out.time_gran = 1;
    answer(request, 0, &out, sizeof out);
}

static int fits(uint64_t offset, uint64_t bytes) {
    return offset <= image_bytes && bytes <= image_bytes - offset;
}

static void take_write(const struct fuse_in_header* request, const struct fuse_write_in* in) {
    const uint8_t* data = (const uint8_t*)(in + 1);
    if (!fits(in->offset, in->size)) {
        answer(request, ENOSPC, NULL, 0);
        return;
    }
    memcpy(image + in->offset, data, in->size);
    if (is_zero(data, in->size)) {
        append(RECORD_ZERO, in->offset, in->size, NULL);
    } else {
        append(RECORD_WRITE, in->offset, in->size, data);
    }
    struct fuse_write_out out = {in->size, 0};
    answer(request, 0, &out, sizeof out);
}

/* What the loop device makes of discards and of writes of zeros: both leave zeros here. */
static void take_fallocate(const struct fuse_in_header* request,
                           const struct fuse_fallocate_in* in) {
    int makes_zeros = in->mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE);
    if (!makes_zeros || !fits(in->offset, in->length)) {
        answer(request, EOPNOTSUPP, NULL, 0);
        return;
    }
    memset(image + in->offset, 0, in->length);
    append(RECORD_ZERO, in->offset, in->length, NULL);
    answer(request, 0, NULL, 0);
}

static void serve(const struct fuse_in_header* request) {
    const void* in = request + 1;
    switch (request->opcode) {
        case FUSE_INIT:
            answer_init(request, in);
            break;
        case FUSE_GETATTR:
        case FUSE_SETATTR: /* times */
            answer_attributes(request);
            break;
        case FUSE_OPEN: {
            struct fuse_open_out out = {.open_flags = FOPEN_DIRECT_IO}; /* no cache in between */
            answer(request, 0, &out, sizeof out);
            break;
        }
        case FUSE_READ: {
            const struct fuse_read_in* read = in;
            uint64_t offset = read->offset < image_bytes ? read->offset : image_bytes;
            uint64_t rest = image_bytes - offset;
            answer(request, 0, image + offset, read->size < rest ? read->size : rest);
            break;
        }
        case FUSE_WRITE:
            take_write(request, in);
            break;
        case FUSE_FSYNC:
            append(RECORD_FLUSH, 0, 0, NULL);
            answer(request, 0, NULL, 0);
            break;
        case FUSE_FALLOCATE:
            take_fallocate(request, in);
            break;
        case FUSE_STATFS: {
            struct fuse_statfs_out out = {.st = {.bsize = PAGE, .frsize = PAGE, .namelen = 255}};
            out.st.blocks = image_bytes / PAGE;
            answer(request, 0, &out, sizeof out);
            break;
        }
        case FUSE_FLUSH: /* a process closes it */
        case FUSE_RELEASE:
        case FUSE_DESTROY:
            answer(request, 0, NULL, 0);
            break;
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT: /* have no answer */
            break;
        default:
            answer(request, ENOSYS, NULL, 0);
    }
}

static void open_image(const char* path, const char* log_path) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) give_up(path);
    image_bytes = (uint64_t)info.st_size;
    int sharing = log_path ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
    image = mmap(NULL, image_bytes, PROT_READ | PROT_WRITE, sharing, fd, 0);
    if (image == MAP_FAILED) give_up(path);
    if (!log_path) return;
    image_log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (image_log < 0) give_up(log_path);
}

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: block_log IMAGE FILE [LOG]\n");
        return 2;
    }
    open_image(argv[1], argc > 3 ? argv[3] : NULL);
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device < 0) give_up("/dev/fuse");
    char options[128];
    snprintf(options, sizeof options, "fd=%d,rootmode=100600,user_id=0,group_id=0", device);
    if (mount("block_log", argv[2], "fuse", MS_NOSUID | MS_NODEV, options) != 0) give_up("mount");
    static _Alignas(PAGE) uint8_t buffer[WRITE_MAX + 2 * PAGE];
    int said = 0;
    for (;;) {
        ssize_t bytes = read(device, buffer, sizeof buffer);
        if (bytes < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
        if (bytes < 0 && errno == ENODEV) return 0; /* unmounted */
        if (bytes < (ssize_t)sizeof(struct fuse_in_header)) give_up("/dev/fuse");
        serve((const struct fuse_in_header*)buffer);
        if (said) continue;
        said = 1;
        puts("ready");
        fflush(stdout);
    }
}
