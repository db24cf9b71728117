/* test_stress_claims.c - many processes claim from one queue at once: each job is taken once, the
 * oldest first, and nobody starves. */
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

/* ---- claims: once each, in order ---- */

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

TEST_SLOW(eight_processes_take_each_job_once_and_the_oldest_first, 600)
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

TEST_SLOW(sixty_four_processes_get_their_share_and_nobody_waits_for_long, 600)
{
    int id;

    claims = shared_memory(sizeof(*claims));
    claims->per_process = SANITIZED ? 10 : 40;
    submit_many(CROWD * claims->per_process, PRIORITIES);
    run_processes(CROWD, take_some);
    for (id = 1; id <= CROWD * claims->per_process; id++)
        CHECK_EQ(claims->claimed[id], 1);
    printf("the longest turn took %lld ms\n", (long long)claims->longest / 1000);
    CHECK(claims->longest < 60 * SECOND);
    check_order_of_claims();
    check_all_succeeded(CROWD * claims->per_process);
}
