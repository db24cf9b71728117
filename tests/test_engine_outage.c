/* test_engine_outage.c - engines whose PostgreSQL goes away: answers to COMMIT that never come, a
 * server that dies under load, one that is away for longer than leases last, a worker that alone is
 * cut off. Nothing is lost or done twice, and who is healthy keeps what it has. */
#include "ledger.h"

#include <arpa/inet.h>
#include <glob.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

TEST_ONLY_DB(postgres);
TEST_THREADED;
TEST_LOOPS_TOO;
TEST_LONG;

/* ---- where the server is ---- */

static const char *server_url(void)
{
    const char *url = getenv("PAWL_TEST_PG_URL");

    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only");
    CHECK(url && *url);
    return url;
}

static int server_port(void)
{
    return (int)strtol(strrchr(server_url(), ':') + 1, NULL, 10);
}

/* ---- a proxy between engine and server ---- */

enum cut { DROP_ANSWER, DROP_COMMIT, CUT_AFTER_COMMIT, CUTS };

static struct {
    _Atomic int every;   /* each so many COMMITs one is lost, in one way after the other; 0: none */
    _Atomic int shut;    /* nobody gets through */
    _Atomic int last;    /* the next COMMIT is the last thing that does */
    _Atomic int commits; /* seen while some are lost */
    _Atomic int cuts;
} * proxy;

static int connect_to(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
        _exit(0); /* there is no server now */
    return fd;
}

/* What becomes of the bytes that came from the client; -1: all is well. */
static int cut_of(const char *bytes, size_t n)
{
    if ((!proxy->every && !proxy->last) ||
        !memmem(bytes, n, "COMMIT", 7)) /* with its NUL, so not READ COMMITTED */
        return -1;
    if (proxy->last) {
        proxy->shut = 1;
        return CUT_AFTER_COMMIT;
    }
    return ++proxy->commits % proxy->every ? -1 : proxy->cuts++ % CUTS;
}

/* Until one side closes, or a COMMIT is to be lost. */
static void forward(int client, int server)
{
    struct pollfd fds[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    char bytes[65536];
    int cut = -1;

    while (!proxy->shut) {
        if (poll(fds, 2, 20) <= 0)
            continue;
        for (int side = 0; side < 2; side++) {
            ssize_t n;

            if (!fds[side].revents)
                continue;
            if ((n = read(fds[side].fd, bytes, sizeof(bytes))) <= 0)
                return;
            if (side == 1 && cut == DROP_ANSWER)
                return;
            if (side == 0 && cut < 0 && (cut = cut_of(bytes, (size_t)n)) == DROP_COMMIT)
                return;
            if (write(fds[!side].fd, bytes, (size_t)n) != n || cut == CUT_AFTER_COMMIT)
                return;
        }
    }
}

/* Before anything is open. Returns the URL through it; the caller frees. */
static char *proxy_start(pid_t *pid)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port;
    socklen_t len = sizeof(at);

    fixture_url();
    port = server_port();
    proxy = shared_memory(sizeof(*proxy));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_OK(bind(listener, (struct sockaddr *)&at, sizeof(at)));
    CHECK_OK(listen(listener, 100));
    CHECK_OK(getsockname(listener, (struct sockaddr *)&at, &len));
    *pid = fork();
    CHECK(*pid >= 0);
    signal(SIGCHLD, *pid ? SIG_DFL : SIG_IGN);
    while (*pid == 0) {
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        if (fork() == 0) {
            forward(client, connect_to(port));
            _exit(0);
        }
        close(client);
    }
    close(listener);
    return mem_printf("%.*s:%d/postgres?sslmode=disable",
                      (int)(strrchr(server_url(), ':') - server_url()), server_url(),
                      ntohs(at.sin_port));
}

