/* test_stress.c - many processes on one database at once: nothing is done twice, nothing is
 * forgotten, nobody starves, no limit is overrun, and whatever mixture of operations went before,
 * everything can be brought to its end. Counts are smaller under sanitizers; test_full() makes the
 * random test longer. */
#include "fixture.h"

#include "store/door.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_THREADED;
TEST_LONG;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_PROCESSES() SKIP("processes only: nothing for the thread sanitizer")
#else
#define WITH_PROCESSES() ((void)0)
#endif

/* On a machine that is busy with other things a lock may be waited for in vain now and then; a
 * wrong order of locks makes that happen again and again. (test_deadlock.c tolerates none.) */
static void check_redone(const struct watch *w, int at_most)
{
    if (w->redone > at_most)
        test_fail(__FILE__, __LINE__, "%d turns were redone: %s", w->redone, w->said);
}

/* ---- batches
 * ------------------------------------------------------------------------------------- */

struct batch {
    struct submission *list;
    size_t n;
};

static int submit_batch_body(struct turn *t, void *arg, struct err *err)
{
    struct batch *b = arg;

    return op_submit(t, b->list, b->n, err);
}

static void submit_batch(struct store *s, struct submission *list, size_t n)
{
    struct batch b = {list, n};
    struct err err = ERR_INIT;
    size_t i;

    CHECK_OK_ERR(store_turn(s, submit_batch_body, &b, &err), &err);
    for (i = 0; i < n; i++)
        CHECK_OK_ERR(list[i].rc, &list[i].err);
}

#define BATCH_MAX 64

struct settle_batch {
    int64_t worker;
    struct settlement list[BATCH_MAX];
    size_t n;
};

static int settle_batch_body(struct turn *t, void *arg, struct err *err)
{
    struct settle_batch *b = arg;

    return op_settle(t, b->worker, b->list, b->n, err);
}

/* All must be settled at once: nobody else has a reason to lock a job that runs. */
static void settle_all_ok(struct store *s, const struct held_job *jobs, size_t n)
{
    struct settle_batch b = {.n = n};
    struct err err = ERR_INIT;
    size_t i;

    if (!n)
        return;
    b.worker = jobs[0].worker;
    for (i = 0; i < n; i++)
        b.list[i] = (struct settlement){
            .lease = {.execution = jobs[i].id, .root = jobs[i].root, .epoch = jobs[i].epoch},
            .outcome = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1}};
    CHECK_OK_ERR(store_turn(s, settle_batch_body, &b, &err), &err);
    for (i = 0; i < n; i++)
        CHECK_EQ(b.list[i].lease.rc, 0);
}

static void submit_many(int count, int priorities)
{
    struct store *s = fixture_store();
    struct submission list[500];
    int i, k;

    for (i = 0; i < count; i += k) {
        for (k = 0; k < 500 && i + k < count; k++)
            list[k] = (struct submission){
                .kind = KIND_EXEC, .task_index = -1, .name = "x", .priority = (i + k) % priorities};
        submit_batch(s, list, (size_t)k);
    }
    store_close(&s);
}

/* ---- claims: once each, in order
 * ----------------------------------------------------------------- */

/* One claim: its turn lay between begin and end, and it took jobs from `first` to `last` in the
 * order of the queue. */
struct claim_record {
    int64_t begin, end;
    int64_t first, last;
};

#define CLAIMERS    8
#define MAX_JOBS    20000
#define MAX_RECORDS (MAX_JOBS + 1000)

static struct {
    _Atomic int claimed[MAX_JOBS + 1]; /* by id: a fresh database counts from 1 */
    _Atomic int nrecords;
    struct claim_record records[MAX_RECORDS];
    _Atomic int64_t longest;
    int per_process;
} * claims;

/* A number that orders jobs as the queue does: priority descending, then id. */
static int64_t place(int64_t id, int priorities)
{
    return (priorities - (id - 1) % priorities) * 1000000LL + id;
}

#define PRIORITIES 3

