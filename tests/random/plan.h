/* plan.h - a random workflow: its structure, how its tasks end, and its text as YAML. The tests of
 * this folder run a plan through Pawl and through the model (model.h), and compare.
 *
 * A plan is a function of its seed. The outcome of a task depends only on the seed, its path and
 * the attempt, so a plan from which tasks were removed (plan_smaller) still has the same outcomes.
 */
#ifndef TESTS_RANDOM_PLAN_H
#define TESTS_RANDOM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define PLAN_WORKFLOWS 5   /* maximum number of files: the main one and those nested in it */
#define PLAN_DEPTH     3   /* maximum depth of nested workflows */
#define PLAN_TASKS     200 /* maximum number of tasks, in all files together */
#define PLAN_NODES     800 /* maximum number of executions: one turn cancels at most 1,000 */
#define PLAN_NEEDS     5
#define PLAN_CONDS     9
#define PLAN_MAX_ITEMS 6
#define PLAN_KEYS      2

uint64_t plan_mix(uint64_t a, uint64_t b); /* combines two numbers */
struct plan_rng {
    uint64_t state;
};
uint64_t plan_random(struct plan_rng *r);
unsigned plan_below(struct plan_rng *r, unsigned n); /* 0 … n - 1 */
bool plan_chance(struct plan_rng *r, unsigned percent);

enum plan_op {
    PLAN_SUCCESS,
    PLAN_FAILURE,
    PLAN_CANCELLED,
    PLAN_ALWAYS,
    PLAN_STATUS, /* tasks.X.status == 'word' */
    PLAN_OUTPUT, /* tasks.X.outputs.n == 1: an error unless X is a command that succeeded */
    PLAN_GONE,   /* tasks.X.outputs.gone == 1: an error */
    PLAN_ITEM,   /* tasks.X.outputs[item].status == 'word', for a fan-out X, and that item's value:
                  * an error unless X has ended after a start and has that item */
    PLAN_NOT,
    PLAN_AND,
    PLAN_OR,
};

struct plan_cond {
    enum plan_op op;
    int left, right; /* of the same task's conds, with lower indexes than its own */
    int task;        /* the number of its name */
    int word;        /* an enum model_status */
    int item;        /* of PLAN_ITEM */
};

enum plan_each {
    PLAN_ONE,    /* not a fan-out */
    PLAN_LIST,   /* foreach: [{a: 0}, {b: 1}, …] */
    PLAN_NUMBER, /* foreach: 3 */
    PLAN_LISTED, /* foreach: ${{ tasks.X.outputs.list }} */
};

struct plan_task {
    int name;              /* t17; kept when others are removed */
    int needs[PLAN_NEEDS]; /* names of earlier tasks */
    int nneeds;
    int join;
    struct plan_cond conds[PLAN_CONDS]; /* the last is the whole condition */
    int nconds;                         /* 0 if there is no `if` */
    enum plan_each each;
    int items, listed_by;
    unsigned bad; /* PLAN_LIST: bit set of the items that can't be resolved */
    int max_parallel;
    bool fail_fast, allow_failure, approval;
    int retries;
    int nested; /* index of a nested workflow; 0 for a command */

    /* in hours; 0 if none */
    int delay, approval_timeout, timeout; /* timeout: of the nested workflow */
    int key;                              /* of a command: 1 … PLAN_KEYS; 0 if none */
};

struct plan_workflow {
    struct plan_task *tasks; /* each after its needs; on_failure and on_exit last */
    int ntasks;              /* without on_failure and on_exit */
    bool on_failure, on_exit;
    int timeout; /* in hours; 0 if none */
    int max;     /* how many of its executions may run at a time, by a key; 0 for no limit */
};

struct plan {
    uint64_t seed;
    struct plan_workflow workflows[PLAN_WORKFLOWS]; /* a workflow nests only later ones */
    int nworkflows;
    unsigned failing;                    /* percent of attempts that do not succeed */
    unsigned operates, crashes, batches; /* percent of the steps of a play */
    bool cancels;                        /* operators also cancel */
    unsigned reruns;                     /* percent: reruns after the end, up to three times */
    unsigned passes;                     /* percent of steps in which time passes */
    bool limits;                         /* operators also set the queue's limit */
    int key_max[PLAN_KEYS + 1];          /* how many jobs of a key may run at once */
    bool keyed;                          /* workflows have keys, too */
    unsigned notify_max;                 /* notifications per turn; 0 for the default */
    bool nests;                          /* many workflows with fan-outs are items of one fan-out */
};

struct plan *plan_new(uint64_t seed);
struct plan *plan_copy(const struct plan *p);
void plan_free(struct plan *p);
/* Removes approvals, limits and everything that depends on time: the rest is decided by the graph
 * alone. */
void plan_only_graph(struct plan *p);

/* How many tasks and items of the plan are workflows with a limit. */
int plan_waiting(const struct plan *p);

/* Removes the nth removable thing (a task, a condition, a need, a fan-out …). False if there is no
 * nth. */
bool plan_smaller(struct plan *p, int nth);

int plan_index(const struct plan_workflow *f, int name); /* of a task; -1 if it was removed */
const char *plan_name(const struct plan_workflow *f, int index, char out[16]);

/* The outcome of an attempt of the task at that path, and the length of the list it outputs. */
enum plan_end { PLAN_OK, PLAN_FAIL, PLAN_TIMEOUT, PLAN_CANCEL, PLAN_LOST, PLAN_DEFER, PLAN_REFUSE };
enum plan_end plan_end(const struct plan *p, const char *path, int attempt);
int plan_list_length(const struct plan *p, const char *path, int attempt);

void plan_condition(const struct plan_workflow *f, const struct plan_task *t, struct buf *out);
void plan_yaml(const struct plan *p, int workflow, struct buf *out);
void plan_foreach(const struct plan_task *t, struct buf *out);

#endif
