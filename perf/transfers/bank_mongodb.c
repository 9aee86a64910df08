/* MongoDB's protocol, by libmongoc's sessions: two updates and commitTransaction with j: true. The
 * first update begins the transaction, so a transfer takes three answers, where SQL takes four. */
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>

#include "../mongo.h"
#include "bank.h"

const char* const BANK_NAME = "mongodb";
const char* const BANK_ADDRESS =
    "mongodb://127.0.0.1:27017/?directConnection=true, or any other URI of a\n"
    "                       member of a set; its collection bank.accounts is made anew";

enum { AT_ONCE = 1000 };

struct bank {
    mongoc_client_t* client;
    mongoc_collection_t* accounts;
    mongoc_client_session_t* session;
    bson_t options; /* of what belongs to the session */
    bson_error_t error;
};

static mongoc_client_pool_t* pool;

static void end(void) {
    mongoc_client_pool_destroy(pool);
}

void bank_begin(const char* address, int most) {
    mongo_begin();
    mongoc_uri_t* uri =
        mongo_uri(address ? address : "mongodb://127.0.0.1:27017/?directConnection=true");
    if (!uri) exit(2);
    mongoc_uri_set_option_as_int32(uri, MONGOC_URI_MAXPOOLSIZE, most);
    pool = mongoc_client_pool_new(uri);
    mongoc_uri_destroy(uri);
    atexit(end);
}

static mongoc_session_opt_t* durable_and_of_one_moment(void) {
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    mongoc_write_concern_set_w(concern, 1);
    mongoc_write_concern_set_journal(concern, true);
    mongoc_read_concern_t* level = mongoc_read_concern_new();
    mongoc_read_concern_set_level(level, MONGOC_READ_CONCERN_LEVEL_SNAPSHOT);
    mongoc_transaction_opt_t* transaction = mongoc_transaction_opts_new();
    mongoc_transaction_opts_set_write_concern(transaction, concern);
    mongoc_transaction_opts_set_read_concern(transaction, level);
    mongoc_session_opt_t* options = mongoc_session_opts_new();
    mongoc_session_opts_set_default_transaction_opts(options, transaction);
    mongoc_transaction_opts_destroy(transaction);
    mongoc_read_concern_destroy(level);
    mongoc_write_concern_destroy(concern);
    return options;
}

bank_t* bank_open(void) {
    bank_t* bank = calloc(1, sizeof *bank);
    bson_init(&bank->options);
    bank->client = mongoc_client_pool_pop(pool);
    bank->accounts = mongoc_client_get_collection(bank->client, "bank", "accounts");
    mongoc_session_opt_t* options = durable_and_of_one_moment();
    bank->session = mongoc_client_start_session(bank->client, options, &bank->error);
    mongoc_session_opts_destroy(options);
    if (bank->session && mongoc_client_session_append(bank->session, &bank->options, &bank->error))
        return bank;
    fprintf(stderr, "transfers_mongodb: %s\n", bank->error.message);
    bank_close(bank);
    return NULL;
}

void bank_close(bank_t* bank) {
    if (bank->session) mongoc_client_session_destroy(bank->session);
    mongoc_collection_destroy(bank->accounts);
    mongoc_client_pool_push(pool, bank->client);
    bson_destroy(&bank->options);
    free(bank);
}

const char* bank_error(bank_t* bank) {
    return bank->error.message;
}

int bank_make(bank_t* bank, int64_t accounts) {
    bson_error_t none;
    mongoc_collection_drop(bank->accounts, &none);
    bool ok = true;
    for (int64_t first = 0; ok && first < accounts; first += AT_ONCE) {
        const int count = (int)(accounts - first < AT_ONCE ? accounts - first : AT_ONCE);
        bson_t* documents[AT_ONCE];
        for (int i = 0; i < count; i++)
            documents[i] =
                BCON_NEW("_id", BCON_INT64(first + i), "balance", BCON_INT64(BANK_BALANCE));
        ok = mongoc_collection_insert_many(bank->accounts, (const bson_t**)documents, (size_t)count,
                                           NULL, NULL, &bank->error);
        for (int i = 0; i < count; i++)
            bson_destroy(documents[i]);
    }
    return ok ? 0 : BANK_ERROR;
}

/* `reply` is destroyed. */
static int outcome(bool ok, bson_t* reply) {
    const bool again = !ok && mongoc_error_has_label(reply, "TransientTransactionError");
    bson_destroy(reply);
    return ok ? 0 : again ? BANK_AGAIN : BANK_ERROR;
}

static int add(bank_t* bank, int64_t account, int64_t amount) {
    bson_t* which = BCON_NEW("_id", BCON_INT64(account));
    bson_t* change = BCON_NEW("$inc", "{", "balance", BCON_INT64(amount), "}");
    bson_t reply;
    const bool ok = mongoc_collection_update_one(bank->accounts, which, change, &bank->options,
                                                 &reply, &bank->error);
    bson_destroy(which);
    bson_destroy(change);
    return outcome(ok, &reply);
}

int bank_transfer(bank_t* bank, int64_t from, int64_t to, int64_t amount) {
    if (!mongoc_client_session_start_transaction(bank->session, NULL, &bank->error))
        return BANK_ERROR;
    int done = add(bank, from, -amount);
    if (!done) done = add(bank, to, amount);
    if (done) {
        bson_error_t none;
        mongoc_client_session_abort_transaction(bank->session, &none);
        return done;
    }
    bson_t reply;
    const bool ok = mongoc_client_session_commit_transaction(bank->session, &reply, &bank->error);
    return outcome(ok, &reply);
}

int bank_sum(bank_t* bank, int64_t* sum) {
    bson_t* stages = BCON_NEW("pipeline", "[", "{", "$group", "{", "_id", BCON_NULL, "sum", "{",
                              "$sum", "$balance", "}", "}", "}", "]");
    mongoc_cursor_t* cursor =
        mongoc_collection_aggregate(bank->accounts, MONGOC_QUERY_NONE, stages, NULL, NULL);
    const bson_t* document;
    bson_iter_t found;
    const bool ok =
        mongoc_cursor_next(cursor, &document) && bson_iter_init_find(&found, document, "sum");
    if (ok) *sum = bson_iter_as_int64(&found);
    if (!ok) mongoc_cursor_error(cursor, &bank->error);
    mongoc_cursor_destroy(cursor);
    bson_destroy(stages);
    return ok ? 0 : BANK_ERROR;
}
