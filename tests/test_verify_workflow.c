/* test_verify_workflow.c - verify and workflows: a good database with workflows in every state is
 * corrupted in many ways, as in test_verify.c; operator actions and the intermediate states of a
 * large graph are not violations. */
#include "damage.h"
#include "store/door/door.h"
#include "store/workflow/workflow.h"
#include "workflow_fixture.h"

TEST_LONG;
TEST_ASAN_DB(sqlite); /* the database finds the violations, not this program */

/* ---- a good database ---- */

static struct held_job claimed_job(const struct task_claim *k, const char *name)
{
    size_t i;

    for (i = 0; i < k->n; i++)
        if (!strcmp(k->names[i], name))
            return k->held[i];
    test_fail(__FILE__, __LINE__, "%s was not claimed", name);
}

#define SUB "sub.yaml", "name: sub\ntasks: {x: {run: x}, y: {run: x, needs: x}}\n"

static void make_ended(struct store *s)
{
    static const char *const nest[] = {"nest.yaml",
                                       "name: nest\ntasks:\n  one: {workflow: sub.yaml}\n"
                                       "  many: {foreach: 2, workflow: sub.yaml, needs: one}\n",
                                       SUB, NULL};

    submit_workflow(
        s,
        "name: chain\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n  c: {run: x, needs: b}\n"
        "outputs: {n: \"${{ tasks.c.outputs.n }}\"}\n",
        NULL);
    submit_workflow(s,
                    "name: broken\ntasks:\n  boom: {run: x}\n  b: {run: x, needs: boom}\n"
                    "  c: {run: x, needs: b}\n  d: {run: x}\n"
                    "  repair: {run: x, needs: b, if: failure()}\n"
                    "  never: {run: x, needs: d, if: failure()}\n"
                    "on_failure: {run: x}\non_exit: {run: x}\n",
                    NULL);
    submit_workflow(s,
                    "name: allowed\ntasks:\n  boom: {run: x, allow_failure: true}\n"
                    "  b: {run: x, needs: boom}\n",
                    NULL);
    submit_workflow(s,
                    "name: fan\ntasks:\n  each: {foreach: [x, y, z], run: x}\n"
                    "  sum: {run: x, needs: each}\n",
                    NULL);
    submit_workflow(s,
                    "name: fast\ntasks:\n"
                    "  quick: {foreach: 10, run: x, max_parallel: 3, fail_fast: true}\n",
                    NULL);
    submit_workflow(s, "name: wrong\nparams: {n: {type: integer}}\ntasks: {a: {run: x}}\n",
                    "{\"n\":\"seven\"}");
    submit_workflow(s,
                    "name: gone\ntasks: {a: {run: x}}\n"
                    "outputs: {n: \"${{ tasks.a.outputs.gone }}\"}\n",
                    NULL);
    submit_workflow(s,
                    "name: choice\ntasks:\n  boom: {run: x}\n  b: {run: x}\n"
                    "  one: {run: x, needs: [boom, b], join: any}\n"
                    "  both: {run: x, needs: [boom, b], join: 2}\n",
                    NULL);
    submit_workflow(s,
                    "name: picky\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a, if: 1 < 2}\n"
                    "  c: {run: x, needs: a, if: success() && 1 < 2}\n"
                    "  d: {run: x, needs: a, if: always() && 1 < 2}\n",
                    NULL);
    submit_workflow_text(s, workflow_text_of_files(nest), NULL);
    run_workflows(s, " boom quick[0] ");
    submit_workflow(
        s, "name: untidy\ntasks: {a: {run: x}}\non_failure: {run: x}\non_exit: {run: x}\n", NULL);
    run_workflows(s, " on_exit ");
}

