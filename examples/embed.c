/* embed.c - a program that embeds Pawl, with SQLite: it has its own table in Pawl's file and its
 * own loop, and runs durable jobs.
 *
 *   embed FILE.db BILL...       embed shop.db 17 18
 *
 * A bill is stored together with its job, in one transaction: either both are stored or neither,
 * whenever the program is killed. The job is a C function, run by an engine that this program steps
 * whenever its descriptor is readable. Each event is printed as it arrives, and the result is
 * written to the table. After a restart the program continues with the remaining bills; a bill is
 * processed once, however often it is named. */
#include <pawl.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pawl_error e;

static int fail(void)
{
    fprintf(stderr, "embed: %s\n", e.message);
    return pawl_exit_code(e.code);
}

/* ---- the job, which runs on a thread of the engine ---- */

static int sum_of_digits(struct pawl_call *c, void *arg)
{
    char result[24];
    const char *at;
    int sum = 0;

    (void)arg;
    for (at = c->input; *at; at++)
        sum += *at - '0';
    snprintf(result, sizeof(result), "%d", sum);
    return c->ops->set_result(c, result);
}

/* ---- the table, changed in transactions of Pawl ---- */

static int make_table(struct pawl_tx *tx, void *arg)
{
    struct pawl_statement s = {.sql = "CREATE TABLE IF NOT EXISTS bills (number TEXT PRIMARY KEY, "
                                      "execution INTEGER, sum TEXT)"};

    (void)arg;
    return pawl_tx_run(tx, &s, &e);
}

/* Stores the bill and submits its job. With the key a repeated call submits no second job. */
static int add_bill(struct pawl_tx *tx, void *arg)
{
    const char *number = arg;
    char key[100];
    struct pawl_job job = {.name = "exec::sum",
                           .lane = "function:sum_of_digits",
                           .input = number,
                           .key = key,
                           .max_attempts = 3};
    struct pawl_value v[2] = {{.type = PAWL_TEXT, .s = number}, {.type = PAWL_INT}};
    struct pawl_statement s = {
        .sql = "INSERT INTO bills (number, execution) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        .params = v,
        .nparams = 2};
    int rc;

    snprintf(key, sizeof(key), "bill-%.80s", number);
    if ((rc = pawl_tx_submit(tx, &job, 1, &e)))
        return rc;
    v[1].i = job.id;
    return pawl_tx_run(tx, &s, &e);
}

/* Copies the results of ended executions from the view into the table. If the program is killed
 * before that, the next run does it. */
static int store_results(struct pawl_tx *tx, void *arg)
{
    struct pawl_statement s = {
        .sql = "UPDATE bills SET sum = e.result FROM pawl_executions AS e "
               "WHERE e.id = bills.execution AND e.status = 'succeeded' AND bills.sum IS NULL"};

    (void)arg;
    return pawl_tx_run(tx, &s, &e);
}

static int show_bill(void *arg, const struct pawl_value *cells, size_t n)
{
    (void)arg, (void)n;
    printf("bill %s: %s\n", cells[0].s, cells[1].type == PAWL_TEXT ? cells[1].s : "open");
    return 0;
}

static int show_bills(struct pawl_tx *tx, void *arg)
{
    struct pawl_statement s = {.sql = "SELECT number, sum FROM bills ORDER BY number",
                               .row = show_bill};

    (void)arg;
    return pawl_tx_run(tx, &s, &e);
}

/* ---- events ---- */

static int show_event(void *arg, const char *json)
{
    (void)arg;
    printf("event %s\n", json);
    return 0;
}

/* Called from pawl_engine_step when an attempt has ended or written output. The loop handles it. */
static void on_status(void *arg, int64_t execution, const char *status)
{
    (void)execution;
    *(bool *)arg |= status != NULL;
}

/* ---- the program's own loop ---- */

static int loop(struct pawl *p, struct pawl_engine *engine)
{
    struct pawl_event_query all = {0};
    struct pawl_follower *events = NULL;
    bool ended = true, drained = false;
    size_t n;
    int rc = pawl_follow(p, &all, &events, &e);

    pawl_engine_watch(engine, on_status, &ended);
    while (!rc && !drained) {
        struct pollfd fds[] = {{.fd = pawl_engine_fd(engine), .events = POLLIN}};
        /* a real program would poll more descriptors: sockets, a terminal, … */

        poll(fds, 1, pawl_engine_timeout_ms(engine));
        if ((rc = pawl_engine_step(engine, 0, &e)))
            break;
        if (ended && (rc = pawl_transaction(p, store_results, NULL, &e)))
            break;
        ended = false;
        do
            rc = pawl_follower_next(events, show_event, NULL, &n, &e);
        while (!rc && n);
        if (!rc)
            rc = pawl_engine_drained(engine, &drained, &e);
    }
    pawl_follower_close(events);
    return rc;
}

static int work(struct pawl *p, char **bills, int n)
{
    struct pawl_engine *engine = NULL;
    int i, rc;

    if ((rc = pawl_transaction(p, make_table, NULL, &e)) ||
        (rc = pawl_engine_open(p, NULL, &engine, &e)))
        return rc;
    rc = pawl_engine_register(engine, "sum_of_digits", sum_of_digits, NULL, &e);
    for (i = 0; !rc && i < n; i++)
        rc = pawl_transaction(p, add_bill, bills[i], &e);
    if (!rc)
        rc = loop(p, engine);
    pawl_engine_close(engine);
    return rc ? rc : pawl_transaction(p, show_bills, NULL, &e);
}

int main(int argc, char **argv)
{
    struct pawl *p = NULL;
    char url[4096];
    int code = 0, i;

    for (i = 2; i < argc; i++)
        if (!*argv[i] || argv[i][strspn(argv[i], "0123456789")] || argv[i][0] == '0')
            argc = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: embed FILE.db BILL...     (bills are whole numbers)\n");
        return 2;
    }
    snprintf(url, sizeof(url), "sqlite:%s", argv[1]);
    if (pawl_open(&(struct pawl_options){.url = url}, &p, &e) || work(p, argv + 2, argc - 2))
        code = fail();
    pawl_close(p);
    return code;
}
