/* test_process.c - the process executor without faults: the environment, files and limits of a
 * task, and the reports about it. */
#include "process_fixture.h"

#include <pwd.h>

TEST_NO_DB;

#define RUN(text)    \
    {                \
        .run = text, \
    }

TEST(command_that_succeeds_has_the_outcome_ok)
{
    struct worker *w = worker_new();
    const char *argv[] = {"true", NULL};
    struct spec spec = {.argv = argv, .argc = 1};
    struct job t = task_of(&spec);
    struct seen *s = worker_run(w, &t);

    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_EQ(s->started, 1);
    CHECK(s->o.has_exit_code);
    CHECK_EQ(s->o.exit_code, 0);
    CHECK(s->o.duration > 0 && s->o.duration < 10 * SECOND);
    CHECK(s->o.peak_memory > 0);
    CHECK_STR(s->result, NULL);
    worker_free(w);
}

TEST(exit_code_or_signal_of_a_command_is_reported)
{
    struct worker *w = worker_new();
    struct spec three = RUN("exit 3"), killed = RUN("kill -9 $$");
    struct job a = task_of(&three), b = task_of(&killed);
    struct seen *s;

    b.execution = 8;
    s = worker_run(w, &a);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_EQ(s->o.exit_code, 3);
    CHECK_STR(s->error, "exited with code 3");
    s = worker_run(w, &b);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_EQ(s->o.signal, 9);
    CHECK(!s->o.has_exit_code);
    CHECK_STR(s->error, "killed by signal 9 (KILL)");
    worker_free(w);
}

TEST(stdout_and_stderr_are_logged_in_order)
{
    struct worker *w = worker_new();
    struct spec spec = RUN("echo one; echo two >&2; echo three");
    struct job t = task_of(&spec);

    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), "one\ntwo\nthree\n");
    worker_free(w);
}

TEST(output_is_reported_while_the_task_runs)
{
    struct worker *w = worker_new();
    struct spec spec = RUN("echo early; read x <fifo; echo late");
    struct job t = task_of(&spec);
    struct seen *s = seen_of(w, t.execution, t.attempt);

    spec.cwd = test_dir();
    CHECK_OK(mkfifo(path_of("fifo"), 0600));
    worker_start(w, &t);
    UNTIL(w, s->log.len);
    CHECK_EQ(s->ended, 0);
    CHECK_STR(buf_cstr(&s->log), "early\n");
    write_text(path_of("fifo"), "go\n");
    CHECK_STR(buf_cstr(&worker_wait(w, &t)->log), "early\nlate\n");
    worker_free(w);
}

TEST(standard_input_is_taken_from_the_spec_or_is_empty)
{
    struct worker *w = worker_new();
    struct spec spec = RUN("cat; echo .");
    struct job t = task_of(&spec);
    char *large = mem_alloc(300001);

    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), ".\n");
    memset(large, 'x', 300000);
    large[300000] = '\0';
    spec.input = large;
    spec.run = "wc -c";
    t.attempt = 2;
    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), "300000\n");
    free(large);
    worker_free(w);
}

TEST(environment_has_only_allowed_variables_and_those_in_the_spec)
{
    const char *const allow[] = {"PATH", "KEPT", "COVERED", NULL};
    struct spec_pair extra[] = {{"EXTRA", "e"}, {"SHARED", "extra"}, {"COVERED", "extra"}};
    struct spec_pair own[] = {{"OWN", "o"}, {"SHARED", "own"}, {"PAWL_ATTEMPT", "99"}};
    struct spec spec = {.run = "echo $KEPT,$HIDDEN,$EXTRA,$SHARED,$COVERED,$OWN;"
                               "echo $PAWL_EXECUTION_ID,$PAWL_ROOT_ID,$PAWL_ATTEMPT,$PAWL_EPOCH;"
                               "echo $PAWL_TASK,$PAWL_INPUT",
                        .env = own,
                        .nenv = 3};
    struct job t = task_of(&spec);
    struct worker *w;

    setenv("KEPT", "k", 1);
    setenv("HIDDEN", "h", 1);
    setenv("COVERED", "worker", 1);
    w = worker_with((struct process_options){.allow = allow, .extra = extra, .nextra = 3});
    t.attempt = 2;
    t.epoch = 4;
    t.input = "{\"a\":1}";
    CHECK_STR(buf_cstr(&worker_run(w, &t)->log),
              "k,,e,own,extra,o\n7,5,2,4\nexec::test,{\"a\":1}\n");
    worker_free(w);
}

