/* test_control_queue.c - operator actions on queues through pawl.h: limit, pause and resume. */
#include "control_fixture.h"

static int64_t current_limit(struct store *s)
{
    return sql_number(s,
                      "SELECT COALESCE((SELECT max FROM limits WHERE key = 'queue:default'), -1)");
}

static int64_t count_claimable(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM task_outbox");
}

TEST(resumed_queue_has_the_limit_it_had_before_the_pause)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    bool paused = true;

    submit_many(p, 6);
    OK(pawl_queue_limit(p, "default", 4, NULL, NULL, &paused, &api_err));
    CHECK(!paused);
    CHECK_EQ(count_claimable(s), 4);
    OK(pawl_queue_pause(p, "default", "ada", "deploy", &api_err));
    OK(pawl_queue_pause(p, "default", "bob", NULL, &api_err));
    CHECK_EQ(count_claimable(s), 0);
    verify_clean(s);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &api_err));
    CHECK_EQ(current_limit(s), 4);
    CHECK_EQ(count_claimable(s), 4);

    OK(pawl_queue_pause(p, "default", NULL, NULL, &api_err));
    /* takes effect when the queue is resumed */
    OK(pawl_queue_limit(p, "default", 2, NULL, NULL, &paused, &api_err));
    CHECK(paused);
    CHECK_EQ(count_claimable(s), 0);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &api_err));
    CHECK_EQ(current_limit(s), 2);
    CHECK_EQ(count_claimable(s), 2);

    OK(pawl_queue_limit(p, "default", -1, NULL, NULL, NULL, &api_err));
    OK(pawl_queue_pause(p, "default", NULL, NULL, &api_err));
    CHECK_EQ(current_limit(s), 0);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &api_err));
    CHECK_EQ(current_limit(s), -1);
    CHECK_EQ(count_claimable(s), 6);
    FAILS(pawl_queue_resume(p, "default", NULL, NULL, &api_err), PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "not paused"));
    close_both(p, s);
}

TEST(pause_and_resume_reach_every_job_of_a_large_queue)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct held_job runs;

    submit_many(p, 2500);
    runs = claim_job(s, 1);
    OK(pawl_queue_pause(p, "default", NULL, NULL, &api_err));
    CHECK_EQ(count_claimable(s), 0);
    CHECK_EQ(status_of(s, runs.id), S_RUNNING);
    submit_many(p, 10);
    CHECK_EQ(count_claimable(s), 0);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &api_err));
    CHECK_EQ(count_claimable(s), 2509);
    CHECK_EQ(current_limit(s), -1);
    close_both(p, s);
}

static int queue_body(struct turn *t, void *arg, struct err *e)
{
    return op_change_queue(t, arg, e);
}

TEST(interrupted_resume_of_a_queue_is_finished_by_the_next_resume)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct queue_action q = {.verb = QUEUE_RESUME, .queue = "default", .slice = 10};
    struct err e = ERR_INIT;

    submit_many(p, 50);
    OK(pawl_queue_limit(p, "default", 40, NULL, NULL, NULL, &api_err));
    OK(pawl_queue_pause(p, "default", NULL, NULL, &api_err));
    CHECK_OK_ERR(store_turn(s, queue_body, &q, &e), &e);
    CHECK(q.more && q.paused);
    CHECK_EQ(count_claimable(s), 10);
    verify_clean(s);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &api_err));
    CHECK_EQ(current_limit(s), 40);
    CHECK_EQ(count_claimable(s), 40);
    close_both(p, s);
}

TEST(queue_name_or_reason_that_cannot_be_stored_is_refused)
{
    struct pawl *p = open_pawl();
    char longer[100];

    memset(longer, 'q', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    FAILS(pawl_queue_pause(p, "", NULL, NULL, &api_err), PAWL_E_INVALID);
    FAILS(pawl_queue_pause(p, longer, NULL, NULL, &api_err), PAWL_E_INVALID);
    FAILS(pawl_queue_pause(p, "q", NULL, "\xff", &api_err), PAWL_E_INVALID);
    FAILS(pawl_queue_limit(p, NULL, 1, NULL, NULL, NULL, &api_err), PAWL_E_INVALID);
    pawl_close(p);
}
