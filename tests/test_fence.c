/* test_fence.c - the contract of a database's identity: its id never changes, its generation rises
 * with each fence, and after a fence no worker holds a lease from before it. */
#include "fixture.h"

#include "store/generation.h"
#include "store/query/query.h"

#include <stdio.h>
#include <string.h>

static int fence_body(struct turn *t, void *arg, struct err *err)
{
    struct fence *f = arg;

    return op_fence(t, f, &f[1], err);
}

static struct fence fence_slice(struct store *s, struct fence from)
{
    struct fence f[2] = {from};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_light_turn(s, fence_body, f, &err), &err);
    return f[1];
}

static struct fence fence(struct store *s, size_t slice)
{
    struct fence f = {.slice = slice};

    do
        f = fence_slice(s, f);
    while (f.more);
    return f;
}

static int64_t generation(struct store *s)
{
    char id[STORE_ID_SIZE];
    struct err err = ERR_INIT;
    int64_t n = 0;

    CHECK_OK_ERR(store_identity(s, id, &n, &err), &err);
    return n;
}

TEST(new_database_starts_with_generation_1_and_keeps_its_id)
{
    struct store *s = fixture_store();
    char first[STORE_ID_SIZE], second[STORE_ID_SIZE];
    struct err err = ERR_INIT;
    struct fence f;
    int64_t n = 0;

    CHECK_OK_ERR(store_identity(s, first, &n, &err), &err);
    CHECK_EQ(n, 1);
    CHECK_EQ(strlen(first), 16);
    CHECK_EQ(strspn(first, "0123456789abcdef"), 16);
    f = fence(s, 10);
    store_close(&s);
    s = fixture_store();
    CHECK_OK_ERR(store_identity(s, second, &n, &err), &err);
    CHECK_STR(second, first);
    CHECK_EQ(n, f.generation);
    CHECK(n > 1);
    verify_clean(s);
    store_close(&s);
}

TEST(database_without_a_generation_is_refused_with_a_message)
{
    struct store *s = fixture_store();
    char id[STORE_ID_SIZE];
    struct err err = ERR_INIT;
    int64_t n;

    sql_run(s, "DELETE FROM settings WHERE name = 'fence_generation'");
    CHECK_EQ(store_identity(s, id, &n, &err), -E_INTERNAL);
    CHECK(strstr(err.msg, "generation"));
    store_close(&s);
}

