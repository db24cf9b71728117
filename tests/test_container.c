/* test_container.c - commands in containers whose engine, or whose shim, fails. Nothing counts as
 * ended while its container may live. */
#include "container_fixture.h"

TEST_NO_DB;

/* A command that says who it is, and then waits. */
static struct spec waiting(void)
{
    static char run[PATH_MAX + 60];

    snprintf(run, sizeof(run), "echo $$ >%s/main; exec sleep 1000", test_dir());
    return (struct spec){.run = run};
}

/* A command that says who it is, and ends with that code when it is told to. */
static struct spec gated(int code)
{
    static char run[2 * PATH_MAX + 100];

    snprintf(run, sizeof(run),
             "echo $$ >>%s/main; until [ -e %s/go ]; do sleep 0.02; done; exit %d", test_dir(),
             test_dir(), code);
    return (struct spec){.run = run};
}

TEST(a_command_runs_in_a_container_and_its_end_is_told_when_that_is_gone)
{
    static const struct spec_pair env[] = {{"WHO", "world"}, {"PATH", "/usr/bin:/bin"}};
    struct spec spec = {.run = "read -r word; echo \"$word $WHO $PATH\"; "
                               "echo n=7 >>\"$PAWL_OUTPUT\"",
                        .input = "hello\n",
                        .env = env,
                        .nenv = 2};
    struct stage g = stage_of(&spec);
    struct seen *s = worker_run(g.w, &g.t);

    CHECK_STR(g.w->x->ops->kind, "container");
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"n\":\"7\"}");
    CHECK_STR(buf_cstr(&s->log), "hello world /usr/bin:/bin\n");
    CHECK_EQ(s->o.cpu, 0);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(an_image_that_is_not_there_fails_with_the_engines_words)
{
    struct spec spec = {.run = "true", .container = "{\"image\":\"missing\"}"};
    struct stage g = stage_of(&spec);
    struct seen *s = worker_run(g.w, &g.t);

    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_EQ(s->o.exit_code, 125);
    CHECK_STR(buf_cstr(&s->log), "Error: no such image: missing\n");
    stage_end(&g);
}