/* Remembers the longest turn. */
static void note_turn(int64_t began)
{
    int64_t took = clock_boot_us() - began, longest = claims->longest;

    while (took > longest && !atomic_compare_exchange_weak(&claims->longest, &longest, took))
        ;
}

static size_t claim_and_note(struct store *s, int64_t worker, size_t max, struct held_job *jobs)
{
    struct claim_record r = {.begin = clock_boot_us()};
    size_t n = claim_many(s, worker, max, jobs), i;

    r.end = clock_boot_us();
    note_turn(r.begin);
    CHECK(n <= max);
    for (i = 0; i < n; i++) {
        CHECK(jobs[i].id <= MAX_JOBS);
        CHECK_EQ(claims->claimed[jobs[i].id]++, 0); /* none twice */
        if (i)
            CHECK(place(jobs[i - 1].id, PRIORITIES) < place(jobs[i].id, PRIORITIES));
    }
    if (n) {
        r.first = place(jobs[0].id, PRIORITIES);
        r.last = place(jobs[n - 1].id, PRIORITIES);
        claims->records[claims->nrecords++] = r;
    }
    return n;
}

static void claim_until_empty(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);
    size_t n, max = (size_t)(5 + 5 * nth);
    struct held_job jobs[BATCH_MAX];
    int64_t last = 0;

    while ((n = claim_and_note(s, nth + 1, max, jobs))) {
        CHECK(place(jobs[0].id, PRIORITIES) > last); /* one claimer's claims ascend */
        last = place(jobs[n - 1].id, PRIORITIES);
        settle_all_ok(s, jobs, n);
    }
    check_redone(&w, 0);
    store_close(&s);
}

static int by_end(const void *a, const void *b)
{
    const struct claim_record *x = a, *y = b;

    return (x->end > y->end) - (x->end < y->end);
}

static int by_begin(const void *a, const void *b)
{
    const struct claim_record *x = a, *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* What is checked: if a claim had ended before another began, then it took nothing that comes
 * behind what the other took. All jobs are there from the start, none comes back (no turn is
 * redone, nothing fails), and only claims lock waiting jobs; so whatever an earlier claim passed by
 * was locked by a claim that went on to take it, and that claim began before the earlier one ended.
 * Hence no job is ever taken while even one older job of its lane, queue and priority, or a more
 * urgent one, is free; only claims that overlap in time may be in either order, and each of them
 * takes at most its batch. */
static bool is_in_order(struct claim_record *list, size_t n, int64_t *older, int64_t *younger)
{
    struct claim_record *ends = mem_alloc(n * sizeof(*ends));
    int64_t furthest = 0; /* of all claims that ended before this one began */
    size_t i, ended = 0;
    bool good = true;

    memcpy(ends, list, n * sizeof(*ends));
    qsort(ends, n, sizeof(*ends), by_end);
    qsort(list, n, sizeof(*ends), by_begin);
    for (i = 0; i < n && good; i++) {
        for (; ended < n && ends[ended].end < list[i].begin; ended++)
            if (ends[ended].last > furthest)
                furthest = ends[ended].last;
        good = list[i].first >= furthest;
        *older = list[i].first;
        *younger = furthest;
    }
    free(ends);
    return good;
}

TEST(a_job_that_was_passed_by_is_found_by_the_check_of_this_test)
{
    struct claim_record good[] = {{10, 20, 1, 3}, {15, 40, 4, 9}, {25, 30, 5, 6}, {41, 50, 10, 11}};
    struct claim_record bad[] = {
        {10, 20, 1, 3}, {15, 40, 4, 9}, {25, 30, 11, 12}, {41, 50, 10, 10}};
    int64_t older, younger;

    CHECK(is_in_order(good, 4, &older, &younger));
    CHECK(!is_in_order(bad, 4, &older, &younger));
    CHECK_EQ(older, 10);
    CHECK_EQ(younger, 12);
}

static void check_order_of_claims(void)
{
    int64_t older, younger;

    if (!is_in_order(claims->records, (size_t)claims->nrecords, &older, &younger))
        test_fail(__FILE__, __LINE__, "job %lld was free when job %lld was claimed",
                  (long long)(older % 1000000), (long long)(younger % 1000000));
}

static void check_all_succeeded(int count)
{
    struct store *s = fixture_store();

    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4 AND attempts = 1"),
             count);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), count);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events"), 4 * count);
    verify_clean(s);
    store_close(&s);
}

