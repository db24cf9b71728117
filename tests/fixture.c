/* fixture.c - see fixture.h: the store, its clock, verify, and functions that inspect the database.
 */
#include "fixture.h"

#include "as_of_fixture.h"
#include "base/buf.h"
#include "store/query/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct env env = {.long_timeouts = true};
static struct arena kept; /* results returned to tests; freed when the process ends */

struct env *fixture_env(void)
{
    return &env;
}

static uint32_t slice = 1000;

void fixture_slices(uint32_t n)
{
    slice = n;
}

uint32_t fixture_slice(void)
{
    return slice;
}

struct store *fixture_store(void)
{
    struct store_options options = {.env = &env};
    struct err err = ERR_INIT;
    struct store *s = NULL;

    CHECK_OK_ERR(store_open(fixture_url(), fixture_tenant(), &options, &s, &err), &err);
    store_set_workflow_options(s, &(struct store_workflow_options){.slice = slice});
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

/* ---- verify ---- */

struct found {
    struct buf codes;
    bool print;
};

static void on_violation(void *arg, const struct violation *b)
{
    struct found *f = arg;

    if (f->print)
        fprintf(stderr, "%s: execution %lld: %s\n", b->invariant, (long long)b->execution,
                b->detail);
    if (!strstr(buf_cstr(&f->codes), b->invariant))
        buf_addf(&f->codes, "%s%s", f->codes.len ? " " : "", b->invariant);
}

static size_t run_verify(struct store *s, struct found *f)
{
    struct verify_options o = {.lease = LEASE, .report = on_violation, .arg = f};
    struct verify_result r = {0};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_verify(s, &o, &r, &err), &err);
    CHECK(r.checks > 20);
    return r.violations;
}

#define REPLAYED 5000 /* the newest trees are replayed, up to this many executions */
#define TREES \
    50 /* and at most this many trees, since most are alike; ten times as many in test-all */

/* The stored rows equal the replay of their events. */
static void check_replay(struct store *s)
{
    struct moment now = {.event = INT64_MAX};
    struct execution_list roots = {0}, tree = {0};
    struct buf wrong = BUF_INIT;
    struct err err = ERR_INIT;
    int64_t before = 0;
    size_t i, n = 0;

    CHECK_OK_ERR(query_list(s, &(struct list_filter){0}, &before, test_full() ? 10 * TREES : TREES,
                            &roots, &err),
                 &err);
    for (i = 0; i < roots.n && n < REPLAYED; i++) {
        CHECK_OK_ERR(query_tree(s, roots.at[i].id, &tree, &err), &err);
        if (tree.n <= REPLAYED)
            as_of_compare(s, &tree, &now, &wrong);
        n += tree.n;
        execution_list_release(&tree);
    }
    execution_list_release(&roots);
    CHECK_STR(buf_cstr(&wrong), "");
    buf_release(&wrong);
}

void verify_clean(struct store *s)
{
    struct found f = {.print = true};

    CHECK_EQ(run_verify(s, &f), 0);
    check_replay(s);
}

size_t verify_count(struct store *s, char *codes, size_t size)
{
    struct found f = {0};
    size_t n = run_verify(s, &f);

    if (codes)
        snprintf(codes, size, "%s", buf_cstr(&f.codes));
    buf_release(&f.codes);
    return n;
}

/* ---- inspecting ---- */

/* The rest of the transaction runs as the role of the URL, which owns the tables, instead of the
 * tenant's role. */
static void be_owner(struct store *s)
{
    static const struct stmt stmt = {
        .name = "owner",
        .sql = {[DIALECT_POSTGRES] = "SELECT set_config('role', 'none', true)"},
    };
    struct args a = {.stmt = &stmt};
    struct err err = ERR_INIT;

    if (!strcmp(test_db(), "postgres"))
        CHECK_OK_ERR(db_send(store_db(s), &a, NULL, ANY_ROWS, &err), &err);
}

/* Runs a statement created here, in its own transaction. */
static void run(struct store *s, enum tx_kind kind, const char *sql, struct rows *out)
{
    struct stmt *stmt =
        arena_zalloc(&kept, sizeof(*stmt)); /* drivers identify statements by address */
    struct args a = {.stmt = stmt};
    struct err err = ERR_INIT;

    stmt->name = "test";
    stmt->sql[DIALECT_SQLITE] = stmt->sql[DIALECT_POSTGRES] = sql;

    CHECK_OK_ERR(db_begin(store_db(s), kind, &err), &err);
    if (kind == TX_LONG)
        be_owner(s);
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

/* A plain ANALYZE also visits the tables of other tenants, if only to skip them, and PostgreSQL 15
 * fails if one of them is dropped at that moment. */
void sql_analyze(struct store *s)
{
    sql_run(s, strcmp(test_db(), "sqlite")
                   ? "DO $$ DECLARE t regclass; BEGIN FOR t IN SELECT oid FROM pg_class WHERE "
                     "relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') LOOP "
                     "EXECUTE format('ANALYZE %s', t); END LOOP; END $$"
                   : "ANALYZE");
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

    CHECK_OK_ERR(query_execution_events(s, id, 0, 10000, &events, &err), &err);
    for (i = 0; i < events.n; i++) {
        if (i)
            buf_addch(&b, ' ');
        buf_addstr(&b, action_text(events.at[i].type % WORKFLOW_EVENT));
    }
    text = arena_strdup(&kept, buf_cstr(&b));
    buf_release(&b);
    event_list_release(&events);
    return text;
}
