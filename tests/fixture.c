/* fixture.c - see fixture.h. */
#include "fixture.h"

#include "base/buf.h"
#include "past_fixture.h"
#include "store/operator.h"
#include "store/query.h"
#include "store/tenant.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDER "folder-a"

static struct env env;
static struct arena kept; /* what tests look at; freed by the end of the process */
static char url[4096], tenant[64];

static pid_t maker; /* of the database: children that a test forks leave it alone */

static void drop_tenant(void)
{
    struct err err;

    arena_release(&kept);
    if (getpid() == maker)
        (void)!tenant_drop(url, tenant, NULL, &err);
}

static void make_database(void)
{
    struct err err = ERR_INIT;

    if (maker)
        return;
    maker = getpid();
    if (!strcmp(test_db(), "sqlite"))
        snprintf(url, sizeof(url), "sqlite:%s/pawl.db", test_dir());
    else
        snprintf(url, sizeof(url), "%s", getenv("PAWL_TEST_PG_URL"));
    snprintf(tenant, sizeof(tenant), "t%d_%u", (int)maker, (unsigned)(env_random_id() % 1000000));
    CHECK_OK_ERR(tenant_create(url, tenant, NULL, &err), &err);
    atexit(drop_tenant);
}

const char *fixture_url(void)
{
    make_database();
    return url;
}

const char *fixture_tenant(void)
{
    make_database();
    return tenant;
}

struct env *fixture_env(void)
{
    return &env;
}

struct store *fixture_store(void)
{
    struct store_options options = {.env = &env};
    struct err err = ERR_INIT;
    struct store *s = NULL;

    make_database();
    CHECK_OK_ERR(store_open(url, tenant, &options, &s, &err), &err);
    return s;
}

void clock_advance(int64_t us)
{
    env.clock_offset += us;
}

void clock_set(int64_t us)
{
    env.clock_set += us;
    env.clock_offset += us;
}

/* ---- verify
 * -------------------------------------------------------------------------------------- */

struct found {
    char codes[512];
    bool say;
};

static void on_breach(void *arg, const struct breach *b)
{
    struct found *f = arg;

    if (f->say)
        fprintf(stderr, "%s: execution %lld: %s\n", b->invariant, (long long)b->execution,
                b->detail);
    if (!strstr(f->codes, b->invariant) && strlen(f->codes) + 8 < sizeof(f->codes)) {
        if (f->codes[0])
            strcat(f->codes, " ");
        strcat(f->codes, b->invariant);
    }
}

static size_t run_verify(struct store *s, struct found *f)
{
    struct verify_options o = {.lease = LEASE, .report = on_breach, .arg = f};
    struct verify_result r = {0};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_verify(s, &o, &r, &err), &err);
    CHECK(r.checks > 20);
    return r.breaches;
}

#define FOLDED 5000 /* executions; of more than that, the newest trees */

/* What is there is what the events make of it. */
static void check_fold(struct store *s)
{
    struct moment now = {.event = INT64_MAX};
    struct execution_list roots = {0}, tree = {0};
    struct buf wrong = BUF_INIT;
    struct err err = ERR_INIT;
    int64_t before = 0;
    size_t i, n = 0;

    CHECK_OK_ERR(query_list(s, &(struct list_filter){0}, &before, 500, &roots, &err), &err);
    for (i = 0; i < roots.n && n < FOLDED; i++) {
        CHECK_OK_ERR(query_tree(s, roots.at[i].id, &tree, &err), &err);
        if (tree.n <= FOLDED)
            past_compare(s, &tree, &now, &wrong);
        n += tree.n;
        execution_list_release(&tree);
    }
    execution_list_release(&roots);
    CHECK_STR(buf_cstr(&wrong), "");
    buf_release(&wrong);
}

void verify_clean(struct store *s)
{
    struct found f = {.say = true};

    CHECK_EQ(run_verify(s, &f), 0);
    check_fold(s);
}

size_t verify_count(struct store *s, char *codes, size_t size)
{
    struct found f = {0};
    size_t n = run_verify(s, &f);

    if (codes)
        snprintf(codes, size, "%s", f.codes);
    return n;
}

/* ---- operations
 * ---------------------------------------------------------------------------------- */

static int submit_body(struct turn *t, void *arg, struct err *err)
{
    return op_submit(t, arg, 1, err);
}

int64_t submit_with(struct store *s, struct submission sub)
{
    struct err err = ERR_INIT;

    if (!sub.kind)
        sub.kind = KIND_EXEC;
    if (!sub.task_index)
        sub.task_index = -1;
    CHECK_OK_ERR(store_turn(s, submit_body, &sub, &err), &err);
    CHECK_OK_ERR(sub.rc, &sub.err);
    return sub.id;
}

