/* Today's messages, put together by hand in a buffer that stays: what a client costs at the least.
 * Inserts and commands only. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client_kind.h"
#include "old_wire.h"

enum {
    OP_MSG = 2013,
    BODY_AT = 16 + 5, /* behind header, flags and the kind of the section */
    REPLY_BYTES_MAX = 64 * 1024
};

typedef struct {
    client_t base;
    int fd;
    int32_t requests;
    /* The next message. Of an insert the beginning, up to its documents, stays from one to the
     * next, while place and journaling are the same. */
    uint8_t* out;
    size_t size, capacity;
    size_t insert_head; /* 0: it does not begin like an insert */
    const client_place_t* place;
    bool journaled;
    uint8_t in[REPLY_BYTES_MAX];
} own_t;

static bool fail(bson_error_t* error, const char* what, const char* why) {
    bson_set_error(error, 0, 0, "%s: %s", what, why);
    return false;
}

static void put_int32(uint8_t* bytes, int32_t value) {
    uint32_t little = BSON_UINT32_TO_LE((uint32_t)value);
    memcpy(bytes, &little, sizeof little);
}

static int32_t int32_at(const uint8_t* bytes) {
    uint32_t little;
    memcpy(&little, bytes, sizeof little);
    return (int32_t)BSON_UINT32_FROM_LE(little);
}

static void append(own_t* own, const void* bytes, size_t size) {
    if (own->size + size > own->capacity) {
        own->capacity = 2 * (own->size + size);
        own->out = realloc(own->out, own->capacity);
        if (!own->out) abort();
    }
    memcpy(own->out + own->size, bytes, size);
    own->size += size;
}

/* Begins a message with the command as its body. */
static void begin(own_t* own, const bson_t* body) {
    static const uint8_t head[BODY_AT];
    own->size = 0;
    append(own, head, sizeof head);
    put_int32(own->out + 12, OP_MSG);
    append(own, bson_get_data(body), body->len);
}

static bool receive(own_t* own, bson_t* reply, bson_error_t* error) {
    size_t size = 0, wanted = BODY_AT;
    while (size < wanted) {
        ssize_t now = recv(own->fd, own->in + size, sizeof own->in - size, 0);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return fail(error, "cannot receive", strerror(errno));
        if (now == 0) return fail(error, "cannot receive", "the server closed the connection");
        size += (size_t)now;
        if (size >= 4) wanted = (size_t)int32_at(own->in);
        if (wanted < BODY_AT || wanted > sizeof own->in)
            return fail(error, "reply", "is too large, or no message");
    }
    if (int32_at(own->in + 12) == OP_MSG && int32_at(own->in + 8) == own->requests &&
        bson_init_static(reply, own->in + BODY_AT, wanted - BODY_AT))
        return true;
    return fail(error, "reply", "is no OP_MSG to what was asked");
}

/* Sends the message, and reads the reply, which lives until the next call. */
static bool converse(own_t* own, bson_t* reply, bson_error_t* error) {
    put_int32(own->out, (int32_t)own->size);
    put_int32(own->out + 4, ++own->requests);
    for (size_t sent = 0; sent < own->size;) {
        ssize_t now = send(own->fd, own->out + sent, own->size - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return fail(error, "cannot send", strerror(errno));
        sent += (size_t)now;
    }
    return receive(own, reply, error);
}

/* The text of an error in a reply, or why it is none. */
static bool refuse(const bson_t* reply, bson_error_t* error) {
    bson_iter_t at, text;
    if (!bson_iter_init(&at, reply)) return fail(error, "reply", "is damaged");
    const char* places[] = {"errmsg", "writeErrors.0.errmsg", "writeConcernError.errmsg"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (bson_iter_init(&at, reply) && bson_iter_find_descendant(&at, places[i], &text) &&
            BSON_ITER_HOLDS_UTF8(&text))
            return fail(error, "the server", bson_iter_utf8(&text, NULL));
    }
    return fail(error, "reply", "says neither that it is done nor why not");
}

static bool open_hosts(clients_t* clients, int most) {
    (void)most;
    const mongoc_host_list_t* hosts = mongoc_uri_get_hosts(clients->uri);
    if (hosts && !hosts->next && !mongoc_uri_get_username(clients->uri) &&
        !mongoc_uri_get_tls(clients->uri))
        return true;
    fprintf(stderr, "%s: --raw is for one server, without a user and without TLS\n",
            program_invocation_short_name);
    return false;
}

static void close_hosts(clients_t* clients) {
    (void)clients;
}

static client_t* take(clients_t* clients, bson_error_t* error) {
    const mongoc_host_list_t* host = mongoc_uri_get_hosts(clients->uri);
    const int fd = old_wire_socket(host->host, host->port);
    if (fd < 0) {
        fail(error, host->host_and_port, strerror(errno));
        return NULL;
    }
    own_t* own = calloc(1, sizeof *own);
    own->base.kind = clients->kind;
    own->fd = fd;
    return &own->base;
}

static void give_back(client_t* client) {
    own_t* own = (own_t*)client;
    close(own->fd);
    free(own->out);
    free(own);
}

static bool command(client_t* client, const char* database, const bson_t* words, bson_t* reply,
                    bson_error_t* error) {
    own_t* own = (own_t*)client;
    bson_t* body = bson_copy(words);
    bson_append_utf8(body, "$db", 3, database, -1);
    begin(own, body);
    own->insert_head = 0;
    bson_destroy(body);
    bson_t answer;
    bson_iter_t ok;
    const bool came = converse(own, &answer, error);
    if (reply && came) bson_copy_to(&answer, reply);
    if (reply && !came) bson_init(reply);
    return came && ((bson_iter_init_find(&ok, &answer, "ok") && bson_iter_as_bool(&ok)) ||
                    refuse(&answer, error));
}

static void begin_insert(own_t* own, const client_place_t* place, bool journaled) {
    bson_t* body =
        BCON_NEW("insert", BCON_UTF8(place->collection), "writeConcern", "{", "w", BCON_INT32(1),
                 "j", BCON_BOOL(journaled), "}", "$db", BCON_UTF8(place->database));
    begin(own, body);
    bson_destroy(body);
    static const uint8_t section[5] = {1}; /* its kind, and its length */
    static const char name[] = "documents";
    append(own, section, sizeof section);
    append(own, name, sizeof name);
    own->insert_head = own->size;
    own->place = place;
    own->journaled = journaled;
}

static bool insert(client_t* client, const client_place_t* place, const bson_t* const* documents,
                   int count, bool journaled, bson_error_t* error) {
    own_t* own = (own_t*)client;
    if (own->insert_head == 0 || own->place != place || own->journaled != journaled)
        begin_insert(own, place, journaled);
    own->size = own->insert_head;
    for (int i = 0; i < count; i++)
        append(own, bson_get_data(documents[i]), documents[i]->len);
    const size_t section = own->insert_head - sizeof "documents" - 4;
    put_int32(own->out + section, (int32_t)(own->size - section));
    bson_t answer;
    bson_iter_t n;
    if (!converse(own, &answer, error)) return false;
    if (bson_iter_init_find(&n, &answer, "n") && bson_iter_as_int64(&n) == count &&
        !bson_has_field(&answer, "writeConcernError"))
        return true;
    return refuse(&answer, error);
}

const client_kind_t CLIENT_RAW = {open_hosts, close_hosts, take, give_back, command, NULL, insert,
                                  NULL,       NULL,        NULL, NULL,      NULL,    NULL};
