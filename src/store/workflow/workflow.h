/* workflow.h - how workflows advance inside a turn. When an execution ends, the same transaction
 * decides on its followers and ends its fan-out or workflow if that has nothing left to do, level
 * by level up to the root. All of this happens under the root lock.
 *
 * The life of a workflow, in order, and the file of each step:
 *
 *   submit_workflow.c     A submission names or contains a definition; its execution is created.
 *   definitions.c         Parsed definitions, cached in memory.
 *   stored_definitions.c  Definitions in the database, kept while something uses them.
 *   create.c              The workflow starts and creates the rows of its tasks, in slices.
 *   reuse.c               A rerun as a new execution takes over results of the earlier one, and
 *                         item_reuse.c those of items.
 *   concurrency.c         Concurrency keys of jobs and workflows.
 *   load.c                A later turn loads the workflow's state and the tasks that it uses.
 *   deliveries.c          Ends are reported to webhooks, by jobs.
 *   follow_runs.c         The end of a run starts the workflows that follow it.
 *
 * When a task ends, the door appends its row to turn.ended, and workflow_advance (advance.c)
 * repeats these steps until turn.ended and the agenda are empty:
 *
 *   1. prefetch_tasks.c loads the ancestors and followers of all rows in turn.ended.
 *   2. advance.c counts each end in its parent: followers.c if that is a workflow, items.c if it is
 *      a fan-out. followers.c also counts the end in the task's followers, in slices: a timer of
 *      the ended task notifies the rest. Every row whose counters changed goes on the agenda.
 *   3. prefetch_tasks.c loads the tasks that the decisions on those followers depend on.
 *   4. advance.c takes the first row from the agenda:
 *        a pending task        decide.c: wait, run or skip
 *        a running fan-out     items.c: create the next items, or end
 *        a running workflow    end_workflow.c: start on_failure or on_exit, or end
 *      A task that runs goes to ready.c, which evaluates its templates (scope.c and scope_tasks.c
 *      build the values that expressions see) and makes it claimable, holds it, starts its items
 *      (items.c) or starts the workflow nested in it (create.c).
 *      item_outputs.c collects the outputs of items.
 *
 * All ends of a turn are counted before anything is decided. Then each task is decided after its
 * needs, and each workflow and fan-out after its descendants. The result therefore depends neither
 * on the order in which ends were reported nor on the order of tasks in a file.
 *
 * Rerun in place (rerun.h): rerun.c, rerun_partial.c, rerun_node.c and item_rerun.c. */
#ifndef STORE_WORKFLOW_WORKFLOW_H
#define STORE_WORKFLOW_WORKFLOW_H

#include "core/graph.h"
#include "core/workflow/model.h"
#include "store/turn.h"

struct buf;
struct hold_reasons;
struct json_t;
struct templates;

/* A definition as the store keeps it in memory. */
struct definition {
    char hash[WORKFLOW_HASH_SIZE];
    const struct workflow *workflow;
    const struct templates *templates;
    const struct workflow_task **by_name; /* sorted */
    size_t ntasks;                        /* number of tasks, including on_failure and on_exit */
    size_t size;                          /* bytes of the definition's text */
    uint32_t *rank;                       /* ranks of the tasks, by index; see agenda_add */
    /* When the definition's row was last known to be marked used. */
    int64_t marked_used_at;
    struct arena arena;
};
/* Reads a definition from the database; the caller frees it. -E_NOT_FOUND if it is not stored;
 * -E_INVALID if its text is not a valid definition. */
MUST_USE int definition_read(struct db *db, const char *hash, struct definition **out,
                             struct err *err);
void definition_free(struct definition *d); /* d may be NULL */
/* Parses a definition from its text; the caller frees it. */
MUST_USE int definition_parse(const char *text, size_t size, struct definition **out,
                              struct err *err);
/* Returns the cached definition with this hash; reads it from the database if necessary. It is
 * valid until the turn ends. */
MUST_USE int definition_get(struct turn *t, const char *hash, const struct definition **out,
                            struct err *err);
