/* test_sqlite_faults.c - the SQLite driver under faults: unusable files, full disks, failing disks,
 * replaced files. Each fault must lead to a clear error, and nothing may be partially stored. */
#include "base/buf.h"
#include "disk_fixture.h"
#include "sqlite_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

TEST_NO_DB;

/* ---- unusable files ---- */

static void check_refused(struct sqlite_test *t, enum error_code code, const char *says)
{
    CHECK_EQ(db_open(&t->url, t->env, &t->db, &t->err), -(int)code);
    printf("%s\n", t->err.msg);
    CHECK(strstr(t->err.msg, says));
    CHECK(!*t->url.file || strstr(t->err.msg, t->url.file));
    sqlite_test_end(t);
}

static void write_file(const char *path, const char *text, size_t repeat)
{
    FILE *f = fopen(path, "we");

    CHECK(f);
    while (repeat--)
        fputs(text, f);
    fclose(f);
}

TEST(file_that_is_not_a_database_is_refused_with_a_clear_error)
{
    struct sqlite_test text = sqlite_test_named("notes.txt", NULL),
                       small = sqlite_test_named("small", NULL);
    struct sqlite_test folder = sqlite_test_named("folder", NULL),
                       slash = sqlite_test_named("new/", NULL);
    struct sqlite_test lost = sqlite_test_named("no/such/t.db", NULL),
                       fifo = sqlite_test_named("fifo", NULL);
    struct sqlite_test link = sqlite_test_named("link", NULL),
                       nameless = sqlite_test_named("x", NULL);

    write_file(text.url.file, "This is not a database at all. ", 1000);
    write_file(small.url.file, "x", 5);
    CHECK_OK(mkdir(folder.url.file, 0700) || mkfifo(fifo.url.file, 0600));
    CHECK_OK(symlink("nothing", link.url.file));
    nameless.url.file[0] = '\0';
    check_refused(&text, E_INVALID, "file is not a database");
    check_refused(&small, E_INVALID, "file is not a database");
    check_refused(&folder, E_UNAVAILABLE, "is a folder");
    check_refused(&slash, E_UNAVAILABLE, "create it first");
    check_refused(&lost, E_UNAVAILABLE, "create it first");
    check_refused(&fifo, E_UNAVAILABLE, "not a regular file");
    check_refused(&link, E_UNAVAILABLE, "can't be found");
    check_refused(&nameless, E_INVALID, "no file name");
}

TEST(damaged_file_is_refused_with_a_clear_error)
{
    struct sqlite_test t = sqlite_test_named("t.db", NULL);
    sqlite3 *sq;
    int fd;

    CHECK_OK(sqlite3_open(t.url.file, &sq));
    CHECK_OK(sqlite3_exec(sq, "CREATE TABLE item (id INTEGER PRIMARY KEY)", NULL, NULL, NULL));
    CHECK_OK(sqlite3_close(sq));
    fd = open(t.url.file, O_WRONLY | O_CLOEXEC);
    CHECK_EQ(pwrite(fd, "damage damage damage", 20, 100), 20);
    close(fd);
    check_refused(&t, E_UNAVAILABLE, "restore it from a backup");
}

static void open_without_permission(int in, int out)
{
    struct sqlite_test file = sqlite_test_named("open/secret.db", NULL),
                       folder = sqlite_test_named("closed/t.db", NULL);
    struct sqlite_test new = sqlite_test_named("closed/new.db", NULL),
                       hidden = sqlite_test_named("hidden/t.db", NULL);

    (void)in, (void)out;
    if (geteuid() == 0)
        CHECK_OK(setgid(65534) || setuid(65534));
    check_refused(&file, E_UNAVAILABLE, "read and write permission on it");
    check_refused(&folder, E_UNAVAILABLE, "SQLite keeps its log there");
    check_refused(&new, E_UNAVAILABLE, "write permission on its folder");
    check_refused(&hidden, E_UNAVAILABLE, "Permission denied");
}