static void make_stopped(struct store *s)
{
    struct task_claim k = {.push = false};
    int64_t w = submit_workflow(s,
                                "name: stopped\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                                "on_failure: {run: x}\non_exit: {run: x}\n",
                                NULL);

    claim_tasks(s, &k);
    CHECK_OK(cancel(s, w));
    settle_task(s, claimed_job(&k, "a"), OUTCOME_CANCELLED, NULL);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    w = submit_workflow(
        s, "name: late\ntimeout: 1m\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n", NULL);
    claim_tasks(s, &k);
    clock_advance(61 * SECOND);
    run_timers(s);
    settle_task(s, claimed_job(&k, "a"), OUTCOME_CANCELLED, NULL);
    CHECK_EQ(status_of(s, w), S_TIMED_OUT);
}

static void make_open(struct store *s)
{
    static const char *const waiting[] = {
        "waiting.yaml",
        "name: waiting\ntasks:\n  a1: {run: x}\n  b1: {run: x}\n"
        "  many: {foreach: 2, run: x, needs: [a1, b1]}\n"
        "  deep: {workflow: sub.yaml, needs: [a1, b1]}\n"
        "  asked: {workflow: sub.yaml, approval: {message: now?}}\n",
        SUB, NULL};
    static const char *const deep[] = {
        "deep.yaml", "name: deep\ntasks: {many: {foreach: 2, workflow: inside.yaml}}\n",
        "inside.yaml", "name: inside\ntasks: {p: {foreach: 2, run: x}}\n", NULL};
    struct task_claim k = {.push = false};
    int64_t w;

    submit_workflow(s, "name: fanning\ntasks:\n  each: {foreach: 5, run: x, max_parallel: 2}\n",
                    NULL);
    submit_workflow(s, "name: spawner\ntasks:\n  own: {run: x}\n", NULL);
    submit_workflow(s,
                    "name: joins\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
                    "  any: {run: x, needs: [a, b], join: any}\n"
                    "  two: {run: x, needs: [a, b], join: 2}\n"
                    "  all: {run: x, needs: [a, b]}\n  last: {run: x, needs: all}\n"
                    "  free: {run: x, if: 'false'}\n  fan: {foreach: 2, run: x, if: 'false'}\n"
                    "on_exit: {run: x}\n",
                    NULL);
    submit_workflow_text(s, workflow_text_of_files(waiting), NULL);
    w = submit_workflow(s, "name: stopping\ntasks:\n  a2: {run: x}\n  b2: {run: x, needs: a2}\n",
                        NULL);
    claim_tasks(s, &k);
    submit_child(s, claimed_job(&k, "own").id, "child");
    settle_task(s, claimed_job(&k, "own"), OUTCOME_OK, NULL);
    settle_task(s, claimed_job(&k, "each[0]"), OUTCOME_OK, NULL);
    settle_task(s, claimed_job(&k, "a"), OUTCOME_OK, NULL);
    CHECK_OK(cancel(s, w));
    submit_workflow_text(s, workflow_text_of_files(deep), NULL);
}

static struct store *good_database(void)
{
    struct store *s = fixture_store();

    make_ended(s);
    make_stopped(s);
    make_open(s);
    verify_clean(s);
    return s;
}

/* ---- corruptions ---- */

/* Makes a task pending again, against its events. */
#define REOPEN(name)    SET(name, "status = 1, finished_at = NULL, result = NULL, error = NULL")
#define SET(name, what) "UPDATE executions SET " what ROW(name)
#define ENDED           "finished_at = updated_at, result = NULL"
#define ONE_MORE(name)  ";" SET(name, "children_open = COALESCE(children_open, 0) + 1")
#define CONTINUE_TIMER(name) \
    ";INSERT INTO timers SELECT updated_at, id, 3 FROM executions WHERE name = '" name "'"