static void proxy_stop(pid_t pid)
{
    proxy->shut = 1;
    CHECK_OK(kill(pid, SIGKILL));
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* ---- load ---- */

static atomic_int begun;

static int counts(struct function_call *c, void *arg)
{
    (void)c;
    (void)arg;
    atomic_fetch_add(&begun, 1);
    return 0;
}

static const struct kit_function functions[] = {
    {"counts", counts, NULL}, {"ledger", ledger_function, NULL}, {NULL, NULL, NULL}};

struct load {
    struct worker_kit k;
    int submitted, acked;
};

static void on_ack(void *arg, const struct submission *s)
{
    CHECK_OK_ERR(s->rc, &s->err);
    ++*(int *)arg;
}

/* A step with some work waiting, so much at most. */
static void step_under_load(struct load *l, int waiting)
{
    struct submission s = {.kind = KIND_EXEC,
                           .name = "exec::load",
                           .lane = "function:counts",
                           .task_index = -1,
                           .max_attempts = 4};

    for (; l->submitted - l->k.ended < waiting; l->submitted++)
        engine_submit(l->k.engine, &s, on_ack, &l->acked);
    kit_step(&l->k);
}

static void open_at(struct worker_kit *k, const char *url, const char *state,
                    struct engine_options o)
{
    struct err err = ERR_INIT;

    o.url = url;
    o.tenant = fixture_tenant();
    o.env = fixture_env();
    o.state = state;
    o.loops = kit_loops();
    CHECK_OK_ERR(engine_open(&o, kit_make, k, &k->engine, &err), &err);
    engine_on_end(k->engine, kit_ended, &k->ended);
}

/* Everything that was acknowledged ran, once. */
static void end_load(struct load *l)
{
    struct store *s;

    KIT_UNTIL(&l->k, l->k.ended >= l->submitted && l->acked == l->submitted);
    engine_close(&l->k.engine);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), l->submitted);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4 AND attempts = 1"),
             l->submitted);
    CHECK_EQ(atomic_load(&begun), l->submitted);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 11"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST_SLOW(turns_whose_commit_got_no_answer_claim_and_submit_nothing_twice, 1200)
{
    int cuts = test_full() ? 1000 : 15;
    struct load l = {.k = {.list = functions}};
    pid_t pid;
    char *url = proxy_start(&pid);

    open_at(&l.k, url, kit_state(), (struct engine_options){.lease = 10 * SECOND});
    proxy->every = 5;
    while (proxy->cuts < cuts)
        step_under_load(&l, 50);
    proxy->every = 0;
    printf("%d commits lost, %d jobs\n", proxy->cuts, l.submitted);
    end_load(&l);
    proxy_stop(pid);
    free(url);
}

/* ---- a server of one's own ---- */

struct server {
    char *data, *log, *port, *pg_ctl;
    uid_t user;
};

/* pg_ctl as the server's own user. */
static void pg_ctl(const struct server *v, const char *const *args)
{
    const char *argv[12] = {v->pg_ctl, "-D", v->data, "-w", "-l", v->log};
    int status, n = 6;
    pid_t pid;

    while (*args)
        argv[n++] = *args++;
    argv[n] = NULL;
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (chdir("/") || (getuid() != v->user && setuid(v->user)) ||
            !freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout))
            _exit(1);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void server_stop(const struct server *v)
{
    pg_ctl(v, (const char *const[]){"-m", "immediate", "stop", NULL});
}

static void server_start(const struct server *v)
{
    char *port = mem_printf("-p %s", v->port);

    pg_ctl(v, (const char *const[]){"-o", port, "start", NULL});
    free(port);
}

/* Where the programs of the server are that runs there. */
static char *beside_postmaster(const char *data)
{
    char *path = mem_printf("%s/postmaster.pid", data), exe[4096];
    FILE *f = fopen(path, "re");
    int pid = 0;
    ssize_t n;

    CHECK(f && fscanf(f, "%d", &pid) == 1);
    fclose(f);
    free(path);
    path = mem_printf("/proc/%d/exe", pid);
    n = readlink(path, exe, sizeof(exe) - 1);
    free(path);
    CHECK(n > 0);
    exe[n] = 0;
    *strrchr(exe, '/') = 0;
    return mem_printf("%s/pg_ctl", exe);
}

