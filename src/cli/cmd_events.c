/* cmd_events.c - pawl events: the history, once or followed. */
#include "cli/cli.h"

#include "base/env.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#define NEWEST    100 /* shown when nothing says how many */
#define FOLLOW_MS 300

struct printing {
    bool json;
    int64_t room; /* lines that may still come; 0: any number */
};

/* "2026-01-31 14:00:00.123456      17  3  task.claimed           ready -> running     1  0123…
 * data" */
static void print_event(const json_t *e)
{
    const char *at = field(e, "created_at"), *from = field(e, "from"), *to = field(e, "to");
    json_t *data = json_object_get(e, "data");
    struct buf b = BUF_INIT, move = BUF_INIT;

    buf_addstr(&move, *from && strcmp(from, to) ? from : "");
    buf_addf(&move, "%s%s", move.len ? " -> " : "", to);
    buf_addf(&b, "%.10s %.15s  %6lld  %-24s %-22s %3lld  %-16s", at, at + 11,
             (long long)field_int(e, "execution"), field(e, "type"), buf_cstr(&move),
             (long long)field_int(e, "attempt"), field(e, "worker"));
    if (json_is_object(data)) {
        char *text = json_text(data);

        buf_addstr(&b, "  ");
        out_clean(&b, text);
        free(text);
    }
    while (b.len && b.ptr[b.len - 1] == ' ')
        b.ptr[--b.len] = '\0';
    puts(b.ptr);
    buf_release(&b);
    buf_release(&move);
}

static int take_event(void *arg, const char *json)
{
    struct printing *p = arg;

    if (p->json) {
        puts(json);
    } else {
        json_t *e = parse_object(json);

        print_event(e);
        json_decref(e);
    }
    return p->room && --p->room == 0;
}

/* ---- follow ---- */

/* Whether the execution has ended, so that nothing more will come. */
static int has_ended(struct pawl *p, int64_t id, bool *ended, struct pawl_error *err)
{
    char *json = NULL;
    json_t *o;
    int rc;

    *ended = false;
    if (!id)
        return 0;
    if ((rc = pawl_show(p, id, &json, err)))
        return rc;
    o = parse_object(json);
    *ended = *field(o, "finished_at") != '\0';
    json_decref(o);
    free(json);
    return 0;
}

static int follow_on(struct pawl *p, struct pawl_follower *f, int64_t id, struct printing *printing,
                     struct pawl_error *err)
{
    struct pawl_listener *l = NULL;
    bool limited = printing->room > 0, ended = false;
    size_t n;
    int rc = 0, quiet = 0;

    if (pawl_listen(p, PAWL_WAKE_EVENTS, &l, NULL))
        l = NULL; /* looking by ourselves will do */
    while (!rc && !(limited && !printing->room)) {
        if ((rc = pawl_follower_next(f, take_event, printing, &n, err)) || n)
            continue;
        fflush(stdout);
        /* what is written last may still wait for others: two quiet looks after the end */
        if (ended && ++quiet > 1)
            break;
        if ((rc = has_ended(p, id, &ended, err)) || ended)
            continue;
        if (l)
            pawl_listener_wait(l, FOLLOW_MS);
        else
            clock_sleep_us(FOLLOW_MS * 1000);
    }
    pawl_listener_close(l);
    return rc;
}

static int follow(struct pawl *p, const struct pawl_event_query *q, struct printing *printing)
{
    struct pawl_follower *f = NULL;
    struct pawl_error err;
    int rc = pawl_follow(p, q, &f, &err);

    if (!rc)
        rc = follow_on(p, f, q->execution, printing, &err);
    pawl_follower_close(f);
    return rc ? cli_fail(&err) : 0;
}

/* ---- the command ---- */

static int events(struct pawl *p, const char *which, struct pawl_event_query *q, bool following,
                  bool json)
{
    struct printing printing = {.json = json};
    struct pawl_error err;
    int code;

    if (which && (code = cli_id(p, which, &q->execution)))
        return code;
    if (q->self && !which)
        return cli_wrong("--self is about one execution: name it");
    if (following) {
        printing.room = q->limit > 0 ? q->limit : 0;
        return follow(p, q, &printing);
    }
    if (q->limit < 0)
        q->limit = which ? 0 : NEWEST;
    return pawl_events(p, q, take_event, &printing, &err) ? cli_fail(&err) : 0;
}

struct events {
    struct pawl_event_query q;
    bool follow;
};

static const struct option options[] = {
    {"self", OPTION_FLAG, offsetof(struct events, q.self), NULL,
     "of the execution alone, nothing below it"},
    {"type", OPTION_TEXT, offsetof(struct events, q.types), "TYPE,",
     "only events of these types, such as task.failed"},
    {"since", OPTION_TIME, offsetof(struct events, q.since), "TIME", "from then on"},
    {"until", OPTION_TIME, offsetof(struct events, q.until), "TIME", "up to then"},
    {"limit", OPTION_NUMBER, offsetof(struct events, q.limit), "N", "at most so many"},
    {"follow", OPTION_FLAG, offsetof(struct events, follow), NULL,
     "go on with what happens, until the execution has ended"},
    {0},
};

static int cmd_events(int argc, char **argv)
{
    struct events e = {.q = {.limit = -1}};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_events, argc, argv, &e);

    if (code >= 0)
        return code;
    if (!(code = cli_open(&c, &p))) {
        code = events(p, c.nwords ? c.words[0] : NULL, &e.q, e.follow, c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_events = {
    .name = "events",
    .forms = "[ID]",
    .text = "show the history: of an execution and all below it, or the newest of all",
    .options = options,
    .examples = {{"pawl events 17", "what happened to it and below it"},
                 {"pawl events --type task.failed --since 2h", "what failed in the last two hours"},
                 {"pawl events --follow --json", "everything from now on, for programs"}},
    .most = 1,
    .run = cmd_events,
};