/* REMOVE deletes all rows of an execution; COPY duplicates an execution. */
#define REMOVE(name) "DELETE FROM execution_events" OF(name) "; DELETE FROM executions" ROW(name)
#define COPY(name)                                                                                        \
    "INSERT INTO executions SELECT 900000, parent, root, workflow, rerun_of, requested_at, "              \
    "started_at, finished_at, updated_at, priority, attempts, max_attempts, epoch, seq, "                 \
    "needs_left, task_index, needs_succeeded, depth, kind, status, held, deferred, flags, "               \
    "cancel_requested, 'copy', queue, lane, concurrency, held_key, task_name, input, result, "            \
    "error, spec, children_open, children_made, notify_left, idle FROM executions" ROW(                   \
        name) ";"                                                                                         \
              "INSERT INTO execution_events (sequence_num, root, execution, created_at, worker, seq, "    \
              "attempt, epoch, type, from_status, to_status, data) SELECT sequence_num + 900000, root, "  \
              "900000, created_at, worker, seq, attempt, epoch, type, from_status, to_status, data FROM " \
              "execution_events" OF(name)
/* Deletes all descendants of a workflow and resets its counters. */
#define BELOW(name) " IN (SELECT id FROM executions WHERE workflow = " ID(name) ")"
#define EMPTY(name)                                                                  \
    "DELETE FROM execution_events WHERE execution" BELOW(                            \
        name) ";"                                                                    \
              "DELETE FROM task_outbox WHERE execution" BELOW(                       \
                  name) ";"                                                          \
                        "DELETE FROM executions WHERE workflow = " ID(name) ";" SET( \
                            name, "children_made = NULL, children_open = NULL")
#define DEFINITION(what) \
    "UPDATE workflow_definitions SET definition = " what " WHERE name = 'chain'"