int64_t submit(struct store *s, const char *name)
{
    return submit_with(s, (struct submission){.name = name});
}

int64_t submit_child(struct store *s, int64_t parent, const char *name)
{
    return submit_with(s, (struct submission){.name = name, .parent = parent});
}

static const struct lane_queue serves[] = {{"process", "default"}};

struct claiming {
    struct adoption adoption;
    bool adopt;
    struct held_job *out;
    size_t n;
};

static int claim_body(struct turn *t, void *arg, struct err *err)
{
    struct claiming *c = arg;
    struct job_list jobs;
    size_t i;
    int rc = c->adopt ? op_adopt(t, &c->adoption, &jobs, err)
                      : op_claim(t, &c->adoption.claim, &jobs, err);

    if (rc)
        return rc;
    for (i = 0; i < jobs.n; i++)
        c->out[i] = (struct held_job){.id = jobs.at[i]->id,
                                      .root = jobs.at[i]->root,
                                      .worker = jobs.at[i]->worker,
                                      .epoch = jobs.at[i]->epoch,
                                      .attempt = jobs.at[i]->attempts};
    c->n = jobs.n;
    return 0;
}

static size_t take(struct store *s, int64_t worker, bool adopt, size_t max, struct held_job *out)
{
    struct claiming c = {.adopt = adopt, .out = out};
    struct err err = ERR_INIT;

    c.adoption = (struct adoption){.claim = {.worker = worker,
                                             .folder = FOLDER,
                                             .lease = LEASE,
                                             .serves = serves,
                                             .nserves = 1,
                                             .max = max},
                                   .host_grace = 300 * SECOND};
    CHECK_OK_ERR(store_turn(s, claim_body, &c, &err), &err);
    return c.n;
}

size_t claim_many(struct store *s, int64_t worker, size_t max, struct held_job *out)
{
    return take(s, worker, false, max, out);
}

bool claim_one(struct store *s, int64_t worker, struct held_job *out)
{
    return take(s, worker, false, 1, out) == 1;
}

struct held_job claim_job(struct store *s, int64_t worker)
{
    struct held_job j = {0};

    CHECK(claim_one(s, worker, &j));
    return j;
}

bool adopt_one(struct store *s, int64_t worker, struct held_job *out)
{
    return take(s, worker, true, 1, out) == 1;
}

struct settling {
    int64_t worker;
    struct start start;
    struct settlement settlement;
    struct lease_ref lease;
};

static int start_body(struct turn *t, void *arg, struct err *err)
{
    struct settling *g = arg;

    return op_started(t, g->worker, &g->start, 1, err);
}

static int settle_body(struct turn *t, void *arg, struct err *err)
{
    struct settling *g = arg;

    return op_settle(t, g->worker, &g->settlement, 1, err);
}

static int heartbeat_body(struct turn *t, void *arg, struct err *err)
{
    struct settling *g = arg;

    return op_heartbeat(t, g->worker, LEASE, &g->lease, 1, err);
}

static struct lease_ref ref(struct held_job j)
{
    return (struct lease_ref){.execution = j.id, .root = j.root, .epoch = j.epoch};
}

int start(struct store *s, struct held_job j)
{
    struct settling g = {.worker = j.worker, .start = {.lease = ref(j), .ago = 5}};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, start_body, &g, &err), &err);
    return g.start.lease.rc;
}

int settle_as(struct store *s, struct held_job j, enum outcome_kind kind, int64_t retry_delay)
{
    struct settling g = {.worker = j.worker,
                         .settlement = {.lease = ref(j),
                                        .outcome = {.kind = kind,
                                                    .has_exit_code = true,
                                                    .exit_code = kind == OUTCOME_OK ? 0 : 1,
                                                    .result = "{\"n\":1}",
                                                    .error = "it said no",
                                                    .duration = 1000,
                                                    .retry_delay = retry_delay}}};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, settle_body, &g, &err), &err);
    return g.settlement.lease.rc;
}

int settle_ok(struct store *s, struct held_job j)
{
    return settle_as(s, j, OUTCOME_OK, -1);
}

int heartbeat(struct store *s, struct held_job j)
{
    struct settling g = {.worker = j.worker, .lease = ref(j)};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_light_turn(s, heartbeat_body, &g, &err), &err);
    return g.lease.rc;
}

struct counting {
    size_t n;
    int64_t next;
};

static int reap_body(struct turn *t, void *arg, struct err *err)
{
    struct counting *c = arg;

    return op_reap(t, 1000, &c->n, err);
}

static int timers_body(struct turn *t, void *arg, struct err *err)
{
    struct counting *c = arg;

    return op_timers(t, 1000, &c->n, &c->next, err);
}