TEST_SLOW(eight_processes_take_each_job_once_and_the_oldest_first, 120)
{
    int count = SANITIZED && !test_full() ? 4000 : MAX_JOBS, id;

    WITH_PROCESSES();
    claims = shared_memory(sizeof(*claims));
    submit_many(count, PRIORITIES);
    run_processes(CLAIMERS, claim_until_empty);
    for (id = 1; id <= count; id++)
        CHECK_EQ(claims->claimed[id], 1);
    check_order_of_claims();
    check_all_succeeded(count);
}

#define CROWD 64

static void take_some(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);
    struct held_job jobs[BATCH_MAX];
    int left = claims->per_process;

    while (left > 0) {
        size_t n = claim_and_note(s, nth + 1, left < 5 ? (size_t)left : 5, jobs);
        int64_t began = clock_boot_us();

        CHECK(n > 0); /* there are as many as all want together */
        settle_all_ok(s, jobs, n);
        note_turn(began);
        left -= (int)n;
    }
    check_redone(&w, 0);
    store_close(&s);
}

TEST_SLOW(sixty_four_processes_get_their_share_and_nobody_waits_for_long, 120)
{
    int id;

    WITH_PROCESSES();
    claims = shared_memory(sizeof(*claims));
    claims->per_process = SANITIZED ? 10 : 40;
    submit_many(CROWD * claims->per_process, PRIORITIES);
    run_processes(CROWD, take_some);
    for (id = 1; id <= CROWD * claims->per_process; id++)
        CHECK_EQ(claims->claimed[id], 1);
    printf("the longest turn took %lld ms\n", (long long)claims->longest / 1000);
    CHECK(claims->longest < 10 * SECOND);
    check_order_of_claims();
    check_all_succeeded(CROWD * claims->per_process);
}

/* ---- the same key from everywhere
 * ---------------------------------------------------------------- */

#define KEYS         60
#define KEYS_AT_ONCE 12

static struct {
    _Atomic int64_t id[KEYS];
    _Atomic int made[KEYS];
} * keyed;

/* All submit the same keys, each from another place on and every second one backwards. */
static void submit_keys(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);
    struct submission list[KEYS_AT_ONCE];
    char keys[KEYS_AT_ONCE][20], limits[KEYS_AT_ONCE][20];
    int i, k;

    for (i = 0; i < KEYS; i += KEYS_AT_ONCE) {
        for (k = 0; k < KEYS_AT_ONCE; k++) {
            int at = (nth * 7 + i + k) % KEYS, key = nth % 2 ? KEYS - 1 - at : at;

            snprintf(keys[k], sizeof(keys[k]), "key-%d", key);
            snprintf(limits[k], sizeof(limits[k]), "limit-%d", key % 7);
            list[k] = (struct submission){.kind = KIND_EXEC,
                                          .task_index = key,
                                          .name = "x",
                                          .key = keys[k],
                                          .concurrency = limits[k],
                                          .concurrency_max = 100};
        }
        submit_batch(s, list, KEYS_AT_ONCE);
        for (k = 0; k < KEYS_AT_ONCE; k++) {
            int64_t none = 0;

            keyed->made[list[k].task_index] += !list[k].existed;
            if (!atomic_compare_exchange_strong(&keyed->id[list[k].task_index], &none, list[k].id))
                CHECK_EQ(none, list[k].id);
        }
    }
    check_redone(&w, 2);
    store_close(&s);
}

TEST(one_key_from_eight_processes_makes_one_execution)
{
    struct store *s;
    int i;

    WITH_PROCESSES();
    keyed = shared_memory(sizeof(*keyed));
    run_processes(8, submit_keys);
    for (i = 0; i < KEYS; i++)
        CHECK_EQ(keyed->made[i], 1);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), KEYS);
    verify_clean(s);
    store_close(&s);
}

