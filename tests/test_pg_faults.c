/* test_pg_faults.c - the PostgreSQL driver with a faulty connection: killed sessions, a lost reply
 * to COMMIT, a server that is down or has no such database, and PgBouncer in between. */
#include "pg_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

TEST_ONLY_DB(postgres);

/* ---- killed sessions ---- */

TEST(session_killed_while_idle_is_replaced_at_the_next_begin)
{
    struct pg t = pg_ready(), killer = pg_second(&t);
    int64_t pid = pg_number_in_tx(&t, &backend_pid);

    pg_kill(&killer, pid);
    CHECK(pg_number_in_tx(&t, &backend_pid) != pid);
    pg_end(&killer);
    pg_done(&t);
}

TEST(session_killed_in_a_transaction_is_reported_as_lost_and_nothing_is_stored)
{
    struct pg t = pg_ready(), killer = pg_second(&t);

    pg_begin(&t);
    CHECK_OK(pg_add_item(&t, 1));
    pg_kill(&killer, pg_number(&t, &backend_pid));
    CHECK_EQ(pg_try(&t, &count_items), E_CONN_LOST);
    CHECK(strstr(t.err.msg, "; check that the server is running and can be reached"));
    CHECK_EQ(pg_try(&t, &count_items), E_CONN_LOST);
    db_rollback(t.db);
    CHECK_EQ(pg_number_in_tx(&t, &count_items), 0);
    pg_end(&killer);
    pg_done(&t);
}

TEST(commit_on_a_dead_session_is_reported_as_lost_and_nothing_is_stored)
{
    struct pg t = pg_ready(), killer = pg_second(&t);

    pg_begin(&t);
    CHECK_OK(pg_add_item(&t, 1));
    pg_kill(&killer, pg_number(&t, &backend_pid));
    CHECK_EQ(db_commit(t.db, &t.err), -E_CONN_LOST);
    CHECK_EQ(pg_number_in_tx(&t, &count_items), 0);
    pg_end(&killer);
    pg_done(&t);
}

TEST(session_killed_with_queued_statements_is_reported_as_lost)
{
    struct pg t = pg_ready(), killer = pg_second(&t);
    struct rows r = ROWS_INIT;
    int64_t now = 0;

    pg_begin(&t);
    CHECK_OK(pg_add_item(&t, 1));
    int64_t pid = pg_number(&t, &backend_pid);
    CHECK_OK(pg_send_ints(&t, &count_items, NULL, 0, &r, 1));
    CHECK_OK(t.db->driver->send_now(t.db, &now, &t.err));
    pg_kill(&killer, pid);
    CHECK_EQ(db_flush(t.db, &t.err), -E_CONN_LOST);
    CHECK(r.n == 0 && now == 0);
    db_rollback(t.db);
    pg_begin(&t);
    CHECK_EQ(pg_number(&t, &count_items), 0);
    pg_script(&t, "CREATE TABLE another (id int)");
    pg_kill(&killer, pg_number(&t, &backend_pid));
    CHECK_EQ(t.db->driver->script(t.db, "SELECT 1", &t.err), -E_CONN_LOST);
    db_rollback(t.db);
    pg_end(&killer);
    pg_done(&t);
}

STMT(idle_briefly, "SELECT set_config('idle_in_transaction_session_timeout', '50ms', true)", 0, 0,
     0);
STMT(backend_exists, "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", 1, 0, T_I32);

TEST(transaction_that_idles_too_long_is_reported_as_lost)
{
    struct pg t = pg_ready(), other = pg_second(&t);
    struct rows r = ROWS_INIT;
    int64_t pid;

    pg_begin(&t);
    CHECK_OK(pg_add_item(&t, 1));
    pid = pg_number(&t, &backend_pid);
    CHECK_EQ(pg_try(&t, &idle_briefly), 0);
    do {
        pg_begin(&other);
        CHECK_OK(pg_send_ints(&other, &backend_exists, &pid, 1, &r, 1));
        pg_commit(&other);
    } while (rows_int(&r, 0, 0));
    rows_release(&r);
    CHECK_EQ(pg_try(&t, &count_items), E_CONN_LOST);
    CHECK(strstr(t.err.msg, "25P03"));
    db_rollback(t.db);
    CHECK_EQ(pg_number_in_tx(&t, &count_items), 0);
    pg_end(&other);
    pg_done(&t);
}

/* ---- a faulty proxy ---- */