/* Returns the definition with this text, which may be stored or not. It is valid until the turn
 * ends; the store caches it if the turn stores it. -E_INVALID if the text is not a valid
 * definition. */
MUST_USE int definition_from_text(struct turn *t, const char *text, const struct definition **out,
                                  struct err *err);
/* Returns the cached definition with this hash; NULL if it is not in the cache. */
struct definition *definition_find_cached(const struct store *s, const char *hash);
/* Whether this turn stored the definition's row or marked it used. */
bool definition_is_used_by_turn(const struct turn *t, const char *hash);
const struct workflow_task *definition_find_task(const struct definition *d, const char *name);
void definitions_release(struct store *s);

#define DEFINITION_FRESH_US (86400 * 1000000LL)
/* Makes sure that a definition is stored and stays stored. Call this before an execution uses the
 * definition or a name is bound to it. If the definition is not stored yet, stores w, or returns
 * -E_NOT_FOUND if w is NULL. text is the canonical text of w, or NULL if unknown. */
MUST_USE int definition_use(struct turn *t, const char *hash, const struct workflow *w,
                            const char *text, struct err *err);

/* The state of a task whose row is not loaded. */
struct task_state {
    int64_t id; /* id of the task's execution; 0 if it is not stored */
    struct graph_need need;
    bool open; /* whether the task has not ended, or still has followers to notify */
};

/* A workflow execution as this turn sees it. */
struct workflow_state {
    struct row *row;
    const struct definition *def;
    struct json_t *variables; /* {"params", "vars"} and perhaps "due_at"; borrowed from the turn */
    const char *reuse;        /* see struct submission; NULL if the workflow reuses no results */
    /* When all tasks exist: how many of them must still be checked for a result to reuse, and after
     * that, how many must still be checked because a task without needs can start. */
    uint32_t reuse_left, start_left;
    /* Maps task index + 1 to the task's row, for the tasks that are loaded. */
    struct idmap tasks;
    struct idmap scope_values; /* maps task index + 1 to the task's value for expressions */
    /* The states of all tasks, by index, at the time when they were read; NULL if not read. */
    struct task_state *task_states;
};
/* Loads a workflow's state and row. *out is NULL if the execution has no definition, so that there
 * are no tasks to decide on. */
MUST_USE int workflow_state_get(struct turn *t, int64_t id, int64_t root,
                                struct workflow_state **out, struct err *err);
/* Adds the state of a workflow that this turn starts; takes ownership of variables. */
struct workflow_state *workflow_state_add(struct turn *t, struct row *row,
                                          const struct definition *def, struct json_t *variables);
/* Reads the states of workflows whose rows are loaded; executions without a state are left out. */
MUST_USE int workflow_states_read(struct turn *t, const int64_t *ids, size_t n, struct err *err);
/* The two steps of workflow_states_read: send the query, and add the nth workflow of its result. */
MUST_USE int workflow_states_send(struct turn *t, const int64_t *ids, size_t n, struct rows *out,
                                  struct err *err);
MUST_USE int workflow_state_receive(struct turn *t, const struct rows *r, size_t nth,
                                    struct err *err);
/* A task of a workflow. tasks_read loads the rows of such tasks into the turn, leaving out tasks
 * that do not exist. */
struct task_ref {
    struct workflow_state *state;
    uint32_t index;
};
MUST_USE int tasks_read(struct turn *t, const struct task_ref *list, size_t n, struct err *err);
/* Reads the states of all tasks of a workflow without loading their rows, because there may be
 * many. *out has one entry per task, by index. */
MUST_USE int tasks_read_states(struct turn *t, int64_t workflow, const struct definition *def,
                               struct task_state **out, struct err *err);
/* Gets the rows of tasks by their indexes. A row is NULL if the task is not created yet. */
MUST_USE int tasks_get_rows(struct turn *t, struct workflow_state *f, const uint32_t *index,
                            size_t n, struct row **out, struct err *err);
void workflow_state_put_task(struct workflow_state *f, uint32_t index, struct row *row);

/* Keeps a JSON value until the turn ends, and returns it. */
struct json_t *turn_keep_json(struct turn *t, struct json_t *json);

