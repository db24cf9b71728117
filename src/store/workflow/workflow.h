/* workflow.h - workflows inside of a turn. Ending one execution readies, skips or ends others, up
 * to the root, all in the transaction that ended it. Everything here happens under the root's lock.
 *
 *   definitions.c  definitions by hash or text, kept in memory
 *   stored_definitions.c     the same in the database, as long as something needs them
 *   load.c     a workflow's state, its tasks by name
 *   prefetch_tasks.c    the same for all that ended in a turn, set at a time
 *   workflow_create_tasks.c     the rows of a workflow's tasks, in slices
 *   task_decide.c   a task whose needs have moved on: wait, run, skip
 *   followers_notify.c     the end of a task, told to all that need it, in slices
 *   workflow_build_scope.c    what expressions see
 *   task_make_ready.c    what a task is run by, and its way to the outbox
 *   items.c    fan-outs
 *   item_outputs.c  what the items of one gave
 *   concurrency.c      concurrency: how many of the same key run at once
 *   item_rerun.c    items that run again
 *   end.c      on_failure, on_exit, outputs, and the end
 *   workflow.c          from one end to the next, until nothing follows
 *
 * What ends in one turn ends at once. First all of it is counted; then each task is decided on
 * after its needs, and each workflow and fan-out looked at after what is below it, so that nothing
 * depends on the order in which ends were told, or in which tasks stand in a file. */
#ifndef STORE_WORKFLOW_WORKFLOW_H
#define STORE_WORKFLOW_WORKFLOW_H

#include "core/graph.h"
#include "core/workflow/model.h"
#include "store/turn.h"

struct buf;
struct hold_reasons;
struct json_t;

/* A definition as the store keeps it in memory. */
struct definition {
    char hash[WORKFLOW_HASH_SIZE];
    const struct workflow *workflow;
    const struct workflow_task **by_name; /* sorted */
    size_t ntasks;                        /* on_failure and on_exit among them */
    size_t size;                          /* of its text */
    uint32_t *rank;                       /* of a task by its index: see agenda_add */
    int64_t marked_used_at;               /* when this store last saw to it that its row says so */
    struct arena arena;
};
/* From the database, for the caller to free. E_NOT_FOUND: it is not stored; E_INVALID: its text is
 * none. */
MUST_USE int definition_read(struct db *db, const char *hash, struct definition **out,
                             struct err *err);
void definition_free(struct definition *d); /* NULL is fine */
/* From its text, likewise. */
MUST_USE int definition_parse(const char *text, size_t size, struct definition **out,
                              struct err *err);
/* The same, kept by the store. */
MUST_USE int definition_get(struct turn *t, const char *hash, const struct definition **out,
                            struct err *err);
/* That of a text, stored or not, for this turn; the store keeps it if the turn stores it.
 * E_INVALID: the text is none. */
MUST_USE int definition_from_text(struct turn *t, const char *text, const struct definition **out,
                                  struct err *err);
/* One that the store keeps, or NULL; and whether this turn stored, or marked, its row. */
struct definition *definition_find_cached(const struct store *s, const char *hash);
bool definition_is_used_by_turn(const struct turn *t, const char *hash);
const struct workflow_task *definition_find_task(const struct definition *d, const char *name);
void definitions_release(struct store *s);

#define DEFINITION_FRESH_US (86400 * 1000000LL)
/* Something is about to run by it, or a name to mean it: it is stored, and stays so. w: what to
 * store if it is not (text: as it is written, if that is known); NULL: then E_NOT_FOUND. */
MUST_USE int definition_use(struct turn *t, const char *hash, const struct workflow *w,
                            const char *text, struct err *err);

/* How a task is, without its row. */
struct task_state {
    int64_t id; /* 0: it was not stored yet */
    struct graph_need need;
};

/* A workflow execution, as this turn knows it. */
struct workflow_state {
    struct row *row;
    const struct definition *def;
    struct json_t *variables;  /* {"params", "vars"}, perhaps "due_at"; borrowed from the turn */
    const char *reuse;         /* what it takes over of the one that it is a rerun of, or NULL */
    struct idmap tasks;        /* index of a task + 1 -> its row, as far as it was asked for */
    struct idmap scope_values; /* the same -> what expressions see of it */
    struct task_state
        *task_states; /* of all tasks by index, as they were when all were asked for */
};
/* Loads it, with its row. NULL: it has no definition (a bare tree), so nothing follows in it. */
MUST_USE int workflow_state_get(struct turn *t, int64_t id, int64_t root,
                                struct workflow_state **out, struct err *err);
