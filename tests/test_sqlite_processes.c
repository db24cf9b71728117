/* test_sqlite_processes.c - the SQLite driver with many processes: the lock file, the log,
 * wake-ups. */
#include "sqlite_fixture.h"

#include "store/driver/sqlite/lock.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

TEST_NO_DB;
TEST_THREADED; /* a thread waits for the lock file */

/* ---- the lock file ---- */

static void write_one_and_wait(int in, int out)
{
    struct sqlite_test t = sqlite_test_ready();
    int64_t one = 1;

    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_OK_ERR(sqlite_test_run_ints(&t, &add_item, &one, 1, NULL, 1), &t.err);
    write_byte(out);
    read_byte(in);
    CHECK_OK_ERR(db_commit(t.db, &t.err), &t.err);
    sqlite_test_end(&t);
}

TEST(writer_excludes_other_writers_until_it_commits)
{
    struct child c = child_start(write_one_and_wait);
    struct sqlite_test t = sqlite_test_named("t.db", NULL);
    struct sqlite_lock lock;
    char pid[32];

    read_byte(c.from);
    sqlite_lock_init(&lock, t.url.file);
    CHECK(!sqlite_lock_try(&lock));
    CHECK_EQ(sqlite_lock_acquire(&lock, 50, &t.err), -E_UNAVAILABLE);
    snprintf(pid, sizeof(pid), "process %d has held", (int)c.pid);
    CHECK(strstr(t.err.msg, pid));
    write_byte(c.to);
    CHECK_OK_ERR(sqlite_lock_acquire(&lock, 30000, &t.err), &t.err);
    sqlite_open_test(&t);
    CHECK_EQ(sqlite_test_number(&t, &count_items), 1);
    sqlite_lock_release(&lock);
    sqlite_test_end(&t);
    child_end(&c);
}

TEST(writer_killed_before_its_commit_leaves_no_change_and_no_lock)
{
    for (int i = 0; i < (test_full() ? 100 : 5); i++) {
        struct child c = child_start(write_one_and_wait);
        struct sqlite_test t;

        read_byte(c.from);
        child_kill(&c);
        t = sqlite_test_ready();
        CHECK_EQ(sqlite_test_number(&t, &count_items), 0);
        sqlite_test_end(&t);
    }
}

TEST(deleted_lock_file_is_created_again)
{
    struct sqlite_test t = sqlite_test_ready();
    struct sqlite_lock lock;

    sqlite_lock_init(&lock, t.url.file);
    CHECK_OK(unlink(lock.path));
    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK(!sqlite_lock_try(&lock));
    CHECK_OK_ERR(db_commit(t.db, &t.err), &t.err);
    CHECK(sqlite_lock_try(&lock));
    sqlite_lock_release(&lock);
    sqlite_test_end(&t);
}

static int inside, timeouts;

static void *acquire_with_short_timeout(void *arg)
{
    struct sqlite_lock lock;
    struct err err;

    sqlite_lock_init(&lock, arg);
    for (int i = 0; i < (test_full() ? 5000 : 300); i++) {
        if (sqlite_lock_acquire(&lock, 1, &err)) {
            __atomic_add_fetch(&timeouts, 1, __ATOMIC_SEQ_CST);
            continue;
        }
        CHECK_EQ(__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST), 1);
        clock_sleep_us(i * 37 % 1500); /* about as long as the other threads wait */
        CHECK_EQ(__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST), 0);
        sqlite_lock_drop(&lock);
    }
    sqlite_lock_release(&lock);
    return NULL;
}

TEST(waiter_that_gives_up_does_not_hold_the_lock_later)
{
    char *file = mem_printf("%s/t.db", test_dir());
    pthread_t threads[4];
    struct sqlite_lock lock;

    for (int i = 0; i < 4; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, acquire_with_short_timeout, file));
    for (int i = 0; i < 4; i++)
        CHECK_OK(pthread_join(threads[i], NULL));
    CHECK(timeouts > 0);
    sqlite_lock_init(&lock, file);
    CHECK(sqlite_lock_try(&lock));
    sqlite_lock_release(&lock);
    free(file);
}

#define CROWD     16
#define CROWD_TXS 100

static int64_t *longest; /* the longest wait of each child, in shared memory */
static int crowd_nth;

static void write_a_hundred(int in, int out)
{
    struct sqlite_test t =
        sqlite_test_ready(); /* all children create the file and its table at once */
    int64_t mine = 0;

    write_byte(out);
    read_byte(in);
    for (int i = 0; i < CROWD_TXS; i++) {
        int64_t id = 1 + crowd_nth * CROWD_TXS + i, start = clock_boot_us(), waited;

        CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
        waited = clock_boot_us() - start;
        if (waited > mine)
            mine = waited;
        CHECK_OK_ERR(sqlite_test_run_ints(&t, &add_item, &id, 1, NULL, 1), &t.err);
        CHECK_OK_ERR(db_commit(t.db, &t.err), &t.err);
    }
    longest[crowd_nth] = mine;
    sqlite_test_end(&t);
}

