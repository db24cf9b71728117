/* test_sqlite_image.c - tests copy a new SQLite database instead of creating one
 * (fixture_tenant.c): the copy equals a new database. */
#include "fixture.h"
#include "store/driver/url.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_ONLY_DB(sqlite);

static struct {
    char tenant[2][64];
} * names;

/* As another test would: in its own process, and without dropping the tenant at the end. */
static void run_as_test(int nth)
{
    pid_t pid = fork();
    int status;

    CHECK(pid >= 0);
    if (pid == 0) {
        struct store *s;

        snprintf(names->tenant[nth], sizeof(names->tenant[nth]), "%s", fixture_tenant());
        if (nth == 1) {
            s = fixture_store();
            verify_clean(s);
            store_close(&s);
        }
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void attach(sqlite3 *db, const char *file, const char *as)
{
    char *sql = sqlite3_mprintf("ATTACH %Q AS %s", file, as);

    CHECK_EQ(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
}

static int keep_first(void *out, int n, char **values, char **columns)
{
    (void)n, (void)columns;
    snprintf(out, 1000, "%s", values[0]);
    return 0;
}

static void check_answer(sqlite3 *db, const char *sql, const char *expected)
{
    char answer[1000] = "nothing";

    CHECK_EQ(sqlite3_exec(db, sql, keep_first, answer, NULL), SQLITE_OK);
    CHECK_STR(answer, expected);
}

#define OBJECTS "type, name, tbl_name, rootpage, sql"

static void check_equal(sqlite3 *db)
{
    check_answer(db, "SELECT count(*) > 50 FROM copied.sqlite_schema", "1");
    check_answer(db,
                 "SELECT count(*) FROM (SELECT " OBJECTS " FROM made.sqlite_schema EXCEPT "
                 "SELECT " OBJECTS " FROM copied.sqlite_schema)",
                 "0");
    check_answer(db,
                 "SELECT count(*) - (SELECT count(*) FROM copied.sqlite_schema) "
                 "FROM made.sqlite_schema",
                 "0");
    check_answer(db,
                 "SELECT group_concat(name) FROM (SELECT * FROM made.settings EXCEPT "
                 "SELECT * FROM copied.settings)",
                 "database_id");
    check_answer(db, "SELECT length(value) FROM copied.settings WHERE name = 'database_id'", "16");
    check_answer(db,
                 "SELECT count(*) FROM (SELECT version, name FROM made.schema_migrations EXCEPT "
                 "SELECT version, name FROM copied.schema_migrations)",
                 "0");
    check_answer(db, "PRAGMA copied.journal_mode", "wal");
    check_answer(db, "PRAGMA copied.integrity_check", "ok");
}

TEST(copied_database_equals_a_new_one_except_for_its_id)
{
    char pool[4096], base[4200], *file;
    sqlite3 *db = NULL;
    int i;

    names = shared_memory(sizeof(*names));
    snprintf(pool, sizeof(pool), "%s/pool", test_dir());
    CHECK_EQ(mkdir(pool, 0700), 0);
    CHECK_EQ(setenv("PAWL_TEST_POOL", pool, 1), 0);
    run_as_test(0);
    run_as_test(1);
    CHECK_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
    snprintf(base, sizeof(base), "%s/pawl.db", test_dir());
    for (i = 0; i < 2; i++) {
        file = tenant_file(base, names->tenant[i]);
        attach(db, file, i ? "copied" : "made");
        free(file);
    }
    check_equal(db);
    CHECK_EQ(sqlite3_close(db), SQLITE_OK);
}
