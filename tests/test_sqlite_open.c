/* test_sqlite_open.c - opening an SQLite file: the options of the URL, permissions for the owner
 * only, no change to a file of another program; its log. */
#include "base/buf.h"
#include "sqlite_fixture.h"
#include "store/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

TEST_NO_DB;

STMT(synchronous, "PRAGMA synchronous", 0, 0, 0);
STMT(foreign_keys, "PRAGMA foreign_keys", 0, 0, 0);

TEST(commits_are_synced_unless_the_url_disables_syncing)
{
    struct sqlite_test full = sqlite_test_named("full.db", NULL),
                       normal = sqlite_test_named("n.db", "synchronous=normal");

    sqlite_open_test(&full);
    sqlite_open_test(&normal);
    CHECK_EQ(sqlite_test_number(&full, &synchronous), 2);
    CHECK_EQ(sqlite_test_number(&normal, &synchronous), 1);
    CHECK_EQ(sqlite_test_number(&full, &foreign_keys), 1);
    sqlite_test_end(&full);
    sqlite_test_end(&normal);
}

TEST(url_with_an_unknown_option_is_refused_and_nothing_is_created)
{
    const char *bad[] = {"synchronous=off", "sync=normal", "", "synchronous=full&x=1"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct sqlite_test t = sqlite_test_named("t.db", bad[i]);

        CHECK_EQ(db_open(&t.url, t.env, &t.db, &t.err), -E_INVALID);
        CHECK(strstr(t.err.msg, "synchronous=normal"));
        CHECK(access(t.url.file, F_OK));
        sqlite_test_end(&t);
    }
}

TEST(database_files_are_private_to_their_owner_and_a_reader_creates_no_lock_file)
{
    const char *ends[] = {"", "-wal", "-shm", ".lock"};
    struct sqlite_test t = sqlite_test_ready(), reader = sqlite_test_named("t.db", NULL);
    struct stat st;
    char *path;

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        path = mem_printf("%s%s", t.url.file, ends[i]);
        CHECK_OK(stat(path, &st));
        CHECK_EQ(st.st_mode & 0777, 0600);
        if (i == 3)
            CHECK_OK(unlink(path));
        free(path);
    }
    sqlite_test_end(&t);
    sqlite_open_test(&reader);
    CHECK_EQ(sqlite_test_number(&reader, &count_items), 0);
    path = mem_printf("%s.lock", reader.url.file);
    CHECK(access(path, F_OK));
    free(path);
    sqlite_test_end(&reader);
}

/* ---- files of other programs ---- */

/* Writes as a program that is unrelated to Pawl. */
static void write_as_another_program(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    CHECK_EQ(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_EQ(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    CHECK_EQ(sqlite3_close(db), SQLITE_OK);
}

static struct buf read_bytes(const char *path)
{
    struct buf b = BUF_INIT;
    FILE *f = fopen(path, "rb");
    int c;

    CHECK(f);
    while ((c = getc(f)) != EOF)
        buf_addch(&b, (char)c);
    CHECK_OK(fclose(f));
    return b;
}

TEST(database_file_of_another_program_is_refused_and_unchanged)
{
    static const char *const sql[] = {
        "CREATE TABLE settings (a); INSERT INTO settings VALUES (7)",
        "CREATE TABLE schema_migrations (version); INSERT INTO schema_migrations VALUES (9)"};
    static const char *const suffixes[] = {"-wal", "-shm", "-journal", ".lock", ".wake"};

    for (size_t i = 0; i < sizeof(sql) / sizeof(*sql); i++) {
        struct sqlite_test t = sqlite_test_named(i ? "b.db" : "a.db", NULL);
        struct store_options o = {.env = t.env};
        struct store *s = NULL;
        struct buf before, after;

        write_as_another_program(t.url.file, sql[i]);
        before = read_bytes(t.url.file);
        CHECK_EQ(store_open(t.url.text, NULL, &o, &s, &t.err), -E_SCHEMA);
        CHECK(strstr(t.err.msg, "not Pawl's"));
        after = read_bytes(t.url.file);
        CHECK_EQ(after.len, before.len);
        CHECK(!memcmp(after.ptr, before.ptr, before.len));
        for (size_t k = 0; k < sizeof(suffixes) / sizeof(*suffixes); k++) {
            char *path = mem_printf("%s%s", t.url.file, suffixes[k]);

            CHECK(access(path, F_OK));
            free(path);
        }
        buf_release(&before);
        buf_release(&after);
        sqlite_test_end(&t);
    }
}

static int write_version(const char *path)
{
    struct buf b = read_bytes(path);
    int version = b.ptr[18]; /* the version of the file format: 2 means that it has a log */

    buf_release(&b);
    return version;
}

/* A backup may have left such a copy. */
TEST(database_file_without_wal_mode_gets_it_at_the_first_write)
{
    struct sqlite_test t = sqlite_test_named("t.db", NULL);

    write_as_another_program(t.url.file, "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)");
    sqlite_open_test(&t);
    CHECK_EQ(sqlite_test_number(&t, &count_items), 0);
    db_close(&t.db);
    CHECK_EQ(write_version(t.url.file), 1);
    sqlite_open_test(&t);
    sqlite_test_add_item(&t, 1);
    CHECK_EQ(sqlite_test_number(&t, &count_items), 1);
    db_close(&t.db);
    CHECK_EQ(write_version(t.url.file), 2);
    sqlite_test_end(&t);
}

TEST(database_opened_through_a_link_uses_the_same_lock_file)
{
    struct sqlite_test t = sqlite_test_ready(), link = sqlite_test_named("link.db", NULL);
    char *lock = mem_printf("%s.lock", link.url.file);

    CHECK_OK(symlink("t.db", link.url.file));
    sqlite_open_test(&link);
    sqlite_test_add_item(&link, 1);
    CHECK(access(lock, F_OK));
    CHECK_EQ(sqlite_test_number(&t, &count_items), 1);
    free(lock);
    sqlite_test_end(&link);
    sqlite_test_end(&t);
}

static off_t file_size(const char *path)
{
    struct stat st;

    CHECK_OK(stat(path, &st));
    return st.st_size;
}

/* A copy of a database's file and log without the index of the log, as after a crash. */
static struct sqlite_test copy_as_after_crash(const struct sqlite_test *t)
{
    struct sqlite_test copy = sqlite_test_named("copy.db", NULL);
    char *command = mem_printf("cp '%s' '%s' && cp '%s-wal' '%s-wal'", t->url.file, copy.url.file,
                               t->url.file, copy.url.file);

    CHECK_OK(system(command));
    free(command);
    sqlite_open_test(&copy);
    return copy;
}

TEST(commit_does_not_extend_the_wal_and_preallocated_space_is_not_read_as_a_commit)
{
    struct sqlite_test t = sqlite_test_ready(), copy;
    char *wal = mem_printf("%s-wal", t.url.file);
    int grown = 0;
    off_t size;

    for (int64_t i = 1; i <= 200; i++) {
        size = file_size(wal);
        sqlite_test_add_item(&t, i);
        grown += file_size(wal) != size;
    }
    CHECK(grown < 15);
    copy = copy_as_after_crash(&t);
    CHECK_EQ(sqlite_test_number(&copy, &count_items), 200);
    sqlite_test_add_item(&copy, 201);
    CHECK_EQ(sqlite_test_number(&copy, &count_items), 201);
    sqlite_test_end(&copy);
    sqlite_test_end(&t);
    free(wal);
}