TEST(missing_permission_is_reported_with_a_clear_error)
{
    struct sqlite_test file = sqlite_test_named("open/secret.db", NULL),
                       in_closed = sqlite_test_named("closed/t.db", NULL);
    struct child c;

    CHECK_OK(chmod(test_dir(), 0755) || chdir(test_dir()));
    CHECK_OK(mkdir("open", 0777) || mkdir("closed", 0755) || mkdir("hidden", 0));
    write_file(file.url.file, "", 1);
    write_file(in_closed.url.file, "", 1);
    CHECK_OK(chmod(file.url.file, 0400) || chmod(in_closed.url.file, 0666) ||
             chmod("closed", 0555));
    c = child_start(open_without_permission);
    child_end(&c);
    CHECK_OK(chmod("closed", 0755) || chmod("hidden", 0755));
    sqlite_test_end(&file);
    sqlite_test_end(&in_closed);
}

TEST(replaced_database_file_is_not_written_to)
{
    struct sqlite_test t = sqlite_test_ready(), other = sqlite_test_named("other.db", NULL);
    char *away = mem_printf("%s.away", t.url.file);

    sqlite_open_test(&other);
    sqlite_test_end(&other);
    other = sqlite_test_named("other.db", NULL);
    CHECK_OK(rename(t.url.file, away));
    CHECK_EQ(db_begin(t.db, TX_WRITE, &t.err), -E_UNAVAILABLE);
    CHECK(strstr(t.err.msg, "can't be found"));
    CHECK_OK(rename(other.url.file, t.url.file));
    CHECK_EQ(db_begin(t.db, TX_WRITE, &t.err), -E_UNAVAILABLE);
    CHECK(strstr(t.err.msg, "was replaced"));
    CHECK_OK(rename(away, t.url.file));
    sqlite_test_add_item(&t, 1);
    free(away);
    sqlite_test_end(&other);
    sqlite_test_end(&t);
}

/* ---- full disks ---- */

STMT(add_megabyte,
     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250) "
     "INSERT INTO item (name) SELECT printf('%.4000c', 'x') FROM n",
     0, 0, 0);

static int add_a_megabyte(struct sqlite_test *t)
{
    int rc = db_begin(t->db, TX_WRITE, &t->err);

    if (!rc)
        rc = sqlite_test_run_ints(t, &add_megabyte, NULL, 0, NULL, 250);
    if (!rc)
        rc = db_commit(t->db, &t->err);
    db_rollback(t->db);
    return rc;
}

TEST(full_disk_stores_nothing_and_writes_succeed_after_space_is_freed)
{
    struct sqlite_test t, new = sqlite_test_named("new.db", NULL);
    int64_t before;
    char *filler;

    mount_small_disk(test_dir(), "4m");
    t = sqlite_test_ready();
    CHECK_OK_ERR(add_a_megabyte(&t), &t.err);
    filler = fill_disk(test_dir());
    while (!add_a_megabyte(&t)) /* the log may still have room */
        CHECK(sqlite_test_number(&t, &count_items) < 1000);
    before = sqlite_test_number(&t, &count_items);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(add_a_megabyte(&t), -E_NO_SPACE);
        CHECK(strstr(t.err.msg, t.url.file));
    }
    CHECK_EQ(sqlite_test_number(&t, &count_items), before);
    sqlite_open_test(&new);
    CHECK_EQ(db_begin(new.db, TX_WRITE, &new.err), -E_NO_SPACE);
    CHECK(strstr(new.err.msg, "free some disk space"));
    sqlite_test_end(&new);
    CHECK_OK(unlink(filler));
    CHECK_OK_ERR(add_a_megabyte(&t), &t.err);
    CHECK_EQ(sqlite_test_number(&t, &count_items), before + 250);
    free(filler);
    sqlite_test_end(&t);
}

/* ---- failing disks ---- */

/* These replace the functions of libc that SQLite calls. The n-th call from now fails, and all
 * later ones. */
static int fails_in = -1, fails_with;

static bool must_fail(void)
{
    if (fails_in < 0)
        return false;
    if (fails_in > 0 && --fails_in > 0)
        return false;
    errno = fails_with;
    return true;
}

