/* test_query_events.c - the contract of query.h: events of one execution, of a tree and of all
 * executions, in order, and readers that follow new events. */
#include "fixture.h"

#include "store/door/door.h"
#include "store/query/query.h"

#include <pthread.h>
#include <stdlib.h>

TEST_THREADED;

static struct err err;

/* ---- events of one execution or tree ---- */

TEST(events_of_an_execution_are_read_in_order_page_by_page)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "a");
    struct event_list l = {0};

    CHECK_EQ(settle_ok(s, claim_job(s, 5)), 0);
    CHECK_OK_ERR(query_execution_events(s, id, 0, 3, &l, &err), &err);
    CHECK_EQ(l.n, 3);
    CHECK_EQ(l.at[0].seq, 1);
    CHECK_EQ(l.at[0].type, EV_CREATED);
    CHECK_EQ(l.at[0].from, S_NONE);
    CHECK_EQ(l.at[2].type, EV_CLAIMED);
    CHECK_EQ(l.at[2].worker, 5);
    CHECK_EQ(l.at[2].epoch, 1);
    CHECK_EQ(l.at[2].root, id);
    event_list_release(&l);
    CHECK_OK_ERR(query_execution_events(s, id, 3, 3, &l, &err), &err);
    CHECK_EQ(l.n, 1);
    CHECK_EQ(l.at[0].to, S_SUCCEEDED);
    event_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(events_of_a_subtree_are_read_in_order_without_events_from_outside)
{
    struct store *s = fixture_store();
    int64_t top = submit(s, "top"), a = submit_child(s, top, "a"), b = submit_child(s, top, "b");
    int64_t below = submit_child(s, a, "below");
    struct event_filter created = {.types = EVENT_BIT(EV_CREATED)}, any = {0};
    struct event_range range = {.max = 3};
    struct event_list l = {0};
    size_t n = 0;
    int64_t last = 0;

    CHECK_OK_ERR(query_events_below(s, a, &created, &range, &l, &err), &err);
    CHECK_EQ(l.n, 2);
    CHECK_EQ(l.at[0].execution, a);
    CHECK_EQ(l.at[1].execution, below);
    event_list_release(&l);
    do {
        size_t i;

        event_list_release(&l);
        CHECK_OK_ERR(query_events_below(s, top, &any, &range, &l, &err), &err);
        for (i = 0; i < l.n; i++) {
            CHECK(l.at[i].sequence_num > last);
            last = l.at[i].sequence_num;
        }
        n += l.n;
        range.after = last;
    } while (l.n);
    event_list_release(&l);
    CHECK_EQ(n, 8);
    range = (struct event_range){.max = 100, .upto = last - 1};
    CHECK_OK_ERR(query_events_below(s, top, &any, &range, &l, &err), &err);
    CHECK_EQ(l.n, 7);
    event_list_release(&l);
    CHECK(b);
    verify_clean(s);
    store_close(&s);
}

/* ---- newest first ---- */

/* Reads all events that match the filter, in pages, and checks their order. Returns their number.
 */
static size_t page_through(struct store *s, struct event_filter f, size_t max)
{
    struct event_cursor cursor = {0};
    struct event_row last = {.created_at = INT64_MAX};
    struct event_list l = {0};
    size_t n = 0, i;

    while (!cursor.end) {
        CHECK_OK_ERR(query_events(s, &f, max, &cursor, &l, &err), &err);
        CHECK(l.n <= max);
        for (i = 0; i < l.n; i++) {
            const struct event_row *e = &l.at[i];

            CHECK(e->created_at < last.created_at ||
                  (e->created_at == last.created_at && e->sequence_num < last.sequence_num));
            CHECK(e->created_at >= f.since && (!f.until || e->created_at < f.until));
            CHECK(!f.types || (f.types & EVENT_BIT(e->type)));
            last = *e;
        }
        n += l.n;
        event_list_release(&l);
    }
    return n;
}

