/* own_fixture.h - a database of the test's own, of either kind, in which no store was ever opened;
 * and a process that is killed while it opens one. */
#ifndef TESTS_OWN_FIXTURE_H
#define TESTS_OWN_FIXTURE_H

#include "fixture.h"

#undef SECOND /* the driver defines the same name, as an int */
#include "pg_fixture.h"

#include <signal.h>

/* Creates the database, one per test: a second call replaces it. */
static inline const char *own_database(void)
{
    static char url[4096];

    if (!strcmp(test_db(), "sqlite")) {
        snprintf(url, sizeof(url), "sqlite:%s/own.db", test_dir());
    } else {
        char *name = pg_database(), *text = pg_url_at(pg_port(), name);

        snprintf(url, sizeof(url), "%s", text);
        free(text);
        free(name);
    }
    return url;
}

static inline void own_database_drop(void)
{
    char name[32];

    snprintf(name, sizeof(name), "test_%d", (int)getpid());
    if (strcmp(test_db(), "sqlite"))
        pg_database_drop(name);
}

/* When the process is to be killed; lies in shared memory, so that the test can read it
 * afterwards. */
struct killing {
    int nth, seen;
    char where[64]; /* the last point that was reached */
};

static inline void die_at_nth(void *arg, const char *where)
{
    struct killing *k = arg;

    snprintf(k->where, sizeof(k->where), "%s", where);
    if (++k->seen == k->nth)
        kill(getpid(), SIGKILL);
}

/* Opens the database in another process, which kills itself at the nth call of env->point (see
 * base/env.h). True if there were that many calls. */
static inline bool open_and_die(const char *url, int nth, struct killing *k)
{
    pid_t pid;

    *k = (struct killing){.nth = nth};
    pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        struct env env = {.point = die_at_nth, .arg = k};
        struct store *s = NULL;
        struct err err = ERR_INIT;

        if (store_open(url, NULL, &(struct store_options){.env = &env}, &s, &err))
            fprintf(stderr, "%s\n", err.msg);
        _exit(!s);
    }
    return was_killed(pid);
}

#endif
