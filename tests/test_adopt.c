/* test_adopt.c - which orphans a worker adopts: those of all its lanes, the oldest first, except
 * those that its `wanted` callback declines. */
#include "fixture.h"

#define FOLDER "folder-a"

static const struct lane_queue lanes[] = {{"function:f", "default"}, {"process", "default"}};

struct claimed_jobs {
    struct adoption adoption;
    bool adopt;
    int64_t ids[10];
    size_t n;
};

static int claim_or_adopt_body(struct turn *t, void *arg, struct err *err)
{
    struct claimed_jobs *k = arg;
    struct job_list jobs;
    int rc = k->adopt ? op_adopt(t, &k->adoption, &jobs, err)
                      : op_claim(t, &k->adoption.claim, &jobs, err);

    for (k->n = 0; !rc && k->n < jobs.n; k->n++)
        k->ids[k->n] = jobs.at[k->n]->id;
    return rc;
}

/* Wants only jobs whose id is at least the one that arg points to. */
static bool is_wanted(void *arg, const struct execution *e, int64_t last_worker)
{
    (void)last_worker;
    return e->id >= *(int64_t *)arg;
}

static struct claimed_jobs claim_or_adopt(struct store *s, int64_t worker, bool adopt, size_t max,
                                          int64_t from)
{
    struct claimed_jobs k = {.adopt = adopt};
    struct err err = ERR_INIT;

    k.adoption = (struct adoption){.claim = {.worker = worker,
                                             .folder = FOLDER,
                                             .lease = LEASE,
                                             .serves = lanes,
                                             .nserves = 2,
                                             .max = max},
                                   .wanted = is_wanted,
                                   .arg = &from};
    CHECK_OK_ERR(store_turn(s, claim_or_adopt_body, &k, &err), &err);
    return k;
}

/* Submits four function jobs and a command, all claimed by worker 1, and lets their leases expire.
 * Returns the id of the first job. */
static int64_t leave_orphans(struct store *s)
{
    int64_t first = 0;
    int i;

    for (i = 0; i < 5; i++) {
        int64_t id = submit_with(
            s, (struct submission){.name = "x", .lane = i < 4 ? "function:f" : "process"});

        first = first ? first : id;
    }
    CHECK_EQ(claim_or_adopt(s, 1, false, 5, 0).n, 5);
    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 5);
    return first;
}

/* Declined orphans fill a whole batch; those behind them in the same lane are still
 * adopted. */
TEST(orphans_after_a_full_batch_of_declined_orphans_are_adopted)
{
    struct store *s = fixture_store();
    int64_t first = leave_orphans(s);
    struct claimed_jobs k = claim_or_adopt(s, 2, true, 2, first + 2);

    CHECK_EQ(k.n, 2);
    CHECK(k.ids[0] != k.ids[1]);
    CHECK(k.ids[0] >= first + 2 && k.ids[1] >= first + 2);
    verify_clean(s);
    store_close(&s);
}

TEST(each_orphan_is_adopted_once)
{
    struct store *s = fixture_store();
    int64_t first = leave_orphans(s);
    struct claimed_jobs k = claim_or_adopt(s, 2, true, 4, first + 1);
    size_t i, j;

    CHECK_EQ(k.n, 4);
    for (i = 0; i < k.n; i++)
        for (j = 0; j < i; j++)
            CHECK(k.ids[i] != k.ids[j]);
    CHECK_EQ(claim_or_adopt(s, 2, true, 4, first).n, 1);
    CHECK_EQ(claim_or_adopt(s, 2, true, 4, first).n, 0);
    verify_clean(s);
    store_close(&s);
}
