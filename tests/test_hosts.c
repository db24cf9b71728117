/* test_hosts.c - the history names the host of each attempt and the user who requested it, for as
 * long as the events are kept: also after the worker has ended or was killed. */
#include "control_fixture.h"
#include "retention_fixture.h"

static int64_t submit_by(struct pawl *p, const char *by)
{
    struct pawl_job job = {.name = "exec::a", .max_attempts = 2, .by = by};

    OK(pawl_submit(p, &job, 1, &api_err));
    return job.id;
}

static int add_host(void *arg, const char *json)
{
    char *text = arg;
    json_auto_t *e = json_loads(json, 0, NULL);

    if (json_is_string(json_object_get(e, "host")))
        snprintf(text + strlen(text), 400 - strlen(text), "%s %s\n", text_in(e, "type"),
                 text_in(e, "host"));
    return 0;
}

/* The type and host of each event of the execution that has a host. */
static const char *hosts_of(struct pawl *p, int64_t id)
{
    static char text[400];
    struct pawl_event_query q = {.execution = id};

    text[0] = '\0';
    OK(pawl_events(p, &q, add_host, text, &api_err));
    return text;
}

static json_t *show(struct pawl *p, int64_t id, const struct pawl_moment *at)
{
    char *text = NULL;

    OK(at ? pawl_show_at(p, id, at, &text, &api_err) : pawl_show(p, id, &text, &api_err));
    return json_parse_and_free(text);
}

#define HOSTS                                                              \
    "task.claimed alpha\ntask.retry_scheduled alpha\ntask.claimed alpha\n" \
    "task.lease_expired alpha\ntask.adopted beta\ntask.completed beta\n"

/* The first attempt ends on alpha, the second starts there and is adopted by beta. */
static int64_t run_on_two_hosts(struct store *s, struct pawl *p)
{
    int64_t id = submit_by(p, NULL);
    struct held_job j;

    register_worker_on(s, 1, "alpha");
    register_worker_on(s, 2, "beta");
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, 0), 0);
    claim_job(s, 1);
    pass(p, LEASE + SECOND);
    CHECK_EQ(reap(s), 1);
    CHECK(adopt_one(s, 2, &j));
    CHECK_EQ(settle_ok(s, j), 0);
    return id;
}

TEST(host_of_an_attempt_is_known_a_month_after_its_worker_is_gone)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = run_on_two_hosts(s, p);
    json_t *o;

    unregister_worker(s, 1); /* worker 2 was killed: retention removes its row */
    pass(p, 31 * DAY);
    CHECK_EQ(retain(s, 90 * DAY), 0);
    CHECK_EQ(count(s, "workers"), 0);
    CHECK_STR(hosts_of(p, id), HOSTS);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM pawl_events"
                           " WHERE type = 'task.adopted' AND host = 'beta'"),
             1);
    o = show(p, id, NULL);
    CHECK_STR(text_in(o, "host"), "beta");
    json_decref(o);
    close_both(p, s);
}

TEST(host_as_of_a_moment_is_that_of_the_worker_at_that_moment)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = run_on_two_hosts(s, p);
    struct pawl_moment at = {.event = sql_number(s, "SELECT sequence_num FROM execution_events"
                                                    " WHERE type = 10")};
    json_t *o = show(p, id, &at);

    CHECK_STR(text_in(o, "host"), "alpha");
    CHECK(strchr(text_in(o, "requested_by"), '@') != NULL);
    json_decref(o);
    close_both(p, s);
}

TEST(host_is_deleted_with_the_last_execution_whose_events_may_name_it)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();

    run_on_two_hosts(s, p);
    unregister_worker(s, 1);
    unregister_worker(s, 2);
    pass(p, 3 * DAY);
    register_worker_on(s, 3, "gamma");
    submit_by(p, NULL);
    CHECK_EQ(settle_ok(s, claim_job(s, 3)), 0);
    CHECK_EQ(retain(s, 30 * DAY), 0);
    CHECK_EQ(count(s, "worker_hosts"), 3);
    CHECK_EQ(retain(s, 2 * DAY), 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM worker_hosts WHERE host <> 'gamma'"), 0);
    CHECK_EQ(count(s, "worker_hosts"), 1);
    pass(p, 100 * DAY); /* retention removes silent worker 3, and a day later its host */
    CHECK_EQ(retain(s, 2 * DAY), 1);
    CHECK_EQ(count(s, "workers"), 0);
    CHECK_EQ(count(s, "worker_hosts"), 1);
    pass(p, 2 * DAY);
    CHECK_EQ(retain(s, 2 * DAY), 0);
    CHECK_EQ(count(s, "worker_hosts"), 0);
    close_both(p, s);
}

TEST(first_event_of_an_execution_names_its_requester)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_job job = {.name = "exec::a", .by = ""};
    json_t *mine = show(p, submit_by(p, NULL), NULL),
           *given = show(p, submit_by(p, "deploy"), NULL);

    CHECK(strchr(text_in(mine, "requested_by"), '@') != NULL);
    CHECK_STR(text_in(given, "requested_by"), "deploy");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events"
                           " WHERE type = 1 AND data = '{\"by\":\"deploy\"}'"),
             1);
    FAILS(pawl_submit(p, &job, 1, &api_err), PAWL_E_INVALID);
    CHECK_STR(api_err.message, "the requester's name is empty");
    json_decref(mine);
    json_decref(given);
    close_both(p, s);
}
