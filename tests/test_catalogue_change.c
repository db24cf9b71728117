/* test_catalogue_change.c - changes of the catalogue of applied workflows: apply on a condition,
 * delete. */
#include "catalogue_fixture.h"

/* ---- conditional apply ---- */

static int apply_if(struct catalogue *c, const char *command, const char *if_match)
{
    char yaml[300];

    snprintf(yaml, sizeof(yaml), "name: w\ntasks: {a: {run: %s}}\n", command);
    return pawl_apply_with(c->p, &(struct pawl_apply_options){.yaml = yaml, .if_match = if_match},
                           NULL, &api_err);
}

TEST(apply_with_a_condition_that_does_not_hold_changes_nothing)
{
    struct catalogue c = open_catalogue();
    struct pawl_applied one;
    json_t *all;

    CHECK_EQ(apply_if(&c, "zero", "0123"), -PAWL_E_CONFLICT);
    CHECK(strstr(api_err.message, "is not applied"));
    all = list(&c, NULL, NULL);
    CHECK_EQ(json_array_size(all), 0);
    json_decref(all);
    OK(apply_if(&c, "one", ""));
    one = apply_named(&c, "w", "one");
    CHECK(one.unchanged);
    CHECK_EQ(apply_if(&c, "one", ""), -PAWL_E_CONFLICT);
    CHECK(strstr(api_err.message, "is already applied"));
    CHECK_EQ(apply_if(&c, "two", "0123"), -PAWL_E_CONFLICT);
    CHECK(strstr(api_err.message, one.definition.hash));
    OK(apply_if(&c, "two", one.definition.hash));
    CHECK_EQ(apply_if(&c, "three", one.definition.hash), -PAWL_E_CONFLICT);
    check_source(&c, "w", "name: w\ntasks: {a: {run: two}}\n");
    CHECK_EQ(pawl_apply_with(c.p, &(struct pawl_apply_options){0}, NULL, &api_err),
             -PAWL_E_INVALID);
    close_catalogue(&c);
}

enum { APPLIERS = 4 };
static struct shared {
    _Atomic int ready, applied, refused;
} * shared;

/* Each process applies a definition of its own under the same new name, at the same time. */
static void apply_new_name(int nth)
{
    struct catalogue c = open_catalogue();
    char command[20];
    int rc;

    snprintf(command, sizeof(command), "n%d", nth);
    shared->ready++;
    while (shared->ready < APPLIERS)
        ;
    rc = apply_if(&c, command, "");
    CHECK(!rc || rc == -PAWL_E_CONFLICT);
    *(rc ? &shared->refused : &shared->applied) += 1;
    pawl_close(c.p);
    store_close(&c.s);
}

TEST(new_name_is_applied_by_one_of_several_processes_that_require_it_to_be_new)
{
    struct catalogue c = open_catalogue();
    json_t *all;

    shared = shared_memory(sizeof(*shared));
    run_processes(APPLIERS, apply_new_name);
    CHECK_EQ(shared->applied, 1);
    CHECK_EQ(shared->refused, APPLIERS - 1);
    all = versions(&c, "w");
    CHECK_EQ(json_array_size(all), 1);
    json_decref(all);
    close_catalogue(&c);
}

/* ---- delete ---- */

TEST(deleted_workflow_is_not_listed_fired_or_submitted_any_more)
{
    struct catalogue c = open_catalogue();
    struct pawl_applied a = apply_yaml(&c, NIGHTLY);
    struct pawl_applied_deleted d;
    json_t *all;

    OK(pawl_applied_delete(c.p, "nightly", NULL, "ada", "replaced", &d, &api_err));
    CHECK_STR(d.hash, a.definition.hash);
    CHECK_EQ(d.schedules, 1);
    CHECK_EQ(d.waiting, 0);
    all = list(&c, NULL, NULL);
    CHECK_EQ(json_array_size(all), 0);
    json_decref(all);
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM schedules"), 0);
    check_missing(submit_applied(&c, "nightly"), "ada deleted it at 20");
    CHECK(strstr(api_err.message, "(replaced); `pawl workflow versions nightly`"));
    check_missing(try_show(&c, "nightly", NULL), "ada deleted it at 20");
    check_missing(pawl_applied_delete(c.p, "nightly", NULL, NULL, NULL, NULL, &api_err),
                  "ada deleted it at 20");
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM operator_orders WHERE subject = "
                             "'workflow:nightly' AND made_by = 'ada' AND reason = 'replaced'"),
             1);
    close_catalogue(&c);
}

