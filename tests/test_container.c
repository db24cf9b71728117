/* test_container.c - commands in containers whose container engine or shim fails. No attempt counts
 * as ended while its container may be alive. */
#include "container_fixture.h"

TEST_NO_DB;

/* A command that writes its pid to the file `main` and sleeps. */
static struct spec sleeping_command(void)
{
    static char run[PATH_MAX + 60];

    snprintf(run, sizeof(run), "echo $$ >%s/main; exec sleep 1000", test_dir());
    return (struct spec){.run = run};
}

/* A command that writes its pid to the file `main`, and exits with that code when the file `go`
 * exists. */
static struct spec gated_command(int code)
{
    static char run[2 * PATH_MAX + 100];

    snprintf(run, sizeof(run),
             "echo $$ >>%s/main; until [ -e %s/go ]; do sleep 0.02; done; exit %d", test_dir(),
             test_dir(), code);
    return (struct spec){.run = run};
}

TEST(outcome_of_a_container_is_reported_after_the_container_is_removed)
{
    static const struct spec_pair env[] = {{"WHO", "world"}, {"PATH", "/usr/bin:/bin"}};
    struct spec spec = {.run = "read -r word; echo \"$word $WHO $PATH\"; "
                               "echo n=7 >>\"$PAWL_OUTPUT\"",
                        .input = "hello\n",
                        .env = env,
                        .nenv = 2};
    struct stage g = stage_of(&spec);
    struct seen *s = worker_run(g.w, &g.t);

    CHECK_STR(g.w->x->key, "container");
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"n\":\"7\"}");
    CHECK_STR(buf_cstr(&s->log), "hello world /usr/bin:/bin\n");
    CHECK_EQ(s->o.cpu, 0);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(attempt_with_a_missing_image_fails_with_the_container_engines_message)
{
    struct spec spec = {.run = "true", .container = "{\"image\":\"missing\"}"};
    struct stage g = stage_of(&spec);
    struct seen *s = worker_run(g.w, &g.t);

    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_EQ(s->o.exit_code, 125);
    CHECK_STR(buf_cstr(&s->log), "Error: no such image: missing\n");
    stage_end(&g);
}