TEST(values_are_passed_in_files_whose_paths_are_variables)
{
    char *large = mem_alloc(200001);
    struct spec_pair files[] = {{"LARGE", large}, {"EMPTY", ""}}, env[] = {{"LARGE", "hidden"}};
    struct spec spec = {
        .run = "wc -c <$LARGE; wc -c <$EMPTY", .env = env, .nenv = 1, .files = files, .nfiles = 2};
    struct job t = task_of(&spec);
    struct worker *w = worker_new();

    memset(large, 'x', 200000);
    large[200000] = '\0';
    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), "200000\n0\n");
    worker_free(w);
    free(large);
}

TEST(large_input_is_left_out_of_the_environment)
{
    struct worker *w = worker_new();
    struct spec spec = RUN("echo ${PAWL_INPUT-none}");
    struct job t = task_of(&spec);
    char *input = mem_alloc(200001);

    memset(input, '1', 200000);
    input[200000] = '\0';
    t.input = input;
    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), "none\n");
    free(input);
    worker_free(w);
}

TEST(task_runs_in_its_own_folder_or_in_the_folder_it_names)
{
    struct worker *w = worker_new();
    struct spec spec = RUN("pwd; ls -A | wc -l");
    struct job t = task_of(&spec);
    char expected[PATH_MAX];

    snprintf(expected, sizeof(expected), "%s/7.1/work\n0\n", attempts_dir());
    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), expected);
    spec.cwd = "/";
    spec.run = "pwd";
    t.attempt = 2;
    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), "/\n");
    worker_free(w);
}

/* 3 is the folder that ls itself opens to list it; 200 is the lock of the tree. */
TEST(task_inherits_only_standard_descriptors_and_the_tree_lock)
{
    int mine = open("/dev/null", O_RDONLY); /* without CLOEXEC, on purpose */
    struct worker *w = worker_new();
    struct spec spec = RUN("ls /proc/self/fd");
    struct job t = task_of(&spec);

    CHECK(mine >= 0);
    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), "0\n1\n2\n200\n3\n");
    close(mine);
    worker_free(w);
}

/* Except signals 32 and 33 of the C library, which posix_spawn ignores. */
TEST(task_starts_with_no_signal_blocked_or_ignored)
{
    struct worker *w = worker_new();
    struct spec spec = RUN("sed -En 's/^Sig(Blk|Ign).*(.{7})$/\\1 \\2/p' /proc/self/status");
    struct job t = task_of(&spec);

    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), "Blk 0000000\nIgn 0000000\n");
    worker_free(w);
}