TEST(paging_through_all_events_returns_each_once_newest_first)
{
    struct store *s = fixture_store();
    size_t total;
    int i;

    CHECK_EQ(page_through(s, (struct event_filter){0}, 10), 0);
    for (i = 0; i < 30; i++)
        submit(s, "a");
    for (i = 0; i < 10; i++)
        CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    total = (size_t)sql_number(s, "SELECT count(*) FROM execution_events");
    CHECK_EQ(total, 80);
    CHECK_EQ(page_through(s, (struct event_filter){0}, 1), total);
    CHECK_EQ(page_through(s, (struct event_filter){0}, 7), total);
    CHECK_EQ(page_through(s, (struct event_filter){0}, 1000), total);
    CHECK_EQ(page_through(s, (struct event_filter){.types = EVENT_BIT(EV_COMPLETED)}, 3), 10);
    CHECK_EQ(page_through(s, (struct event_filter){.types = EVENT_BIT(EV_SKIPPED)}, 3), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(events_in_a_time_window_are_found_among_years_of_other_events)
{
    struct store *s = fixture_store();
    int64_t year = 365 * 86400 * SECOND, at[6];
    struct held_job j;
    int i;

    for (i = 0; i < 6; i++) {
        at[i] = get(s, submit_with(s, (struct submission){.name = "a", .max_attempts = 2}))
                    .requested_at;
        j = claim_job(s, 1);
        if (i % 2)
            CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, -1), 0);
        else
            CHECK_EQ(settle_ok(s, j), 0);
        clock_advance(i % 2 ? year : 3600 * SECOND);
    }
    CHECK_EQ(page_through(s, (struct event_filter){.since = at[4]}, 100), 8);
    CHECK_EQ(page_through(s, (struct event_filter){.until = at[1]}, 3), 4);
    CHECK_EQ(page_through(s, (struct event_filter){.since = at[2], .until = at[3]}, 3), 4);
    CHECK_EQ(page_through(s, (struct event_filter){.since = at[2], .until = at[2]}, 3), 0);
    CHECK_EQ(page_through(
                 s, (struct event_filter){.since = at[1] + year / 4, .until = at[2] - year / 4}, 3),
             0);
    CHECK_EQ(page_through(s, (struct event_filter){.types = EVENT_BIT(EV_FAILED)}, 1), 3);
    CHECK_EQ(
        page_through(s, (struct event_filter){.until = at[5], .types = EVENT_BIT(EV_FAILED)}, 1),
        2);
    CHECK_EQ(
        page_through(s,
                     (struct event_filter){.since = at[2],
                                           .types = EVENT_BIT(EV_FAILED) | EVENT_BIT(EV_COMPLETED)},
                     2),
        4);
    verify_clean(s);
    store_close(&s);
}

static int submit_many_body(struct turn *t, void *arg, struct err *e)
{
    return op_submit(t, arg, 4000, e);
}

TEST(paging_returns_all_of_many_events_with_the_same_time)
{
    struct store *s = fixture_store();
    struct submission *list = calloc(4000, sizeof(*list));
    int i, turn;

    for (turn = 0; turn < 4; turn++) {
        for (i = 0; i < 4000; i++)
            list[i] = (struct submission){.kind = KIND_EXEC, .name = "a", .task_index = -1};
        CHECK_OK_ERR(store_turn(s, submit_many_body, list, &err), &err);
        if (turn % 2)
            clock_advance(10 * SECOND);
    }
    CHECK_EQ(page_through(s, (struct event_filter){0}, 900), 32000);
    CHECK_EQ(page_through(s, (struct event_filter){.types = EVENT_BIT(EV_MARKED_READY)}, 15000),
             16000);
    free(list);
    verify_clean(s);
    store_close(&s);
}

/* ---- following ---- */

/* Reads until there are no more events, and checks their order. Returns their number. */
static size_t follow_all(struct store *s, struct event_follower *f, size_t max)
{
    struct event_list l = {0};
    size_t n = 0, i, got;
    int64_t last = f->seen;

    do {
        CHECK_OK_ERR(query_follow(s, f, max, &l, &err), &err);
        got = l.n;
        for (i = 0; i < l.n; i++) {
            CHECK(l.at[i].sequence_num > last);
            last = l.at[i].sequence_num;
        }
        CHECK(f->seen >= last);
        n += l.n;
        event_list_release(&l);
    } while (got);
    return n;
}

