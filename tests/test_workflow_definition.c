/* test_workflow_definition.c - the cache of workflow definitions: each is read once, and a
 * definition that is not stored is never treated as stored. */
#include "harness.h"
#include "workflow_fixture.h"

static const char yaml[] = "name: w\ntasks: {a: {run: x}}\n";

static struct submission submit_by_hash(struct store *s, const char *text)
{
    static char hash[WORKFLOW_HASH_SIZE];
    struct submission w = {.hash = hash};
    struct err err = ERR_INIT;

    workflow_hash(text, strlen(text), hash);
    CHECK_OK_ERR(store_turn(s, submit_workflow_body, &w, &err), &err);
    return w;
}

TEST(definition_of_a_refused_submission_is_not_treated_as_stored)
{
    struct store *s = fixture_store();
    struct submission w = {.definition = workflow_text(yaml), .parent = 12345};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submit_workflow_body, &w, &err), &err);
    CHECK_EQ(w.rc, -E_NOT_FOUND);
    CHECK_EQ(submit_by_hash(s, w.definition).rc, -E_NOT_FOUND);
    w.parent = 0;
    CHECK_OK_ERR(store_turn(s, submit_workflow_body, &w, &err), &err);
    CHECK_OK_ERR(w.rc, &w.err);
    CHECK_EQ(submit_by_hash(s, w.definition).rc, 0);
    free((char *)w.definition);
    verify_clean(s);
    store_close(&s);
}

static int submit_and_fail(struct turn *t, void *arg, struct err *err)
{
    int rc = op_submit(t, arg, 1, err);

    return rc ? rc : err_set(err, E_INVALID, "on purpose");
}

TEST(definition_of_a_rolled_back_turn_is_removed_from_the_cache)
{
    struct store *s = fixture_store();
    struct submission w = {.definition = workflow_text(yaml)};
    struct err err = ERR_INIT;

    CHECK_EQ(store_turn(s, submit_and_fail, &w, &err), -E_INVALID);
    CHECK_EQ(submit_by_hash(s, w.definition).rc, -E_NOT_FOUND);
    free((char *)w.definition);
    verify_clean(s);
    store_close(&s);
}

static int reads;

static void count_reads(void *arg, const char *what, int64_t took_us, long rows)
{
    (void)arg;
    (void)took_us;
    (void)rows;
    reads += !strcmp(what, "definition_read");
}

TEST(store_that_wrote_a_definition_does_not_read_it_back)
{
    static struct task_claim k;
    struct store *s = fixture_store(), *other = fixture_store();

    fixture_env()->trace = count_reads;
    submit_workflow(s, yaml, NULL);
    submit_workflow(s, yaml, NULL);
    CHECK_EQ(claim_tasks(s, &k), 2);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(reads, 0);
    settle_task(other, k.held[1], OUTCOME_OK,
                NULL); /* a store that did not write it reads it once */
    CHECK_EQ(reads, 1);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}