TEST(sixteen_writers_alternate_and_none_waits_long)
{
    struct child crowd[CROWD];
    struct sqlite_test t = sqlite_test_named("t.db", NULL);
    int64_t worst = 0, start;

    longest = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (crowd_nth = 0; crowd_nth < CROWD; crowd_nth++)
        crowd[crowd_nth] = child_start(write_a_hundred);
    for (int i = 0; i < CROWD; i++)
        read_byte(crowd[i].from);
    start = clock_boot_us();
    for (int i = 0; i < CROWD; i++)
        write_byte(crowd[i].to);
    for (int i = 0; i < CROWD; i++) {
        child_end(&crowd[i]);
        worst = longest[i] > worst ? longest[i] : worst;
    }
    printf("%d transactions in %lld ms, the longest wait %lld ms\n", CROWD * CROWD_TXS,
           (long long)(clock_boot_us() - start) / 1000, (long long)worst / 1000);
    sqlite_open_test(&t);
    CHECK_EQ(sqlite_test_number(&t, &count_items), CROWD * CROWD_TXS);
    CHECK(worst < 60000000);
    sqlite_test_end(&t);
}

/* ---- the log ---- */

#define MEGABYTE 1000000

static long log_size(const struct sqlite_test *t)
{
    char *path = mem_printf("%s-wal", t->url.file);
    struct stat st;

    CHECK_OK(stat(path, &st));
    free(path);
    return (long)st.st_size;
}

TEST(wal_stays_bounded_over_many_small_commits)
{
    struct sqlite_test t = sqlite_test_named("t.db", test_full() ? NULL : "synchronous=normal");

    sqlite_open_test(&t);
    sqlite_test_script_in_tx(&t, "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)");
    for (int64_t i = 1; i <= 20000; i++)
        sqlite_test_add_item(&t, i);
    CHECK(log_size(&t) > MEGABYTE && log_size(&t) < 20 * MEGABYTE);
    sqlite_test_end(&t);
}

STMT(add_pages,
     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
     "INSERT INTO item (name) SELECT printf('%.4000c', 'x') FROM n",
     0, 0, 0);

static void add_a_thousand_pages(struct sqlite_test *t)
{
    CHECK_OK_ERR(db_begin(t->db, TX_LONG, &t->err), &t->err);
    CHECK_OK_ERR(sqlite_test_run_ints(t, &add_pages, NULL, 0, NULL, 1000), &t->err);
    CHECK_OK_ERR(db_commit(t->db, &t->err), &t->err);
}

TEST(wal_grows_during_a_long_read_and_shrinks_when_it_ends)
{
    struct sqlite_test t = sqlite_test_named("t.db", "synchronous=normal"),
                       r = sqlite_test_named("t.db", NULL);

    sqlite_open_test(&t);
    sqlite_test_script_in_tx(&t, "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)");
    sqlite_open_test(&r);
    CHECK_OK_ERR(db_begin(r.db, TX_READ, &r.err), &r.err);
    CHECK_OK_ERR(sqlite_test_run_ints(&r, &count_items, NULL, 0, NULL, 1), &r.err);
    for (int i = 0; i < 45; i++)
        add_a_thousand_pages(&t);
    CHECK(log_size(&t) > 160 * MEGABYTE);
    CHECK_OK_ERR(db_commit(r.db, &r.err), &r.err);
    for (int i = 0; i < 10; i++)
        add_a_thousand_pages(&t);
    CHECK(log_size(&t) < 50 * MEGABYTE);
    CHECK_EQ(sqlite_test_number(&r, &count_items), 55000);
    sqlite_test_end(&r);
    sqlite_test_end(&t);
}

TEST(close_leaves_no_wal_for_the_next_process_to_read)
{
    struct sqlite_test t = sqlite_test_ready();

    for (int64_t i = 1; i <= 400; i++)
        sqlite_test_add_item(&t, i);
    CHECK(log_size(&t) > MEGABYTE);
    db_close(&t.db);
    CHECK_EQ(log_size(&t), 0);
    sqlite_open_test(&t);
    CHECK_EQ(sqlite_test_number(&t, &count_items), 400);
    sqlite_test_end(&t);
}

/* ---- wake-ups ---- */

static const char *wake_file = "t.db";

static struct listener *listen_to(unsigned what)
{
    struct sqlite_test t = sqlite_test_named(wake_file, NULL);
    struct listener *l = NULL;

    CHECK_OK_ERR(db_sqlite.listen(&t.url, t.env, what, &l, &t.err), &t.err);
    CHECK(l->fd >= 0);
    sqlite_test_end(&t);
    return l;
}

static void answer_wakes(int in, int out)
{
    struct listener *l = listen_to(WAKE_JOBS | WAKE_CANCEL);
    struct pollfd fds[] = {{.fd = l->fd, .events = POLLIN}, {.fd = in, .events = POLLIN}};

    write_byte(out);
    while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
        CHECK_EQ(l->drain(l), WAKE_JOBS);
        write_byte(out);
    }
    l->close(l);
}