TEST(command_that_cannot_be_executed_fails_with_an_error)
{
    struct worker *w = worker_new();
    const char *missing[] = {"/nowhere/at-all", NULL}, *folder[] = {"/tmp", NULL},
               *fine[] = {"true", NULL};
    struct {
        struct spec spec;
        int code;
        const char *error;
    } cases[] = {
        {{.argv = missing}, 127, "can't execute /nowhere/at-all: No such file or directory"},
        {{.argv = folder}, 126, "can't execute /tmp: Permission denied"},
        {{.argv = fine, .cwd = "/nowhere"},
         126,
         "can't enter the folder /nowhere: No such file or directory"},
        {{.argv = fine, .user = "no-such-user"},
         126,
         "can't become the user no-such-user: there is no such user"},
        {{.argv = fine, .user = "4294967296"}, /* as a uid_t it would be 0 */
         126,
         "can't become the user 4294967296: there is no such user"},
        {{.argv = fine, .user = "-4294967296"},
         126,
         "can't become the user -4294967296: there is no such user"},
        {{.argv = fine, .user = "18446744073709551616"},
         126,
         "can't become the user 18446744073709551616: there is no such user"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct job t = task_of(&cases[i].spec);
        struct seen *s;

        t.attempt = (int)i + 1;
        s = worker_run(w, &t);
        CHECK_EQ(s->o.kind, OUTCOME_FAILED);
        CHECK_EQ(s->o.exit_code, cases[i].code);
        CHECK_STR(s->error, cases[i].error);
    }
    worker_free(w);
}

TEST(outputs_that_a_command_writes_become_its_result)
{
    struct worker *w = worker_new();
    const char *const names[] = {"b", NULL};
    struct spec spec = RUN("echo a=1 >>$PAWL_OUTPUT; echo '{\"b\": [2]}' >>$PAWL_OUTPUT");
    struct job t = task_of(&spec);
    struct seen *s;

    CHECK_STR(worker_run(w, &t)->result, "{\"a\":\"1\",\"b\":[2]}");
    spec.outputs = names;
    spec.noutputs = 1;
    t.attempt = 2;
    CHECK_STR(worker_run(w, &t)->result, "{\"b\":[2]}");
    spec.run = "echo a=1 >>$PAWL_OUTPUT; echo oops >>$PAWL_OUTPUT";
    t.attempt = 3;
    s = worker_run(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_STR(s->result, NULL);
    CHECK(strstr(s->error, "line 2 of $PAWL_OUTPUT"));
    worker_free(w);
}

TEST(output_file_replaced_by_a_link_or_a_fifo_is_not_read)
{
    struct worker *w = worker_new();
    struct spec spec = RUN("rm $PAWL_OUTPUT; ln -s /etc/passwd $PAWL_OUTPUT");
    struct job t = task_of(&spec);

    CHECK_EQ(worker_run(w, &t)->o.kind, OUTCOME_FAILED);
    spec.run = "rm $PAWL_OUTPUT; mkfifo $PAWL_OUTPUT";
    t.attempt = 2;
    CHECK_STR(worker_run(w, &t)->result, NULL);
    worker_free(w);
}

TEST(secrets_reach_the_task_and_are_masked_in_log_and_outputs)
{
    const char *const names[] = {"TOKEN", "FILED", NULL};
    struct spec spec = {.run = "test \"$TOKEN\" = hunter2hunter2 || exit 1; test \"$FILED\" = "
                               "from-a-file || exit 2; printf 'x%.7s' $TOKEN; sleep 0.05; printf "
                               "'%sy\\n' ${TOKEN#hunter2}; echo $FILED >&2; echo v=$TOKEN "
                               ">>$PAWL_OUTPUT",
                        .secrets = names,
                        .nsecrets = 2};
    struct job t = task_of(&spec);
    struct worker *w;
    struct seen *s;

    setenv("TOKEN", "hunter2hunter2", 1);
    CHECK_OK(mkdir(path_of("secrets"), 0700));
    write_text(path_of("secrets/FILED"), "from-a-file\n");
    CHECK_OK(chmod(path_of("secrets/FILED"), 0600));
    w = worker_with((struct process_options){.secrets = path_of("secrets")});
    s = worker_run(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(buf_cstr(&s->log), "x***y\n***\n");
    CHECK_STR(s->result, "{\"v\":\"***\"}");
    worker_free(w);
}

TEST(secret_with_characters_escaped_by_json_is_masked_in_outputs)
{
    const char *const names[] = {"TOKEN", NULL};
    struct spec spec = {.run = "printf '%s\\n' '{\"v\":\"is hunter\\\"2\\\\!\",\"n\":1}' "
                               "'t={\"x\":\"hunter\\u00222\\u005c!\"}' >>$PAWL_OUTPUT",
                        .secrets = names,
                        .nsecrets = 1};
    struct job t = task_of(&spec);
    struct worker *w;
    struct seen *s;

    setenv("TOKEN", "hunter\"2\\!", 1);
    w = worker_with((struct process_options){0});
    s = worker_run(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"v\":\"is ***\",\"n\":1,\"t\":\"{\\\"x\\\":\\\"***\\\"}\"}");
    worker_free(w);
}

/* Root may write to a file of any mode, so the test runs as another user. */
TEST(secret_in_outputs_that_the_task_made_read_only_is_masked)
{
    const char *const names[] = {"TOKEN", NULL};
    struct spec spec = {.run = "echo v=$TOKEN >>$PAWL_OUTPUT; chmod 400 $PAWL_OUTPUT",
                        .secrets = names,
                        .nsecrets = 1};
    struct job t = task_of(&spec);
    struct worker *w;
    struct seen *s;

    if (geteuid() == 0)
        CHECK_OK(chown(test_dir(), 65534, 65534) || setgid(65534) || setuid(65534));
    setenv("TOKEN", "hunter2hunter2", 1);
    w = worker_with((struct process_options){0});
    s = worker_run(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"v\":\"***\"}");
    worker_free(w);
}

TEST(secret_that_is_missing_or_readable_by_others_fails_the_attempt)
{
    const char *const names[] = {"ABSENT", NULL};
    struct spec spec = {.run = "true", .secrets = names, .nsecrets = 1};
    struct job t = task_of(&spec);
    struct worker *w;
    struct err err = ERR_INIT;

    CHECK_OK(mkdir(path_of("secrets"), 0700));
    w = worker_with((struct process_options){.secrets = path_of("secrets")});
    CHECK_EQ(handles_start(&w->handles, &t, &err), -E_INVALID);
    CHECK(strstr(err.msg, "ABSENT does not exist"));
    write_text(path_of("secrets/ABSENT"), "value");
    CHECK_OK(chmod(path_of("secrets/ABSENT"), 0644));
    CHECK_EQ(handles_start(&w->handles, &t, &err), -E_INVALID);
    CHECK(strstr(err.msg, "chmod 600"));
    CHECK_OK(unlink(path_of("secrets/ABSENT")));
    CHECK_OK(symlink("other", path_of("secrets/ABSENT")));
    CHECK_EQ(handles_start(&w->handles, &t, &err), -E_INVALID);
    CHECK(strstr(err.msg, "is a symbolic link"));
    CHECK_EQ(count_files(attempts_dir()), 0);
    worker_free(w);
}

TEST(root_can_run_a_task_as_another_user)
{
    struct passwd *nobody = getpwnam("nobody");
    struct spec spec = {.run = "id -u; id -g; id -G; pwd >/dev/null; echo a=1 >>$PAWL_OUTPUT; "
                               "touch mine; cat ../log 2>/dev/null && echo leak",
                        .user = "nobody"};
    struct job t = task_of(&spec);
    struct worker *w;
    struct seen *s;
    char expected[100];

    if (geteuid() != 0 || !nobody)
        SKIP("only root can become another user");
    CHECK_OK(chmod(test_dir(), 0711));
    w = worker_new();
    CHECK_OK(chmod(attempts_dir(), 0711));
    s = worker_run(w, &t);
    snprintf(expected, sizeof(expected), "%d\n%d\n%d\n", (int)nobody->pw_uid, (int)nobody->pw_gid,
             (int)nobody->pw_gid);
    CHECK_STR(buf_cstr(&s->log), expected);
    CHECK_STR(s->error, "exited with code 1"); /* from cat, which may not read the log */
    spec.run = "echo a=1 >>$PAWL_OUTPUT";
    t.attempt = 2;
    CHECK_STR(worker_run(w, &t)->result, "{\"a\":\"1\"}");
    CHECK_OK(chmod(attempts_dir(), 0700));
    t.attempt = 3;
    CHECK(strstr(worker_run(w, &t)->error, "can't reach $PAWL_OUTPUT as the user nobody"));
    worker_free(w);
}

TEST(task_of_another_user_gets_neither_the_database_nor_a_writable_descriptor)
{
    struct spec_pair extra[] = {{"PAWL_DB", "postgres://u:secret@h/d"}};
    struct spec spec = {.run = "echo \"[$PAWL_DB]\"; sed -n 's/^flags:.*\\(.\\)$/\\1/p' "
                               "/proc/$$/fdinfo/200"};
    struct job t = task_of(&spec);
    struct worker *w;

    if (geteuid() != 0 || !getpwnam("nobody"))
        SKIP("only root can become another user");
    CHECK_OK(chmod(test_dir(), 0711));
    w = worker_with((struct process_options){.extra = extra, .nextra = 1});
    CHECK_OK(chmod(attempts_dir(), 0711));
    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), "[postgres://u:secret@h/d]\n0\n");
    spec.user = "nobody";
    t.attempt = 2;
    CHECK_STR(buf_cstr(&worker_run(w, &t)->log), "[]\n0\n"); /* 0: opened for reading only */
    worker_free(w);
}

TEST(resource_limits_in_the_spec_are_applied)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "ulimit -n; ulimit -t", .limits = {.files = 64, .cpu = 1500000}};
    struct job t = task_of(&spec);
    struct seen *s = worker_run(w, &t);

    CHECK_STR(buf_cstr(&s->log), "64\n2\n");
    spec = (struct spec){.run = "ulimit -v; cat /proc/self/cgroup", .limits = {.memory = 1 << 30}};
    t.attempt = 3;
    s = worker_run(w, &t);
    if (strncmp(buf_cstr(&s->log), "unlimited\n", 10) != 0) /* if unlimited, its cgroup limits it */
        CHECK(strncmp(buf_cstr(&s->log), "1048576\n", 8) == 0);
    spec = (struct spec){.run = "while :; do :; done", .limits = {.cpu = 1}};
    t.attempt = 2;
    s = worker_run(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK(s->o.signal == SIGXCPU || s->o.signal == SIGKILL);
    CHECK(s->o.cpu > SECOND / 2);
    worker_free(w);
}