TEST(fence_revokes_every_lease)
{
    struct store *s = fixture_store();
    struct held_job j[7], again;
    struct fence f;
    int i;

    for (i = 0; i < 7; i++)
        submit(s, "x");
    CHECK_EQ(claim_many(s, 1, 7, j), 7);
    submit(s, "waits");
    CHECK_EQ(settle_ok(s, j[2]), 0);
    f = fence(s, 3);
    CHECK(f.generation > 1);
    CHECK_EQ(f.expired, 6);
    CHECK_EQ(generation(s), f.generation); /* raised once, whatever the number of slices */
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases WHERE worker IS NOT NULL"), 0);
    for (i = 0; i < 7; i++)
        if (i != 2) {
            CHECK_EQ(status_of(s, j[i].id), S_RUNNING);
            CHECK_EQ(heartbeat(s, j[i]), -E_LEASE_LOST);
            CHECK_EQ(settle_ok(s, j[i]), -E_LEASE_LOST);
        }
    CHECK_STR(history(s, j[0].id), "created marked_ready claimed lease_expired");
    verify_clean(s);
    CHECK(adopt_one(s, 1, &again)); /* at once, in the same state folder */
    CHECK_EQ(again.epoch, 2);
    CHECK_EQ(settle_ok(s, again), 0);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

TEST(lease_event_written_by_a_fence_contains_the_new_generation)
{
    struct store *s = fixture_store();
    struct event_list l = {0};
    struct err err = ERR_INIT;
    int64_t id = submit(s, "x");
    char generation_field[60];

    claim_job(s, 1);
    snprintf(generation_field, sizeof(generation_field), "\"generation\":%lld",
             (long long)fence(s, 10).generation);
    CHECK_OK_ERR(query_execution_events(s, id, 3, 10, &l, &err), &err);
    CHECK_EQ(l.n, 1);
    CHECK(strstr(l.at[0].data, generation_field));
    CHECK(strstr(l.at[0].data, "\"until\":"));
    event_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(interleaved_fences_each_raise_the_generation_and_a_fence_without_leases_takes_one_slice)
{
    struct store *s = fixture_store();
    struct fence a = {.slice = 1}, b = {.slice = 1};
    struct held_job j[2];

    submit(s, "x");
    submit(s, "y");
    CHECK_EQ(claim_many(s, 1, 2, j), 2);
    a = fence_slice(s, a);
    b = fence_slice(s, b);
    CHECK(a.generation > 1);
    CHECK(b.generation > a.generation);
    while (a.more)
        a = fence_slice(s, a);
    while (b.more)
        b = fence_slice(s, b);
    CHECK_EQ(a.expired + b.expired, 2);
    a = fence_slice(s, (struct fence){.slice = 1});
    CHECK_EQ(a.expired, 0);
    CHECK(!a.more);
    CHECK(a.generation > b.generation);
    CHECK_EQ(generation(s), a.generation);
    verify_clean(s);
    store_close(&s);
}

/* Each restored copy of a backup makes its own attempts, with the same numbers. */
TEST(backup_restored_twice_gets_two_different_generations)
{
    struct store *s = fixture_store();
    int64_t first = fence(s, 10).generation;

    clock_sleep_us(2000);
    sql_run(s, "UPDATE settings SET value = '1' WHERE name = 'fence_generation'");
    CHECK(fence(s, 10).generation > first);
    sql_run(s, "UPDATE settings SET value = '99999999999999999' WHERE name = 'fence_generation'");
    CHECK_EQ(fence(s, 10).generation,
             100000000000000000LL); /* the generation rises whatever the clock shows */
    verify_clean(s);
    store_close(&s);
}

static int64_t newest_event(struct store *s)
{
    return sql_number(s, "SELECT max(sequence_num) FROM execution_events");
}

TEST(fence_skips_ids_and_event_numbers_that_may_have_been_given_out_before_the_restore)
{
    struct store *s = fixture_store();
    int64_t day = 86400 * 1000000LL, margin = 1000000000, id = submit(s, "x"), next, event;

    fence(s, 10);
    next = submit(s, "y");
    CHECK(next > id + margin);
    CHECK(next < id + margin + day); /* the newest execution is young */
    CHECK_EQ(next % 1000000, 1);
    event = newest_event(s);
    fixture_env()->clock_offset += day;
    fence(s, 10);
    id = submit(s, "z");
    CHECK(id > next + margin + day); /* an id for each µs since then */
    CHECK(newest_event(s) > event + 10 * (margin + day));
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* ---- timelines ---- */

static int accept_body(struct turn *t, void *arg, struct err *err)
{
    return op_accept_timeline(t, arg, err);
}

/* Pretends that the server was promoted since its timeline was accepted. */
static void change_timeline(struct store *s)
{
    sql_run(s, "UPDATE settings SET value = '7/00000001' WHERE name = 'server_timeline'");
}

static int nothing(struct turn *t, void *arg, struct err *err)
{
    (void)t;
    (void)arg;
    (void)err;
    return 0;
}

static void check_refused(struct store *s)
{
    struct err err = ERR_INIT;

    CHECK_EQ(store_turn(s, nothing, NULL, &err), -E_UNAVAILABLE);
    CHECK_OK_ERR(store_light_turn(s, nothing, NULL, &err), &err); /* heartbeats continue */
    CHECK(strstr(err.msg, "has changed from timeline 7/00000001 to "));
    CHECK(strstr(err.msg, "run `pawl admin fence --yes`"));
}

TEST(new_server_timeline_is_refused_until_a_fence_or_an_operator_accepts_it)
{
    struct store *s = fixture_store();
    const char *timeline = NULL;
    struct err err = ERR_INIT;
    struct held_job j;

    if (strcmp(test_db(), "postgres"))
        SKIP("for PostgreSQL only");
    submit(s, "x");
    j = claim_job(s, 1);
    change_timeline(s);
    check_refused(s);
    CHECK_OK_ERR(store_light_turn(s, accept_body, &timeline, &err), &err);
    CHECK(strstr(timeline, "/00000001"));
    CHECK_EQ(settle_ok(s, j), 0);
    submit(s, "y");
    j = claim_job(s, 1);
    change_timeline(s);
    check_refused(s);
    CHECK_EQ(fence(s, 10).expired, 1);
    submit(s, "z");
    drain(s);
    verify_clean(s);
    store_close(&s);
}

TEST(job_claimed_during_a_fence_keeps_its_lease)
{
    struct store *s = fixture_store();
    struct fence f = {.slice = 1};
    struct held_job j[3], claimed_later;
    int64_t first = submit(s, "x");
    int i;

    for (i = 0; i < 3; i++)
        submit(s, "x");
    CHECK_EQ(hold(s, first), 0);
    CHECK_EQ(claim_many(s, 1, 3, j), 3);
    f = fence_slice(s, f);
    CHECK(f.more);
    CHECK_EQ(unhold(s, first), 0);
    claimed_later = claim_job(s, 2);
    while (f.more)
        f = fence_slice(s, f);
    CHECK_EQ(f.expired, 3);
    CHECK_EQ(heartbeat(s, claimed_later), 0);
    verify_clean(s);
    store_close(&s);
}

/* ---- concurrency ---- */

struct concurrent_fence {
    struct store *other;
    struct fence fence;
};

static void fence_meanwhile(void *arg)
{
    struct concurrent_fence *p = arg;

    p->fence = fence_slice(p->other, p->fence);
}

TEST(lease_locked_during_a_fence_is_expired_by_a_later_slice)
{
    struct watch w = {0};
    struct concurrent_fence p = {.other = fixture_store(), .fence = {.slice = 10}};
    struct store *s;
    struct held_job j[3];
    int i;

    if (strcmp(test_db(), "postgres"))
        SKIP("for PostgreSQL only: on SQLite a turn excludes all others");
    s = watched_store(&w);
    for (i = 0; i < 3; i++)
        submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
    CHECK_EQ(claim_many(s, 1, 3, j), 3);
    watch_for(&w, "commit", 1, fence_meanwhile, &p);
    CHECK_EQ(start(s, j[1]), 0); /* this turn holds the lock on the lease during the fence */
    CHECK(w.acted);
    CHECK_EQ(p.fence.expired, 2);
    CHECK(p.fence.more);
    CHECK_EQ(heartbeat(s, j[1]), 0);
    while (p.fence.more)
        p.fence = fence_slice(p.other, p.fence);
    CHECK_EQ(p.fence.expired, 3);
    CHECK_EQ(heartbeat(s, j[1]), -E_LEASE_LOST);
    verify_clean(s);
    store_close(&p.other);
    store_close(&s);
}