/* A server that shuts down waits for everybody who has connected and said nothing yet, and a
 * listener that can't be served meanwhile may be one of them. */
static void wait_for_nobody(const struct server *v)
{
    char *path = mem_printf("%s/postgresql.conf", v->data);
    FILE *f = fopen(path, "ae");

    CHECK(f != NULL);
    fputs("authentication_timeout = 1s\n", f);
    CHECK_OK(fclose(f));
    free(path);
    pg_ctl(v, (const char *const[]){"reload", NULL});
}

/* The fixture's database is on it from then on. */
static struct server server_new(void)
{
    char *dir = mem_printf("%s/pg", test_dir()), line[300] = "";
    char *command = mem_printf("tests/pg_server start %s %d", dir, (int)getpid());
    struct server v = {.data = mem_printf("%s/data", dir), .log = mem_printf("%s/log", dir)};
    struct stat st;
    FILE *f;

    server_url(); /* skips on other databases */
    CHECK_OK(chmod(test_dir(), 0755));
    CHECK((f = popen(command, "re")) != NULL);
    CHECK(fgets(line, sizeof(line), f) != NULL);
    CHECK_OK(pclose(f));
    line[strcspn(line, "\n")] = 0;
    CHECK_OK(setenv("PAWL_TEST_PG_URL", strchr(line, '=') + 1, 1));
    v.port = mem_printf("%d", server_port());
    CHECK_OK(stat(v.data, &st));
    v.user = st.st_uid;
    v.pg_ctl = beside_postmaster(v.data);
    wait_for_nobody(&v);
    free(command);
    free(dir);
    return v;
}

static void server_end(struct server *v)
{
    server_stop(v);
    free(v->data);
    free(v->log);
    free(v->port);
    free(v->pg_ctl);
}

/* ---- it dies under load ---- */

/* Jobs in a second. */
static int rate(struct load *l)
{
    int before = l->k.ended;
    int64_t from = clock_boot_us(), to;

    do
        step_under_load(l, 200);
    while ((to = clock_boot_us()) - from < SECOND);
    return (int)((l->k.ended - before) * SECOND / (to - from));
}

struct outage {
    struct sign stop, back;
};

/* Stops and starts the server when told; the engine's own thread can't, it waits for it. */
static pid_t operator_start(const struct server *v, struct outage *o)
{
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK(sign_wait(&o->stop, 60 * SECOND));
        server_stop(v);
        server_start(v);
        sign_give(&o->back);
        _exit(0);
    }
    return pid;
}

TEST_SLOW(a_server_that_dies_under_load_costs_nothing_but_its_absence, 180)
{
    struct server v = server_new();
    struct outage *o = shared_memory(sizeof(*o));
    struct load l = {.k = {.list = functions}};
    pid_t pid;
    int64_t back;
    int before, now;

    fixture_url();
    pid = operator_start(&v, o);
    kit_open(&l.k);
    rate(&l);
    before = (rate(&l) + rate(&l)) / 2;
    sign_give(&o->stop);
    while (!o->back.given)
        step_under_load(&l, 200);
    back = clock_boot_us();
    while ((now = rate(&l)) * 100 < before * (test_full() ? 95 : 70))
        CHECK(clock_boot_us() - back < 30 * SECOND);
    printf("%d jobs/s before, %d after %lld ms\n", before, now,
           (long long)(clock_boot_us() - back) / 1000);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    end_load(&l);
    server_end(&v);
}

/* ---- it is away for longer than a lease ---- */

#define AWAY_LEASE (2 * SECOND)

static _Noreturn void be_a_worker(const char *url, const char *state, struct engine_options o)
{
    struct worker_kit k = {.list = functions, .commands = true, .threads = 8, .slots = 8};
    struct err err = ERR_INIT;

    open_at(&k, url, state, o);
    while (!engine_step(k.engine, 20000, &err))
        ;
    fprintf(stderr, "%s\n", err.msg);
    engine_close(&k.engine);
    _exit(7);
}

