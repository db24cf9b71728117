/* test_claim_ctid.c - a claim records the ctid of each outbox row that it locked, and the turn
 * deletes those rows by ctid (PostgreSQL; docs/adr/0042). Only the claimed rows are deleted, and a
 * ctid is used only while its row exists. */
#include "fixture.h"
#include "store/door/door.h"
#include "store/operator.h"

enum { JOBS = 5 };

static int claim_in_turn(struct turn *t, size_t max, const struct quarantine *quarantined,
                         struct job_list *out, struct err *err)
{
    static const struct lane_queue serves = {"process", "default"};
    struct claim c = {.worker = 1,
                      .folder = "here",
                      .lease = 30 * SECOND,
                      .serves = &serves,
                      .nserves = 1,
                      .max = max,
                      .quarantined = quarantined};

    return op_claim(t, &c, out, err);
}

/* ---- rows that a claim leaves ---- */

static int claim_two(struct turn *t, void *arg, struct err *err)
{
    struct job_list jobs;
    int rc = claim_in_turn(t, 2, arg, &jobs, err);

    CHECK(rc || jobs.n == 2);
    return rc;
}

TEST(claim_leaves_quarantined_outbox_rows_in_place)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    struct quarantine quarantine = {0};
    int64_t ids[JOBS];
    int i;

    for (i = 0; i < JOBS; i++)
        ids[i] = submit(s, "job");
    CHECK(quarantine_add(&quarantine, ids[0], 0));
    CHECK(quarantine_add(&quarantine, ids[2], 0));
    CHECK_OK_ERR(store_turn(s, claim_two, &quarantine, &err), &err);
    verify_clean(s);
    for (i = 0; i < JOBS; i++)
        CHECK_EQ(status_of(s, ids[i]), i == 1 || i == 3 ? S_RUNNING : S_READY);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 3);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* ---- a job that returns to the outbox in the same turn ---- */

/* Claims a job, settles it as refused and pauses it: its second outbox row has another ctid. */
static int claim_release_pause(struct turn *t, void *arg, struct err *err)
{
    struct request request = {.execution = *(int64_t *)arg};
    struct settlement back = {.outcome = {.kind = OUTCOME_REFUSED, .retry_delay = -1}};
    struct job_list jobs;
    bool more;
    int rc;

    if ((rc = claim_in_turn(t, 1, NULL, &jobs, err)))
        return rc;
    CHECK_EQ(jobs.n, 1);
    back.lease = (struct lease_ref){
        .execution = jobs.at[0]->id, .root = jobs.at[0]->root, .epoch = jobs.at[0]->epoch};
    if ((rc = door_flush(t, err)) || (rc = op_settle(t, 1, &back, 1, err)) ||
        (rc = door_flush(t, err)))
        return rc;
    CHECK_EQ(back.lease.rc, 0);
    return op_pause(t, &request, 1, 1000, &more, err);
}

TEST(outbox_ctid_is_forgotten_when_its_row_is_deleted)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    int64_t id = submit(s, "job"), other = submit(s, "other");

    CHECK_OK_ERR(store_turn(s, claim_release_pause, &id, &err), &err);
    verify_clean(s);
    CHECK_EQ(status_of(s, id), S_READY);
    CHECK_EQ(get(s, id).held, HELD_PAUSED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 1);
    CHECK_EQ(claim_job(s, 2).id, other);
    CHECK_EQ(unhold(s, id), 0);
    drain(s);
    verify_clean(s);
    store_close(&s);
}
