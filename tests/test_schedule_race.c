/* test_schedule_race.c - all operations on schedules at once, from several processes: engines that
 * evaluate, an operator who applies, deletes, pauses, resumes and runs, and a worker that ends
 * runs. No process deadlocks, no due time fires twice, and nothing is stuck in the end. */
#include "schedule_fixture.h"
#include "store/schedule/catalogue.h"

#include "base/env.h"

enum { LOOKERS = 2, APPLIER = LOOKERS, OPERATOR, WORKER, PROCESSES };

static struct shared {
    struct shared_flag over;
    _Atomic int64_t offset; /* added to every process's clock */
    _Atomic int rounds, deadlocks;
} * shared;

struct role {
    struct watch w;
    struct store *s;
    unsigned seed;
};

static unsigned roll(struct role *r, unsigned n)
{
    r->seed = r->seed * 1103515245 + 12345;
    return (r->seed >> 16) % n;
}

static const char *const lists[] = {
    "[{cron: '* * * * *', overlap: queue, catchup: 1h}, {name: b, cron: '*/2 * * * *'}]",
    "[{name: b, cron: '*/2 * * * *', overlap: allow}, {cron: '* * * * *', overlap: queue}]",
    "[{cron: '* * * * *', overlap: queue, catchup: last}]",
};

static int delete_body(struct turn *t, void *arg, struct err *err)
{
    return op_delete_applied(t, arg, err);
}

static void delete_workflow(struct store *s)
{
    struct applied_deletion d = {.name = "w", .by = "test"};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, delete_body, &d, &err), &err);
}

static void act(struct role *r, int nth)
{
    struct schedule_slice round = {.max = 10};
    struct err err = ERR_INIT;
    static const char *const names[] = {"w", "w/1", "w/b", "w/2"};

    if (nth < LOOKERS) {
        CHECK_OK_ERR(store_turn(r->s, fire_due_body, &round, &err), &err);
        shared->rounds++;
        if (nth == 0)
            shared->offset += MINUTE / 2;
    } else if (nth == APPLIER) {
        apply_schedules(r->s, lists[roll(r, 3)]);
        if (!roll(r, 4))
            delete_workflow(r->s);
    } else if (nth == OPERATOR) {
        (void)change_schedule(r->s, (enum schedule_verb)roll(r, 3), names[roll(r, 4)], NULL);
    } else {
        run_workflows(r->s, "");
    }
}

static void play(int nth)
{
    struct role r = {.seed = (unsigned)nth + 1};

    r.s = watched_store(&r.w);
    while (!shared->over.is_set) {
        r.w.env.clock_offset = shared->offset;
        act(&r, nth);
        if (nth >= LOOKERS)
            clock_sleep_us(2000);
        if (strstr(r.w.message, "deadlock"))
            shared->deadlocks++;
        if (shared->rounds > (test_full() ? 2000 : 200))
            flag_set(&shared->over);
    }
    store_close(&r.s);
}

TEST_SLOW(concurrent_operations_on_schedules_do_not_deadlock, 600)
{
    struct store *s;
    int i;

    shared = shared_memory(sizeof(*shared));
    s = fixture_store();
    clock_to(s, "2030-06-01T12:00:30Z");
    apply_schedules(s, lists[0]);
    store_close(&s);
    shared->offset = fixture_env()->clock_offset;
    run_processes(PROCESSES, play);
    CHECK_EQ(shared->deadlocks, 0);
    fixture_env()->clock_offset = shared->offset;
    s = fixture_store();
    verify_clean(s);
    apply_schedules(s, lists[0]);
    (void)change_schedule(s, SCHEDULE_RESUME, "w", NULL);
    for (i = 0; i < 3; i++) { /* firing continues */
        int64_t before = firings(s);

        run_workflows(s, "");
        clock_advance(2 * MINUTE);
        fire_due(s);
        CHECK(firings(s) > before);
    }
    run_workflows(s, "");
    verify_clean(s);
    store_close(&s);
}