TEST(cancel_or_timeout_ends_the_container)
{
    struct spec spec = sleeping_command();
    struct stage g = stage_with(&spec, (struct process_options){.grace = SECOND / 5});

    stage_begin(&g);
    handles_cancel(&g.w->handles, g.t.execution, g.t.attempt, OUTCOME_CANCELLED);
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_CANCELLED);
    CHECK(is_gone(g.main));
    CHECK_OK(unlink(path_of("main")));

    spec.timeout = SECOND / 2;
    do { /* until a command starts within its timeout, despite a stalled machine */
        g.t.attempt++;
        worker_start(g.w, &g.t);
        CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_TIMED_OUT);
    } while (!*read_text(path_of("main")));
    CHECK(is_gone(read_pid(g.w, path_of("main"))));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(container_outlives_its_worker_and_is_reattached)
{
    struct spec spec = gated_command(4);
    struct stage g = stage_of(&spec);
    struct seen *s;

    stage_begin(&g);
    stage_lose_worker(&g);
    stage_adopt(&g, (struct process_options){0});
    write_text(path_of("go"), "");
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_EQ(s->o.exit_code, 4);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

/* The container engine does not answer. After a cancel the processes are killed, but only the
 * container engine can confirm that no process is left. */
TEST(cancelled_attempt_is_not_reported_while_the_container_engine_is_unreachable)
{
    struct spec spec = sleeping_command();
    struct stage g = stage_of(&spec);
    struct seen *s = stage_seen(&g);

    stage_begin(&g);
    write_text(path_of("engine/down"), "");
    CHECK_OK(kill(shim_of(&g.t), SIGKILL));
    handles_cancel(&g.w->handles, g.t.execution, g.t.attempt, OUTCOME_CANCELLED);
    UNTIL(g.w, is_gone(g.main));
    for (int i = 0; i < 30; i++)
        worker_poll(g.w, 10000);
    CHECK_EQ(s->ended, 0);
    CHECK_OK(unlink(path_of("engine/down")));
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_CANCELLED);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(container_is_removed_although_the_record_of_how_to_remove_it_was_truncated)
{
    struct spec spec = sleeping_command();
    struct stage g = stage_of(&spec);
    int at;

    stage_begin(&g);
    stage_lose_worker(&g);
    at = folder_of(&g.t);
    CHECK_OK(ftruncate(openat(at, ATTEMPT_UNDO, O_WRONLY | O_CLOEXEC), 0));
    close(at);
    CHECK_OK(kill(shim_of(&g.t), SIGKILL));
    stage_adopt(&g, (struct process_options){0});
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(container_whose_attempt_folder_was_deleted_is_removed_and_its_attempt_is_lost)
{
    struct spec spec = sleeping_command();
    struct stage g = stage_of(&spec);
    pid_t shim;
    int dir = open(attempts_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    stage_begin(&g);
    shim = shim_of(&g.t);
    CHECK_OK(kill(shim, SIGSTOP)); /* otherwise the shim would end the container */
    CHECK_OK(attempt_remove_folder(dir, "7.1"));
    CHECK_OK(kill(shim, SIGKILL));
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK_EQ(containers(), 0);
    close(dir);
    stage_end(&g);
}

TEST(outcome_is_not_reported_until_an_unreachable_container_engine_returns)
{
    struct spec spec = gated_command(0);
    struct stage g = stage_of(&spec);
    struct seen *s = stage_seen(&g);

    stage_begin(&g);
    write_text(path_of("engine/down"), "");
    write_text(path_of("go"), "");
    UNTIL(g.w, is_gone(g.main));
    for (int i = 0; i < 30; i++)
        worker_poll(g.w, 10000);
    CHECK_EQ(s->ended, 0);
    CHECK_OK(unlink(path_of("engine/down")));
    stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

/* The container engine answers again between the call that asks for the state and the call that
 * lists the containers. */
TEST(outcome_is_kept_if_the_container_engine_returns_between_two_calls)
{
    struct spec spec = gated_command(0);
    struct stage g = stage_of(&spec);

    stage_begin(&g);
    write_text(path_of("engine/failures"), "2");
    write_text(path_of("go"), "");
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_OK);
    CHECK_STR(read_text(path_of("engine/failures")), "0\n");
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

/* Starts the command and lets it end while the container engine is unreachable. Returns false if
 * that took longer than `most`, as on a stalled machine; such a run proves nothing. */
static bool end_while_the_engine_is_unreachable(struct stage *g, int64_t most, pid_t *shim)
{
    int64_t since = clock_boot_us();
    struct seen *s = stage_seen(g);
    pid_t task = 0;

    worker_start(g->w, &g->t);
    while (!s->ended && !(task = (pid_t)strtol(read_text(path_of("main")), NULL, 10)))
        worker_poll(g->w, 10000);
    *shim = shim_of(&g->t);
    write_text(path_of("engine/down"), "");
    write_text(path_of("go"), "");
    UNTIL(g->w, s->ended || is_gone(task));
    return !s->ended && clock_boot_us() - since < most;
}

/* The worker kills a shim that should have ended long ago, but the outcome that the shim recorded
 * is not lost. */
TEST(outcome_before_the_timeout_is_kept_however_long_the_container_engine_is_unreachable)
{
    struct spec spec = gated_command(0);
    struct stage g = stage_with(&spec, (struct process_options){.grace = -1, .lease = SECOND / 5});
    pid_t shim;

    spec.timeout = SECOND * 2;
    /* Repeat until a run was fast enough. */
    while (!end_while_the_engine_is_unreachable(&g, spec.timeout / 2, &shim)) {
        CHECK_OK(unlink(path_of("engine/down")));
        stage_wait(&g);
        CHECK_OK(unlink(path_of("go")));
        unlink(path_of("main"));
        g.t.attempt++;
    }
    UNTIL(g.w, is_gone(shim));
    CHECK_EQ(stage_seen(&g)->ended, 0);
    CHECK_OK(unlink(path_of("engine/down")));
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_OK);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

/* The container engine must not start the container after it was told to remove it. */
TEST(lease_that_ends_while_a_container_is_created_leaves_no_container)
{
    struct spec spec = sleeping_command();
    struct stage g =
        stage_with(&spec, (struct process_options){.fence = SECOND / 10, .lease = SECOND});

    write_text(path_of("engine/slow"), "");
    worker_start_leased(g.w, &g.t, SECOND * 6 / 10);
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK_EQ(containers(), 0);
    CHECK_OK(unlink(path_of("engine/slow")));
    clock_sleep_us(SECOND); /* longer than the container engine needs now */
    CHECK_EQ(containers(), 0);
    CHECK_STR(read_text(path_of("main")), "");
    stage_end(&g);
}

TEST(task_variable_with_the_name_of_a_variable_in_pawls_scripts_keeps_its_value)
{
    static const struct spec_pair env[] = {{"client", "a"}, {"attach", "b"}, {"said", "c"}};
    struct spec spec = {.run = "echo \"$client $attach $said\"", .env = env, .nenv = 3};
    struct stage g = stage_of(&spec);

    CHECK_STR(buf_cstr(&worker_run(g.w, &g.t)->log), "a b c\n");
    stage_end(&g);
}

/* The daemon may serve other containers too, so it must not have the variables of this task. */
TEST(daemon_started_by_the_container_engine_is_not_killed)
{
    struct spec spec = {.run = "true"};
    struct stage g = stage_of(&spec);
    pid_t daemon;
    char path[40];

    write_text(path_of("engine/daemon"), "");
    CHECK_EQ(worker_run(g.w, &g.t)->o.kind, OUTCOME_OK);
    daemon = read_pid(g.w, path_of("engine/daemon"));
    CHECK(!is_gone(daemon));
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)daemon);
    for (const char *v = read_text(path); *v; v += strlen(v) + 1)
        CHECK(strncmp(v, "PAWL_", 5) != 0);
    stage_end(&g);
}

static bool run_undo(struct undo *u, int64_t patience)
{
    int64_t deadline = clock_boot_us() + patience;

    while (!undo_poll(u) && clock_boot_us() < deadline)
        clock_sleep_us(5000);
    return u->done;
}

TEST(removal_of_a_container_succeeds_only_if_the_last_output_line_is_the_word_gone)
{
    static const char *const scripts[] = {"echo the engine is gone", "echo gone; echo not so",
                                          "echo warning; echo gone", "echo gone"};

    for (size_t i = 0; i < 4; i++) {
        struct undo u = {0};

        undo_set_command(&u, (const char *const[]){"/bin/sh", "-c", scripts[i], NULL}, NULL);
        CHECK_EQ(run_undo(&u, i >= 2 ? PATIENT : SECOND / 3), i >= 2);
        undo_release(&u);
    }
}

TEST(graceful_stop_leaves_containers_running)
{
    struct spec spec = sleeping_command();
    struct stage g = stage_of(&spec);

    stage_begin(&g);
    handles_stop(&g.w->handles, false);
    stage_lose_worker(&g);
    CHECK(!is_gone(g.main));
    CHECK_EQ(containers(), 1);

    g.t.cancel = true;
    stage_adopt(&g, (struct process_options){.grace = -1});
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_CANCELLED);
    CHECK(is_gone(g.main));
    stage_end(&g);
}

/* After a backup is restored, all earlier attempts are ended, including their containers. */
TEST(ending_all_attempts_also_ends_their_containers)
{
    struct spec spec = sleeping_command();
    struct stage g = stage_of(&spec);
    struct err err = ERR_INIT;

    stage_begin(&g);
    stage_lose_worker(&g);
    CHECK_OK(kill(shim_of(&g.t), SIGKILL));
    CHECK_OK_ERR(end_all_attempts(attempts_dir(), PATIENT, &err), &err);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    CHECK_EQ(count_files(attempts_dir()), 0);
    stage_end(&g);
}

TEST(start_without_a_usable_container_engine_is_refused_before_anything_runs)
{
    struct container_options c = {.client = "/nowhere/podman"};
    struct spec spec = {.run = "true"};
    struct worker *w = worker_with((struct process_options){.container = &c});
    struct job t = task_of(&spec);
    struct err err = ERR_INIT;

    CHECK_EQ(handles_start(&w->handles, &t, &err), -E_REFUSED);
    CHECK(strstr(err.msg, "/nowhere/podman"));
    worker_free(w);

    c = (struct container_options){.client = "/bin/true", .docker = true};
    w = worker_with((struct process_options){.container = &c});
    setenv("DOCKER_HOST", "unix:///nowhere/docker.sock", 1);
    CHECK_EQ(handles_start(&w->handles, &t, &err), -E_REFUSED);
    CHECK(strstr(err.msg, "docker does not answer at /nowhere/docker.sock"));
    worker_free(w);
    CHECK_EQ(count_files(attempts_dir()), 0);
}