TEST(delete_of_an_unknown_name_suggests_a_similar_one)
{
    struct catalogue c = open_catalogue();

    apply_named(&c, "nightly", "x");
    check_missing(pawl_applied_delete(c.p, "nightli", NULL, NULL, NULL, NULL, &api_err),
                  "did you mean nightly?");
    CHECK_EQ(pawl_applied_delete(c.p, "", NULL, NULL, NULL, NULL, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_applied_delete(c.p, NULL, NULL, NULL, NULL, NULL, &api_err), -PAWL_E_INVALID);
    close_catalogue(&c);
}

TEST(delete_with_a_condition_that_does_not_hold_changes_nothing)
{
    struct catalogue c = open_catalogue();
    struct pawl_applied a = apply_named(&c, "w", "x");
    json_t *o;

    CHECK_EQ(pawl_applied_delete(c.p, "w", "0123", NULL, NULL, NULL, &api_err), -PAWL_E_CONFLICT);
    o = show(&c, "w", NULL);
    json_decref(o);
    OK(pawl_applied_delete(c.p, "w", a.definition.hash, NULL, NULL, NULL, &api_err));
    close_catalogue(&c);
}

TEST(versions_of_a_deleted_workflow_can_be_read_and_applied_again)
{
    struct catalogue c = open_catalogue();
    struct pawl_applied a = apply_yaml(&c, NIGHTLY);
    json_t *o, *all;

    OK(pawl_applied_delete(c.p, "nightly", NULL, NULL, NULL, NULL, &api_err));
    all = versions(&c, "nightly");
    CHECK_EQ(json_array_size(all), 1);
    CHECK(json_is_false(json_object_get(json_array_get(all, 0), "current")));
    json_decref(all);
    o = show(&c, "nightly", a.definition.hash);
    CHECK(json_is_false(json_object_get(o, "current")));
    CHECK_EQ(json_array_size(json_object_get(o, "schedules")), 0);
    a = apply_yaml(&c, text_in(o, "source"));
    json_decref(o);
    CHECK(!a.unchanged);
    all = versions(&c, "nightly");
    CHECK_EQ(json_array_size(all), 2);
    CHECK(json_is_true(json_object_get(json_array_get(all, 0), "current")));
    CHECK(json_is_false(json_object_get(json_array_get(all, 1), "current")));
    json_decref(all);
    close_catalogue(&c);
}

TEST(run_of_a_deleted_workflow_ends_and_can_be_rerun)
{
    struct catalogue c = open_catalogue();
    struct pawl_job job = {.applied = "w"};

    apply_named(&c, "w", "x");
    OK(pawl_submit(c.p, &job, 1, &api_err));
    OK(pawl_applied_delete(c.p, "w", NULL, NULL, NULL, NULL, &api_err));
    run_workflows(c.s, "");
    CHECK_EQ(status_of(c.s, job.id), S_SUCCEEDED);
    clock_advance(100 * DAY);
    retain(c.s, 200 * DAY); /* its run keeps the definition */
    OK(pawl_rerun(c.p, job.id, &(struct pawl_rerun){0}, NULL, &api_err));
    run_workflows(c.s, "");
    CHECK_EQ(status_of(c.s, job.id), S_SUCCEEDED);
    close_catalogue(&c);
}

TEST(due_time_that_waits_for_a_run_is_dropped_with_its_deleted_workflow)
{
    struct store *s = fired_once("{cron: '@hourly', overlap: queue}");
    struct catalogue c = {.s = s, .p = open_pawl()};
    struct pawl_applied_deleted d;
    struct schedule_slice r;

    CHECK_EQ(fire_due_at(s, "2030-06-01T14:00:00Z"), 0);
    CHECK(schedule_named(s, "w/1").row.waiting);
    OK(pawl_applied_delete(c.p, "w", NULL, NULL, NULL, &d, &api_err));
    CHECK_EQ(d.schedules, 1);
    CHECK_EQ(d.waiting, 1);
    run_workflows(s, "");
    CHECK_EQ(fire_due_slice(s, &r), 0);
    CHECK_EQ(r.next, 0);
    CHECK_EQ(firings(s), 1);
    close_catalogue(&c);
}

TEST(sql_submission_that_waits_is_accepted_after_its_workflow_was_deleted)
{
    struct catalogue c = open_catalogue();
    int64_t id;

    apply(c.s, ONE_TASK);
    id = sql_submit(c.s, (struct sql_call){0});
    OK(pawl_applied_delete(c.p, "w", NULL, NULL, NULL, NULL, &api_err));
    clock_advance(100 * DAY);
    retain(c.s, 0);
    CHECK_EQ(take_submissions(c.s), 1);
    CHECK_STR(submission_word(c.s, id), "taken");
    run_workflows(c.s, "");
    CHECK_EQ(status_of(c.s, id), S_SUCCEEDED);
    close_catalogue(&c);
}

static int delete_body(struct turn *t, void *arg, struct err *err)
{
    return op_delete_applied(t, arg, err);
}

/* A transaction that read the name before it was deleted may be about to submit. */
TEST(definition_of_a_deleted_workflow_is_kept_for_the_time_of_the_retention)
{
    struct store *s = fixture_store();
    struct applied_deletion d = {.name = "w"};
    struct err err = ERR_INIT;

    apply(s, ONE_TASK);
    clock_advance(100 * DAY);
    CHECK_OK_ERR(store_turn(s, delete_body, &d, &err), &err);
    retain(s, 90 * DAY);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workflow_definitions"), 1);
    clock_advance(100 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workflow_definitions"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workflow_applications"), 0);
    schedule_done(s);
}
