/* test_stress_wild.c - random operations of several processes at once: at any moment the database
 * is consistent, and every execution can be brought to its end. test_full() makes the run longer.
 */
#include "stress_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_LONG;

#define WILD_WORKERS 6
#define WILD_MAX     600 /* executions */
#define WILD_EPOCHS  200

static struct {
    int64_t until; /* by the boot clock */
    _Atomic int count;
    _Atomic int64_t ids[WILD_MAX];
    _Atomic int turns;
    _Atomic unsigned char settled[WILD_MAX * 2][WILD_EPOCHS]; /* by id and epoch */
} * wild;

struct wild_worker {
    struct watch w;
    struct store *s;
    int64_t me;
    unsigned seed;
    struct held_job held[20];
    size_t n;
};

static int roll(struct wild_worker *w, int sides)
{
    return (int)((unsigned)rand_r(&w->seed) % (unsigned)sides);
}

/* Runs a turn; some refusals are expected and count as success. */
static void wild_turn(struct wild_worker *w, int (*body)(struct turn *, void *, struct err *),
                      void *arg)
{
    struct err err = ERR_INIT;
    int rc = store_turn(w->s, body, arg, &err);

    wild->turns++;
    if (rc != -E_INVALID && rc != -E_NOT_FOUND && rc != -E_BUSY)
        CHECK_OK_ERR(rc, &err);
}

static int64_t random_id(struct wild_worker *w)
{
    return wild->ids[roll(w, wild->count)];
}

static const struct lane_queue wild_lanes[] = {{"process", "default"}};

struct wild_claim_or_adopt {
    struct adoption a;
    bool adopt;
    struct held_job out[3];
    size_t n;
};

static int wild_claim_or_adopt_body(struct turn *t, void *arg, struct err *err)
{
    struct wild_claim_or_adopt *k = arg;
    struct job_list jobs;
    int rc = k->adopt ? op_adopt(t, &k->a, &jobs, err) : op_claim(t, &k->a.claim, &jobs, err);

    for (k->n = 0; !rc && k->n < jobs.n; k->n++)
        k->out[k->n] = (struct held_job){.id = jobs.at[k->n]->id,
                                         .root = jobs.at[k->n]->root,
                                         .worker = jobs.at[k->n]->worker,
                                         .epoch = jobs.at[k->n]->epoch};
    return rc;
}

/* Leases are so short that many expire while their holder does other things. */
static void wild_claim_or_adopt(struct wild_worker *w, bool adopt)
{
    struct wild_claim_or_adopt k = {.adopt = adopt,
                                    .a.claim = {.worker = w->me,
                                                .folder = w->me % 2 ? "folder-a" : "folder-b",
                                                .lease = 1000 + roll(w, 30) * 1000,
                                                .serves = wild_lanes,
                                                .nserves = 1,
                                                .max = 3},
                                    .a.host_grace = 5000};
    size_t i;

    if (w->n + 3 > 20)
        return;
    wild_turn(w, wild_claim_or_adopt_body, &k);
    for (i = 0; i < k.n; i++)
        w->held[w->n++] = k.out[i];
}

struct wild_settle {
    int64_t worker;
    struct settlement s;
};

static int wild_settle_body(struct turn *t, void *arg, struct err *err)
{
    struct wild_settle *g = arg;

    return op_settle(t, g->worker, &g->s, 1, err);
}

static void wild_settle(struct wild_worker *w)
{
    static const enum outcome_kind kinds[] = {OUTCOME_OK,      OUTCOME_OK,       OUTCOME_FAILED,
                                              OUTCOME_FAILED,  OUTCOME_LOST,     OUTCOME_TIMED_OUT,
                                              OUTCOME_REFUSED, OUTCOME_DEFERRED, OUTCOME_CANCELLED};
    size_t at = w->n ? (size_t)roll(w, (int)w->n) : 0;
    struct held_job j = w->held[at];
    struct wild_settle g = {.worker = j.worker,
                            .s = {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                                  .outcome = {.kind = kinds[roll(w, 9)],
                                              .error = "at random",
                                              .duration = 1,
                                              .retry_delay = roll(w, 3) * 2000}}};

    if (!w->n)
        return;
    if (!roll(w, 4)) { /* an epoch that does not exist */
        g.s.lease.epoch = roll(w, 2) ? j.epoch - 1 : j.epoch + 1000;
        wild_turn(w, wild_settle_body, &g);
        CHECK(g.s.lease.rc == -E_LEASE_LOST || g.s.lease.rc == -E_BUSY);
        return;
    }
    wild_turn(w, wild_settle_body, &g);
    if (g.s.lease.rc == -E_BUSY)
        return;
    CHECK(!g.s.lease.rc || g.s.lease.rc == -E_LEASE_LOST);
    if (!g.s.lease.rc && j.id < WILD_MAX * 2 && j.epoch < WILD_EPOCHS)
        CHECK_EQ(wild->settled[j.id][j.epoch]++, 0); /* a lease is settled once */
    w->held[at] = w->held[--w->n];
}

