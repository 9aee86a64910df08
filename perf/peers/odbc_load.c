/* Any database by ODBC, with the driver and the address that a connection string names: each insert
 * is a transaction, as durable as the database is set. The table mongod_dur_load is made anew at
 * the start and dropped at the end.
 * Usage: odbc_load NAME CLIENTS SECONDS WARMUP       as embedded_load.h says
 *        odbc_load about                             prints what answers, as a JSON object
 * The connection string is in the environment, ODBC_CONNECTION, since it may hold a password. */
#include <sql.h>
#include <sqlext.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embedded_load.h"

enum { CONNECT_SECONDS_MAX = 5, TEXT_BYTES_MAX = 200, MESSAGES_BYTES = 2000 };

/* bigint is in none of the standards that Oracle follows, and numeric is wider than it must be. */
static const char* const CREATE[] = {
    "create table mongod_dur_load (id bigint not null primary key, t varchar(200))",
    "create table mongod_dur_load (id numeric(19) not null primary key, t varchar(200))"};
static const char DROP[] = "drop table mongod_dur_load";
static const char INSERT[] = "insert into mongod_dur_load (id, t) values (?, ?)";

typedef struct {
    SQLHDBC connection;
    SQLHSTMT insert;
    SQLBIGINT id;
    char text[TEXT_BYTES_MAX];
    SQLLEN text_bytes;
} session_t;

static SQLHENV environment;

static void append(char* all, const char* text) {
    const size_t length = strlen(all);
    const char* between = length == 0 ? "" : all[length - 1] == ':' ? " " : "; ";
    snprintf(all + length, MESSAGES_BYTES - length, "%s%s", between, text);
}

/* The drivers that could have been named. */
static void append_drivers(char* all) {
    SQLCHAR name[256];
    SQLSMALLINT length;
    char drivers[MESSAGES_BYTES] = "";
    for (SQLUSMALLINT next = SQL_FETCH_FIRST;
         SQL_SUCCEEDED(SQLDrivers(environment, next, name, sizeof name, &length, NULL, 0, NULL));
         next = SQL_FETCH_NEXT) {
        append(drivers, (const char*)name);
    }
    if (drivers[0]) append(all, "the drivers here are:");
    append(all, drivers[0] ? drivers : "no driver is installed here");
}

/* Ends the program with all that driver and manager say, unless a call has succeeded. */
static void check(SQLRETURN code, SQLSMALLINT kind, SQLHANDLE handle, const char* what) {
    if (SQL_SUCCEEDED(code)) return;
    char all[MESSAGES_BYTES] = "";
    SQLCHAR state[6], message[SQL_MAX_MESSAGE_LENGTH];
    SQLINTEGER native;
    SQLSMALLINT length;
    bool no_driver = false;
    for (SQLSMALLINT i = 1; SQL_SUCCEEDED(
             SQLGetDiagRec(kind, handle, i, state, &native, message, sizeof message, &length));
         i++) {
        append(all, (const char*)message);
        no_driver = no_driver || strcmp((const char*)state, "IM002") == 0 ||
                    strstr((const char*)message, "Can't open lib");
    }
    if (no_driver) append_drivers(all);
    fail(what, all[0] ? all : "neither driver nor manager says why");
}

static SQLHDBC new_connection(void) {
    const char* string = getenv("ODBC_CONNECTION");
    if (!string) fail("ODBC_CONNECTION", "is not in the environment");
    SQLHDBC connection;
    check(SQLAllocHandle(SQL_HANDLE_DBC, environment, &connection), SQL_HANDLE_ENV, environment,
          "connect");
    SQLSetConnectAttr(connection, SQL_ATTR_LOGIN_TIMEOUT, (SQLPOINTER)CONNECT_SECONDS_MAX, 0);
    check(SQLDriverConnect(connection, NULL, (SQLCHAR*)string, SQL_NTS, NULL, 0, NULL,
                           SQL_DRIVER_NOPROMPT),
          SQL_HANDLE_DBC, connection, "connect");
    return connection;
}

