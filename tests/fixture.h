/* fixture.h - a fresh database for each test, a clock that the test moves, and the few words in
 * which tests of the store are written. A test never knows which database it is on: each gets a
 * tenant of its own, a schema and role on PostgreSQL, a file on SQLite. */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include "harness.h"
#include "store/store.h"
#include "store/verify/verify.h"

#include <sys/types.h>

#define SECOND 1000000LL
#define LEASE  (30 * SECOND)

const char *fixture_url(void);     /* of the server or file; made at the first call */
const char *fixture_tenant(void);  /* this test's own; see fixture_tenant.c */
struct env *fixture_env(void);     /* shared by all stores of this test's process */
struct store *fixture_store(void); /* opens one more store on the test's database */

/* Once in a file, at file level: these tests are about tables, partitions and plans, or spoil what
 * their tenant is made of, so each has one that nobody had before and nobody will have after. */
#define FRESH_TENANTS                                            \
    __attribute__((constructor)) static void want_no_other(void) \
    {                                                            \
        fixture_fresh();                                         \
    }                                                            \
    _Static_assert(1, "")
void fixture_fresh(void);

/* Large work goes in slices of so many, not of 1,000, in the stores that are opened from now on and
 * in the operations below: a tenth of the rows shows the same. */
void fixture_slices(uint32_t n);
uint32_t fixture_slice(void);
/* Of tests that are about the bounds themselves: the sanitizer sees as many slices, of a tenth. */
#define LARGE(n) (SANITIZED ? (n) / 10 : (n))

void clock_advance(int64_t us);
void clock_set(int64_t us); /* the database's alone, as an operator would: hosts do not follow */

/* Every test ends with this: no invariant is breached. */
void verify_clean(struct store *s);
/* The number of breaches, with the codes of those found in `codes` ("I06 I27"), if given. */
size_t verify_count(struct store *s, char *codes, size_t size);

/* One-line operations, each in a turn of its own; a failure ends the test. */
int64_t submit(struct store *s, const char *name);
int64_t submit_with(struct store *s, struct submission sub); /* sub.kind 0: exec */
int64_t submit_child(struct store *s, int64_t parent, const char *name);

/* A claimed job as its worker remembers it. */
struct held_job {
    int64_t id, root, worker;
    int epoch, attempt;
};
bool claim_one(struct store *s, int64_t worker, struct held_job *out);
size_t claim_many(struct store *s, int64_t worker, size_t max, struct held_job *out);
struct held_job claim_job(struct store *s, int64_t worker);            /* there must be one */
bool adopt_one(struct store *s, int64_t worker, struct held_job *out); /* same state folder */
int start(struct store *s, struct held_job j);
int settle_as(struct store *s, struct held_job j, enum outcome_kind kind, int64_t retry_delay);
int settle_ok(struct store *s, struct held_job j);
int heartbeat(struct store *s, struct held_job j);
size_t reap(struct store *s);
size_t run_timers(struct store *s);
int cancel(struct store *s, int64_t id);
int hold(struct store *s, int64_t id);
int unhold(struct store *s, int64_t id);
void set_limit(struct store *s, const char *key, int max); /* all slices */

struct execution get(struct store *s, int64_t id); /* texts live as long as the test */
int status_of(struct store *s, int64_t id);
/* The types of an execution's events in order, as "created marked_ready claimed …". */
const char *history(struct store *s, int64_t id);
/* A number out of raw SQL (the same text on both databases). */
int64_t sql_number(struct store *s, const char *sql);
void sql_run(struct store *s, const char *sql);
/* Has the database look at what is in the tables of this test. */
void sql_analyze(struct store *s);

/* Lets everything that is open come to its end: time passes, what waits is let go, orphans are
 * adopted, jobs succeed, flows end when their children have. Lane and queue are the usual ones. */
void drain(struct store *s);

/* ---- several at once ---- */

/* A store whose steps are seen, and stepped into. When it comes to `where` for the nth time (from
 * 1; NULL: to any point, see base/env.h), `act` runs, once. On PostgreSQL that may be whole turns
 * of other stores, which so happen in the middle of this one's; on SQLite a turn excludes all
 * others. */
struct watch {
    struct env env;
    const char *where;
    int nth;
    void (*act)(void *arg);
    void *arg;

    const char *here; /* where it is */
    int seen;         /* how often it came to `where` since watch_for */
    bool acted;
    int redone;     /* turns that were done again, or the database's other complaints */
    char said[256]; /* the last one's sentence */
};
/* w must live longer than the store, which gives up after 240 s without a lock. */
struct store *watched_store(struct watch *w);
void watch_for(struct watch *w, const char *where, int nth, void (*act)(void *arg), void *arg);

void die_at_once(void *arg); /* an act for watch_for: by SIGKILL */
bool was_killed(pid_t pid);  /* waits for its end: by SIGKILL, or else a good one */

/* Lives on a store of its own, in a process that is killed when it comes to `where` for the nth
 * time (as watch_for has it). False: it came to its end before that. No store may be open
 * meanwhile. */
bool killed_at(const char *where, int nth, void (*live)(struct store *s, void *arg), void *arg);

void *shared_memory(size_t size); /* with the processes started later; cleared */

/* Runs body(0) … body(n - 1), each in a process of its own; they begin together. Waits for all, and
 * fails if one fails. No store may be open meanwhile: SQLite forbids a fork with an open handle. */
void run_processes(int n, void (*body)(int nth));

/* A sign that one process gives and others wait for. In shared memory; cleared = not given. */
struct sign {
    _Atomic int given;
};
void sign_give(struct sign *s);
void sign_await(struct sign *s);            /* the test's own time limit ends it */
bool sign_wait(struct sign *s, int64_t us); /* false: not within that time */

#endif
