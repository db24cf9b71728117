/* guest.h - statements of the program that embeds us, on tables of its own, inside of a turn. With
 * SQLite alone: on PostgreSQL such a program has a connection of its own, and submits by SQL. */
#ifndef STORE_GUEST_H
#define STORE_GUEST_H

#include "store/store.h"

enum guest_type { GUEST_NULL, GUEST_INT, GUEST_REAL, GUEST_TEXT, GUEST_BLOB };

struct guest_value {
    enum guest_type type;
    int64_t i;
    double d;
    const char *s; /* text and blob, of len bytes */
    size_t len;
};

struct guest {
    const char *sql; /* one statement */
    const struct guest_value *params;
    size_t nparams;
    /* For each row that it returns; texts live until this returns. Anything but 0: no more. NULL:
     * rows are of no interest. */
    int (*row)(void *arg, const struct guest_value *cells, size_t n);
    void *arg;

    /* out */
    int64_t changed; /* rows that it inserted, updated or deleted */
    bool over;       /* the transaction can only be rolled back */
};

bool store_takes_guests(const struct store *s);
/* E_INVALID: the statement can't be run, or touches what is ours. E_CONFLICT: a rule of the
 * program's own tables refused it. After these the turn may go on, unless it is over. */
MUST_USE int op_guest(struct turn *t, struct guest *g, struct err *err);

/* The canonical text of what a name means, as query_applied; lives as long as the turn. */
MUST_USE int op_applied(struct turn *t, const char *name, const char **definition, struct err *err);

#endif
