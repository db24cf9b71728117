/* verify.c - checks a whole database against its invariants. Most checks are SQL, in
 * sql/verify*.sql. This file has the list of invariants, runs the checks, and makes those that need
 * JSON or the table of legal moves. The checks that need the definitions of workflows are in
 * workflows.c.
 *
 * Everything is read in one snapshot. If the caller has started a transaction, verify checks the
 * database as that transaction sees it. The self-test needs this: it damages a database, verifies
 * it and rolls back. */
#include "store/verify/verify_internal.h"

#include "base/buf.h"
#include "core/transitions.h"

#include <assert.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LEASE 30000000LL /* µs */
#define DEFAULT_MAX   20
#define LEASE_SLACK   5000000LL /* µs that a lease may end after now + its length */
#define OUTCOMES_PAGE 1000      /* rows per page; the LIMIT of verify_outcomes */

/* All invariants. Those whose code starts with S compare the database with a checkpoint; they come
 * last. */
#define INVARIANTS(X)                                                                              \
    X(I01, "the seq of an execution is the number of its events")                                  \
    X(I02, "the events of an execution are numbered from 1 without gaps")                          \
    X(I03, "the first event of an execution has the action created")                               \
    X(I04, "each event starts from the status that the previous event set")                        \
    X(I05, "every move is in the table of legal moves")                                            \
    X(I06, "the status of an execution is the one that its last event set")                        \
    X(I07, "only a rerun follows a terminal event")                                                \
    X(I08, "an execution has at most one more terminal event than reruns")                         \
    X(I09, "event times never decrease within an execution")                                       \
    X(I10, "failed, timed_out, retry_scheduled and abandoned events have an error")                \
    X(I11, "finished_at is set iff the execution is terminal")                                     \
    X(I12, "started_at is set iff a job was claimed, or a workflow or fan-out was started")        \
    X(I13, "requested_at <= started_at <= finished_at")                                            \
    X(I14, "0 <= attempts <= max_attempts")                                                        \
    X(I15, "attempts = number of claimed and resumed events")                                      \
    X(I16, "a job succeeds in its last attempt, and only a succeeded job has a result")            \
    X(I17, "a succeeded job has a recorded successful outcome")                                    \
    X(I18, "a job has a lease row iff it is running")                                              \
    X(I19, "a lease has no worker iff it has no end time")                                         \
    X(I20, "a lease has no worker iff the last event about it is lease_expired")                   \
    X(I21, "no lease expired long ago while a worker was alive to clear it")                       \
    X(I22, "no lease ends later than the longest lease allows")                                    \
    X(I23, "epoch = number of claimed, resumed and adopted events; the lease has the same epoch")  \
    X(I24, "the epoch rises by one with each claimed, resumed or adopted event, and no other")     \
    X(I25, "the terminal event carries the last epoch")                                            \
    X(I26, "no worker has claimed more jobs than its capacity")                                    \
    X(I27, "a job has an outbox row iff it is ready and not held; the row agrees with the job")    \
    X(I28,                                                                                         \
      "a hold has its cause: a delay its timer, a limit its row in limit_waits, a pause its flag") \
    X(I29, "a limit counts its permits correctly, leaves none unused, and admits no job above it") \
    X(I30, "parent, root, depth and workflow agree along the tree")                                \
    X(I31, "no execution is its own ancestor")                                                     \
    X(I32, "a workflow or fan-out that has started has ended iff all its descendants have")        \
    X(I33, "the final status of a workflow or fan-out follows from its children")                  \
    X(I34,                                                                                         \
      "a task stays pending until its needs allow a decision, and is decided as they require")     \
    X(I35, "nothing waits for an event that has already happened or can't happen any more")        \
    X(I36,                                                                                         \
      "items are 0 to children_made - 1 and tasks are those of the definition, each exactly once") \
    X(I37, "an execution started from a definition still has it, unchanged")                       \
    X(I38, "a schedule has one firing per due time, and each firing has its execution")            \
    X(I39, "an SQL submission has an execution iff it was accepted")                               \
    X(I40, "the counters of each queue and of its attempts match its jobs")                        \
    X(I41, "no row and no event belongs to an execution that does not exist")                      \
    X(I42, "log chunks belong to an existing attempt, are complete, and do not overlap")           \
    X(I43, "the database has its id, its generation and the versions of its settings")             \
    X(I44, "an applied workflow has the definition of its newest application, which is stored")    \
    X(I45,                                                                                         \
      "the triggers are those of the applied definitions, and fire when a run of theirs ended")    \
    X(S01, "a terminal execution is unchanged, or was rerun")                                      \
    X(S02, "seq, attempts and epoch never decrease")                                               \
    X(S03, "earlier events are unchanged")                                                         \
    X(S04, "no execution disappears unless its whole tree does")

#define X(code, text) {#code, text},
const struct invariant invariants[] = {INVARIANTS(X)};
#undef X
const size_t invariant_count = sizeof(invariants) / sizeof(*invariants);

