/* test_scarce_connections.c - readers and waits while a server has few connections, or accepts
 * none. The server's answers are simulated by a driver that replaces some functions. */
#include "api/api.h"
#include "api_fixture.h"
#include "engine_fixture.h"
#include "store/driver/connect_wait.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- a handle on a server with few connections ---- */

static struct db_driver scarce;
static const struct db_driver *real;
static int asked, parts[8]; /* calls of check_scarcity, and their argument */
static bool refuses;        /* after the connection was closed, no transaction can begin */
static bool closed;
static int scarce_for; /* calls of check_scarcity that report it */
static void (*when_asked)(void);

static int check_scarcity(struct db *db, int part, bool *out, struct err *err)
{
    (void)db;
    if (refuses && closed)
        return err_set(err, E_BUSY, "the server is full");
    if (when_asked)
        when_asked();
    parts[asked++ % 8] = part;
    *out = asked <= scarce_for;
    return 0;
}

static void disconnect(struct db *db)
{
    (void)db;
    closed = true;
}

static int begin(struct db *db, enum tx_kind kind, struct err *err)
{
    if (refuses && closed)
        return err_set(err, E_CONN_LOST, "the server is full");
    return real->begin(db, kind, err);
}

static struct pawl *open_scarce(int times)
{
    struct pawl *p = open_pawl();
    struct db *db = store_db(p->store);

    real = db->driver;
    scarce = *real;
    scarce.check_scarcity = check_scarcity;
    scarce.disconnect = disconnect;
    scarce.begin = begin;
    scarce_for = times;
    db->driver = &scarce;
    return p;
}

static void close_scarce(struct pawl *p, struct store *s)
{
    store_db(p->store)->driver = real;
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static struct store *other;
static int64_t waited;

static void cancel_waited(void)
{
    if (!asked)
        cancel(other, waited);
}

TEST(wait_reads_the_status_while_connections_stay_scarce)
{
    struct pawl *p;
    const char *status = NULL;

    other = fixture_store();
    waited = submit(other, "exec::x");
    p = open_scarce(1000);
    when_asked = cancel_waited;
    OK(pawl_wait(p, waited, -1, &status, &api_err));
    CHECK_STR(status, "cancelled");
    CHECK_EQ(asked, 1);
    close_scarce(p, other);
}

TEST(wait_without_a_connection_returns_the_last_status_at_its_deadline)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "exec::x");
    struct pawl *p = open_scarce(1000);
    const char *status = NULL;

    refuses = true;
    OK(pawl_wait(p, id, 100, &status, &api_err)); /* the deadline is in the pause */
    CHECK_STR(status, "ready");
    closed = false;
    status = NULL;
    OK(pawl_wait(p, id, 4000, &status, &api_err)); /* reads fail between the pauses */
    CHECK_STR(status, "ready");
    close_scarce(p, s);
}

TEST(reader_disconnects_below_a_tenth_of_free_connections_and_returns_only_above_a_fifth)
{
    struct store *s = fixture_store();
    struct pawl *p = open_scarce(2);

    CHECK(pawl_yield(p) > 0);
    CHECK(pawl_yield(p) > 0);
    CHECK_EQ(pawl_yield(p), 0);
    CHECK_EQ(asked, 3);
    CHECK_EQ(parts[0], 10);
    CHECK_EQ(parts[1], 5);
    CHECK_EQ(parts[2], 5);
    close_scarce(p, s);
}

/* ---- connecting ---- */

static const int *answers; /* of open, until one is 0 */
static struct db opened;

static int open_as_listed(const struct db_url *url, struct env *env, struct db **out,
                          struct err *err)
{
    (void)url;
    (void)env;
    if (*answers)
        return err_set(err, (enum error_code) * answers++, "no connection");
    *out = &opened;
    return 0;
}

static int open_waiting(const int *results, int64_t limit_us, struct err *err)
{
    struct db_driver driver = {.open = open_as_listed};
    struct db_url url = {.driver = &driver};
    struct db *db = NULL;

    answers = results;
    return db_open_waiting(&url, fixture_env(), limit_us, &db, err);
}

TEST(wait_for_a_connection_continues_while_the_server_restarts)
{
    static const int restart[] = {E_BUSY, E_CONN_LOST, E_BUSY, 0},
                     down[] = {E_CONN_LOST, E_BUSY, 0}, full[] = {E_BUSY, 0},
                     wrong[] = {E_BUSY, E_UNAVAILABLE, 0};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(open_waiting(restart, INT64_MAX, &err), &err);
    CHECK_EQ(open_waiting(down, INT64_MAX, &err), -E_UNAVAILABLE); /* its URL may be wrong */
    CHECK_EQ(open_waiting(wrong, INT64_MAX, &err), -E_UNAVAILABLE);
    CHECK_EQ(open_waiting(full, 0, &err), -E_BUSY); /* the caller waits itself */
    CHECK_EQ(open_waiting(down, 0, &err), -E_CONN_LOST);
}

/* PgBouncer's answer to a client beyond max_client_conn. */
static void refuse_clients(int fd)
{
    static const char text[] =
        "SFATAL\0VFATAL\0C08P01\0Mno more connections allowed (max_client_conn)\0";
    uint32_t len = htonl(sizeof(text) + 4);

    for (;;) {
        int client = accept(fd, NULL, NULL);
        char request[1024];

        if (client < 0 || read(client, request, sizeof(request)) <= 0 ||
            write(client, "E", 1) != 1 || write(client, &len, sizeof(len)) != sizeof(len) ||
            write(client, text, sizeof(text)) != sizeof(text))
            _exit(1);
        close(client);
    }
}

TEST(open_through_a_pooler_without_a_free_connection_reports_busy)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct db_url *url = NULL;
    struct err err = ERR_INIT;
    struct db *db = NULL;
    char text[100];
    pid_t pid;

    CHECK_OK(bind(fd, (struct sockaddr *)&at, len));
    CHECK_OK(listen(fd, 5));
    CHECK_OK(getsockname(fd, (struct sockaddr *)&at, &len));
    CHECK((pid = fork()) >= 0);
    if (!pid)
        refuse_clients(fd);
    snprintf(text, sizeof(text), "postgres://x@127.0.0.1:%d/x?sslmode=disable&gssencmode=disable",
             ntohs(at.sin_port));
    CHECK_OK_ERR(url_parse(text, NULL, &url, &err), &err);
    CHECK_EQ(db_open(url, fixture_env(), &db, &err), -E_BUSY);
    CHECK(strstr(err.msg, "max_client_conn of PgBouncer"));
    url_free(&url);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(fd);
}
