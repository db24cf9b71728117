/* test_trust.c - which pawl.yaml may decide what runs: one that only the user and root can change,
 * and in the current folder only one that the user trusts with its present content. */
#include "config_fixture.h"

#include "base/buf.h"
#include "parse/config/trust.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST_NO_DB;

#define OTHER_USER 12345

/* Loads the configuration; NULL finds that of the current folder. Returns "" or the error. */
static const char *load(const char *path)
{
    static struct err err;
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host h = host();
    struct config *c = NULL;
    int rc;

    err = (struct err)ERR_INIT;
    rc = config_load(path, &h, &diagnostics, &c, &err);
    CHECK(rc ? !c && rc == -E_INVALID : c != NULL);
    config_free(&c);
    diagnostics_release(&diagnostics);
    return rc ? err.msg : "";
}

static void trust(void)
{
    struct config_host h = host();
    struct err err = ERR_INIT;
    char *file = NULL;

    CHECK_OK_ERR(trust_add(in_dir("pawl.yaml"), &h, &file, &err), &err);
    CHECK(*file == '/' && strstr(file, "/pawl.yaml"));
    free(file);
}

static int distrust(void)
{
    struct config_host h = host();
    struct err err = ERR_INIT;
    char *file = NULL;
    int rc = trust_remove(in_dir("pawl.yaml"), &h, &file, &err);

    free(file);
    return rc;
}

/* ---- trust ---- */

#define UNTRUSTED "you have not said that you trust this file: read it, then run `pawl trust`"
#define CHANGED   "this file has changed since you trusted it"

TEST(config_key_that_decides_what_runs_needs_trust_in_the_current_folder)
{
    static const char *const keys[][2] = {
        {"db", "db: sqlite:jobs.db\n"},
        {"state", "state: here\n"},
        {"plugins", "plugins: [./p.so]\n"},
        {"executors.process.shim", "executors: {process: {shim: ./shim}}\n"},
        {"executors.mine.shim", "executors: {mine: {type: process, shim: ./shim}}\n"},
        {"executors.container.image", "executors: {container: {image: debian}}\n"},
    };
    char expected[256];
    size_t i;

    for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        write_file("pawl.yaml", keys[i][1]);
        snprintf(expected, sizeof(expected), ": %s decides what runs here, and " UNTRUSTED,
                 keys[i][0]);
        CHECK(strstr(load(NULL), expected));
        CHECK_STR(load(in_dir("pawl.yaml")), ""); /* naming the file is a decision of the user */
        trust();
        CHECK_STR(load(NULL), "");
        CHECK_OK(distrust());
        CHECK(strstr(load(NULL), expected));
        CHECK_EQ(distrust(), -E_NOT_FOUND);
    }
}

TEST(config_key_that_runs_nothing_needs_no_trust)
{
    write_file("pawl.yaml", "tenant: t\nworker: {slots: 2}\nexecutors: {container: {pull: never}}\n"
                            "dispatch: {default_executor: container}\nretry: 2\n");
    CHECK_STR(load(NULL), "");
}

TEST(trust_ends_when_the_config_file_changes_or_moves)
{
    char *other = mem_strdup(in_dir("other"));

    write_file("pawl.yaml", "db: sqlite:a.db\n");
    trust();
    write_file("pawl.yaml", "db: sqlite:b.db\n");
    CHECK(strstr(load(NULL), CHANGED));
    write_file("pawl.yaml", "db: sqlite:a.db\n");
    CHECK_STR(load(NULL), "");
    CHECK_OK(mkdir(other, 0700));
    CHECK_OK(rename(in_dir("pawl.yaml"), in_dir("other/pawl.yaml")));
    {
        struct diagnostics diagnostics = DIAGNOSTICS_INIT;
        struct config_host h = host();
        struct err err = ERR_INIT;
        struct config *c = NULL;

        h.folder = other;
        CHECK_EQ(config_load(NULL, &h, &diagnostics, &c, &err), -E_INVALID);
        CHECK(strstr(err.msg, UNTRUSTED));
        diagnostics_release(&diagnostics);
    }
    free(other);
}

TEST(trust_without_a_home_folder_is_refused)
{
    struct config_host h = {.folder = test_dir(), .processors = 1};
    struct err err = ERR_INIT;
    char *file = NULL;

    write_file("pawl.yaml", "db: sqlite:a.db\n");
    CHECK_EQ(trust_add(in_dir("pawl.yaml"), &h, &file, &err), -E_INVALID);
    CHECK(!file && strstr(err.msg, "set the variable XDG_STATE_HOME or HOME"));
    CHECK_EQ(trust_remove(in_dir("pawl.yaml"), &h, &file, &err), -E_INVALID);
    CHECK_EQ(trust_add(in_dir("none.yaml"), &h, &file, &err), -E_NOT_FOUND);
}