TEST(cancel_and_timeout_end_the_container)
{
    struct spec spec = waiting();
    struct stage g = stage_with(&spec, (struct process_options){.grace = SECOND / 5});

    stage_begin(&g);
    g.w->x->ops->cancel(g.w->x, g.t.execution, g.t.attempt, OUTCOME_CANCELLED);
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_CANCELLED);
    CHECK(is_gone(g.main));
    CHECK_OK(unlink(path_of("main")));

    spec.timeout = SECOND / 2;
    do { /* until it has begun in that time */
        g.t.attempt++;
        worker_start(g.w, &g.t);
        CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_TIMED_OUT);
    } while (!*read_text(path_of("main")));
    CHECK(is_gone(read_pid(g.w, path_of("main"))));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(a_container_outlives_its_worker_and_is_taken_over)
{
    struct spec spec = gated(4);
    struct stage g = stage_of(&spec);
    struct seen *s;

    stage_begin(&g);
    stage_lose_worker(&g);
    stage_take_over(&g, (struct process_options){0});
    write_text(path_of("go"), "");
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_EQ(s->o.exit_code, 4);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(a_container_whose_shim_was_killed_is_lost_and_gone)
{
    struct spec spec = waiting();
    struct stage g = stage_of(&spec);

    stage_begin(&g);
    CHECK_OK(kill(shim_of(&g.t), SIGKILL));
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

/* The engine can't be asked: its processes go by force, but who says that all of them did? */
TEST(lost_is_not_told_while_the_engine_is_away)
{
    struct spec spec = waiting();
    struct stage g = stage_of(&spec);
    struct seen *s = stage_seen(&g);

    stage_begin(&g);
    write_text(path_of("engine/down"), "");
    CHECK_OK(kill(shim_of(&g.t), SIGKILL));
    UNTIL(g.w, is_gone(g.main));
    for (int i = 0; i < 30; i++)
        worker_turn(g.w, 10000);
    CHECK_EQ(s->ended, 0);
    CHECK_OK(unlink(path_of("engine/down")));
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(a_container_goes_even_if_what_its_folder_held_is_gone)
{
    struct spec spec = waiting();
    struct stage g = stage_of(&spec);
    int at;

    stage_begin(&g);
    stage_lose_worker(&g);
    at = folder_of(&g.t);
    CHECK_OK(ftruncate(openat(at, ATTEMPT_UNDO, O_WRONLY | O_CLOEXEC), 0));
    close(at);
    CHECK_OK(kill(shim_of(&g.t), SIGKILL));
    stage_take_over(&g, (struct process_options){0});
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(a_container_whose_folder_was_removed_is_lost_and_gone)
{
    struct spec spec = waiting();
    struct stage g = stage_of(&spec);
    pid_t shim;
    int dir = open(attempts_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    stage_begin(&g);
    shim = shim_of(&g.t);
    CHECK_OK(kill(shim, SIGSTOP)); /* it would end it, too */
    CHECK_OK(attempt_remove_folder(dir, "7.1"));
    CHECK_OK(kill(shim, SIGKILL));
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK_EQ(containers(), 0);
    close(dir);
    stage_end(&g);
}

TEST(an_engine_that_is_away_at_the_end_is_waited_for)
{
    struct spec spec = gated(0);
    struct stage g = stage_of(&spec);
    struct seen *s = stage_seen(&g);

    stage_begin(&g);
    write_text(path_of("engine/down"), "");
    write_text(path_of("go"), "");
    UNTIL(g.w, is_gone(g.main));
    for (int i = 0; i < 30; i++)
        worker_turn(g.w, 10000);
    CHECK_EQ(s->ended, 0);
    CHECK_OK(unlink(path_of("engine/down")));
    stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

/* Begins it and lets it end, with the engine away then. False: that took longer than `most`, as on
 * a machine that stands still, and shows nothing. */
static bool end_while_the_engine_is_away(struct stage *g, int64_t most, pid_t *shim)
{
    int64_t since = clock_boot_us();
    struct seen *s = stage_seen(g);
    pid_t task = 0;

    worker_start(g->w, &g->t);
    while (!s->ended && !(task = (pid_t)strtol(read_text(path_of("main")), NULL, 10)))
        worker_turn(g->w, 10000);
    *shim = shim_of(&g->t);
    write_text(path_of("engine/down"), "");
    write_text(path_of("go"), "");
    UNTIL(g->w, s->ended || is_gone(task));
    return !s->ended && clock_boot_us() - since < most;
}

/* The worker kills a shim that should have ended long ago, but what that knew is not lost. */
TEST(who_ended_in_time_keeps_its_outcome_however_long_its_engine_is_away)
{
    struct spec spec = gated(0);
    struct stage g = stage_with(&spec, (struct process_options){.grace = -1, .lease = SECOND / 5});
    pid_t shim;

    spec.timeout = SECOND * 2;
    while (!end_while_the_engine_is_away(&g, spec.timeout / 2, &shim)) { /* not in time */
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

/* Whoever is asked for it must not begin it after it was undone. */
TEST(a_fence_while_it_is_created_leaves_nothing)
{
    struct spec spec = waiting();
    struct stage g =
        stage_with(&spec, (struct process_options){.fence = SECOND / 10, .lease = SECOND});

    write_text(path_of("engine/slow"), "");
    worker_start_leased(g.w, &g.t, SECOND * 6 / 10);
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK_EQ(containers(), 0);
    CHECK_OK(unlink(path_of("engine/slow")));
    clock_sleep_us(SECOND); /* longer than it would take now */
    CHECK_EQ(containers(), 0);
    CHECK_STR(read_text(path_of("main")), "");
    stage_end(&g);
}

TEST(variables_of_a_task_are_its_own_whatever_they_are_called)
{
    static const struct spec_pair env[] = {{"client", "a"}, {"attach", "b"}, {"said", "c"}};
    struct spec spec = {.run = "echo \"$client $attach $said\"", .env = env, .nenv = 3};
    struct stage g = stage_of(&spec);

    CHECK_STR(buf_cstr(&worker_run(g.w, &g.t)->log), "a b c\n");
    stage_end(&g);
}

/* It may serve other containers, too, and knows nothing of the task. */
TEST(what_an_engine_leaves_running_is_left_alone)
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

TEST(the_engine_is_asked_that_has_it_whoever_finds_it)
{
    struct spec spec = waiting();
    struct stage g = stage_of(&spec);

    stage_begin(&g);
    stage_lose_worker(&g);
    CHECK_OK(kill(shim_of(&g.t), SIGKILL));
    CHECK_OK(setenv("CONTAINER_HOST", "/nowhere", 1)); /* there it would be gone */
    stage_take_over(&g, (struct process_options){0});
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(only_a_word_of_its_own_says_that_a_container_is_gone)
{
    static const char *const said[] = {"echo the engine is gone", "echo gone; echo not so",
                                       "echo warning; echo gone", "echo gone"};

    for (size_t i = 0; i < 4; i++) {
        struct undo u = {0};

        undo_set_command(&u, (const char *const[]){"/bin/sh", "-c", said[i], NULL}, NULL);
        CHECK_EQ(undo_run(&u, i >= 2 ? PATIENT : SECOND / 3), i >= 2);
        undo_release(&u);
    }
}

TEST(a_graceful_stop_leaves_containers_running)
{
    struct spec spec = waiting();
    struct stage g = stage_of(&spec);

    stage_begin(&g);
    g.w->x->ops->stop(g.w->x, false);
    stage_lose_worker(&g);
    CHECK(!is_gone(g.main));
    CHECK_EQ(containers(), 1);

    g.t.cancel = true;
    stage_take_over(&g, (struct process_options){.grace = -1});
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_CANCELLED);
    CHECK(is_gone(g.main));
    stage_end(&g);
}

/* After a restored backup all of an earlier time is ended, containers included. */
TEST(ending_all_attempts_ends_their_containers)
{
    struct spec spec = waiting();
    struct stage g = stage_of(&spec);
    struct err err = ERR_INIT;

    stage_begin(&g);
    stage_lose_worker(&g);
    CHECK_OK(kill(shim_of(&g.t), SIGKILL));
    CHECK_OK_ERR(attempt_end_all(attempts_dir(), PATIENT, &err), &err);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    CHECK_EQ(count_files(attempts_dir()), 0);
    stage_end(&g);
}

TEST(what_can_not_be_asked_for_is_refused_before_anything_begins)
{
    struct container_options c = {.client = "/nowhere/podman"};
    struct spec spec = {.run = "true"};
    struct worker *w = worker_with((struct process_options){.container = &c});
    struct task t = task_of(&spec);
    struct err err = ERR_INIT;

    CHECK_EQ(w->x->ops->start(w->x, &t, &err), -E_REFUSED);
    CHECK(strstr(err.msg, "/nowhere/podman"));
    worker_free(w);

    c = (struct container_options){.client = "/bin/true", .docker = true};
    w = worker_with((struct process_options){.container = &c});
    setenv("DOCKER_HOST", "unix:///nowhere/docker.sock", 1);
    CHECK_EQ(w->x->ops->start(w->x, &t, &err), -E_REFUSED);
    CHECK(strstr(err.msg, "docker does not answer at /nowhere/docker.sock"));
    worker_free(w);
    CHECK_EQ(count_files(attempts_dir()), 0);
}
