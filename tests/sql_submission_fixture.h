/* sql_submission_fixture.h - SQL submissions in a test: written as pawl_submit() writes them, and
 * taken by the test as an engine takes them. */
#ifndef TESTS_SQL_SUBMISSION_FIXTURE_H
#define TESTS_SQL_SUBMISSION_FIXTURE_H

#include "schedule_fixture.h"
#include "store/ops/sql_submissions.h"
#include "store/query/submissions.h"

struct sql_call {
    const char *workflow; /* "w" if NULL */
    const char *params;   /* NULL if none */
    const char *key, *queue;
    int priority;
    int64_t delay;
    bool silent; /* without NOTIFY */
};

static inline const char *sql_text(const char *text)
{
    static char quoted[8][500];
    static unsigned n;
    char *out = quoted[n++ % 8];

    if (!text)
        return "NULL";
    snprintf(out, sizeof(quoted[0]), "'%s'", text);
    return out;
}

/* Returns the submission's id. On SQLite, which has no pawl_submit(), inserts the row that it would
 * write. */
static inline int64_t sql_submit(struct store *s, struct sql_call c)
{
    const char *workflow = c.workflow ? c.workflow : "w", *params = c.params ? c.params : "{}";
    char sql[8000];

    if (strcmp(test_db(), "sqlite")) {
        snprintf(sql, sizeof(sql),
                 "SELECT pawl_submit('%s', '%s', key => %s, queue => %s, priority => %d, "
                 "delay => %lld * interval '1 microsecond', notify => %s)",
                 workflow, params, sql_text(c.key), sql_text(c.queue), c.priority,
                 (long long)c.delay, c.silent ? "false" : "true");
        sql_run(s, sql);
    } else {
        sql_run(s, "UPDATE counters SET value = value + 1 WHERE name = 'execution_id'");
        snprintf(
            sql, sizeof(sql),
            "INSERT INTO submissions (id, requested_at, delay, priority, workflow, definition, "
            "params, queue, key) SELECT c.value, n.applied_at, %lld, %d, n.name, n.hash, '%s', "
            "%s, %s FROM counters c, workflow_names n "
            "WHERE c.name = 'execution_id' AND n.name = '%s'",
            (long long)c.delay, c.priority, params, sql_text(c.queue), sql_text(c.key), workflow);
        sql_run(s, sql);
    }
    return sql_number(s, "SELECT max(id) FROM submissions");
}

static inline int submissions_body(struct turn *t, void *arg, struct err *err)
{
    return op_accept_submissions(t, arg, err);
}

/* Takes the waiting submissions as an engine does; returns how many there were. */
static inline size_t take_submissions(struct store *s)
{
    struct submission_slice r = {.max = 100};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submissions_body, &r, &err), &err);
    return r.n;
}

/* The texts in the result live for the next few calls. */
static inline struct submission_row submission_of(struct store *s, int64_t id)
{
    static struct submission_list kept[4];
    static unsigned calls;
    struct submission_list *l = &kept[calls++ % 4];
    struct err err = ERR_INIT;

    submission_list_release(l);
    CHECK_OK_ERR(query_submission(s, id, l, &err), &err);
    CHECK_EQ(l->n, 1);
    return l->at[0];
}

static inline const char *submission_word(struct store *s, int64_t id)
{
    struct submission_row r = submission_of(s, id);

    return submission_states[submission_state(&r)];
}

#define ONE_TASK                                                        \
    "name: w\nparams: {day: {type: string, default: monday}, n: {type:" \
    " integer, default: 1}}\ntasks: {a: {run: x}}\n"

#endif
