/* PostgreSQL, by libpq: begin, two prepared updates, commit, at REPEATABLE READ. */
#include <inttypes.h>
#include <postgresql/libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bank.h"

const char* const BANK_NAME = "postgresql";
const char* const BANK_ADDRESS = "what libpq takes, e.g. 'host=/tmp/sockets user=postgres'";

enum { ERROR_BYTES = 512 };

struct bank {
    PGconn* server;
    int is_prepared;
    char error[ERROR_BYTES];
};

static const char* server_address = "";

void bank_begin(const char* address, int most) {
    (void)most;
    if (address) server_address = address;
}

static void keep_error(bank_t* bank) {
    snprintf(bank->error, sizeof bank->error, "%s", PQerrorMessage(bank->server));
    bank->error[strcspn(bank->error, "\n")] = '\0';
}

/* Takes the result. */
static int outcome(bank_t* bank, PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    int done = 0;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        keep_error(bank);
        done = state && strncmp(state, "40", 2) == 0 ? BANK_AGAIN : BANK_ERROR;
    }
    PQclear(result);
    return done;
}

static int run(bank_t* bank, const char* statement) {
    return outcome(bank, PQexec(bank->server, statement));
}

bank_t* bank_open(void) {
    bank_t* bank = calloc(1, sizeof *bank);
    bank->server = PQconnectdb(server_address);
    const int ok = PQstatus(bank->server) == CONNECTION_OK;
    if (!ok) keep_error(bank);
    if (ok && run(bank, "set client_min_messages = error") == 0) return bank;
    fprintf(stderr, "transfers_postgresql: %s\n", bank->error);
    bank_close(bank);
    return NULL;
}

void bank_close(bank_t* bank) {
    PQfinish(bank->server);
    free(bank);
}

const char* bank_error(bank_t* bank) {
    return bank->error;
}

int bank_make(bank_t* bank, int64_t accounts) {
    char fill[160];
    snprintf(fill, sizeof fill,
             "insert into accounts select n, %d from generate_series(0, %" PRId64 ") as n",
             BANK_BALANCE, accounts - 1);
    const int done = run(bank,
                         "drop table if exists accounts;"
                         "create table accounts (id bigint primary key, balance bigint not null)");
    return done ? done : run(bank, fill);
}

static int add(bank_t* bank, int64_t account, int64_t amount) {
    char id[24], more[24];
    const char* const values[] = {id, more};
    snprintf(id, sizeof id, "%" PRId64, account);
    snprintf(more, sizeof more, "%" PRId64, amount);
    return outcome(bank, PQexecPrepared(bank->server, "add", 2, values, NULL, NULL, 0));
}

int bank_transfer(bank_t* bank, int64_t from, int64_t to, int64_t amount) {
    static const char* const ADD = "update accounts set balance = balance + $2 where id = $1";
    if (!bank->is_prepared && outcome(bank, PQprepare(bank->server, "add", ADD, 0, NULL)) != 0)
        return BANK_ERROR;
    bank->is_prepared = 1;
    int done = run(bank, "begin isolation level repeatable read");
    if (!done) done = add(bank, from, -amount);
    if (!done) done = add(bank, to, amount);
    if (!done) return run(bank, "commit");
    return run(bank, "rollback") ? BANK_ERROR : done;
}

int bank_sum(bank_t* bank, int64_t* sum) {
    PGresult* result = PQexec(bank->server, "select sum(balance) from accounts");
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        *sum = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    return outcome(bank, result);
}