static const struct damage damages[] = {
    /* ended, with open descendants */
    BREAK("I32", "I06", REOPEN("chain::c")),
    BREAK("I32", "I06", REOPEN("fan::each[2]")),
    BREAK("I32", "I06", REOPEN("sub::y")),
    BREAK("I32", "I06", SET("spawner", "status = 4, " ENDED)),
    BREAK("I32", "I06 I35", SET("fanning::each", "status = 4, " ENDED)),
    /* open, without open descendants */
    BREAK("I32", "I06", SET("chain", "status = 3, finished_at = NULL")),
    BREAK("I32", "I06 I34", SET("fan::each", "status = 3, finished_at = NULL")),
    BREAK("I32", "I06", SET("nest::many[1]", "status = 3, finished_at = NULL")),
    BREAK(NULL, "I06", SET("chain", "status = 3, finished_at = NULL") CONTINUE_TIMER("chain")),
    BREAK("I32", "I35 I40", EMPTY("deep::many[1]")),
    BREAK("I32", "I37 I40",
          EMPTY("deep::many[1]") "; DELETE FROM workflow_executions" OF("deep::many[1]")),

    BREAK("I33", "I06", SET("chain", "status = 5")),
    BREAK("I33", "I06", SET("allowed", "status = 5")),
    BREAK("I33", "I06", SET("stopped", "status = 4")),
    BREAK("I33", "I06", SET("late", "status = 7")),
    BREAK("I33", "I06", SET("broken", "status = 4")),
    BREAK("I33", "I06 I34", SET("fan::each", "status = 5")),
    BREAK("I33", "I06", SET("fast::quick", "status = 4")),
    BREAK("I33", "I06 I34", SET("chain::b", "status = 5, result = NULL")),
    BREAK("I33", NULL, SET("late", "flags = 2")),
    BREAK("I33", NULL, SET("broken", "flags = 24")),
    BREAK("I33", NULL, SET("chain", "cancel_requested = 1")),
    BREAK("I33", NULL, SET("joins", "flags = 1")),
    BREAK("I33", NULL, SET("fanning::each", "flags = 2")),
    BREAK("I33", NULL, SET("gone", "error = NULL")),
    BREAK("I33", "I06", SET("untidy", "status = 4")),
    BREAK("I33", NULL, REMOVE("broken::on_exit")),
    BREAK("I33", NULL, REMOVE("broken::on_failure")),

    /* decided before its needs have ended */
    BREAK("I34", "I06 I32", REOPEN("chain::a")),
    BREAK("I34", "I06 I35", SET("joins::two", "status = 8, " ENDED)),
    BREAK("I34", "I06 I33 I35", SET("joins::all", "status = 5, " ENDED)),
    BREAK("I34", "I06 I27 I40 I32",
          REOPEN("broken::d") ";" SET("broken::on_exit",
                                      "status = 2, finished_at = NULL, result = NULL")),
    /* decided against its needs */
    BREAK("I34", "I06", SET("choice::b", "status = 5, result = NULL")),
    BREAK("I34", "I06", SET("broken::b", "status = 5")),
    BREAK("I34", "I06", SET("chain::c", "status = 8, result = NULL")),
    BREAK("I34", "I06", SET("choice::one", "status = 8, result = NULL")),
    BREAK("I34", "I06", SET("choice::both", "status = 5")),
    BREAK("I34", "I06 I33", SET("picky::a", "status = 7, result = NULL")),

    /* wrong counters */
    BREAK("I35", NULL, SET("joins::two", "needs_left = 2")),
    BREAK("I35", NULL, SET("joins::two", "needs_succeeded = 0")),
    BREAK("I35", NULL, SET("joins::all", "needs_left = 0, needs_succeeded = 2")),
    BREAK("I35", NULL, SET("waiting::deep", "needs_left = 1")),
    BREAK("I35", NULL, SET("joins", "children_open = children_open - 1")),
    BREAK("I35", NULL, SET("fanning::each", "children_open = 1")),
    BREAK("I35", NULL, SET("spawner", "children_open = NULL")),
    /* a pending task that nothing will decide */
    BREAK("I35", "I06", REOPEN("joins::free") ONE_MORE("joins")),
    BREAK("I35", "I06", REOPEN("joins::fan") ONE_MORE("joins")),
    BREAK("I35", "I06",
          REOPEN("stopping::b2") ONE_MORE("stopping") ";" SET("stopping", "flags = 0")),
    BREAK("I35", "I06 I27 I40", SET("joins::any", "status = 1")),
    BREAK("I35", "I06 I27 I40", SET("fanning::each[2]", "status = 1")),
    BREAK("I35", "I06 I27 I40", SET("child", "status = 1")),
    /* a pending task that a timer or an operator will decide */
    BREAK(NULL, "I06", REOPEN("joins::free") ONE_MORE("joins") CONTINUE_TIMER("joins")),
    BREAK(NULL, "I06",
          REOPEN("joins::fan") ONE_MORE("joins") ";" SET("joins::fan", "held = 2, flags = 128")),
    BREAK(NULL, "I06",
          REOPEN("stopping::b2") ONE_MORE("stopping") ";" SET("stopping", "flags = 0")
              CONTINUE_TIMER("stopping")),

    BREAK("I36", NULL, COPY("fan::each[1]")),
    BREAK("I36", NULL, REMOVE("fan::each[1]")),
    BREAK("I36", NULL, SET("fan::each[2]", "task_index = 7")),
    BREAK("I36", NULL, SET("fan::each", "children_made = 2")),
    BREAK("I36", NULL, SET("fanning::each", "children_made = 4")),
    BREAK("I36", NULL, SET("fanning::each", "input = '[0,1]'")),
    BREAK("I36", NULL, SET("fan::each", "input = '[1,2,3,4]'")),
    BREAK("I36", NULL, SET("fan::each", "input = '['")),
    BREAK("I36", NULL, SET("fan::each", "input = NULL")),
    BREAK("I36", NULL, COPY("chain::c")),
    BREAK("I36", NULL, REMOVE("chain::c")),
    BREAK("I36", "I34", REMOVE("chain::a")),
    BREAK("I36", NULL, SET("chain::c", "task_name = 'other'")),
    BREAK("I36", "I32 I34", SET("chain", "children_made = 2")),
    BREAK("I36", "I34 I35", SET("joins", "children_made = 6")),

    BREAK("I37", NULL, "DELETE FROM workflow_executions" OF("chain")),
    BREAK("I37", "I35", "DELETE FROM workflow_executions" OF("joins")),
    BREAK("I37", NULL, "DELETE FROM workflow_executions" OF("nest::one")),
    BREAK("I37", NULL, "DELETE FROM workflow_executions" OF("deep::many[1]")),
    BREAK("I37", NULL,
          "DELETE FROM workflow_executions" OF("nest::one") ";" SET("nest::one",
                                                                    "children_made = NULL")),
    BREAK("I37", NULL, "DELETE FROM workflow_definitions WHERE name = 'chain'"),
    BREAK("I37", NULL, "DELETE FROM workflow_definitions WHERE name = 'sub'"),
    BREAK("I37", NULL, DEFINITION("'{}'")),
    BREAK("I37", NULL, DEFINITION("replace(definition, 'chain', 'train')")),
    BREAK("I37", NULL, "UPDATE workflow_executions SET execution = " ID("chain::a") OF("chain")),
    BREAK("I41", NULL, REMOVE("wrong")),
};
#define DAMAGES (sizeof(damages) / sizeof(*damages))