int fdatasync(int fd)
{
    return must_fail() ? -1 : (int)syscall(SYS_fdatasync, fd);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return must_fail() ? -1 : (ssize_t)syscall(SYS_pwrite64, fd, p, n, at);
}

STMT(integrity, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'", 0, 0,
     0);

static int add_under_fault(struct sqlite_test *t, int64_t id, int nth, int error)
{
    int rc;

    fails_with = error;
    fails_in = nth;
    rc = db_begin(t->db, TX_WRITE, &t->err);
    if (!rc)
        rc = sqlite_test_run_ints(t, &add_item, &id, 1, NULL, 1);
    if (!rc)
        rc = db_commit(t->db, &t->err);
    db_rollback(t->db);
    fails_in = -1;
    return rc;
}

/* A commit that reported success is found afterwards, and one that reported failure is not. */
static bool fault_nth_call(int nth, int error)
{
    struct sqlite_test t = sqlite_test_ready();
    int64_t before = sqlite_test_number(&t, &count_items), after;
    int rc = add_under_fault(&t, before + 1, nth, error);

    if (rc)
        printf("%d: %s\n", nth, t.err.msg);
    CHECK(!rc || rc == -E_COMMIT_UNKNOWN || rc == -(error == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE));
    sqlite_test_add_item(&t, before + 1000);
    after = sqlite_test_number(&t, &count_items);
    CHECK(after == before + 1 + (rc == 0) || (rc == -E_COMMIT_UNKNOWN && after == before + 2));
    CHECK_EQ(sqlite_test_number(&t, &integrity), 1);
    sqlite_test_end(&t);
    return rc != 0;
}

TEST(transaction_on_a_disk_that_fails_at_any_call_is_stored_completely_or_not_at_all)
{
    int errors[] = {EIO, ENOSPC};

    for (int i = 0; i < 2; i++) {
        int nth = 1;

        while (fault_nth_call(nth, errors[i]))
            nth++;
        CHECK(nth > 2); /* at least a write and a sync */
    }
}

static void collect(void *arg, const char *what, int64_t took_us, long rows)
{
    (void)took_us, (void)rows;
    buf_addf(arg, "%s ", what);
}

TEST(commit_with_a_failed_sync_is_reported_as_unknown_and_forces_a_checkpoint)
{
    struct sqlite_test t = sqlite_test_ready();
    struct buf log = BUF_INIT;

    CHECK_EQ(add_under_fault(&t, 1, 3, EIO), -E_COMMIT_UNKNOWN); /* two writes, then the sync */
    CHECK(strstr(t.err.msg, "may or may not be stored"));
    CHECK_EQ(sqlite_test_number(&t, &count_items),
             1); /* no other connection was open, so the row is stored */
    t.env->arg = &log;
    t.env->trace = collect;
    sqlite_test_add_item(&t, 2);
    sqlite_test_add_item(&t, 3);
    CHECK_STR(buf_cstr(&log), "lock checkpoint begin add_item commit lock begin add_item commit ");
    CHECK_EQ(sqlite_test_number(&t, &count_items), 3);
    sqlite_test_end(&t);
    buf_release(&log);
}

static void count_note(void *arg, const char *sentence)
{
    CHECK(strstr(sentence, "checkpoint"));
    ++*(int *)arg;
}

TEST(failed_checkpoint_is_reported_and_does_not_fail_the_commit)
{
    struct sqlite_test t = sqlite_test_ready();
    int notes = 0;

    t.env->arg = &notes;
    t.env->note = count_note;
    for (int i = 0; i < 15; i++)
        CHECK_OK_ERR(add_a_megabyte(&t), &t.err);
    for (int i = 0; i < 500 && notes == 0;
         i++) /* a commit needs fewer than 300 writes, so the failing write is the checkpoint's */
        CHECK_OK_ERR(add_under_fault(&t, 100000 + i, 300, EIO), &t.err);
    CHECK_EQ(notes, 1);
    sqlite_test_end(&t);
}
