/* plan.h - a random workflow: what it is made of, how its tasks end, and its text as YAML. The
 * tests of this folder run a plan through Pawl and through the model (model.h), and compare.
 *
 * A plan is a function of its seed. How a task ends depends on the seed, its path and the attempt
 * alone, so a plan from which tasks were taken away (plan_smaller) still has the same ends. */
#ifndef TESTS_RANDOM_PLAN_H
#define TESTS_RANDOM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define PLAN_FLOWS     5   /* files: one and those nested in it */
#define PLAN_DEPTH     3   /* of workflows in workflows */
#define PLAN_TASKS     200 /* of all files together */
#define PLAN_NODES     800 /* executions at most: what one turn may cancel is 1,000 */
#define PLAN_NEEDS     5
#define PLAN_CONDS     9
#define PLAN_MAX_ITEMS 6
#define PLAN_KEYS      2

uint64_t plan_mix(uint64_t a, uint64_t b); /* a number out of two */
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
    PLAN_NOT,
    PLAN_AND,
    PLAN_OR,
};

struct plan_cond {
    enum plan_op op;
    int left, right; /* of the same task's conds, lower than its own number */
    int task;        /* its name's number */
    int word;        /* an enum model_status */
};

enum plan_each {
    PLAN_ONE,    /* no fan-out */
    PLAN_LIST,   /* foreach: [{a: 0}, {b: 1}, …] */
    PLAN_NUMBER, /* foreach: 3 */
    PLAN_LISTED, /* foreach: ${{ tasks.X.outputs.list }} */
};

struct plan_task {
    int name;              /* t17; kept when others are taken away */
    int needs[PLAN_NEEDS]; /* names of tasks before it */
    int nneeds;
    int join;
    struct plan_cond conds[PLAN_CONDS]; /* the last is the whole */
    int nconds;                         /* 0: no `if` */
    enum plan_each each;
    int items, listed_by;
    unsigned bad; /* of PLAN_LIST: bits of the items that can't be resolved */
    int max_parallel;
    bool fail_fast, allow_failure, approval;
    int retries;
    int nested; /* a flow; 0: a command */

    /* by the clock, in hours; 0: none */
    int delay, approval_timeout, timeout; /* timeout: of what it nests */
    int key;                              /* of a command: 1 … PLAN_KEYS; 0: none */
};

struct plan_flow {
    struct plan_task *tasks; /* each after its needs; on_failure and on_exit last */
    int ntasks;              /* without those two */
    bool on_failure, on_exit;
    int timeout; /* in hours; 0: none */
    int max;     /* how many of it may run at once, by a key; 0: any number */
};

struct plan {
    uint64_t seed;
    struct plan_flow flows[PLAN_FLOWS]; /* a flow nests only those behind it */
    int nflows;
    unsigned failing;                    /* percent of attempts that do not end well */
    unsigned operates, crashes, batches; /* percent of a driver's steps */
    bool cancels;                        /* among what operators do */
    unsigned reruns;                     /* percent: after an end, up to three times */
    unsigned passes;                     /* percent of steps: time passes */
    bool limits;                         /* operators limit the queue, too */
    int key_max[PLAN_KEYS + 1];          /* how many of a key may run at once */
    bool keyed;                          /* workflows have keys, too */
    unsigned notify_max;                 /* ends that a turn tells on; 0: as many as usual */
    bool nests;                          /* many workflows with fan-outs are items of one */
};

struct plan *plan_new(uint64_t seed);
struct plan *plan_copy(const struct plan *p);
void plan_free(struct plan *p);
/* Without approvals, limits, and all that goes by the clock: what is left is decided by the graph
 * alone. */
void plan_only_graph(struct plan *p);

/* How many of its tasks and items are workflows of which only so many may run at once. */
int plan_waiting(const struct plan *p);

/* Takes the nth thing away that can be (a task, a condition, a need, a fan-out …). False: there is
 * no nth.
 */
bool plan_smaller(struct plan *p, int nth);

int plan_index(const struct plan_flow *f, int name); /* of a task; -1: taken away */
const char *plan_name(const struct plan_flow *f, int index, char out[16]);

/* How an attempt of the task at that path ends, and how long a list it leaves. */
enum plan_end { PLAN_OK, PLAN_FAIL, PLAN_TIMEOUT, PLAN_CANCEL, PLAN_LOST, PLAN_DEFER, PLAN_REFUSE };
enum plan_end plan_end(const struct plan *p, const char *path, int attempt);
int plan_leaves(const struct plan *p, const char *path, int attempt);

void plan_condition(const struct plan_task *t, struct buf *out);
void plan_yaml(const struct plan *p, int flow, struct buf *out);
void plan_foreach(const struct plan_task *t, struct buf *out);

#endif