/* The statements that return violations. Each checks several invariants in one pass. */
static const enum stmt_id queries[] = {
    Q_VERIFY_STEPS,     Q_VERIFY_SUMS,      Q_VERIFY_LAST,      Q_VERIFY_FIELDS,
    Q_VERIFY_LEASES,    Q_VERIFY_OUTBOX,    Q_VERIFY_HOLDS,     Q_VERIFY_PAUSES,
    Q_VERIFY_LIMITS,    Q_VERIFY_TREE,      Q_VERIFY_CYCLES,    Q_VERIFY_OPEN,
    Q_VERIFY_PENDING,   Q_VERIFY_SNAPSHOTS, Q_VERIFY_STRAYS,    Q_VERIFY_COUNTERS,
    Q_VERIFY_LOGS,      Q_VERIFY_IDENTITY,  Q_VERIFY_SCHEDULES, Q_VERIFY_SUBMISSIONS,
    Q_VERIFY_CATALOGUE, Q_VERIFY_TRIGGERS,
};
#define QUERY_COUNT (sizeof(queries) / sizeof(*queries))

/* ---- reporting ---- */

static size_t invariant_index(const char *code)
{
    size_t i;

    for (i = 0; i < invariant_count && strcmp(invariants[i].code, code); i++)
        ;
    assert(i < invariant_count);
    return i;
}

void verify_violation(struct verify *v, const char *code, int64_t execution, const char *fmt, ...)
{
    size_t i = invariant_index(code);
    char *detail;
    va_list ap;

    if (v->found[i].n >= v->max)
        return;
    va_start(ap, fmt);
    detail = mem_vprintf(fmt, ap);
    va_end(ap);
    *vec_add(&v->found[i]) = (struct violation){invariants[i].code, execution, detail};
}

static void report_violations(struct verify *v)
{
    for (size_t k = 0; k < invariant_count; k++) {
        for (size_t i = 0; i < v->found[k].n; i++) {
            if (v->options->report)
                v->options->report(v->options->arg, &v->found[k].at[i]);
            free((char *)v->found[k].at[i].detail);
        }
        v->result->violations += v->found[k].n;
        vec_release(&v->found[k]);
    }
    free(v->found);
}

/* Copies a detail text from sql/verify*.sql, and replaces {status:3} and similar codes by words of
 * the vocabulary. */
static void expand_words(struct buf *out, const char *s)
{
    static const struct {
        const char *mark;
        const char *(*text)(int);
    } words[] = {{"{status:", status_text},
                 {"{event:", event_text},
                 {"{hold:", hold_text},
                 {"{timer:", timer_text}};
    size_t i, n;

    while (*s) {
        for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
            n = strlen(words[i].mark);
            if (!strncmp(s, words[i].mark, n))
                break;
        }
        if (i == sizeof(words) / sizeof(*words) || !strchr(s, '}')) {
            buf_addch(out, *s++);
            continue;
        }
        buf_addstr(out, words[i].text((int)strtol(s + n, NULL, 10)));
        s = strchr(s, '}') + 1;
    }
}

static void note_rows(struct verify *v, const struct rows *r)
{
    AUTO_BUF detail = BUF_INIT;

    for (size_t i = 0; i < r->n; i++) {
        buf_reset(&detail);
        expand_words(&detail, rows_text(r, i, 2));
        verify_violation(v, rows_text(r, i, 0), rows_int(r, i, 1), "%s", buf_cstr(&detail));
    }
}

/* ---- the checks ---- */

/* Reads the row counts, the id of the database, and its time, which leases are compared with. */
static int read_basics(struct verify *v, int64_t *now, struct err *err)
{
    AUTO_ROWS counts = ROWS_INIT, id = ROWS_INIT;

    TRY(db_queue(v->db, NULL, ANY_ROWS, err, Q_VERIFY_SETTINGS, "on"));
    TRY(db_queue(v->db, &counts, 1, err, Q_VERIFY_COUNTS));
    TRY(db_queue(v->db, &id, ANY_ROWS, err, Q_SETTING_READ, "database_id"));
    TRY(v->db->driver->send_now(v->db, now, err));
    TRY(db_flush(v->db, err));
    *now += v->db->env->clock_offset;
    v->result->executions = rows_int(&counts, 0, 0);
    v->result->events = rows_int(&counts, 0, 1);
    snprintf(v->database, sizeof(v->database), "%s", id.n ? rows_text(&id, 0, 0) : "-");
    return 0;
}

int verify_set_planner(struct verify *v, const char *whole_tables, struct err *err)
{
    return ask(v->db, NULL, err, Q_VERIFY_SETTINGS, whole_tables);
}

/* Checks the data of an event that ends an attempt, a workflow or a fan-out: a failure must have an
 * error (I10), and a job succeeds only with the outcome ok (I17). */
static void check_outcome(struct verify *v, const struct rows *r, size_t i)
{
    const char *text, *error, *outcome;
    int64_t root, execution;
    int seq, type, to;
    json_t *data;

    rows_read(r, i, 0, NULL, &root, &execution, &seq, &type, &to, &text);
    data = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
    error = json_string_value(json_object_get(data, "error"));
    outcome = json_string_value(json_object_get(data, "outcome"));
    if (to != S_SUCCEEDED && (!error || !*error))
        verify_violation(v, "I10", execution, "event %d, %s, has no error", seq, event_text(type));
    if (to == S_SUCCEEDED &&
        (type != EV_COMPLETED || !outcome || strcmp(outcome, outcome_text(OUTCOME_OK)) != 0))
        verify_violation(v, "I17", execution, "event %d, %s, is a success without the outcome ok",
                         seq, event_text(type));
    json_decref(data);
}

