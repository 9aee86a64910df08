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
    OP_UPDATE = 2001,
    OP_INSERT = 2002,
    OP_QUERY = 2004,
    OP_GET_MORE = 2005,
    OP_DELETE = 2006,
    OP_KILL_CURSORS = 2007,
    HEADER_BYTES = 16,
    REPLY_HEAD_BYTES = HEADER_BYTES + 20, /* flags, cursor, starting from, number of documents */
    CURSOR_NOT_FOUND = 1,                 /* of the reply's flags */
    QUERY_FAILED = 2,
    UPSERT = 1,        /* of an update's */
    SINGLE_REMOVE = 1, /* of a delete's */
    MESSAGE_BYTES_MAX = 48000000,
    NS_BYTES_MAX = 256,
    DUPLICATE_KEY = 11000,
    DUPLICATE_KEY_OF_UPDATE = 11001 /* 2.4's */
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

/* A text of a reply, or NULL. */
static const char* text_of(const bson_t* reply, const char* name) {
    bson_iter_t found;
    return bson_iter_init_find(&found, reply, name) && BSON_ITER_HOLDS_UTF8(&found)
               ? bson_iter_utf8(&found, NULL)
               : NULL;
}

/* The same as fail() with the code that the server says. */
static bool refused(bson_error_t* error, const char* what, const bson_t* reply, const char* why) {
    bson_iter_t found;
    int64_t code = bson_iter_init_find(&found, reply, "code") ? bson_iter_as_int64(&found) : 0;
    if (code == DUPLICATE_KEY_OF_UPDATE) code = DUPLICATE_KEY;
    bson_set_error(error, 0, (uint32_t)code, "%s: %s", what, why);
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

static void append_int64(buffer_t* buffer, int64_t value) {
    uint64_t little = BSON_UINT64_TO_LE((uint64_t)value);
    append(buffer, &little, sizeof little);
}

static void append_text(buffer_t* buffer, const char* text) {
    append(buffer, text, strlen(text) + 1);
}

static void append_document(buffer_t* buffer, const bson_t* document) {
    append(buffer, bson_get_data(document), document->len);
}

static int32_t int32_at(const uint8_t* bytes) {
    uint32_t little;
    memcpy(&little, bytes, sizeof little);
    return (int32_t)BSON_UINT32_FROM_LE(little);
}

static int64_t int64_at(const uint8_t* bytes) {
    uint64_t little;
    memcpy(&little, bytes, sizeof little);
    return (int64_t)BSON_UINT64_FROM_LE(little);
}

/* Begins a message; returns where, for end_message(), which fills in its length. */
static size_t begin_message(old_wire_t* wire, int32_t opcode) {
    size_t at = wire->out.size;
    append_int32(&wire->out, 0);
    append_int32(&wire->out, ++wire->requests);
    append_int32(&wire->out, 0);
    append_int32(&wire->out, opcode);
    append_int32(&wire->out, 0); /* all begin with it: flags, or a number that is kept for later */
    return at;
}

static void end_message(old_wire_t* wire, size_t at) {
    uint32_t length = BSON_UINT32_TO_LE((uint32_t)(wire->out.size - at));
    memcpy(wire->out.data + at, &length, sizeof length);
}

static void add_query(old_wire_t* wire, const char* ns, const bson_t* query, int32_t count) {
    size_t at = begin_message(wire, OP_QUERY);
    append_text(&wire->out, ns);
    append_int32(&wire->out, 0); /* to skip */
    append_int32(&wire->out, count);
    append_document(&wire->out, query);
    end_message(wire, at);
}

/* For the database that `name` begins with, up to a dot. */
static void add_command(old_wire_t* wire, const char* name, const bson_t* command) {
    char ns[NS_BYTES_MAX];
    snprintf(ns, sizeof ns, "%.*s.$cmd", (int)strcspn(name, "."), name);
    add_query(wire, ns, command, -1); /* one document, and no cursor */
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

/* Reads the reply to the last message. Its documents live until the next call. */
static bool read_reply(old_wire_t* wire, bson_error_t* error) {
    wire->in.size = 0;
    if (!receive(wire, REPLY_HEAD_BYTES, error)) return false;
    int32_t length = int32_at(wire->in.data);
    if (length < REPLY_HEAD_BYTES || length > MESSAGE_BYTES_MAX ||
        int32_at(wire->in.data + 12) != OP_REPLY || int32_at(wire->in.data + 8) != wire->requests) {
        return fail(error, "reply", "is no OP_REPLY to what was asked");
    }
    return receive(wire, (size_t)length, error);
}

/* The only document of the reply. */
static bool only_document(old_wire_t* wire, bson_t* reply, bson_error_t* error) {
    if (int32_at(wire->in.data + 32) == 1 &&
        bson_init_static(reply, wire->in.data + REPLY_HEAD_BYTES,
                         wire->in.size - REPLY_HEAD_BYTES)) {
        return true;
    }
    return fail(error, "reply", "has not exactly one document");
}

static bool check_flags(old_wire_t* wire, bson_error_t* error) {
    const int32_t flags = int32_at(wire->in.data + HEADER_BYTES);
    bson_t reply;
    if (flags & CURSOR_NOT_FOUND) return fail(error, "getMore", "the server has no such cursor");
    if (!(flags & QUERY_FAILED)) return true;
    if (!only_document(wire, &reply, error)) return false;
    const char* why = text_of(&reply, "$err");
    return refused(error, "query", &reply, why ? why : "failed");
}

static bool check_ok(const bson_t* reply, bson_error_t* error) {
    bson_iter_t found;
    if (bson_iter_init_find(&found, reply, "ok") && bson_iter_as_bool(&found)) return true;
    const char* why = text_of(reply, "errmsg");
    return refused(error, "command", reply, why ? why : "its reply has no ok: 1");
}

/* Sends what waits, and reads the reply to the command at its end. */
static bool converse(old_wire_t* wire, bson_t* reply, bson_error_t* error) {
    return send_all(wire, error) && read_reply(wire, error) && check_flags(wire, error) &&
           only_document(wire, reply, error) && check_ok(reply, error);
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

int old_wire_socket(const char* host, uint16_t port) {
    return host[0] == '/' ? connect_unix(host) : connect_tcp(host, port);
}

old_wire_t* old_wire_connect(const char* host, uint16_t port, bson_error_t* error) {
    int fd = old_wire_socket(host, port);
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

bool old_wire_command(old_wire_t* wire, const char* database, const bson_t* command, bson_t* reply,
                      bson_error_t* error) {
    add_command(wire, database, command);
    return converse(wire, reply, error);
}

/* Asks for the result of the write that waits to be sent; how many documents it has changed. */
static int64_t result_of_write(old_wire_t* wire, const char* what, const char* ns, bool journaled,
                               bson_error_t* error) {
    bson_t ask = BSON_INITIALIZER, reply;
    bson_append_int32(&ask, "getlasterror", 12, 1);
    if (journaled) bson_append_bool(&ask, "j", 1, true);
    add_command(wire, ns, &ask);
    bson_destroy(&ask);
    if (!converse(wire, &reply, error)) return -1;
    const char* why = text_of(&reply, "err");
    if (!why && journaled) why = text_of(&reply, "jnote"); /* it has no journal to wait for */
    if (why) {
        refused(error, what, &reply, why);
        return -1;
    }
    bson_iter_t n;
    return bson_iter_init_find(&n, &reply, "n") ? bson_iter_as_int64(&n) : 0;
}

bool old_wire_insert(old_wire_t* wire, const char* ns, const bson_t* const* documents, int count,
                     bool journaled, bson_error_t* error) {
    size_t at = begin_message(wire, OP_INSERT);
    append_text(&wire->out, ns);
    for (int i = 0; i < count; i++)
        append_document(&wire->out, documents[i]);
    end_message(wire, at);
    return result_of_write(wire, "insert", ns, journaled, error) >= 0;
}

int64_t old_wire_update(old_wire_t* wire, const char* ns, const bson_t* filter,
                        const bson_t* change, bool upsert, bool journaled, bson_error_t* error) {
    size_t at = begin_message(wire, OP_UPDATE);
    append_text(&wire->out, ns);
    append_int32(&wire->out, upsert ? UPSERT : 0);
    append_document(&wire->out, filter);
    append_document(&wire->out, change);
    end_message(wire, at);
    return result_of_write(wire, "update", ns, journaled, error);
}

int64_t old_wire_remove(old_wire_t* wire, const char* ns, const bson_t* filter, bool journaled,
                        bson_error_t* error) {
    size_t at = begin_message(wire, OP_DELETE);
    append_text(&wire->out, ns);
    append_int32(&wire->out, SINGLE_REMOVE);
    append_document(&wire->out, filter);
    end_message(wire, at);
    return result_of_write(wire, "remove", ns, journaled, error);
}

/* Sends a query or what asks for more, and reads a batch. */
static int64_t batch_of(old_wire_t* wire, old_wire_each_t* each, void* context, int64_t* cursor,
                        bson_error_t* error) {
    *cursor = 0;
    if (!send_all(wire, error) || !read_reply(wire, error) || !check_flags(wire, error)) return -1;
    bson_reader_t* reader = bson_reader_new_from_data(wire->in.data + REPLY_HEAD_BYTES,
                                                      wire->in.size - REPLY_HEAD_BYTES);
    const bson_t* document;
    int64_t found = 0;
    bool whole = false;
    for (; (document = bson_reader_read(reader, &whole)); found++) {
        if (each) each(context, document);
    }
    bson_reader_destroy(reader);
    if (!whole || found != int32_at(wire->in.data + 32)) {
        fail(error, "reply", "has not the documents that it announces");
        return -1;
    }
    *cursor = int64_at(wire->in.data + HEADER_BYTES + 4);
    return found;
}

int64_t old_wire_query(old_wire_t* wire, const char* ns, const bson_t* query, int32_t count,
                       old_wire_each_t* each, void* context, int64_t* cursor, bson_error_t* error) {
    add_query(wire, ns, query, count);
    return batch_of(wire, each, context, cursor, error);
}

int64_t old_wire_get_more(old_wire_t* wire, const char* ns, int32_t count, old_wire_each_t* each,
                          void* context, int64_t* cursor, bson_error_t* error) {
    size_t at = begin_message(wire, OP_GET_MORE);
    append_text(&wire->out, ns);
    append_int32(&wire->out, count);
    append_int64(&wire->out, *cursor);
    end_message(wire, at);
    return batch_of(wire, each, context, cursor, error);
}

bool old_wire_kill_cursor(old_wire_t* wire, int64_t cursor, bson_error_t* error) {
    size_t at = begin_message(wire, OP_KILL_CURSORS);
    append_int32(&wire->out, 1);
    append_int64(&wire->out, cursor);
    end_message(wire, at);
    return send_all(wire, error);
}