/* A new one in this turn; variables are taken over. */
struct workflow_state *workflow_state_add(struct turn *t, struct row *row,
                                          const struct definition *def, struct json_t *variables);
/* Reads the states of workflows whose rows are loaded; those that have none are left out. */
MUST_USE int workflow_states_read(struct turn *t, const int64_t *ids, size_t n, struct err *err);
/* The same in two steps: sends for them, and takes the nth that came. */
MUST_USE int workflow_states_send(struct turn *t, const int64_t *ids, size_t n, struct rows *out,
                                  struct err *err);
MUST_USE int workflow_state_receive(struct turn *t, const struct rows *r, size_t nth,
                                    struct err *err);
/* Reads tasks of any workflows into the turn, as far as they exist. */
struct task_ref {
    struct workflow_state *state;
    uint32_t index;
};
MUST_USE int tasks_read(struct turn *t, const struct task_ref *list, size_t n, struct err *err);
/* How all tasks of a workflow are, without their rows: there may be many. Of each that is one of
 * the definition's `each` is told its id, status, bits and hold. */
MUST_USE int tasks_read_states(struct turn *t, int64_t workflow, const struct definition *def,
                               void (*each)(void *arg, const struct workflow_task *task,
                                            const struct execution *e),
                               void *arg, struct err *err);
/* The rows of tasks by index; those that do not exist (not made yet) are NULL. */
MUST_USE int tasks_get_rows(struct turn *t, struct workflow_state *f, const uint32_t *index,
                            size_t n, struct row **out, struct err *err);
void workflow_state_put_task(struct workflow_state *f, uint32_t index, struct row *row);

/* Keeps a JSON value until the turn ends; returns it. */
struct json_t *turn_keep_json(struct turn *t, struct json_t *json);

/* Begins a workflow whose row is pending: writes its state, makes its tasks (the first slice), and
 * readies what needs nothing. `params` is an object and is taken over; values that are missing get
 * their defaults, wrong ones end it as failed with a sentence. `due` is a text: when the run that
 * it is part of was due; NULL: no schedule began it. What h holds it for (NULL: nothing) comes
 * first. */
MUST_USE int workflow_start(struct turn *t, struct row *row, const struct definition *def,
                            struct json_t *params, struct json_t *due, const struct hold_reasons *h,
                            struct err *err);
/* The same for one whose state is written, and that only waited. */
MUST_USE int workflow_start_unheld(struct turn *t, struct workflow_state *f, struct err *err);
/* Makes the next slice of a workflow's tasks; when all are there, readies a slice of those that
 * need nothing. */
MUST_USE int workflow_create_tasks(struct turn *t, struct workflow_state *f, struct err *err);

/* What something is evaluated for. */
struct eval_subject {
    const struct workflow_task *task; /* NULL: the workflow as a whole */
    struct row *row;
    struct json_t *item; /* of an item of a fan-out; borrowed from the turn. NULL: it is none */
    int index;
    struct graph_facts facts;
};

/* How much of large work one turn does, where `usual` goes with slices of 1,000. */
uint32_t slice_bound(const struct turn *t, uint32_t default_bound);

/* workflow_create_tasks.c */
/* How many of the tasks that are left to be made a turn makes which has made so many: some, always.
 */
uint32_t tasks_slice_size(const struct turn *t, uint32_t made, uint32_t left);
MUST_USE int workflow_create_task(struct turn *t, struct workflow_state *f,
                                  const struct workflow_task *task, struct row **out,
                                  struct err *err);
const char *task_find_lane(struct turn *t, const struct workflow_task *task, const char *name);

/* The attempts that a task has. */
int task_max_attempts(const struct turn *t, const struct workflow_task *task);

/* reuse.c: takes over results that stand, of the tasks behind the first `at` of its order, a slice
 * of them. `at` is then the number of all those that it has come to. */
MUST_USE int workflow_reuse_results(struct turn *t, struct workflow_state *f, uint32_t *at,
                                    struct err *err);
/* Whether it has not come to all of them. */
bool workflow_is_reusing(const struct workflow_state *f);