struct workflow_input {
    struct json_t *params; /* an object; params that are missing get their defaults */
    /* Whether the params are known to be valid; if not, an invalid value fails the workflow. */
    bool params_checked;
    /* When the scheduled run was due, as a JSON string; NULL if no schedule started it. */
    struct json_t *due;
    /* Reasons to hold the workflow before it starts; NULL if none. */
    const struct hold_reasons *holds;
};
/* Starts a workflow whose row is pending: writes its state, creates the first slice of its tasks,
 * and makes the tasks without needs ready. Takes ownership of the params. */
MUST_USE int workflow_start(struct turn *t, struct row *row, const struct definition *def,
                            const struct workflow_input *in, struct err *err);
/* Starts a workflow after its hold ended. Its state is written already. */
MUST_USE int workflow_start_unheld(struct turn *t, struct workflow_state *f, struct err *err);
/* Creates the next slice of a workflow's tasks. When all tasks exist, makes a slice of those
 * without needs ready. */
MUST_USE int workflow_create_tasks(struct turn *t, struct workflow_state *f, struct err *err);

/* The task or workflow for which an expression is evaluated. */
struct eval_subject {
    const struct workflow_task *task; /* NULL for a workflow as a whole */
    struct row *row;
    /* The item, borrowed from the turn; NULL unless the task is an item of a fan-out. */
    struct json_t *item;
    int index;
    struct graph_facts facts;
};

/* The size of a slice of large work in this turn: default_bound * the option `slice` / 1000. */
uint32_t slice_bound(const struct turn *t, uint32_t default_bound);

/* create.c */
/* How many of the `left` uncreated tasks of a workflow this turn creates, if it has created
 * `tasks_created` tasks so far; at least 1, if any are left. */
uint32_t tasks_slice_size(const struct turn *t, uint32_t tasks_created, uint32_t left);
MUST_USE int workflow_create_task(struct turn *t, struct workflow_state *f,
                                  const struct workflow_task *task, struct row **out,
                                  struct err *err);
/* How many attempts a new task may make. */
int task_max_attempts(const struct turn *t, const struct workflow_task *task);

/* reuse.c */
/* Takes over results of the earlier execution, one slice of tasks. *at is the number of tasks that
 * were processed before, in reverse topological order; it is increased. */
MUST_USE int workflow_reuse_results(struct turn *t, struct workflow_state *f, uint32_t *at,
                                    struct err *err);
/* Ends a new task or item with the result that it had in the execution `before`, unless it has been
 * skipped, cancelled or held since. */
MUST_USE int task_reuse_result(struct turn *t, struct row *row, int64_t before, const char *result,
                               struct err *err);
/* Reads whether the results of succeeded items of a fan-out are taken over from the earlier
 * execution: if the fan-out failed there, and the results of all its needs are taken over. */
MUST_USE int workflow_reuses_items(struct turn *t, struct workflow_state *f, uint32_t task,
                                   bool *out, struct err *err);
/* Sets reuse_left and start_left of the workflow's state. */
MUST_USE int workflow_set_progress(struct turn *t, struct workflow_state *f, uint32_t reuse_left,
                                   uint32_t start_left, struct err *err);
/* Whether there are tasks that must still be created, checked for reuse, or checked for a start
 * without needs. */
bool workflow_is_starting(const struct workflow_state *f);

/* concurrency.c */
struct resolve_scope;
/* Evaluates the concurrency key, stores it with the row, and loads its limit into this turn. */
MUST_USE int concurrency_set_key(struct turn *t, struct row *row,
                                 const struct workflow_concurrency *c,
                                 const struct resolve_scope *scope, struct err *err);
/* Starts a workflow that waited for a permit and got it. */
MUST_USE int workflow_start_permitted(struct turn *t, struct row *row, struct err *err);

/* decide.c */
struct graph_need task_as_need(const struct workflow_task *task, const struct execution *e);
/* Whether a task has so many needs that their rows are not loaded for its decision. */
bool task_has_many_needs(const struct workflow_state *f, const struct workflow_task *task);
/* Computes the results of success(), failure() and cancelled() for a task from its needs; for
 * on_failure and on_exit, from all tasks. */
