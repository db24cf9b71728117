/* damage.h - corrupts a good database, for the tests of verify. Each corruption is made in a
 * transaction that is rolled back, and lists the invariant that it violates and those violated as a
 * consequence. */
#ifndef TESTS_DAMAGE_H
#define TESTS_DAMAGE_H

#include "fixture.h"

#include <stdio.h>
#include <string.h>

/* The invariants that test_verify_workflow.c breaks; test_verify.c breaks all others. */
#define WORKFLOW_CODES "I32 I33 I34 I35 I36 I37"

#define ID(name)       "(SELECT id FROM executions WHERE name = '" name "')"
#define ROW(name)      " WHERE name = '" name "'"
#define OF(name)       " WHERE execution = " ID(name)
#define LAST(name)     OF(name) " AND seq = (SELECT seq FROM executions WHERE name = '" name "')"
#define ADD_EVENT(name, type, from, to)                                                       \
    "INSERT INTO execution_events (sequence_num, root, execution, created_at, seq, attempt, " \
    "epoch, type, from_status, to_status, data) "                                             \
    "SELECT (SELECT max(sequence_num) + 1 FROM execution_events), root, id, finished_at, "    \
    "seq + 1, attempts, epoch, " #type ", " #from ", " #to                                    \
    ", '{}' FROM executions" ROW(name) "; UPDATE executions SET seq = seq + 1" ROW(name) ";"
#define NOBODY "999999"

struct damage {
    const char *breaks, *implies;  /* codes; NULL if none */
    const char *sql;               /* on both databases */
    const char *sqlite, *postgres; /* where the databases need different statements */
};
#define BREAK(code, implied, text)                      \
    {                                                   \
        .breaks = code, .implies = implied, .sql = text \
    }
#define BREAK_EACH(code, sqlite_test, pg)                     \
    {                                                         \
        .breaks = code, .sqlite = sqlite_test, .postgres = pg \
    }

/* Makes the corruption inside a transaction, which may change the history because it runs as the
 * owner of the tables. */
static inline void begin_damage(struct store *s, const char *sql, const char *sqlite,
                                const char *postgres)
{
    struct db *db = store_db(s);
    bool sqlite_test = db->driver->dialect == DIALECT_SQLITE;
    const char *texts[] = {sqlite_test ? "DROP TRIGGER execution_events_no_update;"
                                         "DROP TRIGGER execution_events_no_delete"
                                       : "SET LOCAL ROLE NONE; ALTER TABLE execution_events "
                                         "DISABLE TRIGGER USER",
                           sqlite_test ? sqlite : postgres, sql};
    struct err err = ERR_INIT;
    size_t i;

    CHECK_OK_ERR(db_begin(db, TX_WRITE, &err), &err);
    for (i = 0; i < 3; i++)
        if (texts[i])
            CHECK_OK_ERR(db->driver->script(db, texts[i], &err), &err);
}

static inline bool has_code(const char *codes, const char *code)
{
    return codes && strstr(codes, code);
}

/* Writes the expected codes in the order of the list of invariants, which is also that of verify's
 * report. */
static inline void expected_codes(const struct damage *d, char *out, size_t size)
{
    size_t i, n = 0;

    out[0] = '\0';
    for (i = 0; i < invariant_count; i++)
        if (has_code(d->breaks, invariants[i].code) || has_code(d->implies, invariants[i].code))
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " " : "", invariants[i].code);
}

/* Applies each corruption, compares the report of verify with the expected codes, and rolls back.
 * All differences are reported together. */
static inline void check_damages(struct store *s, const struct damage *list, size_t n)
{
    char found[512], expected[512];
    size_t i, wrong = 0;

    for (i = 0; i < n; i++) {
        const struct damage *d = &list[i];

        begin_damage(s, d->sql, d->sqlite, d->postgres);
        verify_count(s, found, sizeof(found));
        db_rollback(store_db(s));
        expected_codes(d, expected, sizeof(expected));
        if (!strcmp(found, expected))
            continue;
        printf("%s\n    expected: %s\n    found:    %s\n", d->sql ? d->sql : d->sqlite, expected,
               found);
        wrong++;
    }
    CHECK_EQ(wrong, 0);
}

#endif