static void wild_submit(struct wild_worker *w)
{
    static const char *const keys[] = {NULL, NULL, "one", "two"};
    int key = roll(w, 4), at;
    struct submission s = {.kind = roll(w, 6) ? KIND_TASK : KIND_WORKFLOW,
                           .task_index = -1,
                           .name = "wild",
                           .parent = roll(w, 3) ? random_id(w) : 0,
                           .priority = roll(w, 3),
                           .concurrency = keys[key],
                           .concurrency_max = key - 1,
                           .max_attempts = 1 + roll(w, 4),
                           .paused = !roll(w, 10),
                           .delay = roll(w, 3) ? 0 : 3000};
    struct batch b = {&s, 1};

    if (wild->count > WILD_MAX - 2 * WILD_WORKERS)
        return;
    if (s.concurrency_max < 0 || s.kind == KIND_WORKFLOW)
        s.concurrency = NULL, s.concurrency_max = 0;
    wild_turn(w, submit_batch_body, &b);
    if (s.rc)
        return;
    at = wild->count;
    while (!atomic_compare_exchange_weak(&wild->count, &at, at + 1))
        ;
    wild->ids[at] = s.id;
}

static int wild_retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retention from = {.older_than = 300000, .max_trees = 3}, to;

    (void)arg;
    return op_retain(t, &from, &to, err);
}

static void wild_step(struct wild_worker *w)
{
    struct held_job j = w->n ? w->held[roll(w, (int)w->n)] : (struct held_job){0};
    int64_t id = random_id(w);

    wild->turns++;
    switch (roll(w, 26)) {
    case 0 ... 5:
        wild_claim_or_adopt(w, false);
        break;
    case 6 ... 7:
        wild_claim_or_adopt(w, true);
        break;
    case 8 ... 13:
        wild_settle(w);
        break;
    case 14:
        if (w->n)
            start(w->s, j);
        break;
    case 15:
        if (w->n)
            heartbeat(w->s, j);
        break;
    case 16:
        reap(w->s);
        break;
    case 17 ... 18:
        run_timers(w->s);
        break;
    case 19:
        if (!roll(w, 6))
            cancel(w->s, id);
        break;
    case 20:
        hold(w->s, id);
        break;
    case 21 ... 22:
        unhold(w->s, id);
        break;
    case 23:
        wild_submit(w);
        break;
    case 24:
        if (!roll(w, 3))
            set_limit(w->s, "queue:default", roll(w, 6) - 1);
        break;
    case 25:
        if (roll(w, 3))
            wild_turn(w, workflow_end_body,
                      &(struct workflow_end){.id = id, .status = S_SUCCEEDED});
        else
            wild_turn(w, wild_retain_body, NULL);
        break;
    }
}

/* Lowering a limit takes the jobs above it out of the outbox in slices; until that is done, verify
 * reports I29. */
static void verify_except_limits(struct store *s)
{
    char codes[100];

    if (verify_count(s, codes, sizeof(codes)) && strcmp(codes, "I29"))
        verify_clean(s); /* prints the findings and fails */
}

static void run_wild(int nth)
{
    struct wild_worker w = {.me = nth + 1, .seed = (unsigned)env_random_id()};

    w.s = watched_store(&w.w);
    if (nth ==
        WILD_WORKERS) { /* this process only verifies: the database is consistent at any moment */
        while (clock_boot_us() < wild->until)
            verify_except_limits(w.s);
    } else {
        while (clock_boot_us() < wild->until)
            wild_step(&w);
    }
    if (strstr(w.w.message, "deadlock"))
        test_fail(__FILE__, __LINE__, "%s", w.w.message);
    check_redone(&w.w, 5);
    store_close(&w.s);
}

TEST_SLOW(random_concurrent_operations_leave_a_consistent_database_and_jobs_that_can_finish, 600)
{
    struct store *s;
    int i;

    wild = shared_memory(sizeof(*wild));
    setenv("PGOPTIONS", "-c deadlock_timeout=100ms",
           1); /* shorter than the lock timeout, so that a deadlock is reported */
    s = fixture_store();
    for (i = 0; i < 20; i++)
        wild->ids[wild->count++] =
            submit_with(s, (struct submission){.name = "x",
                                               .kind = i % 4 ? KIND_TASK : KIND_WORKFLOW,
                                               .parent = i % 4 ? wild->ids[i - i % 4] : 0,
                                               .max_attempts = 3});
    store_close(&s);
    wild->until = clock_boot_us() + (test_full() ? 20 : 3) * SECOND;
    run_processes(WILD_WORKERS + 1, run_wild);
    s = fixture_store();
    printf("%d turns, %d executions\n", wild->turns, wild->count);
    verify_clean(s);
    set_limit(s, "queue:default", -1); /* the limit may be 0 by now */
    drain(s);
    verify_clean(s);
    store_close(&s);
}