MUST_USE int task_read_facts(struct turn *t, struct workflow_state *f,
                             const struct workflow_task *task, struct graph_facts *out,
                             struct err *err);
/* Decides on a pending task: makes it ready, skips it, or lets it wait. */
MUST_USE int task_decide(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                         struct row *row, struct err *err);
MUST_USE int task_skip(struct turn *t, struct row *row, bool skipped_by_failure, const char *why,
                       struct err *err);
/* Ends a task as failed, with the sentence as its error, because it can't run or can't be
 * decided. */
MUST_USE int task_fail(struct turn *t, struct row *row, const char *sentence, struct err *err);

/* follow_runs.c */
/* The bits 1 << S_... of the ends that a trigger starts a run for. */
int follow_statuses(const struct workflow_follow *f);
/* Submits the workflows that follow a run, which this turn has ended. */
MUST_USE int workflow_follow_run(struct turn *t, struct row *row, struct err *err);

/* deliveries.c */
/* Submits the deliveries of the ends in turn.end_notes, and empties the list. */
MUST_USE int deliveries_submit(struct turn *t, struct err *err);

/* followers.c */
/* Counts an ended task in its workflow, and notifies its followers. */
MUST_USE int workflow_count_task_end(struct turn *t, struct workflow_state *f, struct row *row,
                                     struct err *err);
/* How many of the `left` followers this turn notifies, if it has notified `notified` so far; may
 * be 0. */
uint32_t followers_slice_size(const struct turn *t, const struct workflow_state *f,
                              uint32_t notified, uint32_t left);
/* Notifies as many followers as fit into this turn; a timer of the ended task notifies the rest. */
MUST_USE int followers_notify(struct turn *t, struct workflow_state *f,
                              const struct workflow_task *task, struct row *row, struct err *err);
/* followers_notify_later sets the timers of ended tasks that still have followers to notify;
 * followers_notify_next notifies the next slice when such a timer fires. */
MUST_USE int followers_notify_later(struct turn *t, struct err *err);
MUST_USE int followers_notify_next(struct turn *t, struct row *row, struct err *err);
/* Notifies all followers that were not notified yet, in this turn. */
MUST_USE int followers_notify_all(struct turn *t, struct workflow_state *f,
                                  const struct workflow_task *task, struct row *row,
                                  struct err *err);
/* Called after each count_ends. If count_ends notified followers (t->notified was `before` the
 * call), adds a fixed cost to the notifications of this turn, which are limited: each end may lead
 * to further ends, without bound. */
void followers_count_round(struct turn *t, uint32_t before);

/* scope.c */
MUST_USE int workflow_build_scope(struct turn *t, struct workflow_state *f,
                                  const struct eval_subject *s, struct resolve_scope *out,
                                  struct err *err);

/* scope_tasks.c */
/* Builds the value of a task for expressions, {"status", "outputs", "error"}, which the turn owns.
 * `row` is NULL if the task was not created. -E_INVALID if the outputs are too large or
 * unreadable. */
MUST_USE int task_read_value(struct turn *t, struct workflow_state *f, uint32_t index,
                             const struct row *row, struct json_t **out, struct err *err);
/* Adds the values of all tasks, except on_failure and on_exit, in the order of the file. -E_INVALID
 * if outputs are too large or unreadable. */
MUST_USE int tasks_read_all_values(struct turn *t, struct workflow_state *f, struct json_t *tasks,
                                   struct err *err);

/* ready.c */
MUST_USE int task_make_ready(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                             struct err *err);
/* Starts a pending workflow or fan-out whose last hold ended. */
MUST_USE int execution_start_unheld(struct turn *t, struct row *row, struct err *err);
/* If rc is -E_INVALID, because a value can't be computed, fails the row with that error and returns
 * 0 or a new error; otherwise returns rc. */
MUST_USE int task_fail_if_invalid(struct turn *t, struct row *row, int rc, struct err *err);
/* Stores the evaluated spec and input with the row. -E_INVALID if they are too large. */
MUST_USE int task_store_resolved(struct turn *t, struct row *row, const struct buf *spec,
                                 const struct buf *input, struct err *err);