static int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void wake_a_thousand_times(struct child *c, struct sqlite_test *t)
{
    int64_t took[1000];

    read_byte(c->from);
    for (int i = 0; i < 1000; i++) {
        took[i] = clock_boot_us();
        t->db->driver->wake(t->db, WAKE_JOBS);
        read_byte(c->from);
        took[i] = clock_boot_us() - took[i];
    }
    qsort(took, 1000, sizeof(*took), compare_int64);
    printf("there and back: p50 %lld us, p99 %lld us\n", (long long)took[500],
           (long long)took[990]);
}

TEST(wake_up_reaches_another_process_immediately)
{
    struct child c = child_start(answer_wakes);
    struct sqlite_test t = sqlite_test_named("t.db", NULL);

    sqlite_open_test(&t);
    wake_a_thousand_times(&c, &t);
    sqlite_test_end(&t);
    child_end(&c);
}

TEST(wake_up_works_in_a_folder_with_a_very_long_name)
{
    char *folder, *name = mem_printf("%0150d/t.db", 0);
    struct child c;
    struct sqlite_test t;

    folder = mem_printf("%s/%.150s", test_dir(), name);
    CHECK_OK(mkdir(folder, 0700));
    wake_file = name;
    c = child_start(answer_wakes);
    t = sqlite_test_named(name, NULL);
    sqlite_open_test(&t);
    wake_a_thousand_times(&c, &t);
    sqlite_test_end(&t);
    child_end(&c);
    free(folder);
    free(name);
}

static int sockets_of(const struct sqlite_test *t)
{
    char *path = mem_printf("%s.wake", t->url.file);
    DIR *dir = opendir(path);
    int n = 0;

    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    free(path);
    return n;
}

TEST(socket_of_a_dead_process_is_removed)
{
    struct child c = child_start(answer_wakes);
    struct sqlite_test t = sqlite_test_named("t.db", NULL);

    read_byte(c.from);
    child_kill(&c);
    sqlite_open_test(&t);
    CHECK_EQ(sockets_of(&t), 1);
    t.db->driver->wake(t.db, WAKE_EVENTS); /* the dead process did not listen for events */
    CHECK_EQ(sockets_of(&t), 1);
    t.db->driver->wake(t.db, WAKE_CANCEL);
    CHECK_EQ(sockets_of(&t), 0);
    sqlite_test_end(&t);
}

TEST(listener_gets_only_the_wake_ups_that_it_asked_for)
{
    struct sqlite_test t = sqlite_test_ready();
    struct listener *jobs, *all;

    t.db->driver->wake(t.db, WAKE_JOBS); /* there is no listener */
    jobs = listen_to(WAKE_JOBS);
    all = listen_to(WAKE_JOBS | WAKE_CANCEL | WAKE_EVENTS);
    CHECK_EQ(all->drain(all), 0);
    t.db->driver->wake(t.db, WAKE_EVENTS);
    t.db->driver->wake(t.db, WAKE_CANCEL | WAKE_JOBS);
    CHECK_EQ(jobs->drain(jobs), WAKE_JOBS);
    CHECK_EQ(all->drain(all), WAKE_JOBS | WAKE_CANCEL | WAKE_EVENTS);
    CHECK_EQ(all->drain(all), 0);
    CHECK(jobs->poll_ms >= 10000);
    jobs->close(jobs);
    all->close(all);
    CHECK_EQ(sockets_of(&t), 0);
    sqlite_test_end(&t);
}

TEST(listener_that_does_not_read_loses_nothing_and_does_not_block_writers)
{
    struct sqlite_test t = sqlite_test_ready();
    struct listener *hangs = listen_to(WAKE_JOBS | WAKE_CANCEL), *reads = listen_to(WAKE_JOBS);

    for (int i = 0; i < 5000; i++) {
        t.db->driver->wake(t.db, WAKE_JOBS);
        CHECK_EQ(reads->drain(reads), WAKE_JOBS);
    }
    t.db->driver->wake(t.db, WAKE_CANCEL); /* the queue of `hangs` is full */
    CHECK_EQ(hangs->drain(hangs), WAKE_JOBS | WAKE_CANCEL);
    hangs->close(hangs);
    reads->close(reads);
    sqlite_test_end(&t);
}

TEST(deleted_socket_folder_is_created_again)
{
    struct sqlite_test t = sqlite_test_ready();
    struct listener *old = listen_to(WAKE_JOBS), *new;
    char *path = mem_printf("%s.wake", t.url.file);

    t.db->driver->wake(t.db, WAKE_JOBS);
    CHECK_EQ(old->drain(old), WAKE_JOBS);
    old->close(old);
    CHECK_OK(rmdir(path));
    new = listen_to(WAKE_JOBS);
    t.db->driver->wake(t.db, WAKE_JOBS);
    CHECK_EQ(new->drain(new), WAKE_JOBS);
    new->close(new);
    free(path);
    sqlite_test_end(&t);
}