/* ---- owners and modes ---- */

TEST(config_file_that_others_can_write_is_refused)
{
    static const struct {
        mode_t mode;
        gid_t group;
        bool ok;
    } cases[] = {{0600, 0, true},
                 {0644, 0, true},
                 {0640, OTHER_USER, true},
                 {0646, 0, false},
                 {0666, OTHER_USER, false}};
    struct config_host h = host();
    struct err err = ERR_INIT;
    char *file = NULL;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        write_file("pawl.yaml", "tenant: t\n");
        CHECK_OK(chmod(in_dir("pawl.yaml"), cases[i].mode));
        if (cases[i].ok) {
            CHECK_STR(load(NULL), "");
            CHECK_STR(load(in_dir("pawl.yaml")), "");
            continue;
        }
        CHECK(strstr(load(NULL), "pawl.yaml is refused, because others can write to it"));
        CHECK(strstr(load(in_dir("pawl.yaml")), "is refused, because others can write to it"));
        CHECK_EQ(trust_add(in_dir("pawl.yaml"), &h, &file, &err), -E_INVALID);
    }
}

TEST(config_file_that_a_shared_group_can_write_is_refused)
{
    write_file("pawl.yaml", "tenant: t\n");
    if (chown(in_dir("pawl.yaml"), (uid_t)-1, OTHER_USER))
        SKIP("only root can give files to any group");
    CHECK_OK(chmod(in_dir("pawl.yaml"), 0664));
    CHECK(strstr(load(NULL), "others can write to it through its group (gid 12345)"));
    CHECK_OK(chown(in_dir("pawl.yaml"), 0, 0)); /* root is alone in its group */
    CHECK_STR(load(NULL), "");
}

TEST(config_file_of_another_user_is_refused)
{
    struct config_host h = host();
    struct err err = ERR_INIT;
    char *file = NULL;

    write_file("pawl.yaml", "tenant: t\n");
    if (chown(in_dir("pawl.yaml"), OTHER_USER, (gid_t)-1))
        SKIP("only root can give files away");
    CHECK(
        strstr(load(NULL), "pawl.yaml is refused, because it belongs to another user (uid 12345)"));
    CHECK(strstr(load(in_dir("pawl.yaml")), "belongs to another user"));
    CHECK_EQ(trust_add(in_dir("pawl.yaml"), &h, &file, &err), -E_INVALID);
}

TEST(config_file_behind_a_link_of_another_user_is_refused)
{
    write_file("mine.yaml", "tenant: t\n");
    CHECK_OK(symlink("mine.yaml", in_dir("pawl.yaml")));
    CHECK_STR(load(NULL), "");
    if (lchown(in_dir("pawl.yaml"), OTHER_USER, (gid_t)-1))
        SKIP("only root can give links away");
    CHECK(strstr(load(NULL), "a symbolic link of another user leads to it"));
    CHECK_OK(unlink(in_dir("pawl.yaml")));
    CHECK_OK(symlink(".", in_dir("folder")));
    CHECK_STR(load(in_dir("folder/mine.yaml")), "");
    CHECK_OK(lchown(in_dir("folder"), OTHER_USER, (gid_t)-1));
    CHECK(strstr(load(in_dir("folder/mine.yaml")), "a symbolic link of another user leads to it"));
}

/* A record that another user could have written does not count as trust. */
TEST(trust_recorded_by_another_user_does_not_count)
{
    char name[600] = "", folder[512];
    FILE *ls;

    write_file("pawl.yaml", "db: sqlite:a.db\n");
    trust();
    snprintf(folder, sizeof(folder), "ls %.400s", in_dir(".local/state/pawl/trusted"));
    ls = popen(folder, "re");
    CHECK(ls && fscanf(ls, "%64s", name) == 1);
    pclose(ls);
    snprintf(folder, sizeof(folder), ".local/state/pawl/trusted/%s", name);
    if (chown(in_dir(folder), OTHER_USER, (gid_t)-1))
        SKIP("only root can give files away");
    CHECK(strstr(load(NULL), UNTRUSTED));
}

/* ---- kinds of files ---- */

TEST(config_file_that_is_a_fifo_or_a_device_is_refused_at_once)
{
    CHECK_OK(mkfifo(in_dir("pawl.yaml"), 0600));
    CHECK(strstr(load(NULL), "pawl.yaml can't be read: it is a FIFO"));
    CHECK(strstr(load("/dev/zero"), "/dev/zero can't be read: it is a device"));
    CHECK_STR(load("/dev/null"), "");
}
