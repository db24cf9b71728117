/* progress.c - the ways in which progress is shown; see progress.h. */
#include "cli/progress.h"

#include "base/env.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "cli/view/view.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_US 20000  /* µs, minimum between two reads of the history */
#define FRAME_US 100000 /* µs, minimum between two frames */
#define QUIET_US 500000 /* µs between reads of the history while no change is reported */
#define SHARE    10     /* reading the history takes at most 1/SHARE of the time */

struct progress {
    struct pawl *p;
    int64_t id;
    enum progress_kind kind;
    struct pawl_follower *follower; /* for lines and JSON events */
    struct idmap names;             /* names of executions, cached */
    struct arena texts;
    struct live *live;

    int64_t read_at, read_us; /* last read: when it ended on the boot clock, how long it took */
    bool news;
};

/* Returns the kind that suits stdout: a live tree on a terminal that can move its cursor, otherwise
 * lines. */
static enum progress_kind kind_of_stdout(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") ? PROGRESS_TTY
                                                                          : PROGRESS_PLAIN;
}

int progress_kind_read(const struct cli *c, const char *word, enum progress_kind *out)
{
    static const char *const words[] = {"auto", "tty", "plain", "json", "none"};
    const char *const *found = FIND_NAMED(words, word ? word : "auto");

    if (!found)
        return cli_wrong("--progress must be auto, tty, plain, json or none, not '%.60s'", word);
    *out = (enum progress_kind)(found - words);
    if (*out == PROGRESS_AUTO)
        *out = c->json ? PROGRESS_NONE : kind_of_stdout();
    return 0;
}

int progress_open(struct pawl *p, int64_t id, enum progress_kind kind, int64_t since,
                  struct progress **out, struct pawl_error *err)
{
    struct pawl_event_query q = {.execution = id, .since = since};
    struct pawl_follower *follower = NULL;
    struct progress *g;

    if (kind == PROGRESS_PLAIN || kind == PROGRESS_JSON)
        TRY(pawl_follow(p, &q, &follower, err));
    *out = g = mem_zalloc(sizeof(*g));
    g->p = p;
    g->id = id;
    g->kind = kind;
    g->follower = follower;
    g->live = kind == PROGRESS_TTY ? live_open(p, id, stdout) : NULL;
    return 0;
}

/* ---- lines ---- */

/* Whether an event is shown: those about how a task reached its worker are not. */
static bool is_shown(const char *what)
{
    static const char *const shown[] = {"started",   "completed", "failed",          "timed_out",
                                        "cancelled", "skipped",   "retry_scheduled", "abandoned",
                                        "adopted",   "deferred",  "paused",          "resumed"};

    return FIND_NAMED(shown, what);
}

static const char *name_of(struct progress *g, int64_t id)
{
    char *name = idmap_get(&g->names, id);
    json_auto_t *o = NULL;

    if (name)
        return name;
    if (show_object(g->p, id, &o, NULL))
        return "?";
    name = arena_strdup(&g->texts, field(o, "name"));
    idmap_put(&g->names, id, name);
    return name;
}

/* Prints an event as a line: "14:00:31 failed w::a: exited with code 3". */
static void print_event(struct progress *g, const json_t *v)
{
    const char *type = field(v, "type"), *what = strchr(type, '.'), *at = field(v, "created_at");
    const char *error = field(json_object_get(v, "data"), "error");

    if (!what++ || !is_shown(what))
        return;
    if (!strcmp(error, what))
        error = "";
    print_clean(stdout, "%.8s  %-16s %s%s%s", text_time_of_day(at), what,
                name_of(g, field_int(v, "execution")), *error ? ": " : "", error);
}

static int print_line_or_event(void *arg, const char *json)
{
    struct progress *g = arg;
    json_auto_t *v = NULL;

    if (g->kind == PROGRESS_JSON)
        return print_line(NULL, json);
    v = parse_object(json);
    print_event(g, v);
    return 0;
}

static int print_events(struct progress *g, struct pawl_error *err)
{
    size_t n;
    int rc;

    do
        rc = pawl_follower_next(g->follower, print_line_or_event, g, &n, err);
    while (!rc && n);
    fflush(stdout);
    return rc;
}

/* ---- updates of all kinds ---- */

/* Returns when the next read is due, in µs on the boot clock. */
static int64_t due(const struct progress *g)
{
    int64_t least = g->kind == PROGRESS_TTY ? FRAME_US : LINES_US;

    least = g->read_us * SHARE > least ? g->read_us * SHARE : least;
    return g->read_at + (g->news || least > QUIET_US ? least : QUIET_US);
}

int progress_wait(const struct progress *g)
{
    int64_t left = due(g) - clock_boot_us();

    return left <= 0 ? 0 : (int)(left / 1000) + 1;
}

int progress_update(struct progress *g, bool news, bool now, struct pawl_error *err)
{
    int rc = 0;

    g->news |= news;
    if (!now && clock_boot_us() < due(g))
        return 0;
    g->read_at = clock_boot_us();
    g->news = false;
    if (g->live && !(rc = live_read(g->live, err)))
        live_draw(g->live);
    else if (g->follower)
        rc = print_events(g, err);
    g->read_us = clock_boot_us() - g->read_at;
    g->read_at += g->read_us;
    return rc;
}

void progress_resized(struct progress *g)
{
    if (g->live)
        live_draw(g->live);
}

void progress_note(struct progress *g, const char *sentence)
{
    if (g->live)
        live_note(g->live, sentence);
    else if (sentence)
        fprintf(stderr, "pawl: %s\n", sentence);
}

int progress_end(struct progress *g, const char *file, struct pawl_error *err)
{
    AUTO(view_release) struct view v = {0};

    if (g->live) {
        TRY(live_read(g->live, err));
        live_end(g->live);
        return view_print_failed(g->p, live_view(g->live), file, stdout, err);
    }
    if (!g->follower)
        return 0;
    TRY(print_events(g, err));
    if (g->kind != PROGRESS_PLAIN)
        return 0;
    TRY(view_read(g->p, g->id, NULL, &v, err));
    return view_print_failed(g->p, &v, file, stderr, err);
}

void progress_close(struct progress *g)
{
    if (!g)
        return;
    pawl_follower_close(g->follower);
    live_close(g->live);
    idmap_release(&g->names);
    arena_release(&g->texts);
    free(g);
}
