/* settings_fixture.h - processes of one database that have different configuration files, and the
 * sentences that they report. */
#ifndef TESTS_SETTINGS_FIXTURE_H
#define TESTS_SETTINGS_FIXTURE_H

#include "api_fixture.h"

#include <stdio.h>
#include <string.h>

#define FAILS(call, code) CHECK_EQ(call, -(code))

/* The sentences that the processes have reported, one per line. */
static char notes[8192];

static inline void keep_note(void *arg, const char *sentence)
{
    size_t n = strlen(notes);

    (void)arg;
    snprintf(notes + n, sizeof(notes) - n, "%s\n", sentence);
}

static inline int count_notes(const char *part)
{
    int n = 0;

    for (const char *at = notes; (at = strstr(at, part)); at++)
        n++;
    return n;
}

/* Opens a handle whose configuration file `name` has this text. */
static inline struct pawl *open_with(const char *name, const char *text)
{
    char path[4096];
    struct pawl_options o = {
        .url = fixture_url(), .tenant = fixture_tenant(), .config = path, .note = keep_note};
    struct pawl *p = NULL;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s.yaml", test_dir(), name);
    CHECK((f = fopen(path, "w")) != NULL);
    fprintf(f, "state: %s/state\n%s\n", test_dir(), text);
    CHECK_EQ(fclose(f), 0);
    OK(pawl_open(&o, &p, &api_err));
    return p;
}

/* Opens and closes an engine of the handle. */
static inline void start_engine(struct pawl *p)
{
    struct pawl_engine *e;

    OK(pawl_engine_open(p, NULL, &e, &api_err));
    OK(pawl_engine_step(e, 0, &api_err));
    pawl_engine_close(e);
}

#endif