/* concurrency.c */
struct resolve_scope;
/* Evaluates the key, stores it with the row, and makes its limit known to this turn. */
MUST_USE int concurrency_set_key(struct turn *t, struct row *row,
                                 const struct workflow_concurrency *c,
                                 const struct resolve_scope *scope, struct err *err);
/* A workflow that waited for a permit has got it. */
MUST_USE int workflow_start_permitted(struct turn *t, struct row *row, struct err *err);

/* task_decide.c */
struct graph_need task_as_need(const struct workflow_task *task, const struct execution *e);
/* Whether a task has so many needs that their rows are not loaded to decide on it. */
bool task_has_many_needs(const struct workflow_state *f, const struct workflow_task *task);
/* What its needs gave. */
MUST_USE int task_read_facts(struct turn *t, struct workflow_state *f,
                             const struct workflow_task *task, struct graph_facts *out,
                             struct err *err);
MUST_USE int task_decide(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                         struct row *row, struct err *err);
MUST_USE int workflow_count_task_end(struct turn *t, struct workflow_state *f, struct row *row,
                                     struct err *err);
/* Has so many of its followers, from one on, count that it has ended. */
MUST_USE int followers_count_end(struct turn *t, struct workflow_state *f,
                                 const struct workflow_task *task, const struct row *row,
                                 uint32_t from, uint32_t n, struct err *err);
MUST_USE int task_skip(struct turn *t, struct row *row, bool skipped_by_failure, const char *why,
                       struct err *err);
/* It can't be run, or not be decided: failed, with the sentence. */
MUST_USE int task_fail(struct turn *t, struct row *row, const char *sentence, struct err *err);

/* followers_notify.c */
/* How many of those that are left a turn tells which has told so many: perhaps none. */
uint32_t followers_slice_size(const struct turn *t, const struct workflow_state *f,
                              uint32_t notified, uint32_t left);
/* Tells as many as this turn has room for; the rest is left to a timer of the one that ended. */
MUST_USE int followers_notify(struct turn *t, struct workflow_state *f,
                              const struct workflow_task *task, struct row *row, struct err *err);
MUST_USE int followers_notify_next(struct turn *t, struct row *row,
                                   struct err *err);                  /* by that timer */
MUST_USE int followers_notify_later(struct turn *t, struct err *err); /* sets the timers */
/* All that are left, now. */
MUST_USE int followers_notify_all(struct turn *t, struct workflow_state *f,
                                  const struct workflow_task *task, struct row *row,
                                  struct err *err);
/* Ends that followed from ends were counted: a turn does not do that without end either. */
void followers_count_round(struct turn *t, uint32_t before);

/* workflow_build_scope.c */
MUST_USE int workflow_build_scope(struct turn *t, struct workflow_state *f,
                                  const struct eval_subject *s, struct resolve_scope *out,
                                  struct err *err);

/* task_make_ready.c */
MUST_USE int task_make_ready(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                             struct err *err);
/* A pending workflow or fan-out that was held for something, and that nothing holds any more. */
MUST_USE int execution_start_unheld(struct turn *t, struct row *row, struct err *err);
/* -E_INVALID, a value that can't be had, fails the row with that sentence; all else is returned. */
MUST_USE int task_fail_if_invalid(struct turn *t, struct row *row, int rc, struct err *err);
MUST_USE int task_store_resolved(struct turn *t, struct row *row, const struct buf *spec,
                                 const struct buf *input, struct err *err);

/* items.c */
MUST_USE int items_start(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                         struct err *err);
MUST_USE int items_count_end(struct turn *t, struct row *foreach, struct row *item,
                             struct err *err);
MUST_USE int items_advance(struct turn *t, struct workflow_state *f, struct row *foreach,
                           struct err *err);
/* Its list; the turn keeps it. */
MUST_USE int items_read_list(struct turn *t, const struct row *foreach, struct json_t **out,
                             struct err *err);
/* An item of that, borrowed from it. E_INTERNAL: the list has fewer items. */
MUST_USE int items_at(const struct row *foreach, const struct json_t *list, int index,
                      struct json_t **out, struct err *err);

/* item_outputs.c */
#define ITEMS_MAX_STORED   (256 << 10) /* bytes that are stored with the fan-out itself */
#define ITEMS_MAX_IN_SCOPE (16 << 20)  /* that an expression may speak of */
/* [{"status", "outputs"}, …] in the order of the list; fits: it is not larger than that, else what
 * is there is no JSON. */
