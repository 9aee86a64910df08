/* Question: how many durable inserts a second does a server answer that only receives, writes and
 * answers? That is the floor under every server of this protocol, as sync_floor is under every
 * commit.
 *
 * Not for: data. What it writes is the messages as they came, over each other; nothing reads them.
 * Usage:   floor_server SOCKET FILE     until SIGTERM; FILE is on the disk in question
 * Needs:   a file system with O_DIRECT; 64 MB in FILE.
 *
 * One thread takes what has come from all clients, writes the inserts among it with one O_DSYNC
 * write, and answers them. It speaks as much of the protocol as the load client and a driver need
 * to begin with; to whatever is no insert it says ok: 1, with the number of the documents since the
 * last drop as n. */
#define _GNU_SOURCE
#include <bson/bson.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    OP_REPLY = 1,
    OP_QUERY = 2004,
    OP_MSG = 2013,
    HEADER_BYTES = 16,
    REPLY_HEAD_BYTES = HEADER_BYTES + 20,
    MESSAGE_BYTES_MAX = 48000000,
    FILE_BYTES = 64 * 1024 * 1024,
    UNIT = 4096,
    CLIENTS_MAX = 1024
};

typedef struct {
    int fd; /* 0: no client */
    uint8_t* in;
    size_t size, capacity;
} client_t;

typedef struct {
    int fd, request;
    int32_t documents;
} waiting_t;

static client_t clients[CLIENTS_MAX];
static waiting_t waiting[CLIENTS_MAX]; /* one of each client: none sends ahead */
static int waiting_count;
static uint8_t* batch; /* the inserts that are not written yet */
static size_t batch_size;
static int64_t documents; /* since the last drop */

static void check(int ok, const char* what, const char* path) {
    if (ok) return;
    fprintf(stderr, "floor_server: %s %s: %s\n", what, path, strerror(errno));
    exit(1);
}

static int32_t int32_at(const uint8_t* bytes) {
    uint32_t little;
    memcpy(&little, bytes, sizeof little);
    return (int32_t)BSON_UINT32_FROM_LE(little);
}

static void put_int32(uint8_t* bytes, int32_t value) {
    uint32_t little = BSON_UINT32_TO_LE((uint32_t)value);
    memcpy(bytes, &little, sizeof little);
}

static void answer(int fd, int32_t opcode, int32_t request, const bson_t* reply) {
    uint8_t out[1024] = {0};
    size_t head = opcode == OP_MSG ? HEADER_BYTES + 5 : REPLY_HEAD_BYTES;
    size_t size = head + reply->len;
    if (size > sizeof out) abort();
    put_int32(out, (int32_t)size);
    put_int32(out + 8, request);
    put_int32(out + 12, opcode == OP_MSG ? OP_MSG : OP_REPLY);
    if (opcode != OP_MSG) put_int32(out + 32, 1); /* documents */
    memcpy(out + head, bson_get_data(reply), reply->len);
    send(fd, out, size, MSG_NOSIGNAL); /* a client that does not read is none of ours */
}

static void say_hello(int fd, int32_t opcode, int32_t request) {
    bson_t* reply =
        BCON_NEW("ismaster", BCON_BOOL(true), "isWritablePrimary", BCON_BOOL(true), "helloOk",
                 BCON_BOOL(true), "maxBsonObjectSize", BCON_INT32(16777216), "maxMessageSizeBytes",
                 BCON_INT32(MESSAGE_BYTES_MAX), "maxWriteBatchSize", BCON_INT32(100000),
                 "minWireVersion", BCON_INT32(0), "maxWireVersion", BCON_INT32(17), "readOnly",
                 BCON_BOOL(false), "n", BCON_INT64(documents), "ok", BCON_DOUBLE(1));
    answer(fd, opcode, request, reply);
    bson_destroy(reply);
}

/* The name of the first field of a document, which lies in a message from `at` to `end`. */
static const char* first_field(const uint8_t* at, const uint8_t* end) {
    return end - at > 6 ? (const char*)at + 5 : "";
}

/* How many documents the sections of an insert have, that of its command aside. */
static int32_t count_documents(const uint8_t* at, const uint8_t* end) {
    int32_t found = 0;
    while (end - at > 5) {
        const uint8_t kind = *at++;
        const uint8_t* const section_end = at + int32_at(at);
        if (section_end > end || section_end <= at) break;
        if (kind == 1) {
            const uint8_t* document = at + 4;
            document += strnlen((const char*)document, (size_t)(section_end - document)) + 1;
            while (section_end - document >= 5 && int32_at(document) >= 5) {
                document += int32_at(document);
                ++found;
            }
        }
        at = section_end;
    }
    return found;
}

