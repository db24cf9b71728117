/* fixture.h - a fresh database for each test, a clock that the test moves, and the short operations
 * used by tests of the store. A test does not know which database it runs on: each gets its own
 * tenant, a schema and role on PostgreSQL, a file on SQLite. */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include "harness.h"
#include "store/store.h"
#include "store/verify/verify.h"

#include <sys/types.h>

#define SECOND 1000000LL
#define LEASE  (30 * SECOND)

const char *fixture_url(void);     /* of the server or file; created by the first call */
const char *fixture_tenant(void);  /* this test's tenant; see fixture_tenant.c */
struct env *fixture_env(void);     /* shared by all stores of this test's process */
struct store *fixture_store(void); /* opens one more store on the test's database */

/* Once in a file, at file level: these tests are about tables, partitions and plans, or damage the
 * structure of their tenant, so each gets a new tenant that is not reused. */
#define FRESH_TENANTS                                            \
    __attribute__((constructor)) static void want_no_other(void) \
    {                                                            \
        fixture_fresh();                                         \
    }                                                            \
    _Static_assert(1, "")
void fixture_fresh(void);

/* Sets the slice size (normally 1,000) for stores opened from now on and for the operations below:
 * the same behaviour shows with a tenth of the rows. */
void fixture_slices(uint32_t n);
uint32_t fixture_slice(void);
/* For tests of the slice limits themselves: with the sanitizer, the same number of slices of a
 * tenth of the size. */
#define LARGE(n) (SANITIZED ? (n) / 10 : (n))

void clock_advance(int64_t us);
void clock_set(int64_t us); /* sets the database's clock only, as an operator would: the hosts'
                               clocks do not follow */

/* Every test ends with this: no invariant is violated. */
void verify_clean(struct store *s);
/* The number of violations, with their codes in `codes` ("I06 I27") if it is not NULL. */
size_t verify_count(struct store *s, char *codes, size_t size);

/* One-line operations, each in its own turn; a failure ends the test. */
int64_t submit(struct store *s, const char *name);
int64_t submit_with(struct store *s, struct submission sub); /* sub.kind 0 means exec */
int64_t submit_child(struct store *s, int64_t parent, const char *name);

/* A claimed job as its worker remembers it. */
struct held_job {
    int64_t id, root, worker;
    int epoch, attempt;
};
bool claim_one(struct store *s, int64_t worker, struct held_job *out);
size_t claim_many(struct store *s, int64_t worker, size_t max, struct held_job *out);
struct held_job claim_job(struct store *s,
                          int64_t worker); /* fails the test if none is claimable */
bool adopt_one(struct store *s, int64_t worker,
               struct held_job *out); /* from a worker of the same state folder */
int start(struct store *s, struct held_job j);
int settle_as(struct store *s, struct held_job j, enum outcome_kind kind, int64_t retry_delay);
int settle_unstarted(struct store *s, struct held_job j); /* refused: it never started */
int settle_ok(struct store *s, struct held_job j);
int heartbeat(struct store *s, struct held_job j);
size_t reap(struct store *s);
size_t run_timers(struct store *s);
void run_all_timers(struct store *s); /* until none is due */
int cancel(struct store *s, int64_t id);
int hold(struct store *s, int64_t id);
int unhold(struct store *s, int64_t id);
/* Limits a queue ("queue:NAME"); max < 0 removes the limit. set_limit applies all slices;
 * limit_body is one slice. */
struct limit_change {
    const char *key;
    int max;
    size_t slice; /* 0: 100 */
    bool more;    /* out */
};
int limit_body(struct turn *t, void *limit_change, struct err *err);
void set_limit(struct store *s, const char *key, int max);
/* Ends a workflow that has no definition, and so does not end by itself. -E_INVALID: it is not
 * running, or a descendant is still open. */
struct workflow_end {
    int64_t id;
    enum status status;
    const char *result; /* NULL if none */
};
int workflow_end_body(struct turn *t, void *workflow_end, struct err *err);
void end_workflow(struct store *s, int64_t id); /* as succeeded */

struct execution get(struct store *s, int64_t id); /* texts live until the test ends */
int status_of(struct store *s, int64_t id);
/* The types of an execution's events in order, as "created marked_ready claimed …". */
const char *history(struct store *s, int64_t id);
/* A number returned by raw SQL (the same text on both databases). */
int64_t sql_number(struct store *s, const char *sql);
void sql_run(struct store *s, const char *sql);
/* Updates the planner's statistics of this test's tables. */
void sql_analyze(struct store *s);

/* Brings everything that is open to its end: moves the clock, releases holds, adopts orphans, lets
 * jobs succeed, and ends workflows whose children have ended. Lane and queue are the defaults. */
void drain(struct store *s);

/* ---- concurrency ---- */

/* A store whose steps are observed and can be interrupted. When it reaches the point `where` for
 * the nth time (from 1; any point if NULL, see base/env.h), `act` runs once. On PostgreSQL `act`
 * may make whole turns of other stores, which then happen in the middle of this store's turn; on
 * SQLite a turn excludes all others. */
struct watch {
    struct env env;
    const char *where;
    int nth;
    void (*act)(void *arg);
    void *arg;

    const char *here; /* the current point */
    int seen;         /* how often `where` was reached since watch_for */
    bool acted;
    int redone;        /* turns that were repeated, and other problems reported by the database */
    char message[256]; /* the last message */
};
/* w must outlive the store, which gives up waiting for a lock after 240 s. */
struct store *watched_store(struct watch *w);
void watch_for(struct watch *w, const char *where, int nth, void (*act)(void *arg), void *arg);

void die_at_once(void *arg); /* an act for watch_for: ends the process with SIGKILL */
bool was_killed(pid_t pid);  /* waits for the process to end: true if by SIGKILL; any other failure
                                fails the test */

/* Calls `live` with a new store in a process that is killed when it reaches `where` for the nth
 * time (see watch_for). False if it ended before that. No store may be open meanwhile. */
bool killed_at(const char *where, int nth, void (*live)(struct store *s, void *arg), void *arg);

void *shared_memory(size_t size); /* shared with processes started later; zeroed */

/* Runs body(0) … body(n - 1), each in its own process; they start together. Waits for all, and
 * fails if one fails. No store may be open meanwhile: SQLite forbids a fork with an open handle. */
void run_processes(int n, void (*body)(int nth));

/* A flag in shared memory that one process sets and others wait for; zeroed memory is not set. */
struct shared_flag {
    _Atomic int is_set;
};
void flag_set(struct shared_flag *s);
void flag_await(struct shared_flag *s);            /* limited only by the test's own time limit */
bool flag_wait(struct shared_flag *s, int64_t us); /* false if it was not set within that time */

#endif