/* Reads the events in pages, tree by tree, and checks the outcomes in them. */
static int check_outcomes(struct verify *v, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t root = 0, execution = 0;
    int seq = 0;

    do {
        TRY(ask(v->db, &r, err, Q_VERIFY_OUTCOMES, root, execution, seq));
        for (size_t i = 0; i < r.n; i++)
            check_outcome(v, &r, i);
        if (r.n)
            rows_read(&r, r.n - 1, 0, NULL, &root, &execution, &seq);
    } while (r.n == OUTCOMES_PAGE);
    return 0;
}

static int check_moves(struct verify *v, struct err *err)
{
    AUTO_ROWS moves = ROWS_INIT, examples = ROWS_INIT;

    TRY(ask(v->db, &moves, err, Q_VERIFY_MOVES));
    for (size_t i = 0; i < moves.n; i++) {
        int type = (int)rows_int(&moves, i, 0);
        int from = (int)rows_int(&moves, i, 1), to = (int)rows_int(&moves, i, 2);
        bool is_workflow_event = type > WORKFLOW_EVENT;

        if (move_is_legal(is_workflow_event ? KIND_WORKFLOW : KIND_TASK,
                          (enum event_action)(is_workflow_event ? type - WORKFLOW_EVENT : type),
                          from, to))
            continue;
        TRY(ask(v->db, &examples, err, Q_VERIFY_MOVE_EXAMPLES, v->max, type, from, to));
        for (size_t k = 0; k < examples.n; k++)
            verify_violation(v, "I05", rows_int(&examples, k, 0),
                             "event %lld, %s, is not allowed from status %s to %s",
                             (long long)rows_int(&examples, k, 1), event_text(type),
                             from ? status_text(from) : "nothing", status_text(to));
    }
    return 0;
}

/* Runs all statements that return violations. Sends all of them before it reads the first
 * result. */
static int run_queries(struct verify *v, int64_t now, struct rows *results, struct err *err)
{
    int64_t lease = v->options->lease ? v->options->lease : DEFAULT_LEASE;

    for (size_t i = 0; i < QUERY_COUNT; i++)
        TRY(queries[i] == Q_VERIFY_LEASES
                ? db_queue(v->db, &results[i], ANY_ROWS, err, queries[i], v->max, 2 * lease,
                           now + lease + LEASE_SLACK)
                : db_queue(v->db, &results[i], ANY_ROWS, err, queries[i], v->max));
    TRY(db_flush(v->db, err));
    for (size_t i = 0; i < QUERY_COUNT; i++)
        note_rows(v, &results[i]);
    return 0;
}

static int check_all(struct verify *v, int64_t now, struct err *err)
{
    struct rows results[QUERY_COUNT] = {ROWS_INIT};
    int rc = run_queries(v, now, results, err);

    for (size_t i = 0; i < QUERY_COUNT; i++)
        rows_release(&results[i]);
    TRY(rc);
    TRY(check_outcomes(v, err));
    TRY(verify_workflows(v, err));
    return check_moves(v, err);
}

static int run_checks(struct verify *v, struct err *err)
{
    const struct verify_options *o = v->options;
    struct checkpoint_writer *save = NULL;
    struct checkpoint_reader *since = NULL;
    int64_t now;
    int rc;

    /* Open the files first, so that an error in a file is reported before the checks, which may
     * take minutes. */
    if ((rc = read_basics(v, &now, err)) ||
        (o->since && (rc = checkpoint_open(o->since, v, &since, err))) ||
        (o->save && (rc = checkpoint_create(o->save, v, &save, err))) ||
        (rc = check_all(v, now, err)))
        goto done;
    if (save || since)
        rc = verify_walk(v, save, since, err);
    for (size_t k = 0; k < invariant_count; k++)
        v->result->checks += since || invariants[k].code[0] == 'I';
    if (!rc && save)
        rc = checkpoint_finish(save, err);
done:
    checkpoint_abandon(&save);
    checkpoint_close(&since);
    return rc;
}

int store_verify(struct store *s, const struct verify_options *o, struct verify_result *out,
                 struct err *err)
{
    struct verify_result result = {0};
    struct verify v = {.db = store_db(s),
                       .options = o,
                       .result = &result,
                       .max = o->max_per_check ? o->max_per_check : DEFAULT_MAX};
    bool in_transaction = v.db->in_tx;
    int rc = 0;

    if (!in_transaction)
        TRY(db_begin(v.db, TX_VERIFY, err));
    v.found = mem_zalloc(invariant_count * sizeof(*v.found));
    rc = run_checks(&v, err);
    if (!in_transaction)
        db_rollback(v.db); /* only ends the transaction, which wrote nothing */
    report_violations(&v);
    if (!rc)
        *out = result;
    return rc;
}