static void take_message(int fd, const uint8_t* message, size_t size) {
    const uint8_t* const end = message + size;
    const int32_t request = int32_at(message + 4), opcode = int32_at(message + 12);
    const uint8_t* const body = message + HEADER_BYTES + 5;
    const char* name = opcode == OP_MSG ? first_field(body, end) : "";
    if (strcmp(name, "insert") != 0 || waiting_count == CLIENTS_MAX ||
        batch_size + size > FILE_BYTES) {
        if (strcmp(name, "drop") == 0) documents = 0;
        say_hello(fd, opcode, request);
        return;
    }
    memcpy(batch + batch_size, message, size);
    batch_size += size;
    waiting[waiting_count++] = (waiting_t){fd, request, count_documents(body - 1, end)};
}

/* Writes what has come, and answers it. */
static void commit(int file) {
    static off_t offset;
    if (waiting_count == 0) return;
    const size_t bytes = (batch_size + UNIT - 1) / UNIT * UNIT;
    if (offset + (off_t)bytes > FILE_BYTES) offset = 0;
    check(pwrite(file, batch, bytes, offset) == (ssize_t)bytes, "cannot write", "the file");
    offset += (off_t)bytes;
    for (int i = 0; i < waiting_count; i++) {
        bson_t* reply = BCON_NEW("n", BCON_INT32(waiting[i].documents), "ok", BCON_DOUBLE(1));
        answer(waiting[i].fd, OP_MSG, waiting[i].request, reply);
        bson_destroy(reply);
        documents += waiting[i].documents;
    }
    waiting_count = 0;
    batch_size = 0;
}

/* False: the client is gone, or sends what is no message. */
static bool read_from(client_t* client) {
    if (client->capacity - client->size < UNIT) {
        client->capacity = 2 * client->capacity + 16 * UNIT;
        client->in = realloc(client->in, client->capacity);
        if (!client->in) abort();
    }
    ssize_t now =
        recv(client->fd, client->in + client->size, client->capacity - client->size, MSG_DONTWAIT);
    if (now < 0) return errno == EAGAIN || errno == EINTR;
    if (now == 0) return false;
    client->size += (size_t)now;
    size_t begin = 0;
    while (client->size - begin >= HEADER_BYTES) {
        const int32_t length = int32_at(client->in + begin);
        if (length < HEADER_BYTES + 10 || length > MESSAGE_BYTES_MAX) return false;
        if (client->size - begin < (size_t)length) break;
        take_message(client->fd, client->in + begin, (size_t)length);
        begin += (size_t)length;
    }
    client->size -= begin;
    memmove(client->in, client->in + begin, client->size);
    return true;
}

static int listen_at(const char* path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) errno = ENAMETOOLONG;
    check(strlen(path) < sizeof address.sun_path, "cannot listen at", path);
    strcpy(address.sun_path, path);
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd >= 0 && bind(fd, (struct sockaddr*)&address, sizeof address) == 0 &&
              listen(fd, CLIENTS_MAX) == 0,
          "cannot listen at", path);
    return fd;
}

/* Overwrites change neither the size of the file nor where it lies. */
static int open_written(const char* path) {
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    check(fd >= 0, "cannot open", path);
    check(pwrite(fd, batch, FILE_BYTES, 0) == FILE_BYTES && fsync(fd) == 0, "cannot write", path);
    close(fd);
    fd = open(path, O_WRONLY | O_DIRECT | O_DSYNC | O_CLOEXEC);
    if (fd < 0) fd = open(path, O_WRONLY | O_DSYNC | O_CLOEXEC);
    check(fd >= 0, "cannot open", path);
    return fd;
}

static void add_client(int epoll, int fd) {
    for (int i = 0; i < CLIENTS_MAX; i++) {
        if (clients[i].fd != 0) continue;
        clients[i].fd = fd;
        clients[i].size = 0;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &clients[i]};
        check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "cannot serve", "a client");
        return;
    }
    close(fd);
}

int main(int argc, char** argv) {
    if (argc != 3 || argv[1][0] == '-') {
        fputs("usage: floor_server SOCKET FILE\n", stderr);
        return 2;
    }
    if (posix_memalign((void**)&batch, UNIT, FILE_BYTES) != 0) abort();
    memset(batch, 0, FILE_BYTES);
    const int file = open_written(argv[2]), listener = listen_at(argv[1]),
              epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    check(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0, "cannot wait", "");
    for (;;) {
        struct epoll_event events[CLIENTS_MAX];
        int count = epoll_wait(epoll, events, CLIENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            client_t* client = events[i].data.ptr;
            if (!client) {
                int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                if (fd >= 0) add_client(epoll, fd);
            } else if (!read_from(client)) {
                close(client->fd);
                client->fd = 0;
            }
        }
        commit(file);
    }
}