enum proxy_mode {
    PROXY_OPEN,
    PROXY_DROP_REPLY,  /* forwards COMMIT, then closes when its reply arrives */
    PROXY_DROP_COMMIT, /* closes instead of forwarding COMMIT */
    PROXY_SWALLOW,     /* forwards COMMIT, then drops its reply and everything after it */
    PROXY_SHUT,        /* closes each new connection */
};

struct proxy {
    int port;
    pid_t pid;
    volatile enum proxy_mode *mode; /* shared with the proxy */
};

static int connect_to(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_OK(connect(fd, (struct sockaddr *)&to, sizeof(to)));
    return fd;
}

static int listen_anywhere(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_OK(bind(fd, (struct sockaddr *)&at, sizeof(at)));
    CHECK_OK(listen(fd, 10));
    CHECK_OK(getsockname(fd, (struct sockaddr *)&at, &len));
    *port = ntohs(at.sin_port);
    return fd;
}

/* Forwards bytes until one side closes, or does what the mode requires once COMMIT is sent. COMMIT
 * is matched with its NUL, so that READ COMMITTED does not match. */
static void forward(int client, int server, volatile enum proxy_mode *mode)
{
    struct pollfd fds[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    bool committing = false;
    char bytes[65536];

    for (;;) {
        poll(fds, 2, -1);
        for (int side = 0; side < 2; side++) {
            ssize_t n;

            if (!fds[side].revents)
                continue;
            n = read(fds[side].fd, bytes, sizeof(bytes));
            if (n <= 0)
                return;
            if (side == 0 && *mode != PROXY_OPEN && memmem(bytes, (size_t)n, "COMMIT", 7))
                committing = true;
            if (committing && side == 0 && *mode == PROXY_DROP_COMMIT)
                return;
            if (committing && side == 1 && *mode == PROXY_DROP_REPLY)
                return;
            if (committing && side == 1 && *mode == PROXY_SWALLOW)
                continue;
            CHECK_EQ(write(fds[!side].fd, bytes, (size_t)n), n);
        }
    }
}

static struct proxy proxy_start(void)
{
    struct proxy p;
    int listener = listen_anywhere(&p.port), server_port = pg_port();

    p.mode = mmap(NULL, sizeof(*p.mode), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(p.mode != MAP_FAILED);
    p.pid = fork();
    CHECK(p.pid >= 0);
    if (p.pid == 0)
        for (;;) {
            int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

            if (*p.mode != PROXY_SHUT && fork() == 0) {
                forward(client, connect_to(server_port), p.mode);
                _exit(0);
            }
            close(client);
        }
    close(listener);
    return p;
}

static void proxy_stop(struct proxy *p)
{
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    munmap((void *)p->mode, sizeof(*p->mode));
}

/* Connects to t's database through the proxy, without TLS: the proxy reads what it forwards. */
static struct pg open_through_proxy(const struct proxy *p, const struct pg *t)
{
    char *plain = pg_url_at(p->port, strrchr(t->url->text, '/') + 1);
    char *text = mem_printf("%s?sslmode=disable", plain);
    struct pg via = pg_open(text, NULL);

    free(plain);
    free(text);
    return via;
}

static void check_lost_commit(enum proxy_mode mode, int64_t stored)
{
    struct proxy p = proxy_start();
    struct pg t = pg_ready(), via = open_through_proxy(&p, &t);

    pg_begin(&via);
    CHECK_OK(pg_add_item(&via, 1));
    *p.mode = mode;
    CHECK_EQ(db_commit(via.db, &via.err), -E_COMMIT_UNKNOWN);
    CHECK(strstr(via.err.msg, "COMMIT"));
    *p.mode = PROXY_OPEN;
    CHECK_EQ(pg_number_in_tx(&via, &count_items), stored);
    pg_end(&via);
    pg_done(&t);
    proxy_stop(&p);
}

TEST(commit_whose_reply_is_lost_is_stored_but_reported_as_unknown)
{
    check_lost_commit(PROXY_DROP_REPLY, 1);
}

TEST(commit_that_never_reaches_the_server_is_reported_as_unknown_and_not_stored)
{
    check_lost_commit(PROXY_DROP_COMMIT, 0);
}

TEST_SLOW(commit_to_a_silent_server_times_out_and_is_reported_as_unknown, 600)
{
    if (!test_full())
        SKIP("takes 25 s");
    check_lost_commit(PROXY_SWALLOW, 1);
}

/* No row count is checked, so COMMIT is sent in one pipeline with the statement that fails. */
TEST(commit_after_a_failed_statement_is_reported_as_failed_and_not_as_unknown)
{
    static const int64_t one = 1;
    struct pg t = pg_ready();

    pg_begin(&t);
    CHECK_OK(pg_send_ints(&t, &add_item, &one, 1, NULL, ANY_ROWS));
    CHECK_OK(pg_send_ints(&t, &add_item, &one, 1, NULL, ANY_ROWS));
    CHECK_EQ(db_commit(t.db, &t.err), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "23505"));
    CHECK_EQ(pg_number_in_tx(&t, &count_items), 0);
    pg_done(&t);
}

/* ---- no server, no database ---- */

TEST(driver_reconnects_when_the_server_is_back)
{
    struct proxy p = proxy_start();
    struct pg t = pg_ready(), via = open_through_proxy(&p, &t);
    int64_t pid = pg_number_in_tx(&via, &backend_pid), rc;

    *p.mode = PROXY_SHUT;
    pg_kill(&t, pid);
    while ((rc = db_begin(via.db, TX_WRITE, &via.err)) ==
           0) /* until the proxy has closed its side */
        db_rollback(via.db);
    CHECK_EQ(rc, -E_CONN_LOST);
    CHECK(strstr(via.err.msg, "can't reach PostgreSQL at postgres://"));
    CHECK_EQ(db_begin(via.db, TX_WRITE, &via.err), -E_CONN_LOST);
    db_rollback(via.db);
    *p.mode = PROXY_OPEN;
    CHECK(pg_number_in_tx(&via, &backend_pid) != pid);
    pg_end(&via);
    pg_done(&t);
    proxy_stop(&p);
}

static void check_open_fails(char *text, enum error_code code, const char *sentence)
{
    struct pg t = pg_at(text, NULL);

    CHECK_EQ(db_open(t.url, t.env, &t.db, &t.err), -(int)code);
    if (!strstr(t.err.msg, sentence) || strchr(t.err.msg, '\n') || strstr(t.err.msg, "secret"))
        test_fail(__FILE__, __LINE__, "%s", t.err.msg);
    pg_end(&t);
    free(text);
}

TEST(open_while_the_server_is_down_fails_and_asks_whether_it_runs)
{
    int port, fd;

    pg_server();
    fd = listen_anywhere(&port);
    close(fd);
    check_open_fails(mem_printf("postgres://x:secret@127.0.0.1:%d/postgres", port), E_CONN_LOST,
                     "is it running? (");
}

TEST(open_on_a_silent_server_times_out)
{
    int port, fd;

    pg_server();
    fd = listen_anywhere(&port); /* the kernel accepts, no process replies */
    check_open_fails(mem_printf("postgres://x@127.0.0.1:%d/postgres?connect_timeout=1", port),
                     E_CONN_LOST, "did not answer for 1 s");
    close(fd);
}

TEST(open_with_a_missing_database_or_user_fails_and_says_what_to_do)
{
    check_open_fails(pg_url_at(pg_port(), "nowhere_at_all"), E_UNAVAILABLE, "createdb");
    check_open_fails(mem_printf("postgres://nobody:secret@127.0.0.1:%d/postgres", pg_port()),
                     E_UNAVAILABLE, "check the user, the password");
}

/* ---- PgBouncer, in transaction mode ---- */

static void write_file(const char *name, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void write_file(const char *name, const char *fmt, ...)
{
    FILE *f = fopen(name, "w");
    va_list ap;

    CHECK(f);
    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fclose(f);
}

/* Two server sessions for all clients, so that transactions move between them. */
static pid_t bouncer_start(const char *database, int *port)
{
    char *ini = mem_printf("%s/ini", test_dir()), *users = mem_printf("%s/users", test_dir());
    pid_t pid;

    if (access("/usr/sbin/pgbouncer", X_OK))
        SKIP("pgbouncer is not installed");
    close(listen_anywhere(port));
    write_file(users, "\"postgres\" \"\"\n");
    write_file(ini,
               "[databases]\n%s = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr=127.0.0.1\n"
               "listen_port=%d\nunix_socket_dir=\nauth_type=trust\nauth_file=%s\n"
               "pool_mode=transaction\ndefault_pool_size=2\n",
               database, pg_port(), *port, users);
    CHECK_OK(chmod(test_dir(), 0755));
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        execl("/usr/sbin/pgbouncer", "pgbouncer", "-u", getuid() ? getlogin() : "postgres", ini,
              (char *)NULL);
        _exit(127);
    }
    free(ini);
    free(users);
    return pid;
}

static struct pg open_through_bouncer(const struct pg *t, pid_t *pid)
{
    const char *name = strrchr(t->url->text, '/') + 1;
    struct pg via;
    char *text;
    int port;

    for (;;) { /* pgbouncer exits at once if the port was taken meanwhile */
        *pid = bouncer_start(name, &port);
        text = pg_url_at(port, name);
        via = pg_at(text, NULL);
        free(text);
        while (db_open(via.url, via.env, &via.db, &via.err)) { /* until PgBouncer has started */
            CHECK_EQ(via.err.code, E_CONN_LOST);
            if (waitpid(*pid, NULL, WNOHANG))
                break;
            clock_sleep_us(10000);
        }
        if (via.db)
            return via;
        pg_end(&via);
    }
}

static void bouncer_stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

STMT(named_count, "SELECT count(*) FROM pg_prepared_statements", 0, 0, 0);
STMT(timeout_is, "SELECT current_setting('lock_timeout') = '1s' AND current_schema() = 'pawl'", 0,
     0, 0);

TEST(successive_transactions_through_a_pooler_may_use_different_sessions)
{
    pid_t pid;
    struct pg t = pg_ready(), one = open_through_bouncer(&t, &pid), two = pg_second(&one);
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int64_t first, moved = 0, id = 0;

    first = pg_number_in_tx(&one, &backend_pid);
    args_begin(&a, Q_MIGRATIONS_EXIST);
    for (int i = 0; i < 50; i++) {
        pg_begin(&one);
        pg_begin(&two);
        for (int k = 0; k < 2; k++) {
            struct pg *it = (i + k) % 2 ? &one : &two;

            moved += pg_number(it, &backend_pid) != first;
            CHECK_OK(pg_add_item(it, ++id));
            CHECK_OK_ERR(db_query(it->db, &a, &r, &it->err), &it->err);
            CHECK_EQ(pg_number(it, &timeout_is), 1);
            CHECK_EQ(pg_number(it, &named_count), 0);
        }
        pg_commit(&two);
        pg_commit(&one);
    }
    CHECK_EQ(moved, 50); /* the two always have different sessions */
    CHECK_EQ(pg_number_in_tx(&one, &count_items), 100);

    pg_begin(&one);
    CHECK_OK(pg_add_item(&one, 1));
    CHECK_EQ(db_flush(one.db, &one.err), -E_INTERNAL);
    db_rollback(one.db);
    pg_begin(&one);
    pg_script(&one, "CREATE TABLE more (id int); DROP TABLE more");
    pg_commit(&one);
    rows_release(&r);
    args_release(&a);
    pg_end(&two);
    pg_end(&one);
    bouncer_stop(pid);
    pg_done(&t);
}

TEST(pooled_connection_sends_notifications_but_polls_instead_of_listening)
{
    pid_t pid;
    struct pg t = pg_ready(), via = open_through_bouncer(&t, &pid);
    struct listener *pooled = NULL, *direct = NULL;
    struct pollfd p = {.events = POLLIN};

    CHECK_OK_ERR(db_postgres.listen(via.url, via.env, WAKE_JOBS, &pooled, &via.err), &via.err);
    CHECK_EQ(pooled->fd, -1);
    CHECK_EQ(pooled->poll_ms, 500);
    CHECK_EQ(pooled->drain(pooled), 0);

    CHECK_OK_ERR(db_postgres.listen(t.url, t.env, WAKE_JOBS, &direct, &t.err), &t.err);
    via.db->driver->wake(via.db, WAKE_JOBS);
    p.fd = direct->fd;
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK_EQ(direct->drain(direct), WAKE_JOBS);
    pooled->close(pooled);
    direct->close(direct);
    pg_end(&via);
    bouncer_stop(pid);
    pg_done(&t);
}

TEST(commit_is_reported_as_unknown_when_the_pooler_dies)
{
    pid_t pid;
    struct pg t = pg_ready(), via = open_through_bouncer(&t, &pid);

    pg_begin(&via);
    CHECK_OK(pg_add_item(&via, 1));
    CHECK_OK_ERR(db_flush(via.db, &via.err), &via.err);
    kill(pid, SIGSTOP); /* the pooler accepts bytes and never replies */
    if (fork() == 0) {
        clock_sleep_us(200000);
        kill(pid, SIGKILL);
        _exit(0);
    }
    CHECK_EQ(db_commit(via.db, &via.err), -E_COMMIT_UNKNOWN);
    waitpid(-1, NULL, 0);
    waitpid(-1, NULL, 0);
    pg_end(&via);
    pg_done(&t);
}
