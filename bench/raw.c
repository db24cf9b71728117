/* raw.c - the reference for lives.c: the same statements with the same arguments in the same three
 * transactions, straight through sqlite3 and libpq, without any decision, check or cache in
 * between.
 *
 *   raw URL BATCH CONNECTIONS JOBS
 *
 * The schema must exist (lives creates it). One connection per process. */
#include "raw/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct raw_db *db;
static bool is_sqlite;
static int64_t ids[MAX_IDS];
int64_t raw_outbox_ctids[MAX_IDS];

void raw_die(const char *what, const char *why)
{
    fprintf(stderr, "raw: %s: %s\n", what, why);
    exit(1);
}

/* ---- the three transactions ---- */

static int64_t sequence;
static const int64_t started = 1760000000000000LL;

static void event(struct args *a, int64_t id, int seq, int type, int from, int to, const char *data)
{
    args_int_or_null(a, is_sqlite ? ++sequence : 0);
    args_int(a, id);
    args_int(a, id);
    args_int(a, started);
    args_int_or_null(a, seq > 2 ? 7 : 0);
    args_int(a, seq);
    args_int(a, seq > 2);
    args_int(a, seq > 2);
    args_int(a, type);
    args_int(a, from);
    args_int(a, to);
    args_text(a, data);
}

static void number(struct args *a, int64_t writer, int64_t turn)
{
    args_begin(a, Q_TURN_WRITE);
    args_int(a, writer);
    args_int(a, turn);
    args_int(a, started);
    args_int(a, 0);
    args_int(a, migration_count);
    db->run(a, NULL);
}

static void count(struct args *a, int64_t writer, const char *queue, int64_t ready, int64_t running)
{
    args_begin(a, Q_COUNTER_ADD);
    args_int(a, writer);
    args_text(a, queue);
    args_int(a, ready);
    args_int(a, 0);
    args_int(a, running);
    db->run(a, NULL);
}

static void submit(struct args *a, size_t n, const char *queue)
{
    size_t i, k;

    args_begin(a, Q_NEW_IDS);
    args_int(a, (int64_t)n);
    if (is_sqlite) {
        db->run(a, ids);
        for (i = 1; i < n; i++)
            ids[i] = ids[0] + (int64_t)i;
    } else {
        db->run(a, NULL);
        db->sync(NULL);
        for (i = 0; i < n; i++)
            ids[i] = ids[MAX_IDS - 1] + 1 + (int64_t)i;
        ids[MAX_IDS - 1] = ids[n - 1];
    }
    args_begin(a, Q_EXECUTION_INSERT);
    for (i = 0; i < n; i++) {
        struct execution e = {.id = ids[i],
                              .root = ids[i],
                              .requested_at = started,
                              .updated_at = started,
                              .max_attempts = 1,
                              .seq = 2,
                              .task_index = -1,
                              .kind = KIND_EXEC,
                              .status = S_READY,
                              .name = "exec::noop",
                              .queue = queue,
                              .lane = "process"};

        execution_write_all(&e, a);
        args_text(a, "{\"argv\":[\"true\"]}");
        for (k = 0; k < 3; k++)
            args_null(a); /* result, error, spec */
    }
    db->run(a, NULL);
    args_begin(a, Q_OUTBOX_INSERT);
    for (i = 0; i < n; i++) {
        args_text(a, "process");
        args_text(a, queue);
        args_int(a, 0);
        args_int(a, ids[i]);
        args_int(a, started);
        args_null(a);
    }
    db->run(a, NULL);
    args_begin(a, Q_EVENT_INSERT);
    for (i = 0; i < n; i++) {
        event(a, ids[i], 1, EV_CREATED, 0, S_PENDING, NULL);
        event(a, ids[i], 2, EV_MARKED_READY, S_PENDING, S_READY, NULL);
    }
    db->run(a, NULL);
}

static void update(struct args *a, enum stmt_id q, size_t n, int seq, int status)
{
    struct execution e = {.started_at = started,
                          .finished_at = status == S_SUCCEEDED ? started : 0,
                          .updated_at = started,
                          .attempts = 1,
                          .max_attempts = 1,
                          .epoch = 1,
                          .seq = seq,
                          .status = status};
    size_t i;

    args_begin(a, q);
    for (i = 0; i < n; i++) {
        args_int(a, ids[i]);
        args_int(a, q == Q_EXECUTION_OUTCOME ? seq - 2 : seq - 1);
        execution_write_changes(&e, a);
        if (q == Q_EXECUTION_OUTCOME) {
            args_null(a);
            args_null(a);
        }
    }
    db->run(a, NULL);
}

