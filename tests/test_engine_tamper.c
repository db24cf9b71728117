/* test_engine_tamper.c - commands that replace files of their own attempt, under the engine loop:
 * only they fail; the worker continues and stops when it is asked to, and so does the next one.
 * Each test ends with verify. */
#include "api/host.h"
#include "engine_fixture.h"
#include "exec/attempt/attempt.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *file, *by, *says;
} replaced[] = {
    {"lease", "mkfifo", "it is a FIFO"},
    {"lock", "mkfifo", "it is a FIFO"},
    {"lock", "mkdir", "it is a folder"},
    {"lock", "ln -s /dev/zero", "it is a symbolic link"},
    {"tree", "mkfifo", "it is a FIFO"},
    {"log", "truncate -s 50G", "it is too large"},
    {"exit", "mkdir -p $d/exit/x; :", "\"exit\""},
    {"output", "mkfifo", "$PAWL_OUTPUT can't be read"},
    {"output", "truncate -s 50G", "$PAWL_OUTPUT is longer than"},
};
#define COUNT ((int)(sizeof(replaced) / sizeof(*replaced)))

/* Submits a command that replaces the file once its output is in its log, and then runs `rest`. */
static int64_t submit_replacing(struct store *s, int i, const char *rest)
{
    char text[600];

    snprintf(text, sizeof(text),
             "d=${PAWL_OUTPUT%%/*}; echo output; until [ -s $d/log ]; do sleep 0.01; done; "
             "rm -rf $d/%s; %s $d/%s; %s",
             replaced[i].file, replaced[i].by, replaced[i].file, rest);
    return kit_command(s, text);
}

static void expect_failed(struct store *s, const int64_t *ids)
{
    for (int i = 0; i < COUNT; i++) {
        struct execution e = get(s, ids[i]);

        if (e.status != S_FAILED || !strstr(e.error, replaced[i].says))
            test_fail(__FILE__, __LINE__, "%s by %s: status %d, %s", replaced[i].file,
                      replaced[i].by, e.status, e.error ? e.error : "no error");
    }
}

static bool matches_nothing(const char *pattern)
{
    glob_t found;
    bool none = glob(pattern, 0, NULL, &found) == GLOB_NOMATCH;

    globfree(&found);
    return none;
}

static bool is_state_folder_empty(void)
{
    char pattern[4096];

    snprintf(pattern, sizeof(pattern), "%s/*/*.*", kit_state());
    return matches_nothing(pattern);
}

static void stop_worker(struct worker_kit *k)
{
    engine_stop(k->engine, false);
    KIT_UNTIL(k, engine_is_idle(k->engine));
    engine_close(&k->engine);
}

TEST(command_that_replaces_files_in_its_attempt_folder_fails_and_other_commands_succeed)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    int64_t ids[COUNT], honest;

    for (int i = 0; i < COUNT; i++)
        ids[i] = submit_replacing(s, i, "exit 0");
    honest = kit_command(s, "echo n=7 >> $PAWL_OUTPUT");
    kit_open(&k);
    kit_until_ended(&k, COUNT + 1);
    expect_failed(s, ids);
    CHECK_EQ(status_of(s, honest), S_SUCCEEDED);
    KIT_UNTIL(&k, is_state_folder_empty());
    stop_worker(&k);
    verify_clean(s);
    store_close(&s);
}

/* Each command runs until its own worker has stopped and the next one has reattached it. */
TEST(command_that_replaces_files_in_its_attempt_folder_fails_under_the_next_worker)
{
    struct store *s = fixture_store();
    struct worker_kit first = {.commands = true, .slots = COUNT}, next = first;
    int64_t ids[COUNT];
    char rest[4200], path[4200];

    snprintf(rest, sizeof(rest), "touch $d/work/replaced; until [ -e %s/go ]; do sleep 0.01; done",
             test_dir());
    for (int i = 0; i < COUNT; i++)
        ids[i] = submit_replacing(s, i, rest);
    kit_open(&first);
    for (int i = 0; i < COUNT; i++) {
        snprintf(path, sizeof(path), "%s/*/%lld.1/work/replaced", kit_state(), (long long)ids[i]);
        KIT_UNTIL(&first, !matches_nothing(path));
    }
    stop_worker(&first);
    snprintf(path, sizeof(path), "%s/go", test_dir());
    kit_open(&next);
    kit_step(&next);
    fclose(fopen(path, "we"));
    kit_until_ended(&next, COUNT);
    expect_failed(s, ids);
    KIT_UNTIL(&next, is_state_folder_empty());
    stop_worker(&next);
    verify_clean(s);
    store_close(&s);
}

/* verify --host inspects all attempts of a host and must not be blocked by any of them. */
TEST(verify_of_a_host_does_not_block_on_replaced_files)
{
    struct err err = ERR_INIT;
    struct host h;
    char path[4200];
    int dir, at;

    snprintf(path, sizeof(path), "%s/db.1", test_dir());
    CHECK_OK(mkdir(path, 0700));
    dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_OK(mkdirat(dir, "workers", 0700));
    CHECK_OK(mkfifoat(dir, "workers/0000000000000005", 0600));
    at = attempt_make_folder(dir, 12, 1);
    CHECK_OK(mkfifoat(at, ATTEMPT_LOCK, 0600));
    CHECK_OK(mkfifoat(at, ATTEMPT_TREE, 0600));
    CHECK_OK(mkfifoat(dir, "13.1", 0600));
    CHECK_OK_ERR(host_inspect(path, &h, &err), &err);
    CHECK_EQ(h.workers.n, 0);
    CHECK_EQ(h.attempts.n, 1);
    CHECK(!h.attempts.at[0].shim && !h.attempts.at[0].tree);
    host_release(&h);
    close(at);
    close(dir);
}