/* items.c */
/* Evaluates the list of a fan-out and starts it. */
MUST_USE int items_start(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                         struct err *err);
/* Counts the end of an item in its fan-out. */
MUST_USE int items_count_end(struct turn *t, struct row *foreach, struct row *item,
                             struct err *err);
/* Creates the next items of a fan-out, stops it if fail_fast applies, or ends it. */
MUST_USE int items_advance(struct turn *t, struct workflow_state *f, struct row *foreach,
                           struct err *err);
/* Reads the list of a fan-out; the turn owns it. */
MUST_USE int items_read_list(struct turn *t, const struct row *foreach, struct json_t **out,
                             struct err *err);
/* Gets an item of the list. *out is borrowed from the list. -E_INTERNAL if the list has fewer
 * items. */
MUST_USE int items_at(const struct row *foreach, const struct json_t *list, int index,
                      struct json_t **out, struct err *err);

/* item_outputs.c */
/* Bytes of a list of outputs that is stored with the fan-out itself. */
#define ITEMS_MAX_STORED   (256 << 10)
#define ITEMS_MAX_IN_SCOPE (16 << 20) /* bytes of outputs that an expression may refer to */
/* Appends [{"status", "outputs", "item", "error"}, …] in the order of the list, one entry for each
 * of its items. The fan-out must have started. *fits is set to whether the text is at most `most`
 * bytes long; if it is false, `out` is incomplete and not valid JSON. */
MUST_USE int items_build_outputs(struct turn *t, const struct row *foreach, size_t most,
                                 struct buf *out, bool *fits, struct err *err);

/* item_rerun.c */
#define OLD_ITEMS_PAGE 500
struct old_items { /* a page of items from an earlier run, by index */
    struct row *at[OLD_ITEMS_PAGE];
    int from, n;
    int64_t run_started_at; /* for FLAG_ONLY_FAILED: items that ended before this time run again */
};
/* Finds the row that the next item has from an earlier run; *out is NULL if there is none. */
MUST_USE int items_find_old(struct turn *t, const struct row *foreach, struct old_items *old,
                            struct row **out, struct err *err);
/* Counts the item that items_find_old found as created, and reruns it if necessary. */
MUST_USE int items_rerun_old(struct turn *t, struct workflow_state *f,
                             const struct workflow_task *task, struct row *foreach,
                             const struct old_items *old, struct json_t *item, struct err *err);
/* item_reuse.c */
struct reusable_items { /* items of a fan-out that succeeded in the earlier execution */
    int64_t foreach;    /* the fan-out in the earlier execution; 0 if none can be reused */
    int made;           /* how many items the last run of that fan-out created */
    struct json_t *list;
    int from, n; /* index of the first item in `page`, and number of items in it */
    struct rows page;
};
struct reusable_item {
    int64_t id; /* id of the item; 0 if none */
    const char *result;
};
/* Loads the items that can be reused. The caller releases *out, even after an error. */
MUST_USE int items_load_reusable(struct turn *t, struct workflow_state *f,
                                 const struct workflow_task *task, struct reusable_items *out,
                                 struct err *err);
/* Finds the item of the earlier execution that succeeded and has this index and value. */
MUST_USE int items_find_reusable(struct turn *t, struct reusable_items *old, int index,
                                 const struct json_t *item, struct reusable_item *out,
                                 struct err *err);
void reusable_items_release(struct reusable_items *old);
struct rerun;
/* Reruns a fan-out that has ended, but not the items that succeeded. */
MUST_USE int items_rerun_failed(struct turn *t, struct row *foreach, struct rerun *r,
                                struct err *err);
/* Reruns one item of a fan-out. */
MUST_USE int items_rerun_one(struct turn *t, struct row *foreach, struct row *item, struct rerun *r,
                             struct err *err);
/* Computes the flags of a fan-out from the current statuses of its items. */
MUST_USE int items_compute_flags(struct turn *t, struct row *foreach, int *bits, struct err *err);
/* Gets the subject for the expressions of an item, and the state of its workflow. */
MUST_USE int items_get_subject(struct turn *t, const struct row *foreach, struct row *item,
                               struct workflow_state **f, struct eval_subject *s, struct err *err);