static void claim(struct args *a, size_t n, const char *queue)
{
    size_t i;

    args_begin(a, Q_CLAIM);
    args_int(a, (int64_t)n);
    args_text(a, "process");
    args_text(a, queue);
    db->run(a, ids);
    db->sync(ids);
    update(a, Q_EXECUTION_UPDATE, n, 3, S_RUNNING);
    args_begin(a, is_sqlite ? Q_OUTBOX_DELETE : Q_OUTBOX_DELETE_BY_CTID);
    for (i = 0; i < n; i++) {
        if (!is_sqlite) {
            args_int(a, raw_outbox_ctids[i]);
            args_int(a, ids[i]);
            continue;
        }
        args_text(a, "process");
        args_text(a, queue);
        args_int(a, 0);
        args_int(a, ids[i]);
    }
    db->run(a, NULL);
    args_begin(a, Q_LEASE_INSERT);
    for (i = 0; i < n; i++) {
        args_int(a, ids[i]);
        args_int(a, 1);
        args_int(a, 7);
        args_int(a, started);
        args_text(a, "bench");
    }
    db->run(a, NULL);
    args_begin(a, Q_EVENT_INSERT);
    for (i = 0; i < n; i++)
        event(a, ids[i], 3, EV_CLAIMED, S_READY, S_RUNNING, NULL);
    db->run(a, NULL);
}

static void load(struct args *a, size_t n)
{
    size_t i;

    args_begin(a, Q_LOAD);
    for (i = 0; i < n; i++)
        args_int(a, ids[i]);
    db->run(a, NULL);
    db->sync(NULL);
}

static void end_events(struct args *a, size_t n)
{
    size_t i;

    args_begin(a, Q_EVENT_INSERT);
    for (i = 0; i < n; i++) {
        event(a, ids[i], 4, EV_STARTED, S_RUNNING, S_RUNNING, "{\"ago_us\":3}");
        event(a, ids[i], 5, EV_COMPLETED, S_RUNNING, S_SUCCEEDED,
              "{\"outcome\":\"ok\",\"exit_code\":0,\"duration_us\":10}");
    }
    db->run(a, NULL);
}

static void live(struct args *a, size_t n, const char *queue, int64_t writer, int64_t *turn)
{
    size_t i;

    db->begin();
    number(a, writer, ++*turn);
    submit(a, n, queue);
    count(a, writer, queue, (int64_t)n, 0);
    db->commit();
    db->begin();
    number(a, writer, ++*turn);
    claim(a, n, queue);
    count(a, writer, queue, -(int64_t)n, (int64_t)n);
    db->commit();
    db->begin();
    number(a, writer, ++*turn);
    load(a, n);
    update(a, Q_EXECUTION_OUTCOME, n, 5, S_SUCCEEDED);
    args_begin(a, Q_LEASE_DELETE);
    for (i = 0; i < n; i++) {
        args_int(a, ids[i]);
        args_int(a, 1);
    }
    db->run(a, NULL);
    end_events(a, n);
    count(a, writer, queue, 0, -(int64_t)n);
    db->commit();
}

/* Uses its own ids on PostgreSQL, within the existing partitions. */
static void open_connection(const char *url, int connection)
{
    is_sqlite = !strncmp(url, "sqlite:", 7);
    db = is_sqlite ? &raw_sqlite : &raw_pg;
    db->open(url);
    sequence = 1000000000;
    ids[MAX_IDS - 1] = 1000000 + connection * 600000;
}

static void work(const char *url, size_t batch, size_t jobs, int connection, int ready, int go)
{
    struct args a = ARGS_INIT;
    char queue[32], c = 0;
    int64_t turn = 0;
    size_t done;

    snprintf(queue, sizeof(queue), "raw%d", connection);
    open_connection(url, connection);
    if (write(ready, &c, 1) != 1 || read(go, &c, 1) < 0)
        exit(1);
    for (done = 0; done < jobs; done += batch)
        live(&a, batch, queue, 100 + connection, &turn);
    args_release(&a);
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    int ready[2], go[2], i, status, failed = 0, connections;
    size_t batch, jobs;
    double took;
    char c;

    if (argc != 5) {
        fprintf(stderr, "usage: raw URL BATCH CONNECTIONS JOBS\n");
        return 2;
    }
    batch = strtoul(argv[2], NULL, 10);
    connections = (int)strtol(argv[3], NULL, 10);
    jobs = connections > 0 && batch
               ? strtoul(argv[4], NULL, 10) / (size_t)connections / batch * batch
               : 0;
    if (!jobs) {
        fprintf(stderr, "raw: JOBS must be at least BATCH times CONNECTIONS\n");
        return 2;
    }
    if (batch >= MAX_IDS || pipe(ready) || pipe(go))
        return 1;
    for (i = 0; i < connections; i++)
        if (fork() == 0) {
            close(go[1]);
            work(argv[1], batch, jobs, i, ready[1], go[0]);
            exit(0);
        }
    for (i = 0; i < connections; i++)
        if (read(ready[0], &c, 1) != 1)
            return 1;
    took = now();
    close(go[1]);
    close(go[0]);
    for (i = 0; i < connections; i++) {
        wait(&status);
        failed |= status;
    }
    took = now() - took;
    printf(
        "{\"what\":\"raw\",\"batch\":%zu,\"connections\":%d,\"jobs\":%zu,\"seconds\":%.3f,\"lives_per_s\":%.0f}\n",
        batch, connections, jobs * (size_t)connections, took,
        (double)(jobs * (size_t)connections) / took);
    return failed != 0;
}
