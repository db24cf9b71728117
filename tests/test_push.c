/* test_push.c - a turn that makes jobs ready and claims them at once: both events, no outbox row,
 * and jobs that waited before are not overtaken. Each test ends with verify. */
#include "fixture.h"
#include "store/operator.h"

#include <stdio.h>
#include <string.h>

/* One turn of an engine: settles, submits, cancels, then claims with push. */
struct engine_turn {
    struct settlement *settlements;
    size_t nsettlements;
    struct submission *submissions;
    size_t nsubmissions;
    int64_t cancel; /* 0 if none */
    size_t max;

    struct job_list jobs; /* out */
    char names[200];      /* of the claimed jobs, in order */
};

static int engine_body(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue serves[] = {{"process", "default"}};
    struct engine_turn *e = arg;
    struct claim c = {.worker = 7,
                      .folder = "here",
                      .lease = LEASE,
                      .serves = serves,
                      .nserves = 1,
                      .max = e->max,
                      .push = true};
    struct request r = {.execution = e->cancel};
    size_t i;
    bool more;
    int rc;

    if ((rc = op_settle(t, 7, e->settlements, e->nsettlements, err)) ||
        (rc = op_submit(t, e->submissions, e->nsubmissions, err)))
        return rc;
    if (e->cancel && (rc = op_cancel(t, &r, 1, 10, &more, err)))
        return rc;
    if ((rc = op_claim(t, &c, &e->jobs, err)))
        return rc;
    e->names[0] = 0;
    for (i = 0; i < e->jobs.n; i++) {
        size_t used = strlen(e->names);

        snprintf(e->names + used, sizeof(e->names) - used, "%s%s", i ? " " : "",
                 e->jobs.at[i]->name);
    }
    return 0;
}

static void engine_turn(struct store *s, struct engine_turn *e)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, engine_body, e, &err), &err);
}

static struct submission job(const char *name)
{
    return (struct submission){
        .kind = KIND_EXEC, .name = name, .task_index = -1, .input = "{\"is\":\"here\"}"};
}

TEST(job_submitted_in_a_turn_is_claimed_in_the_same_turn_without_an_outbox_row)
{
    struct store *s = fixture_store();
    struct submission sub = job("a");
    struct engine_turn e = {.submissions = &sub, .nsubmissions = 1, .max = 1};

    engine_turn(s, &e);
    CHECK_EQ(e.jobs.n, 1);
    CHECK_STR(e.jobs.at[0]->input, "{\"is\":\"here\"}");
    CHECK_EQ(e.jobs.at[0]->epoch, 1);
    CHECK_STR(history(s, sub.id), "created marked_ready claimed");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 0);
    CHECK_EQ(sql_number(s, "SELECT CAST(sum(running) AS bigint) FROM queue_counters"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(job_submitted_in_a_turn_does_not_overtake_waiting_jobs)
{
    struct store *s = fixture_store();
    struct submission sub = job("new");
    struct engine_turn e = {.submissions = &sub, .nsubmissions = 1, .max = 1};

    submit(s, "old");
    sub.priority = 5; /* more urgent, but not stored yet: the next turn claims it */
    engine_turn(s, &e);
    CHECK_STR(e.names, "old");
    e = (struct engine_turn){.max = 5};
    engine_turn(s, &e);
    CHECK_STR(e.names, "new");
    verify_clean(s);
    store_close(&s);
}

TEST(jobs_submitted_in_a_turn_fill_the_remaining_capacity_by_priority_then_age)
{
    struct store *s = fixture_store();
    struct submission subs[] = {job("low"), job("first"), job("urgent"), job("second")};
    struct engine_turn e = {.submissions = subs, .nsubmissions = 4, .max = 4};

    submit(s, "old");
    subs[0].priority = -1;
    subs[2].priority = 3;
    engine_turn(s, &e);
    CHECK_STR(e.names, "old urgent first second");
    CHECK_EQ(status_of(s, subs[0].id), S_READY);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(job_submitted_in_a_turn_is_not_claimed_if_it_is_held_or_not_served_by_the_worker)
{
    struct store *s = fixture_store();
    struct submission subs[] = {job("lane"), job("queue"), job("delay"), job("limit"), job("ok")};
    struct engine_turn e = {.submissions = subs, .nsubmissions = 5, .max = 10};

    submit_with(s, (struct submission){.name = "holds the permit", .concurrency = "k"});
    claim_job(s, 1);
    subs[0].lane = "container";
    subs[1].queue = "other";
    subs[2].delay = SECOND;
    subs[3].concurrency = "k";
    engine_turn(s, &e);
    CHECK_STR(e.names, "ok");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 2);
    verify_clean(s);
    store_close(&s);
}

TEST(job_cancelled_in_a_turn_is_not_claimed_in_the_same_turn)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "waits");
    struct engine_turn e = {.cancel = id, .max = 1};

    engine_turn(s, &e);
    CHECK_EQ(e.jobs.n, 0);
    CHECK_EQ(status_of(s, id), S_CANCELLED);
    verify_clean(s);
    store_close(&s);
}

TEST(retry_without_a_delay_is_claimed_in_the_turn_that_settles_the_failed_attempt)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(
        s, (struct submission){.name = "a", .max_attempts = 2, .input = "{\"is\":\"kept\"}"});
    struct held_job j = claim_job(s, 7);
    struct settlement again = {
        .lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
        .outcome = {.kind = OUTCOME_FAILED, .error = "no luck", .duration = 1, .retry_delay = 0}};
    struct engine_turn e = {.settlements = &again, .nsettlements = 1, .max = 3};

    engine_turn(s, &e);
    CHECK_EQ(e.jobs.n, 1);
    CHECK_EQ(e.jobs.at[0]->attempts, 2);
    CHECK_EQ(e.jobs.at[0]->epoch, 2);
    CHECK_STR(e.jobs.at[0]->input, "{\"is\":\"kept\"}");
    CHECK_STR(history(s, id), "created marked_ready claimed retry_scheduled claimed");
    verify_clean(s);
    store_close(&s);
}

TEST(foreground_job_has_its_own_queue)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "a", .queue = QUEUE_FOREGROUND});
    char queue[QUEUE_FOREGROUND_SIZE];
    struct held_job j;

    CHECK_STR(get(s, id).queue, queue_foreground(id, queue));
    CHECK(!claim_one(s, 1, &j)); /* a worker that serves "default" does not get it */
    verify_clean(s);
    store_close(&s);
}
