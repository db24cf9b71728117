/* test_fence.c - the contract of a database's identity: its id stays, its generation rises with
 * each fence, and after a fence nobody holds what ran before. */
#include "fixture.h"

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

    CHECK_OK_ERR(store_turn(s, fence_body, f, &err), &err);
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

TEST(a_database_keeps_its_id_and_begins_with_generation_1)
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

TEST(a_database_without_its_identity_is_refused_in_words)
{
    struct store *s = fixture_store();
    char id[STORE_ID_SIZE];
    struct err err = ERR_INIT;
    int64_t n;

    sql_run(s, "DELETE FROM settings WHERE name = 'generation'");
    CHECK_EQ(store_identity(s, id, &n, &err), -E_INTERNAL);
    CHECK(strstr(err.msg, "generation"));
    store_close(&s);
}

TEST(a_fence_takes_every_lease_from_its_holder)
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
    CHECK_EQ(generation(s), f.generation); /* once, in however many slices */
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

TEST(the_event_of_a_fence_says_which_generation_began)
{
    struct store *s = fixture_store();
    struct event_list l = {0};
    struct err err = ERR_INIT;
    int64_t id = submit(s, "x");
    char began[60];

    claim_job(s, 1);
    snprintf(began, sizeof(began), "\"generation\":%lld", (long long)fence(s, 10).generation);
    CHECK_OK_ERR(query_execution_events(s, id, 3, 10, &l, &err), &err);
    CHECK_EQ(l.n, 1);
    CHECK(strstr(l.at[0].data, began));
    CHECK(strstr(l.at[0].data, "\"until\":"));
    event_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(two_fences_raise_twice_and_a_fence_of_nothing_ends_at_once)
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

/* Each life of a restored backup has attempts of its own, with the same numbers. */
TEST(a_backup_restored_twice_does_not_get_the_same_generation_twice)
{
    struct store *s = fixture_store();
    int64_t first = fence(s, 10).generation;

    clock_sleep_us(2000);
    sql_run(s, "UPDATE settings SET value = '1' WHERE name = 'generation'");
    CHECK(fence(s, 10).generation > first);
    sql_run(s, "UPDATE settings SET value = '99999999999999999' WHERE name = 'generation'");
    CHECK_EQ(fence(s, 10).generation, 100000000000000000LL); /* whatever the clock says, it rises */
    verify_clean(s);
    store_close(&s);
}

TEST(what_is_claimed_behind_a_fence_stays)
{
    struct store *s = fixture_store();
    struct fence f = {.slice = 1};
    struct held_job j[3], late;
    int64_t first = submit(s, "x");
    int i;

    for (i = 0; i < 3; i++)
        submit(s, "x");
    CHECK_EQ(hold(s, first), 0);
    CHECK_EQ(claim_many(s, 1, 3, j), 3);
    f = fence_slice(s, f);
    CHECK(f.more);
    CHECK_EQ(unhold(s, first), 0);
    late = claim_job(s, 2);
    while (f.more)
        f = fence_slice(s, f);
    CHECK_EQ(f.expired, 3);
    CHECK_EQ(heartbeat(s, late), 0);
    verify_clean(s);
    store_close(&s);
}

/* ---- at once ---- */

struct slipping {
    struct store *other;
    struct fence fence;
};

static void fence_meanwhile(void *arg)
{
    struct slipping *p = arg;

    p->fence = fence_slice(p->other, p->fence);
}

TEST(a_lease_that_somebody_is_at_is_not_forgotten)
{
    struct watch w = {0};
    struct slipping p = {.other = fixture_store(), .fence = {.slice = 10}};
    struct store *s;
    struct held_job j[3];
    int i;

    if (strcmp(test_db(), "postgres"))
        SKIP("a turn excludes all others there");
    s = watched_store(&w);
    for (i = 0; i < 3; i++)
        submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
    CHECK_EQ(claim_many(s, 1, 3, j), 3);
    watch_for(&w, "commit", 1, fence_meanwhile, &p);
    CHECK_EQ(start(s, j[1]), 0); /* its turn holds the lock of this one meanwhile */
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
