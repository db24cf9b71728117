/* test_stress_claims.c - many processes claim from one queue at once: each job is claimed once, the
 * oldest first, and no process starves. */
#include "stress_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_LONG;

/* ---- batches ---- */

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

/* Every settlement must succeed: no other process has a reason to lock a running job. */
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

/* ---- claims: once each, in order ---- */

/* One claim: its turn ran between `begin` and `end`, and it took jobs from `first` to `last` in
 * queue order. */
struct claim_record {
    int64_t begin, end;
    int64_t first, last;
};

#define CLAIMERS    8
#define MAX_JOBS    20000
#define MAX_RECORDS (MAX_JOBS + 1000)

static struct {
    _Atomic int claimed[MAX_JOBS + 1]; /* by id: ids of a fresh database start at 1 */
    _Atomic int nrecords;
    struct claim_record records[MAX_RECORDS];
    _Atomic int64_t longest;
    int per_process;
} * claims;

/* The position of a job in the queue: ordered by priority descending, then id. */
static int64_t queue_position(int64_t id, int priorities)
{
    return (priorities - (id - 1) % priorities) * 1000000LL + id;
}

#define PRIORITIES 3

/* Records the longest turn. */
static void note_turn(int64_t started_at)
{
    int64_t took = clock_boot_us() - started_at, longest = claims->longest;

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
        CHECK_EQ(claims->claimed[jobs[i].id]++, 0); /* no job is claimed twice */
        if (i)
            CHECK(queue_position(jobs[i - 1].id, PRIORITIES) <
                  queue_position(jobs[i].id, PRIORITIES));
    }
    if (n) {
        r.first = queue_position(jobs[0].id, PRIORITIES);
        r.last = queue_position(jobs[n - 1].id, PRIORITIES);
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
        CHECK(queue_position(jobs[0].id, PRIORITIES) > last); /* one claimer's claims ascend */
        last = queue_position(jobs[n - 1].id, PRIORITIES);
        settle_all_ok(s, jobs, n);
    }
    check_redone(&w, 0);
    store_close(&s);
}

static int compare_end(const void *a, const void *b)
{
    const struct claim_record *x = a, *y = b;

    return (x->end > y->end) - (x->end < y->end);
}

static int compare_begin(const void *a, const void *b)
{
    const struct claim_record *x = a, *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The invariant: if one claim ended before another claim began, the earlier claim took no job that
 * comes after a job of the later one. All jobs exist from the start, none is returned (no turn is
 * repeated, nothing fails), and only claims lock waiting jobs; so a job that an earlier claim
 * skipped was locked by a claim that later took it, and that claim began before the earlier one
 * ended. Hence no job is ever taken while an older job of its lane, queue and priority, or a more
 * urgent one, is free; only claims that overlap in time may be in either order, and each of them
 * takes at most its batch. */
static bool is_in_order(struct claim_record *list, size_t n, int64_t *older, int64_t *newer)
{
    struct claim_record *ends = mem_alloc(n * sizeof(*ends));
    int64_t furthest =
        0; /* the last position taken by any claim that ended before this one began */
    size_t i, ended = 0;
    bool good = true;

    memcpy(ends, list, n * sizeof(*ends));
    qsort(ends, n, sizeof(*ends), compare_end);
    qsort(list, n, sizeof(*ends), compare_begin);
    for (i = 0; i < n && good; i++) {
        for (; ended < n && ends[ended].end < list[i].begin; ended++)
            if (ends[ended].last > furthest)
                furthest = ends[ended].last;
        good = list[i].first >= furthest;
        *older = list[i].first;
        *newer = furthest;
    }
    free(ends);
    return good;
}

TEST(claim_order_check_of_this_test_detects_a_skipped_job)
{
    struct claim_record good[] = {{10, 20, 1, 3}, {15, 40, 4, 9}, {25, 30, 5, 6}, {41, 50, 10, 11}};
    struct claim_record bad[] = {
        {10, 20, 1, 3}, {15, 40, 4, 9}, {25, 30, 11, 12}, {41, 50, 10, 10}};
    int64_t older, newer;

    CHECK(is_in_order(good, 4, &older, &newer));
    CHECK(!is_in_order(bad, 4, &older, &newer));
    CHECK_EQ(older, 10);
    CHECK_EQ(newer, 12);
}

static void check_order_of_claims(void)
{
    int64_t older, newer;

    if (!is_in_order(claims->records, (size_t)claims->nrecords, &older, &newer))
        test_fail(__FILE__, __LINE__, "job %lld was free when job %lld was claimed",
                  (long long)(older % 1000000), (long long)(newer % 1000000));
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

TEST_SLOW(eight_processes_claim_each_job_once_oldest_first, 600)
{
    int count = test_full() ? MAX_JOBS : SANITIZED ? 2000 : 6000, id;

    claims = shared_memory(sizeof(*claims));
    submit_many(count, PRIORITIES);
    run_processes(CLAIMERS, claim_until_empty);
    for (id = 1; id <= count; id++)
        CHECK_EQ(claims->claimed[id], 1);
    check_order_of_claims();
    check_all_succeeded(count);
}

#define CROWD 64

static void claim_share(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);
    struct held_job jobs[BATCH_MAX];
    int left = claims->per_process;

    while (left > 0) {
        size_t n = claim_and_note(s, nth + 1, left < 5 ? (size_t)left : 5, jobs);
        int64_t started_at = clock_boot_us();

        CHECK(n > 0); /* there are as many jobs as all processes want together */
        settle_all_ok(s, jobs, n);
        note_turn(started_at);
        left -= (int)n;
    }
    check_redone(&w, 0);
    store_close(&s);
}

TEST_SLOW(sixty_four_processes_get_equal_shares_and_none_waits_long, 600)
{
    int id;

    claims = shared_memory(sizeof(*claims));
    claims->per_process = SANITIZED ? 10 : 40;
    submit_many(CROWD * claims->per_process, PRIORITIES);
    run_processes(CROWD, claim_share);
    for (id = 1; id <= CROWD * claims->per_process; id++)
        CHECK_EQ(claims->claimed[id], 1);
    printf("the longest turn took %lld ms\n", (long long)claims->longest / 1000);
    CHECK(claims->longest < 60 * SECOND);
    check_order_of_claims();
    check_all_succeeded(CROWD * claims->per_process);
}
