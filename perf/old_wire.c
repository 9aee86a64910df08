#define _GNU_SOURCE
#include "old_wire.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    OP_REPLY = 1,
    OP_INSERT = 2002,
    OP_QUERY = 2004,
    HEADER_BYTES = 16,
    REPLY_HEAD_BYTES = HEADER_BYTES + 20, /* flags, cursor, starting from, number of documents */
    QUERY_FAILED = 2,                     /* of the reply's flags */
    MESSAGE_BYTES_MAX = 48000000,
    NS_BYTES_MAX = 128
};

typedef struct {
    uint8_t* data;
    size_t size, capacity;
} buffer_t;

struct old_wire {
    int fd;
    int32_t requests;
    buffer_t out, in;
};

static bool fail(bson_error_t* error, const char* what, const char* why) {
    bson_set_error(error, 0, 0, "%s: %s", what, why);
    return false;
}

static void reserve(buffer_t* buffer, size_t bytes) {
    if (buffer->size + bytes <= buffer->capacity) return;
    buffer->capacity = 2 * (buffer->size + bytes);
    buffer->data = realloc(buffer->data, buffer->capacity);
    if (!buffer->data) abort();
}

static void append(buffer_t* buffer, const void* bytes, size_t size) {
    reserve(buffer, size);
    memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
}

static void append_int32(buffer_t* buffer, int32_t value) {
    uint32_t little = BSON_UINT32_TO_LE((uint32_t)value);
    append(buffer, &little, sizeof little);
}

static int32_t int32_at(const uint8_t* bytes) {
    uint32_t little;
    memcpy(&little, bytes, sizeof little);
    return (int32_t)BSON_UINT32_FROM_LE(little);
}

/* Begins a message; returns where, for end_message(), which fills in its length. */
static size_t begin_message(old_wire_t* wire, int32_t opcode) {
    size_t at = wire->out.size;
    append_int32(&wire->out, 0);
    append_int32(&wire->out, ++wire->requests);
    append_int32(&wire->out, 0);
    append_int32(&wire->out, opcode);
    append_int32(&wire->out, 0); /* flags: both opcodes begin with them */
    return at;
}

static void end_message(old_wire_t* wire, size_t at) {
    uint32_t length = BSON_UINT32_TO_LE((uint32_t)(wire->out.size - at));
    memcpy(wire->out.data + at, &length, sizeof length);
}

static void add_command(old_wire_t* wire, const char* database, const bson_t* command) {
    char ns[NS_BYTES_MAX];
    int length = snprintf(ns, sizeof ns, "%s.$cmd", database);
    size_t at = begin_message(wire, OP_QUERY);
    append(&wire->out, ns, (size_t)length + 1);
    append_int32(&wire->out, 0);  /* to skip */
    append_int32(&wire->out, -1); /* to return: one, and no cursor */
    append(&wire->out, bson_get_data(command), command->len);
    end_message(wire, at);
}