TEST_SLOW(verify_reports_each_workflow_invariant_that_a_test_corruption_violates, 600)
{
    struct store *s = good_database();

    check_damages(s, damages, DAMAGES);
    verify_clean(s);
    store_close(&s);
}

TEST(every_workflow_invariant_is_violated_by_some_test_corruption)
{
    size_t i, k;

    for (i = 0; i < invariant_count; i++) {
        bool covered = !strstr(WORKFLOW_CODES, invariants[i].code);

        for (k = 0; k < DAMAGES; k++)
            covered |= damages[k].breaks && !strcmp(damages[k].breaks, invariants[i].code);
        if (!covered)
            test_fail(__FILE__, __LINE__, "nothing breaks %s", invariants[i].code);
    }
}

/* ---- legal states ---- */

static int skip_body(struct turn *t, void *arg, struct err *err)
{
    return op_skip(t, arg, 1, err);
}

static int reuse_body(struct turn *t, void *arg, struct err *err)
{
    struct row_ref row_ref = {.id = *(int64_t *)arg};
    int rc;

    if ((rc = turn_find_roots(t, &row_ref, 1, err)) || (rc = turn_load(t, &row_ref, 1, err)))
        return rc;
    return door_move(t, turn_row(t, row_ref.id), EV_REUSED, S_SUCCEEDED, NULL, err);
}

TEST(task_skipped_or_reused_on_request_may_end_before_its_needs)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                                "  c: {run: x, needs: b}\n  d: {foreach: 2, run: x, needs: a}\n"
                                "  e: {run: x, needs: [c, d]}\n",
                                NULL);
    struct request b = {.execution = task_of(s, w, "b")};
    int64_t d = task_of(s, w, "d");
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, skip_body, &b, &err), &err);
    verify_clean(s);
    CHECK_OK_ERR(store_turn(s, reuse_body, &d, &err), &err);
    CHECK_STR(tree_text(s, w), "a:ready b:skipped c:ready d:succeeded e:pending");
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

struct rerunning {
    int64_t workflow, tasks[2];
};