TEST(settled_attempt_leaves_nothing_on_the_disk)
{
    struct worker *w = worker_new();
    struct spec spec = RUN("mkdir -p a/b; touch a/b/c; chmod 0 a/b; ln -s / a/root; echo x");
    struct job t = task_of(&spec);

    worker_run(w, &t);
    CHECK_EQ(count_files(attempts_dir()), 1);
    w->x->ops->settled(w->x, t.execution, t.attempt);
    UNTIL(w, count_files(attempts_dir()) == 0);
    CHECK(access("/tmp", F_OK) == 0);
    worker_free(w);
}

TEST(capacity_is_the_number_of_free_slots)
{
    struct worker *w = worker_with((struct process_options){.slots = 2});
    struct spec spec = RUN("read x <fifo");
    struct job t = task_of(&spec);

    spec.cwd = test_dir();
    CHECK_OK(mkfifo(path_of("fifo"), 0600));
    CHECK_EQ(w->x->ops->capacity(w->x), 2);
    worker_start(w, &t);
    CHECK_EQ(w->x->ops->capacity(w->x), 1);
    write_text(path_of("fifo"), "x\n");
    worker_wait(w, &t);
    CHECK_EQ(w->x->ops->capacity(w->x), 2);
    worker_free(w);
}

TEST(idle_executor_does_not_wake_up)
{
    struct worker *w = worker_new();
    struct spec spec = RUN("true");
    struct job t = task_of(&spec);
    struct pollfd p = {.fd = w->x->ops->fd(w->x), .events = POLLIN};

    worker_run(w, &t);
    while (poll(&p, 1, 0) > 0)
        w->x->ops->poll(w->x);
    /* At most the one timer that was set while the task ran. */
    if (poll(&p, 1, 1500) > 0)
        w->x->ops->poll(w->x);
    CHECK_EQ(poll(&p, 1, 1500), 0);
    worker_free(w);
}

TEST(start_is_refused_when_less_than_half_of_the_lease_is_left)
{
    struct worker *w = worker_new();
    struct spec spec = RUN("true");
    struct job t = task_of(&spec);
    struct err err = ERR_INIT;

    t.lease_until = clock_boot_us() + 14 * SECOND;
    CHECK_EQ(handles_start(&w->handles, &t, &err), -E_REFUSED);
    CHECK_EQ(count_files(attempts_dir()), 0);
    worker_free(w);
}