size_t reap(struct store *s)
{
    struct counting c = {0};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, reap_body, &c, &err), &err);
    return c.n;
}

size_t run_timers(struct store *s)
{
    struct counting c = {0};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, timers_body, &c, &err), &err);
    return c.n;
}

struct asking {
    struct request request;
    bool more;
    const char *key;
    int max;
};

static int cancel_body(struct turn *t, void *arg, struct err *err)
{
    struct asking *a = arg;

    return op_cancel(t, &a->request, 1, 1000, &a->more, err);
}

static int hold_body(struct turn *t, void *arg, struct err *err)
{
    struct asking *a = arg;

    return op_pause(t, &a->request, 1, 1000, &a->more, err);
}

static int unhold_body(struct turn *t, void *arg, struct err *err)
{
    struct asking *a = arg;

    return op_resume(t, &a->request, 1, 1000, &a->more, err);
}

static int limit_body(struct turn *t, void *arg, struct err *err)
{
    struct asking *a = arg;

    return op_limit(t, a->key, a->max, 100, &a->more, err);
}

static int ask(struct store *s, int (*body)(struct turn *, void *, struct err *), int64_t id)
{
    struct asking a = {.request = {.execution = id, .by = "tester", .reason = "a test"}};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, body, &a, &err), &err);
    return a.request.rc;
}

int cancel(struct store *s, int64_t id)
{
    return ask(s, cancel_body, id);
}

int hold(struct store *s, int64_t id)
{
    return ask(s, hold_body, id);
}

int unhold(struct store *s, int64_t id)
{
    return ask(s, unhold_body, id);
}

void set_limit(struct store *s, const char *key, int max)
{
    struct asking a = {.key = key, .max = max};
    struct err err = ERR_INIT;

    do
        CHECK_OK_ERR(store_turn(s, limit_body, &a, &err), &err);
    while (a.more);
}

/* ---- looking
 * ------------------------------------------------------------------------------------- */

/* Runs a statement made here, in a transaction of its own. */
static void run(struct store *s, enum tx_kind kind, const char *sql, struct rows *out)
{
    struct stmt *stmt = arena_zalloc(&kept, sizeof(*stmt)); /* drivers know statements by address */
    struct args a = {.stmt = stmt};
    struct err err = ERR_INIT;

    stmt->name = "test";
    stmt->sql[DIALECT_SQLITE] = stmt->sql[DIALECT_POSTGRES] = sql;

    CHECK_OK_ERR(db_begin(store_db(s), kind, &err), &err);
    CHECK_OK_ERR(db_send(store_db(s), &a, out, ANY_ROWS, &err), &err);
    CHECK_OK_ERR(db_flush(store_db(s), &err), &err);
    if (kind == TX_READ)
        db_rollback(store_db(s));
    else
        CHECK_OK_ERR(db_commit(store_db(s), &err), &err);
    args_release(&a);
}

int64_t sql_number(struct store *s, const char *sql)
{
    struct rows r = ROWS_INIT;
    int64_t n;

    run(s, TX_READ, sql, &r);
    CHECK_EQ(r.n, 1);
    n = rows_int(&r, 0, 0);
    rows_release(&r);
    return n;
}

void sql_run(struct store *s, const char *sql)
{
    run(s, TX_LONG, sql, NULL);
}

struct execution get(struct store *s, int64_t id)
{
    struct execution_list list = {0};
    struct err err = ERR_INIT;
    struct execution e;

    CHECK_OK_ERR(query_execution(s, id, &list, &err), &err);
    e = list.at[0];
#define KEEP(field) e.field = arena_strdup(&kept, e.field)
    KEEP(name);
    KEEP(queue);
    KEEP(lane);
    KEEP(concurrency);
    KEEP(held_key);
    KEEP(task_name);
    KEEP(folder);
    KEEP(input);
    KEEP(result);
    KEEP(error);
    KEEP(spec);
#undef KEEP
    execution_list_release(&list);
    return e;
}

int status_of(struct store *s, int64_t id)
{
    return get(s, id).status;
}

const char *history(struct store *s, int64_t id)
{
    struct event_list events = {0};
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT;
    char *text;
    size_t i;

    CHECK_OK_ERR(query_events_of(s, id, 0, 10000, &events, &err), &err);
    for (i = 0; i < events.n; i++) {
        if (i)
            buf_addch(&b, ' ');
        buf_addstr(&b, action_text(events.at[i].type % FLOW_EVENT));
    }
    text = arena_strdup(&kept, buf_cstr(&b));
    buf_release(&b);
    event_list_release(&events);
    return text;
}

/* ---- to the end ------------------------------------------------------------------------------ */

