/* fixture_many.c - see fixture.h: concurrency, with separate processes or with turns in the middle
 * of other turns. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_point(void *arg, const char *where)
{
    struct watch *w = arg;

    w->here = where;
    if (!w->act || (w->where && strcmp(w->where, where)) || ++w->seen != w->nth)
        return;
    w->acted = true;
    w->act(w->arg);
}

static void on_redone(void *arg, const char *sentence)
{
    struct watch *w = arg;

    w->redone++;
    snprintf(w->message, sizeof(w->message), "%s", sentence);
}

struct store *watched_store(struct watch *w)
{
    struct store_options options = {.env = &w->env, .patience = 240 * SECOND};
    struct err err = ERR_INIT;
    struct store *s = NULL;

    w->env = (struct env){.clock_offset = fixture_env()->clock_offset,
                          .long_timeouts = fixture_env()->long_timeouts,
                          .point = on_point,
                          .redone = on_redone,
                          .arg = w};
    CHECK_OK_ERR(store_open(fixture_url(), fixture_tenant(), &options, &s, &err), &err);
    store_set_workflow_options(s, &(struct store_workflow_options){.slice = fixture_slice()});
    return s;
}

void watch_for(struct watch *w, const char *where, int nth, void (*act)(void *arg), void *arg)
{
    w->where = where;
    w->nth = nth;
    w->act = act;
    w->arg = arg;
    w->seen = 0;
    w->acted = false;
}

void die_at_once(void *arg)
{
    (void)arg;
    kill(getpid(), SIGKILL);
}

bool was_killed(pid_t pid)
{
    int status;

    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return true;
    CHECK_EQ(status, 0);
    return false;
}

bool killed_at(const char *where, int nth, void (*live)(struct store *s, void *arg), void *arg)
{
    static struct watch w;
    struct store *s;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        s = watched_store(&w);
        watch_for(&w, where, nth, die_at_once, NULL);
        live(s, arg);
        store_close(&s);
        _exit(0);
    }
    return was_killed(pid);
}

void *shared_memory(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    CHECK(p != MAP_FAILED);
    return p;
}

void run_processes(int n, void (*body)(int nth))
{
    struct shared_flag *begin = shared_memory(sizeof(*begin));
    pid_t pids[100];
    int i, k, status;

    CHECK(n <= 100);
    fixture_url(); /* all processes share one database */
    fflush(NULL);
    for (i = 0; i < n; i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            flag_await(begin);
            body(i);
            fflush(NULL);
            _exit(0);
        }
    }
    flag_set(begin);
    for (i = 0; i < n; i++) {
        CHECK(wait(&status) > 0);
        for (k = 0; status && k < n; k++)
            kill(pids[k], SIGKILL); /* they might wait for the process that failed */
        CHECK_EQ(status, 0);
    }
    munmap(begin, sizeof(*begin));
}

void flag_set(struct shared_flag *s)
{
    s->is_set = 1;
}

void flag_await(struct shared_flag *s)
{
    while (!s->is_set)
        clock_sleep_us(200);
}

bool flag_wait(struct shared_flag *s, int64_t us)
{
    int64_t until = clock_boot_us() + us;

    while (!s->is_set) {
        if (clock_boot_us() > until)
            return false;
        clock_sleep_us(200);
    }
    return true;
}