MUST_USE int items_build_outputs(struct turn *t, const struct row *foreach, size_t most,
                                 struct buf *out, bool *fits, struct err *err);

/* item_rerun.c */
#define OLD_ITEMS_PAGE 500
struct old_items { /* a page of them, by number */
    struct row *at[OLD_ITEMS_PAGE];
    int from, n;
    int64_t run_started_at; /* of FLAG_ONLY_FAILED: those that ended before are of no use */
};
/* The row that the item at the cursor has from an earlier run; NULL: none. */
MUST_USE int items_find_old(struct turn *t, const struct row *foreach, struct old_items *old,
                            struct row **out, struct err *err);
/* Runs it again, if it has to, and goes on to the next. */
MUST_USE int items_rerun_old(struct turn *t, struct workflow_state *f,
                             const struct workflow_task *task, struct row *foreach,
                             const struct old_items *old, struct json_t *item, struct err *err);
struct rerun;
/* A fan-out that has ended runs again, but not the items that succeeded. */
MUST_USE int items_rerun_failed(struct turn *t, struct row *foreach, struct rerun *r,
                                struct err *err);
/* One item runs again. */
MUST_USE int items_rerun_one(struct turn *t, struct row *foreach, struct row *item, struct rerun *r,
                             struct err *err);
/* What its items, as they are now, leave in its bits. */
MUST_USE int items_compute_flags(struct turn *t, struct row *foreach, int *bits, struct err *err);
/* An item as the subject of what is decided about it. */
MUST_USE int items_get_subject(struct turn *t, const struct row *foreach, struct row *item,
                               struct workflow_state **f, struct eval_subject *s, struct err *err);

/* end.c */
/* Ends a workflow below which nothing is open any more, or runs what comes at its end. */
MUST_USE int workflow_end_if_done(struct turn *t, struct workflow_state *f, struct err *err);
MUST_USE int execution_finish(struct turn *t, struct row *row, int status, struct outcome *o,
                              struct err *err);
MUST_USE int execution_explain_end(struct turn *t, struct row *row, int status, const char **out,
                                   struct err *err);
MUST_USE int execution_continue_later(struct turn *t, const struct row *row, struct err *err);
/* A workflow that begins has so long, if that is said. */
MUST_USE int workflow_set_timeout(struct turn *t, const struct workflow_state *f, struct err *err);
MUST_USE int execution_fire_timer(struct turn *t, struct row *row, enum timer_kind kind,
                                  struct err *err);
/* Cancels what is below a node, or the node with it, a slice now and the rest by timers. */
MUST_USE int cancel_below(struct turn *t, struct row *row, const char *reason, struct err *err);
/* The next slice of a cancel, by and for what it was asked for. */
MUST_USE int cancel_next_slice(struct turn *t, struct row *row, struct err *err);
MUST_USE int cancel_tree(struct turn *t, struct row *row, const char *reason, struct err *err);

/* pause.c, approve_skip.c: by timers. */
#define PAUSE_SLICE 500
MUST_USE int pause_next_slice(struct turn *t, struct row *row, struct err *err);
MUST_USE int approval_time_out(struct turn *t, struct row *row, struct err *err);

/* submit_workflow.c: before its row is made, and after. What is wrong with it itself is in s->rc.
 */
MUST_USE int submission_prepare_workflow(struct turn *t, struct submission *s, struct err *err);
/* Takes the ids of the tasks of all of them at once. */
MUST_USE int submissions_reserve_ids(struct turn *t, const struct submission *list, size_t n,
                                     struct err *err);
MUST_USE int submission_start_workflow(struct turn *t, const struct submission *s,
                                       const struct hold_reasons *h, struct err *err);

/* prefetch_tasks.c */
/* What the ends of this turn ask for, before they are told. */
MUST_USE int prefetch_for_ended(struct turn *t, struct err *err);
/* What the tasks behind them are decided by. */
MUST_USE int prefetch_for_decisions(struct turn *t, struct err *err);

/* workflow.c */
/* Has the rules look at a row once all that ended is counted: the deepest first, then by rank: 0
 * for what runs, otherwise its place in an order of its workflow's tasks by their needs. */
void agenda_add(struct turn *t, struct row *row, uint32_t rank);
/* Everything that follows from what ended in this turn, until nothing follows. */
MUST_USE int workflow_advance(struct turn *t, struct err *err);

#endif