static void close_connection(SQLHDBC connection) {
    SQLDisconnect(connection);
    SQLFreeHandle(SQL_HANDLE_DBC, connection);
}

static SQLHSTMT new_statement(SQLHDBC connection) {
    SQLHSTMT statement;
    check(SQLAllocHandle(SQL_HANDLE_STMT, connection, &statement), SQL_HANDLE_DBC, connection,
          "statement");
    return statement;
}

/* Runs a statement; what is wrong with it ends the program where it must succeed. */
static bool run(SQLHDBC connection, const char* sql, bool must) {
    SQLHSTMT statement = new_statement(connection);
    const SQLRETURN code = SQLExecDirect(statement, (SQLCHAR*)sql, SQL_NTS);
    if (must) check(code, SQL_HANDLE_STMT, statement, sql);
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return SQL_SUCCEEDED(code);
}

static void open_environment(void) {
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment)) ||
        !SQL_SUCCEEDED(
            SQLSetEnvAttr(environment, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0)))
        fail("ODBC", "has no environment for version 3");
}

static void* open_database(const char* name) {
    (void)name;
    open_environment();
    SQLHDBC connection = new_connection();
    run(connection, DROP, false);
    if (!run(connection, CREATE[0], false)) run(connection, CREATE[1], true);
    return connection;
}

static void close_database(void* db) {
    run(db, DROP, true);
    close_connection(db);
    SQLFreeHandle(SQL_HANDLE_ENV, environment);
}

static void* begin(void* db) {
    (void)db;
    session_t* own = calloc(1, sizeof *own);
    own->connection = new_connection();
    own->insert = new_statement(own->connection);
    check(SQLPrepare(own->insert, (SQLCHAR*)INSERT, SQL_NTS), SQL_HANDLE_STMT, own->insert, INSERT);
    check(SQLBindParameter(own->insert, 1, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 19, 0,
                           &own->id, 0, NULL),
          SQL_HANDLE_STMT, own->insert, INSERT);
    check(SQLBindParameter(own->insert, 2, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_VARCHAR, TEXT_BYTES_MAX,
                           0, own->text, sizeof own->text, &own->text_bytes),
          SQL_HANDLE_STMT, own->insert, INSERT);
    return own;
}

static void insert(void* client, uint64_t key, const char* text, size_t bytes) {
    session_t* own = client;
    own->id = (SQLBIGINT)key;
    own->text_bytes = (SQLLEN)bytes;
    memcpy(own->text, text, bytes);
    check(SQLExecute(own->insert), SQL_HANDLE_STMT, own->insert, INSERT);
}

static void end(void* client) {
    session_t* own = client;
    SQLFreeHandle(SQL_HANDLE_STMT, own->insert);
    close_connection(own->connection);
    free(own);
}

/* A text of the driver's, with what JSON would not take as it is left out. */
static void print_about(SQLHDBC connection, SQLUSMALLINT which) {
    char text[256] = "";
    SQLSMALLINT length;
    SQLGetInfo(connection, which, text, sizeof text, &length);
    for (const char* c = text; *c; c++) {
        if ((unsigned char)*c >= ' ' && *c != '"' && *c != '\\') putchar(*c);
    }
}

static int print_what_answers(void) {
    open_environment();
    SQLHDBC connection = new_connection();
    printf("{\"server\": \"");
    print_about(connection, SQL_DBMS_NAME);
    putchar(' ');
    print_about(connection, SQL_DBMS_VER);
    printf("\", \"driver\": \"");
    print_about(connection, SQL_DRIVER_NAME);
    putchar(' ');
    print_about(connection, SQL_DRIVER_VER);
    printf("\"}\n");
    close_connection(connection);
    return 0;
}

int main(int argc, char** argv) {
    const engine_t engine = {open_database, begin, insert, end, close_database};
    if (argc == 2 && strcmp(argv[1], "about") == 0) return print_what_answers();
    return embedded_main(argc, argv, &engine);
}