/* end_workflow.c */
/* If all tasks have ended, starts on_failure or on_exit, or ends the workflow. */
MUST_USE int workflow_end_if_done(struct turn *t, struct workflow_state *f, struct err *err);
/* Whether the task is on_failure or on_exit; task may be NULL. */
bool task_is_final(const struct workflow_state *f, const struct workflow_task *task);
/* The end of a workflow whose tasks have ended, unless on_failure or on_exit will change it.
 * workflow_end_facts returns the results of success(), failure() and cancelled() for this end;
 * workflow_describe_end returns it as texts. *error is NULL if the workflow succeeds. */
struct graph_facts workflow_end_facts(const struct workflow_state *f);
MUST_USE int workflow_describe_end(struct turn *t, struct workflow_state *f, const char **status,
                                   const char **error, struct err *err);
/* Ends a workflow or fan-out with this status. */
MUST_USE int execution_finish(struct turn *t, struct row *row, int status, struct outcome *o,
                              struct err *err);
/* Returns the error text of a workflow or fan-out that ends with this status. */
MUST_USE int execution_explain_end(struct turn *t, struct row *row, int status, const char **out,
                                   struct err *err);
/* Sets a timer of the execution that is due now, so that another turn continues the work. */
MUST_USE int execution_continue_later(struct turn *t, const struct row *row, struct err *err);
/* Sets the timeout timer of a workflow that starts, if it has a timeout. */
MUST_USE int workflow_set_timeout(struct turn *t, const struct workflow_state *f, struct err *err);
/* Handles a due timer of a workflow or fan-out. */
MUST_USE int execution_fire_timer(struct turn *t, struct row *row, enum timer_kind kind,
                                  struct err *err);

/* ops/cancel.c */
/* Cancels the descendants of an execution: a slice now, and the rest by timers. */
MUST_USE int cancel_below(struct turn *t, struct row *row, const char *reason, struct err *err);
/* Cancels the next slice, with the user and reason of the original request. */
MUST_USE int cancel_next_slice(struct turn *t, struct row *row, struct err *err);
/* Like cancel_below, but cancels the execution itself, too. */
MUST_USE int cancel_tree(struct turn *t, struct row *row, const char *reason, struct err *err);

/* ops/pause.c and ops/approve_skip.c: functions that timers call */
#define PAUSE_SLICE 500
MUST_USE int pause_next_slice(struct turn *t, struct row *row, struct err *err);
MUST_USE int approval_time_out(struct turn *t, struct row *row, struct err *err);

/* submit_workflow.c */
/* Finds the definition of a submission before the row of the execution is created. An error in the
 * submission itself is stored in s->rc. */
MUST_USE int submission_prepare_workflow(struct turn *t, struct submission *s, struct err *err);
/* Reserves the ids for the tasks of all submissions with one statement. */
MUST_USE int submissions_reserve_ids(struct turn *t, const struct submission *list, size_t n,
                                     struct err *err);
/* Starts the workflow of a submission, after the row of the execution is created. */
MUST_USE int submission_start_workflow(struct turn *t, const struct submission *s,
                                       const struct hold_reasons *h, struct err *err);

/* prefetch_tasks.c */
/* Loads the rows that are needed to count the executions that ended in this turn. */
MUST_USE int prefetch_for_ended(struct turn *t, struct err *err);
/* Loads the rows that are needed to decide on the followers of ended tasks. */
MUST_USE int prefetch_for_decisions(struct turn *t, struct err *err);

/* advance.c */
/* Adds a row to the agenda, to be decided on when all ends are counted. The deepest row comes
 * first, and among rows of one depth the lowest rank: 0 for a running workflow or fan-out,
 * otherwise the task's position in a topological order of its workflow. */
void agenda_add(struct turn *t, struct row *row, uint32_t rank);
/* Processes the executions that ended in this turn, and all ends that follow from these, until none
 * are left. */
MUST_USE int workflow_advance(struct turn *t, struct err *err);

#endif