static int flow_end_body(struct turn *t, void *arg, struct err *err)
{
    struct outcome ok = {.kind = OUTCOME_OK, .duration = -1, .retry_delay = -1};

    return op_flow_end(t, *(int64_t *)arg, &ok, err);
}

/* The flow that may end: the deepest whose children all have. */
#define FLOW_TO_END                                                                     \
    "SELECT COALESCE(max(id), 0) FROM executions e WHERE kind >= 3 AND status < 4 AND " \
    "NOT EXISTS (SELECT 1 FROM executions c WHERE c.parent = e.id AND c.status < 4)"
#define PAUSED \
    "SELECT COALESCE(min(id), 0) FROM executions WHERE status < 4 AND failed_behind & 128 <> 0"

struct settling_list {
    struct settlement at[100];
    size_t n;
};

static int settle_list_body(struct turn *t, void *arg, struct err *err)
{
    struct settling_list *l = arg;

    return op_settle(t, 99, l->at, l->n, err);
}

void drain(struct store *s)
{
    static const struct outcome ok = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1};
    struct settling_list list;
    struct held_job jobs[100];
    struct err err = ERR_INIT;
    int64_t id;
    size_t n, i;
    int round;

    for (round = 0; sql_number(s, "SELECT count(*) FROM executions WHERE status < 4"); round++) {
        CHECK(round < 200);
        clock_advance(3600 * SECOND);
        while ((id = sql_number(s, PAUSED)))
            unhold(s, id);
        reap(s);
        run_timers(s);
        n = take(s, 99, true, 50, jobs);
        n += take(s, 99, false, 50, jobs + n);
        for (i = 0; i < n; i++)
            list.at[i] = (struct settlement){.lease = ref(jobs[i]), .outcome = ok};
        list.n = n;
        CHECK_OK_ERR(store_turn(s, settle_list_body, &list, &err), &err);
        while ((id = sql_number(s, FLOW_TO_END)) && !store_turn(s, flow_end_body, &id, &err))
            ; /* or it is busy, or something further below is open: in the next round */
    }
}

/* ---- several at once --------------------------------------------------------------------------
 */

static void on_point(void *arg, const char *where)
{
    struct watch *w = arg;

    w->here = where;
    if (!w->act || (w->where && strcmp(w->where, where)) || ++w->seen != w->nth)
        return;
    w->acted = true;
    w->act(w->arg);
}

static void on_note(void *arg, const char *sentence)
{
    struct watch *w = arg;

    w->redone++;
    snprintf(w->said, sizeof(w->said), "%s", sentence);
}

struct store *watched_store(struct watch *w)
{
    struct store_options options = {.env = &w->env, .patience = 5 * SECOND};
    struct err err = ERR_INIT;
    struct store *s = NULL;

    w->env = (struct env){
        .clock_offset = env.clock_offset, .point = on_point, .note = on_note, .arg = w};
    make_database();
    CHECK_OK_ERR(store_open(url, tenant, &options, &s, &err), &err);
    return s;
}

void watch_for(struct watch *w, const char *where, int nth, void (*act)(void *arg), void *arg)
{
    w->where = where;
    w->nth = nth;
    w->act = act;
    w->arg = arg;
    w->seen = 0;
    w->acted = false;
}

static void die(void *arg)
{
    (void)arg;
    kill(getpid(), SIGKILL);
}

bool killed_at(const char *where, int nth, void (*live)(struct store *s, void *arg), void *arg)
{
    static struct watch w;
    struct store *s;
    int status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        s = watched_store(&w);
        watch_for(&w, where, nth, die, NULL);
        live(s, arg);
        store_close(&s);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return true;
    CHECK_EQ(status, 0);
    return false;
}

void *shared_memory(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    CHECK(p != MAP_FAILED);
    return p;
}

void run_processes(int n, void (*body)(int nth))
{
    struct sign *begin = shared_memory(sizeof(*begin));
    pid_t pids[100];
    int i, k, status;

    CHECK(n <= 100);
    make_database();
    fflush(NULL);
    for (i = 0; i < n; i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            CHECK(sign_wait(begin, 60 * SECOND));
            body(i);
            fflush(NULL);
            _exit(0);
        }
    }
    sign_give(begin);
    for (i = 0; i < n; i++) {
        CHECK(wait(&status) > 0);
        for (k = 0; status && k < n; k++)
            kill(pids[k], SIGKILL); /* they may wait for the one that failed */
        CHECK_EQ(status, 0);
    }
    munmap(begin, sizeof(*begin));
}

void sign_give(struct sign *s)
{
    s->given = 1;
}

bool sign_wait(struct sign *s, int64_t us)
{
    int64_t until = clock_boot_us() + us;

    while (!s->given) {
        if (clock_boot_us() > until)
            return false;
        clock_sleep_us(200);
    }
    return true;
}