/* ---- limits
 * -------------------------------------------------------------------------------------- */

#define LIMITED_JOBS 240
#define QUEUE_MAX    3
#define WAYS         3 /* concurrency keys: none, and one each with room for 1 and 2 */

static struct {
    _Atomic int running, of_key[WAYS], ended, most;
    int way[LIMITED_JOBS + 1]; /* by id */
} * gauge;

static const int way_max[WAYS] = {1000, 1, 2};
static const char *const way_key[WAYS] = {NULL, "one", "two"};

/* The gauge counts what is claimed and not yet settled as the workers see it, which is never more
 * than what the store has running. */
static void work_under_limits(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);
    struct held_job jobs[4];
    size_t n, i;

    while (gauge->ended < LIMITED_JOBS) {
        n = claim_many(s, nth + 1, 4, jobs);
        for (i = 0; i < n; i++) {
            int now = ++gauge->running, way = gauge->way[jobs[i].id];

            if (now > gauge->most)
                gauge->most = now;
            CHECK(now <= QUEUE_MAX);
            CHECK(++gauge->of_key[way] <= way_max[way]);
        }
        for (i = 0; i < n; i++) {
            gauge->running--;
            gauge->of_key[gauge->way[jobs[i].id]]--;
            while (settle_ok(s, jobs[i]) == -E_BUSY)
                ;
            gauge->ended++;
        }
        if (!n)
            run_timers(s); /* a permit that nobody could take is offered again */
    }
    check_redone(&w, 2);
    store_close(&s);
}

TEST_SLOW(no_limit_is_overrun_by_eight_processes_and_all_jobs_end, 120)
{
    struct store *s;
    int i;

    WITH_PROCESSES();
    gauge = shared_memory(sizeof(*gauge));
    s = fixture_store();
    set_limit(s, "queue:default", QUEUE_MAX);
    for (i = 0; i < LIMITED_JOBS; i++) {
        int way = i % WAYS;
        int64_t id = submit_with(s, (struct submission){.name = "x",
                                                        .concurrency = way_key[way],
                                                        .concurrency_max = way_max[way]});

        CHECK(id <= LIMITED_JOBS);
        gauge->way[id] = way;
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), QUEUE_MAX);
    store_close(&s);
    run_processes(8, work_under_limits);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), LIMITED_JOBS);
    CHECK_EQ(sql_number(s, "SELECT sum(used) FROM limits"), 0);
    CHECK(gauge->most > 1);
    verify_clean(s);
    store_close(&s);
}

/* ---- everything at once, at random
 * ----------------------------------------------------------------- */

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

/* Runs a turn; some refusals are as good as success. */
static void wild_turn(struct wild_worker *w, int (*body)(struct turn *, void *, struct err *),
                      void *arg)
{
    struct err err = ERR_INIT;
    int rc = store_turn(w->s, body, arg, &err);

    wild->turns++;
    if (rc != -E_INVALID && rc != -E_NOT_FOUND && rc != -E_BUSY)
        CHECK_OK_ERR(rc, &err);
}

static int64_t any_id(struct wild_worker *w)
{
    return wild->ids[roll(w, wild->count)];
}

static const struct lane_queue wild_lanes[] = {{"process", "default"}};

struct wild_take {
    struct adoption a;
    bool adopt;
    struct held_job out[3];
    size_t n;
};

static int wild_take_body(struct turn *t, void *arg, struct err *err)
{
    struct wild_take *k = arg;
    struct job_list jobs;
    int rc = k->adopt ? op_adopt(t, &k->a, &jobs, err) : op_claim(t, &k->a.claim, &jobs, err);

    for (k->n = 0; !rc && k->n < jobs.n; k->n++)
        k->out[k->n] = (struct held_job){.id = jobs.at[k->n]->id,
                                         .root = jobs.at[k->n]->root,
                                         .worker = jobs.at[k->n]->worker,
                                         .epoch = jobs.at[k->n]->epoch};
    return rc;
}

