/* What a database must do for transfers between accounts. Each bank_*.c is one database through its
 * own C client and defines all of these; a program has one of them.
 *
 * A transfer is one transaction over two accounts that sees one snapshot, and on the disk when its
 * function returns. Functions return 0, BANK_AGAIN when another client was in the way and the
 * transfer should be repeated, or BANK_ERROR; bank_error() says why then. A bank belongs to one
 * thread. */
#pragma once

#include <stdint.h>

enum { BANK_ERROR = -1, BANK_AGAIN = -2 };
enum { BANK_BALANCE = 1000 }; /* of each account at the beginning */

typedef struct bank bank_t;

extern const char* const BANK_NAME;
/* What --address is. */
extern const char* const BANK_ADDRESS;

/* Before there are threads; `most` banks at a time. */
void bank_begin(const char* address, int most);
/* NULL when it cannot be reached: the sentence is on stderr then. */
bank_t* bank_open(void);
void bank_close(bank_t* bank);
const char* bank_error(bank_t* bank);

/* Makes the accounts 0 to `accounts` - 1 anew. */
int bank_make(bank_t* bank, int64_t accounts);
int bank_transfer(bank_t* bank, int64_t from, int64_t to, int64_t amount);
/* What all accounts have. */
int bank_sum(bank_t* bank, int64_t* sum);