static bool send_all(old_wire_t* wire, bson_error_t* error) {
    size_t sent = 0;
    while (sent < wire->out.size) {
        ssize_t now = send(wire->fd, wire->out.data + sent, wire->out.size - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return fail(error, "cannot send", strerror(errno));
        sent += (size_t)now;
    }
    wire->out.size = 0;
    return true;
}

/* Reads until `in` has so many bytes. */
static bool receive(old_wire_t* wire, size_t wanted, bson_error_t* error) {
    buffer_t* in = &wire->in;
    if (in->size < wanted) reserve(in, wanted - in->size);
    while (in->size < wanted) {
        ssize_t now = recv(wire->fd, in->data + in->size, in->capacity - in->size, 0);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return fail(error, "cannot receive", strerror(errno));
        if (now == 0) return fail(error, "cannot receive", "the server closed the connection");
        in->size += (size_t)now;
    }
    return true;
}

/* Reads the reply to the last message. `reply` lives until the next call. */
static bool read_reply(old_wire_t* wire, bson_t* reply, bson_error_t* error) {
    wire->in.size = 0;
    if (!receive(wire, REPLY_HEAD_BYTES, error)) return false;
    int32_t length = int32_at(wire->in.data);
    if (length < REPLY_HEAD_BYTES || length > MESSAGE_BYTES_MAX ||
        int32_at(wire->in.data + 12) != OP_REPLY || int32_at(wire->in.data + 8) != wire->requests) {
        return fail(error, "reply", "is no OP_REPLY to what was asked");
    }
    if (!receive(wire, (size_t)length, error)) return false;
    if (int32_at(wire->in.data + 32) != 1 ||
        !bson_init_static(reply, wire->in.data + REPLY_HEAD_BYTES,
                          (size_t)length - REPLY_HEAD_BYTES)) {
        return fail(error, "reply", "has not exactly one document");
    }
    if (int32_at(wire->in.data + HEADER_BYTES) & QUERY_FAILED) {
        bson_iter_t found;
        bool told = bson_iter_init_find(&found, reply, "$err") && BSON_ITER_HOLDS_UTF8(&found);
        return fail(error, "query", told ? bson_iter_utf8(&found, NULL) : "failed");
    }
    return true;
}

/* A text of a reply, or NULL. */
static const char* text_of(const bson_t* reply, const char* name) {
    bson_iter_t found;
    return bson_iter_init_find(&found, reply, name) && BSON_ITER_HOLDS_UTF8(&found)
               ? bson_iter_utf8(&found, NULL)
               : NULL;
}

static bool check_ok(const bson_t* reply, bson_error_t* error) {
    bson_iter_t found;
    if (bson_iter_init_find(&found, reply, "ok") && bson_iter_as_bool(&found)) return true;
    const char* why = text_of(reply, "errmsg");
    return fail(error, "command", why ? why : "its reply has no ok: 1");
}

static int connect_unix(const char* path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr*)&address, sizeof address) != 0) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static int connect_tcp(const char* host, uint16_t port) {
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM};
    if (getaddrinfo(host, service, &hints, &found) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    int fd = -1, why = EHOSTUNREACH;
    for (struct addrinfo* one = found; one && fd < 0; one = one->ai_next) {
        fd = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
        if (fd >= 0 && connect(fd, one->ai_addr, one->ai_addrlen) != 0) {
            why = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd >= 0) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    errno = why;
    return fd;
}

old_wire_t* old_wire_connect(const char* host, uint16_t port, bson_error_t* error) {
    int fd = host[0] == '/' ? connect_unix(host) : connect_tcp(host, port);
    if (fd < 0) {
        bson_set_error(error, 0, 0, "cannot connect to %s, port %u: %s", host, port,
                       strerror(errno));
        return NULL;
    }
    old_wire_t* wire = calloc(1, sizeof *wire);
    if (!wire) abort();
    wire->fd = fd;
    return wire;
}

void old_wire_close(old_wire_t* wire) {
    if (!wire) return;
    close(wire->fd);
    free(wire->out.data);
    free(wire->in.data);
    free(wire);
}

bool old_wire_command(old_wire_t* wire, const char* database, const bson_t* command,
                      bson_error_t* error) {
    bson_t reply;
    add_command(wire, database, command);
    return send_all(wire, error) && read_reply(wire, &reply, error) && check_ok(&reply, error);
}

bool old_wire_insert(old_wire_t* wire, const char* ns, const bson_t* const* documents, int count,
                     bool journaled, bson_error_t* error) {
    size_t at = begin_message(wire, OP_INSERT);
    append(&wire->out, ns, strlen(ns) + 1);
    for (int i = 0; i < count; i++) {
        append(&wire->out, bson_get_data(documents[i]), documents[i]->len);
    }
    end_message(wire, at);
    char database[NS_BYTES_MAX];
    snprintf(database, sizeof database, "%.*s", (int)strcspn(ns, "."), ns);
    bson_t ask = BSON_INITIALIZER, reply;
    bson_append_int32(&ask, "getlasterror", 12, 1);
    if (journaled) bson_append_bool(&ask, "j", 1, true);
    add_command(wire, database, &ask);
    bson_destroy(&ask);
    if (!send_all(wire, error) || !read_reply(wire, &reply, error) || !check_ok(&reply, error)) {
        return false;
    }
    const char* why = text_of(&reply, "err");
    if (!why && journaled) why = text_of(&reply, "jnote"); /* it has no journal to wait for */
    return why ? fail(error, "insert", why) : true;
}