TEST(event_reader_gets_every_event_after_it_starts)
{
    struct store *s = fixture_store(), *reader = fixture_store();
    struct event_follower f = {0}, from_start = {.started = true};

    submit(s, "before");
    CHECK_EQ(follow_all(reader, &f, 10), 0);
    submit(s, "a");
    submit(s, "b");
    CHECK_EQ(follow_all(reader, &f, 3), 4);
    CHECK_EQ(follow_all(reader, &f, 3), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(follow_all(reader, &f, 3), 2);
    CHECK_EQ(follow_all(reader, &from_start, 3), 8);
    event_follower_release(&f);
    event_follower_release(&from_start);
    verify_clean(s);
    store_close(&s);
    store_close(&reader);
}

TEST(event_reader_of_a_tree_gets_only_events_of_that_tree)
{
    struct store *s = fixture_store();
    int64_t top = submit(s, "top"), child = submit_child(s, top, "child");
    struct event_follower f = {.execution = child, .started = true};

    submit(s, "another");
    CHECK_EQ(follow_all(s, &f, 100), 2);
    submit_child(s, child, "grandchild");
    submit_child(s, top, "sibling");
    CHECK_EQ(follow_all(s, &f, 100) + follow_all(s, &f, 100), 2);
    event_follower_release(&f);
    verify_clean(s);
    store_close(&s);
}

/* A turn that has written its events and does not commit before may_end is set. */
struct slow_turn {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool written, may_end, other_done;
};

static void set_flag(struct slow_turn *t, bool *flag)
{
    pthread_mutex_lock(&t->lock);
    *flag = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

static void wait_for(struct slow_turn *t, const bool *flag, int seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&t->lock);
    while (!*flag && !pthread_cond_timedwait(&t->changed, &t->lock, &until))
        ;
    pthread_mutex_unlock(&t->lock);
}

static int slow_body(struct turn *t, void *arg, struct err *e)
{
    struct slow_turn *slow = arg;
    struct submission sub = {.kind = KIND_EXEC, .name = "slow", .task_index = -1};
    int rc;

    if ((rc = op_submit(t, &sub, 1, e)) || (rc = door_flush(t, e)) || (rc = turn_sync(t, e)))
        return rc;
    set_flag(slow, &slow->written);
    wait_for(slow, &slow->may_end, 50);
    return 0;
}

static void *run_slow(void *arg)
{
    struct store *s = fixture_store();
    struct err e = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, slow_body, arg, &e), &e);
    store_close(&s);
    return NULL;
}

static void *run_other(void *arg)
{
    struct slow_turn *slow = arg;
    struct store *s = fixture_store();

    submit(s, "quick");
    submit(s, "quick");
    set_flag(slow, &slow->other_done);
    store_close(&s);
    return NULL;
}

TEST(event_reader_does_not_skip_events_of_a_turn_that_commits_late)
{
    struct slow_turn slow = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
    struct store *s = fixture_store();
    struct event_follower f = {0};
    pthread_t a, b;

    CHECK_EQ(follow_all(s, &f, 100), 0);
    CHECK_EQ(pthread_create(&a, NULL, run_slow, &slow), 0);
    wait_for(&slow, &slow.written, 50);
    CHECK_EQ(pthread_create(&b, NULL, run_other, &slow), 0);
    /* It depends on the database whether another turn can commit meanwhile; if so, it does now. */
    wait_for(&slow, &slow.other_done, 1);
    CHECK_EQ(follow_all(s, &f, 100), 0);
    CHECK_EQ(follow_all(s, &f, 100), 0);
    set_flag(&slow, &slow.may_end);
    CHECK_EQ(pthread_join(a, NULL), 0);
    CHECK_EQ(pthread_join(b, NULL), 0);
    /* the first read may return no events and only notice that the writers have ended */
    CHECK_EQ(follow_all(s, &f, 100) + follow_all(s, &f, 100), 6);
    event_follower_release(&f);
    verify_clean(s);
    store_close(&s);
}

/* Otherwise a program that loads its data when its reader starts would never see the turn. */
TEST(event_reader_that_starts_during_a_turn_gets_its_events_or_learns_of_its_end)
{
    struct slow_turn slow = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
    struct store *s = fixture_store();
    struct event_follower f = {0};
    bool complete;
    pthread_t a;

    CHECK_EQ(pthread_create(&a, NULL, run_slow, &slow), 0);
    wait_for(&slow, &slow.written, 50);
    CHECK_EQ(follow_all(s, &f, 100), 0);
    complete = !f.writers;
    set_flag(&slow, &slow.may_end);
    CHECK_EQ(pthread_join(a, NULL), 0);
    /* PostgreSQL: its events have numbers before the position. SQLite: they have later ones. */
    CHECK_EQ(follow_all(s, &f, 100) + follow_all(s, &f, 100), complete ? 2 : 0);
    CHECK(!f.writers);
    submit(s, "later");
    CHECK_EQ(follow_all(s, &f, 100), 2);
    event_follower_release(&f);
    verify_clean(s);
    store_close(&s);
}