static pid_t worker_start(const char *url, const char *state, struct engine_options o)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        be_a_worker(url, state, o);
    return pid;
}

static void until_begun(const int64_t *ids, int n)
{
    for (int i = 0; i < n; i++)
        while (!ledger_begun(ids[i]))
            clock_sleep_us(1000);
}

static void until_terminal(struct store *s, int64_t id)
{
    while (!status_is_terminal(status_of(s, id)))
        clock_sleep_us(5000);
}

static void until_number(struct store *s, const char *sql, int64_t n)
{
    while (sql_number(s, sql) < n)
        clock_sleep_us(5000);
}

static void check_ended(struct store *s, const int64_t *ids, int n)
{
    for (int i = 0; i < n; i++) {
        until_terminal(s, ids[i]);
        CHECK_EQ(status_of(s, ids[i]), S_SUCCEEDED);
        CHECK_EQ(get(s, ids[i]).attempts, 1);
        ledger_check(s, ids[i]);
    }
}

static void end_worker(pid_t pid)
{
    CHECK_OK(kill(pid, SIGKILL));
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* One has all the jobs, and is the slower to come back. The other, who is back first and sees
 * leases that ran out long ago, has to wait before it judges. */
TEST_SLOW(a_database_away_for_three_leases_costs_nobody_a_lease, 180)
{
    struct engine_options o = {.lease = AWAY_LEASE};
    struct server v = server_new();
    const char *url = fixture_url();
    struct store *s = fixture_store();
    pid_t busy, idle;
    int64_t ids[8];
    int i;

    for (i = 0; i < 8; i++)
        ids[i] = submit_with(s, ledger_job(i % 2, "wait", 4));
    store_close(&s);
    busy = worker_start(url, kit_state(), o);
    until_begun(ids, 8);
    idle = worker_start(url, kit_state(), o);
    s = fixture_store();
    until_number(s, "SELECT count(*) FROM workers WHERE seen_at > started_at", 2);
    server_stop(&v);
    CHECK_OK(kill(busy, SIGSTOP));
    clock_sleep_us(3 * AWAY_LEASE);
    server_start(&v);
    until_number(s, "SELECT count(*) FROM workers WHERE seen_at > pg_postmaster_start_time()", 1);
    clock_sleep_us(AWAY_LEASE / 2);
    CHECK_OK(kill(busy, SIGCONT));
    until_terminal(s, submit_with(s, ledger_job(false, "ok", 4)));
    until_terminal(s, submit_with(s, ledger_job(true, "ok", 4)));
    until_number(s, "SELECT count(*) FROM workers WHERE seen_at > pg_postmaster_start_time()", 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 11"), 0);
    ledger_go();
    check_ended(s, ids, 8);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 11"), 0);
    end_worker(busy);
    end_worker(idle);
    verify_clean(s);
    store_close(&s);
    server_end(&v);
}

/* ---- one worker alone is cut off ---- */

static void wait_for_end(pid_t worker)
{
    int status;

    CHECK_EQ(waitpid(worker, &status, 0), worker);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void submit_two(int64_t ids[2])
{
    struct store *s;

    server_url(); /* skips on other databases */
    s = fixture_store();
    ids[0] = submit_with(s, ledger_job(false, "wait", 4));
    ids[1] = submit_with(s, ledger_job(true, "wait", 4));
    store_close(&s);
}

TEST(a_worker_cut_off_from_the_database_ends_by_itself)
{
    struct engine_options o = {.lease = SECOND / 2, .host_grace = 4 * SECOND};
    int64_t ids[2];
    pid_t through, worker;
    char *url;

    submit_two(ids);
    url = proxy_start(&through);
    worker = worker_start(url, kit_state(), o);
    until_begun(ids, 2);
    proxy->shut = 1;
    wait_for_end(worker);
    while (ledger_processes()) /* its fence ends the command */
        clock_sleep_us(1000);
    proxy_stop(through);
    free(url);
}

/* Files of workers in the state folder. */
static size_t worker_files(void)
{
    char *pattern = mem_printf("%s/*/workers/*", kit_state());
    glob_t found;
    size_t n;

    CHECK(!glob(pattern, 0, NULL, &found) || !found.gl_pathc);
    n = found.gl_pathc;
    globfree(&found);
    free(pattern);
    return n;
}

static void keep_rc(void *arg, const struct submission *s)
{
    *(int *)arg = s->rc;
}

/* ---- what was counted ---- */

#define ATTEMPTS                                                  \
    "SELECT COALESCE(sum(value), 0)::bigint FROM worker_counters" \
    " WHERE metric = 'pawl_attempts_total'"

static _Atomic int idle, given_up;

/* The heartbeat that adds what was counted waits until nobody else has anything to commit: then the
 * next COMMIT is its own. */
static void cut_off_counters(void *arg, const char *where)
{
    static _Atomic int once;

    (void)arg;
    if (strcmp(where, "worker_counter_add") || once++)
        return;
    while (!idle)
        clock_sleep_us(1000);
    proxy->last = 1;
}

static void hear_of_doubt(void *arg, const char *sentence)
{
    (void)arg;
    if (!strstr(sentence, "the change may be stored or not"))
        return;
    proxy->last = proxy->shut = 0;
    given_up = 1;
}

TEST(what_was_counted_by_a_heartbeat_that_got_no_answer_is_not_counted_again)
{
    struct engine_options o = {.lease = SECOND};
    struct load l = {.k = {.list = functions}};
    struct store *s;
    pid_t through;
    char *url;

    server_url(); /* skips on other databases */
    url = proxy_start(&through);
    fixture_env()->point = cut_off_counters;
    fixture_env()->note = hear_of_doubt;
    open_at(&l.k, url, kit_state(), o);
    step_under_load(&l, 3);
    KIT_UNTIL(&l.k, l.k.ended == 3 && engine_is_drained(l.k.engine));
    idle = 1;
    KIT_UNTIL(&l.k, given_up);
    s = fixture_store();
    sql_run(s, "UPDATE workers SET seen_at = '2020-01-01Z'");
    KIT_UNTIL(&l.k, sql_number(s, "SELECT count(*) FROM workers WHERE seen_at > '2021-01-01Z'") &&
                        sql_number(s, ATTEMPTS) >= 3);
    CHECK_EQ(sql_number(s, ATTEMPTS), 3);
    store_close(&s);
    end_load(&l);
    proxy_stop(through);
    free(url);
}

/* It is told that it may be stored, which it is; and others find it. */
TEST(what_a_worker_claimed_that_can_not_ask_whether_it_did_is_found_at_once)
{
    struct submission sub = ledger_job(false, "ok", 1);
    struct engine_options o = {.lease = LEASE, .host_grace = 4 * SECOND};
    struct worker_kit k = {.list = functions}, next = {.list = functions};
    struct err err = ERR_INIT;
    struct store *s;
    pid_t through;
    int64_t id;
    char *url;
    int rc, told = 1;

    server_url(); /* skips on other databases */
    url = proxy_start(&through);
    open_at(&k, url, kit_state(), o);
    KIT_UNTIL(&k, engine_is_drained(k.engine));
    proxy->last = 1;
    engine_submit(k.engine, &sub, keep_rc, &told);
    while (!(rc = engine_step(k.engine, 20000, &err)))
        ;
    CHECK_EQ(rc, -E_COMMIT_UNKNOWN);
    CHECK_EQ(told, -E_COMMIT_UNKNOWN);
    engine_close(&k.engine);
    s = fixture_store();
    id = sql_number(s, "SELECT id FROM executions");
    CHECK_EQ(status_of(s, id), S_RUNNING);
    CHECK_EQ(worker_files(), 1);
    open_at(&next, fixture_url(), kit_state(), o);
    KIT_UNTIL(&next, status_is_terminal(status_of(s, id))); /* its lease lasts for long */
    engine_close(&next.engine);
    verify_clean(s);
    store_close(&s);
    proxy_stop(through);
    free(url);
}

static volatile sig_atomic_t told_to_stop;

static void on_term(int number)
{
    told_to_stop = number;
}

static bool is_told_to_stop(void *arg)
{
    (void)arg;
    return told_to_stop != 0;
}

/* A worker that stops when it is told so, within `grace` seconds if it can't tell the database. */
static pid_t obedient_worker_start(const char *url, struct engine_options o, int64_t grace)
{
    struct worker_kit k = {.list = ledger_functions};
    struct err err = ERR_INIT;
    int64_t until;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid)
        return pid;
    signal(SIGTERM, on_term);
    o.url = url;
    o.tenant = fixture_tenant();
    o.env = fixture_env();
    o.env->give_up = is_told_to_stop;
    o.state = kit_state();
    CHECK_OK_ERR(engine_open(&o, kit_make, &k, &k.engine, &err), &err);
    while (!told_to_stop)
        kit_step(&k);
    engine_stop(k.engine, false);
    for (until = clock_boot_us() + grace; !engine_is_idle(k.engine) && clock_boot_us() < until;)
        kit_step(&k);
    engine_close(&k.engine);
    _exit(0);
}

TEST(a_worker_that_is_told_to_stop_does_so_while_the_database_is_away)
{
    struct engine_options o = {.lease = 60 * SECOND, .host_grace = 400 * SECOND};
    int64_t id, began;
    struct store *s;
    pid_t through, worker;
    char *url;
    int status;

    server_url(); /* skips on other databases */
    s = fixture_store();
    id = submit_with(s, ledger_job(false, "wait", 4));
    store_close(&s);
    url = proxy_start(&through);
    worker = obedient_worker_start(url, o, SECOND);
    until_begun(&id, 1);
    proxy->shut = 1;
    ledger_go(); /* its end is to be stored: the loop waits for the database */
    clock_sleep_us(SECOND);
    began = clock_boot_us();
    kill(worker, SIGTERM);
    CHECK_EQ(waitpid(worker, &status, 0), worker);
    CHECK_EQ(status, 0);
    CHECK(clock_boot_us() - began < 15 * SECOND);
    s = fixture_store();
    CHECK_EQ(status_of(s, id), S_RUNNING); /* whoever finds its lock free takes it over */
    proxy_stop(through);
    store_close(&s);
    free(url);
}

/* Others of another host may take its jobs after host_grace; they have ended before. */
TEST_SLOW(what_a_worker_that_was_cut_off_had_has_ended_before_another_host_takes_it, 120)
{
    struct engine_options o = {.lease = SECOND, .host_grace = 10 * SECOND};
    char *url, *elsewhere = mem_printf("%s/elsewhere", test_dir());
    pid_t through, first, second;
    struct store *s;
    int64_t ids[2];
    int i;

    if (!test_full())
        SKIP("takes 15 s");
    submit_two(ids);
    url = proxy_start(&through);
    first = worker_start(url, kit_state(), o);
    until_begun(ids, 2);
    second = worker_start(fixture_url(), elsewhere, o);
    proxy->shut = 1;
    wait_for_end(first);
    while (ledger_begun(ids[0]) < 2 || ledger_begun(ids[1]) < 2)
        clock_sleep_us(1000);
    ledger_go();
    s = fixture_store();
    for (i = 0; i < 2; i++) {
        until_terminal(s, ids[i]);
        CHECK_EQ(status_of(s, ids[i]), S_SUCCEEDED);
        ledger_check(s, ids[i]);
    }
    end_worker(second);
    proxy_stop(through);
    verify_clean(s);
    store_close(&s);
    free(elsewhere);
    free(url);
}