/* Leases are so short that many run out while their holder does other things. */
static void wild_take(struct wild_worker *w, bool adopt)
{
    struct wild_take k = {.adopt = adopt,
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
    wild_turn(w, wild_take_body, &k);
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
    if (!roll(w, 4)) { /* an epoch that never was */
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
                           .parent = roll(w, 3) ? any_id(w) : 0,
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

static int wild_flow_end_body(struct turn *t, void *arg, struct err *err)
{
    struct outcome ok = {.kind = OUTCOME_OK, .duration = -1, .retry_delay = -1};

    return op_flow_end(t, *(int64_t *)arg, &ok, err);
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
    int64_t id = any_id(w);

    wild->turns++;
    switch (roll(w, 26)) {
    case 0 ... 5:
        wild_take(w, false);
        break;
    case 6 ... 7:
        wild_take(w, true);
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
            set_limit(w->s, roll(w, 2) ? "queue:default" : "key:two", roll(w, 6) - 1);
        break;
    case 25:
        wild_turn(w, roll(w, 3) ? wild_flow_end_body : wild_retain_body, &id);
        break;
    }
}

/* A limit that is being lowered takes the jobs above it out of the outbox in slices; until that has
 * been done, verify says so (I29). */
static void look_at_all(struct store *s)
{
    char codes[100];

    if (verify_count(s, codes, sizeof(codes)) && strcmp(codes, "I29"))
        verify_clean(s); /* what it is, in words */
}

static void run_wild(int nth)
{
    struct wild_worker w = {.me = nth + 1, .seed = (unsigned)env_random_id()};

    w.s = watched_store(&w.w);
    if (nth == WILD_WORKERS) { /* one only looks: at any moment all is in order */
        while (clock_boot_us() < wild->until)
            look_at_all(w.s);
    } else {
        while (clock_boot_us() < wild->until)
            wild_step(&w);
    }
    if (strstr(w.w.said, "deadlock"))
        test_fail(__FILE__, __LINE__, "%s", w.w.said);
    check_redone(&w.w, 5);
    store_close(&w.s);
}

TEST_SLOW(whatever_happens_at_once_everything_comes_to_its_end, 120)
{
    struct store *s;
    int i;

    WITH_PROCESSES();
    wild = shared_memory(sizeof(*wild));
    setenv("PGOPTIONS", "-c deadlock_timeout=100ms", 1); /* before the lock timeout: to be told */
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
    set_limit(s, "queue:default", -1); /* it may be 0 */
    set_limit(s, "key:two", -1);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* ---- threads
 * ----------------------------------------------------------------------------------------- */

#define THREADS          4
#define JOBS_OF_A_THREAD 30

/* Each thread has a store of its own; they share the process, and with it what the drivers share.
 */
static void *work_in_a_thread(void *arg)
{
    int64_t me = (int64_t)(intptr_t)arg;
    struct store *s = fixture_store();
    struct held_job jobs[3];
    size_t n, i, left;

    for (i = 0; i < JOBS_OF_A_THREAD; i++)
        submit(s, "x");
    for (left = JOBS_OF_A_THREAD; left > 0; left -= n) {
        n = claim_many(s, me, left < 3 ? left : 3, jobs);
        CHECK(n > 0); /* there are as many as all want together, and each first brings its share */
        for (i = 0; i < n; i++)
            CHECK_EQ(settle_ok(s, jobs[i]), 0);
    }
    store_close(&s);
    return NULL;
}

TEST(threads_with_a_store_each_do_not_disturb_each_other)
{
    pthread_t threads[THREADS];
    struct store *s;
    int i;

    fixture_url();
    for (i = 0; i < THREADS; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, work_in_a_thread, (void *)(intptr_t)(i + 1)));
    for (i = 0; i < THREADS; i++)
        CHECK_OK(pthread_join(threads[i], NULL));
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4 AND attempts = 1"),
             THREADS * JOBS_OF_A_THREAD);
    verify_clean(s);
    store_close(&s);
}