/* Reruns two tasks in place: the first is decided at once, the second waits for it. */
static int rerun_body(struct turn *t, void *arg, struct err *err)
{
    struct rerunning *r = arg;
    struct row_ref wants[] = {{.id = r->workflow}, {.id = r->tasks[0]}, {.id = r->tasks[1]}};
    struct workflow_state *f;
    int i, rc;

    if ((rc = turn_find_roots(t, wants, 3, err)) || (rc = turn_load(t, wants, 3, err)) ||
        (rc = workflow_state_get(t, r->workflow, r->workflow, &f, err)))
        return rc;
    door_set_outcome(f->row, NULL, NULL);
    if ((rc = door_move(t, f->row, EV_RERUN, S_RUNNING, NULL, err)))
        return rc;
    f->row->now.children_open = 2;
    f->row->now.flags = 0;
    for (i = 0; i < 2; i++) {
        struct row *row = turn_row(t, r->tasks[i]);

        row->now.needs_left = i;
        row->now.needs_succeeded = 1 - i;
        row->now.flags = 0;
        door_set_outcome(row, NULL, NULL);
        if ((rc = door_move(t, row, EV_RERUN, S_PENDING, &(struct move_note){.attempts = 1}, err)))
            return rc;
    }
    t->ended.n = 0; /* no execution ended in this turn */
    return task_decide(t, f, definition_find_task(f->def, "b"), turn_row(t, r->tasks[0]), err);
}

TEST(task_rerun_in_place_may_wait_for_its_needs_again)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                                "  c: {run: x, needs: b}\non_failure: {run: x}\n",
                                NULL);
    struct rerunning r = {.workflow = w};
    struct err err = ERR_INIT;

    run_workflows(s, " b ");
    CHECK_STR(tree_text(s, w), "a:succeeded b:failed c:skipped on_failure:succeeded");
    r.tasks[0] = task_of(s, w, "b");
    r.tasks[1] = task_of(s, w, "c");
    CHECK_OK_ERR(store_turn(s, rerun_body, &r, &err), &err);
    CHECK_STR(tree_text(s, w), "a:succeeded b:ready c:pending on_failure:succeeded");
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

/* ---- in the middle of large work ---- */

static int64_t submit_large(struct store *s, int tasks)
{
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addstr(&yaml, "name: large\ntasks:\n  t0: {run: x}\n");
    for (i = 1; i < tasks; i++)
        buf_addf(&yaml, "  t%d: {run: x, needs: t0}\n", i);
    w = submit_workflow(s, yaml.ptr, NULL);
    buf_release(&yaml);
    return w;
}

static const struct damage half_created[] = {
    BREAK(NULL, NULL, "SELECT 1"),
    BREAK("I35", NULL, "DELETE FROM timers WHERE kind = 3"),
    BREAK("I34", "I06 I35", SET("large::t1", "status = 8, " ENDED)),
    BREAK("I36", NULL, SET("large", "children_made = children_made + 1")),
};

TEST(partly_created_graph_is_not_a_violation_while_a_timer_will_continue_it)
{
    struct store *s = fixture_store();
    int64_t w = submit_large(s, 1500);

    check_damages(s, half_created, sizeof(half_created) / sizeof(*half_created));
    run_timers(s);
    CHECK_EQ(task_status(s, w, "t0"), S_READY);
    verify_clean(s);
    store_close(&s);
}

static const struct damage half_notified[] = {
    BREAK(NULL, NULL, "SELECT 1"),
    BREAK("I35", NULL, "DELETE FROM timers WHERE kind = 3"),
    BREAK("I35", NULL, SET("large::t0", "notify_left = notify_left - 1")),
    BREAK("I35", NULL, SET("large::t0", "notify_left = 2000")),
    BREAK("I35", NULL, SET("large::t0", "notify_left = NULL")),
    BREAK("I35", NULL, SET("large::t1400", "needs_left = 0, needs_succeeded = 1")),
    BREAK("I35", NULL, SET("large::t1400", "notify_left = 1")),
};

TEST(partly_notified_followers_are_not_a_violation_while_a_timer_will_notify_the_rest)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t w = submit_large(s, 1500);

    run_timers(s);
    claim_tasks(s, &k);
    settle_task(s, claimed_job(&k, "t0"), OUTCOME_OK, NULL);
    CHECK_EQ(task_status(s, w, "t1400"), S_PENDING);
    check_damages(s, half_notified, sizeof(half_notified) / sizeof(*half_notified));
    run_timers(s);
    CHECK_EQ(task_status(s, w, "t1400"), S_READY);
    verify_clean(s);
    store_close(&s);
}
