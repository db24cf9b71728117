/* cmd_events.c - pawl events: prints the history, or follows it. */
#include "cli/follow.h"
#include "cli/table.h"

#include "base/env.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#define NEWEST    100 /* number of events shown without --limit */
#define FOLLOW_MS 300
/* In columns: DATA_ROOM is reserved for the data, except on terminals narrower than NARROW; the
 * data is left out if it gets less than LEAST_DATA. */
enum { NARROW = 60, DATA_ROOM = 26, LEAST_DATA = 6 };

struct printing {
    bool json;
    struct style style; /* the terminal's style; width 0 if the output is not a terminal */
    int64_t room;       /* lines that may still be printed; 0 for no limit */
    bool is_default;    /* the limit is NEWEST: one more event is read, but not printed */
    bool cut;           /* there are more events than NEWEST */
};

/* Adds the change of status, "ready -> running", or only the status if it does not change. */
static void add_move(struct buf *b, const json_t *e)
{
    const char *from = field(e, "from"), *to = field(e, "to");

    if (*from && strcmp(from, to) != 0)
        buf_addf(b, "%s -> ", from);
    buf_addstr(b, to);
}

/* Adds the data, or for an event without data, such as task.claimed, the host of its worker. */
static void add_data(struct buf *b, const json_t *e)
{
    json_t *data = json_object_get(e, "data");
    AUTO_FREE char *text = json_is_object(data) ? json_text(data) : NULL;
    const char *host = field(e, "host");

    if (!text && *host)
        buf_addstr(b, "on ");
    out_clean(b, text ? text : host);
}

/* Prints all fields: time, execution, type, move, attempt, worker, data. */
static void print_all(const json_t *e, const char *move, const char *data)
{
    const char *at = field(e, "created_at");
    AUTO_BUF b = BUF_INIT;

    buf_addf(&b, "%.10s %.15s  %6lld  %-24s %-22s %3lld  %-16s%s%s", at, text_time_of_day(at),
             (long long)field_int(e, "execution"), field(e, "type"), move,
             (long long)field_int(e, "attempt"), field(e, "worker"), *data ? "  " : "", data);
    while (b.len && b.ptr[b.len - 1] == ' ')
        b.ptr[--b.len] = '\0';
    puts(b.ptr);
}

/* Prints the fields that fit into a line of the terminal, leaving some space for the data at the
 * end. Rows arrive one by one, perhaps for hours, so the columns can't be sized by their content: a
 * hidden heading as wide as typical values aligns them. */
static void print_fitting(const json_t *e, const char *move, const char *data,
                          const struct style *style)
{
    static const char *const heads[] = {"~~~~2026-01-31",
                                        "14:00:00.123",
                                        "123456",
                                        "<workflow.lease_expired",
                                        "~~~running -> succeeded",
                                        "~1",
                                        "~~0123456789abcdef"};
    const char *at = field(e, "created_at"), *error = field(json_object_get(e, "data"), "error");
    struct style narrow = *style;
    AUTO(table_fit_release) struct table_fit fit = {0};
    AUTO(table_release) struct table t = {0};
    AUTO(line_release) struct line l = {0};
    int room;

    narrow.width -= style->width > NARROW ? DATA_ROOM : 0;
    table_heads(&t, heads, sizeof(heads) / sizeof(*heads));
    table_addf(&t, "%.10s", at);
    table_addf(&t, "%.12s", text_time_of_day(at));
    table_addf(&t, "%lld", (long long)field_int(e, "execution"));
    table_add_tinted(&t, status_tint(field(e, "to")), field(e, "type"));
    table_addf(&t, "%-20s", move);
    table_addf(&t, "%lld", (long long)field_int(e, "attempt"));
    table_addf(&t, "%-16s", field(e, "worker"));
    table_fit(&t, &narrow, &fit);
    line_begin(&l, style);
    table_row(&t, &fit, 1, &l);
    room = style->width - table_fit_width(&fit) - 2;
    if (*error && (int)strlen(data) > room)
        data = error; /* the error is the most useful part of the data */
    if (*data && room >= LEAST_DATA)
        line_addf(&l, TINT_PLAIN, "%*s%s", table_fit_width(&fit) + 2 - l.cols, "", data);
    puts(buf_cstr(&l.text));
}

static void print_event(const json_t *e, const struct style *style)
{
    AUTO_BUF move = BUF_INIT, data = BUF_INIT;

    add_move(&move, e);
    add_data(&data, e);
    if (style->width)
        print_fitting(e, buf_cstr(&move), buf_cstr(&data), style);
    else
        print_all(e, buf_cstr(&move), buf_cstr(&data));
}

static int handle_event(void *arg, const char *json)
{
    struct printing *p = arg;

    if (p->is_default && !p->room--) {
        p->cut = true;
        return 1;
    }
    if (p->json) {
        puts(json);
    } else {
        json_auto_t *e = parse_object(json);

        print_event(e, &p->style);
    }
    return !p->is_default && p->room && --p->room == 0;
}

/* ---- follow ---- */

/* Sets *ended if the execution has ended, so that no more events will come. */
static int has_ended(struct cli *c, int64_t id, bool *ended)
{
    json_auto_t *o = NULL;

    if (id)
        TRY(show_object(c->p, id, &o, &c->err));
    *ended = *field(o, "finished_at") != '\0';
    return 0;
}

static int follow_until_end(struct cli *c, struct pawl_follower *f, int64_t id,
                            struct printing *printing)
{
    struct pawl_listener *l = NULL;
    bool limited = printing->room > 0, ended = false;
    int64_t news_at = clock_boot_us();
    size_t n;
    int rc = 0, quiet = 0;

    if (pawl_listen(c->p, PAWL_WAKE_EVENTS, &l, NULL))
        l = NULL; /* without a listener, polling is enough */
    while ((!rc || follow_retries(c->p, rc)) && !(limited && !printing->room)) {
        if ((rc = pawl_follower_next(f, handle_event, printing, &n, &c->err)))
            continue;
        if (n) {
            news_at = clock_boot_us();
            continue;
        }
        fflush(stdout);
        /* the last events may wait for other transactions to commit: read twice without a result
         * after the end */
        if (ended && ++quiet > 1)
            break;
        if ((rc = has_ended(c, id, &ended)) || ended)
            continue;
        if (follow_wait(c->p, l, follow_pause_ms(l, news_at, FOLLOW_MS)))
            news_at = clock_boot_us();
    }
    pawl_listener_close(l);
    return rc;
}

static int follow(struct cli *c, const struct pawl_event_query *q, struct printing *printing)
{
    struct pawl_follower *f;
    int rc;

    TRY(pawl_follow(c->p, q, &f, &c->err));
    rc = follow_until_end(c, f, q->execution, printing);
    pawl_follower_close(f);
    return rc;
}

/* ---- the command ---- */

struct events {
    struct pawl_event_query q;
    bool follow;
};

static int events(struct cli *c)
{
    struct events *e = c->values;
    struct printing printing = {.json = c->json, .style = style_of(stdout)};

    if (c->nwords)
        TRY(cli_id(c, c->words[0], &e->q.execution));
    if (e->q.self && !c->nwords)
        return cli_wrong("--self needs the id of an execution");
    if (e->follow) {
        printing.room = e->q.limit > 0 ? e->q.limit : 0;
        return follow(c, &e->q, &printing);
    }
    if (e->q.limit < 0 && !c->nwords) {
        printing.is_default = true;
        printing.room = NEWEST;
        e->q.limit = NEWEST + 1;
    }
    TRY(pawl_events(c->p, &e->q, handle_event, &printing, &c->err));
    if (printing.cut)
        fprintf(stderr,
                "pawl: only the newest %d events are shown: use --limit N for more, --limit 0 for "
                "all\n",
                NEWEST);
    return 0;
}

static const struct option options[] = {
    {"self", OPTION_FLAG, offsetof(struct events, q.self), NULL,
     "leave out events of the execution's descendants"},
    {"type", OPTION_TEXT, offsetof(struct events, q.types), "TYPE,",
     "only events of these types, such as task.failed"},
    {"since", OPTION_TIME, offsetof(struct events, q.since), "TIME",
     "events at or after this time"},
    {"until", OPTION_TIME, offsetof(struct events, q.until), "TIME", "events before this time"},
    {"limit", OPTION_NUMBER, offsetof(struct events, q.limit), "N",
     "at most N events, 0: all; default: all of an execution, else the newest 100"},
    {"follow", OPTION_FLAG, offsetof(struct events, follow), NULL,
     "keep printing new events until the execution has ended"},
    {0},
};

static const struct events defaults = {.q = {.limit = -1}};

const struct command command_events = {
    .name = "events",
    .forms = "[ID]",
    .text = "show the history of an execution and its descendants, or the newest events of all",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl events 17", "events of an execution and its descendants"},
                 {"pawl events --type task.failed --since 2h",
                  "tasks that failed in the last two hours"},
                 {"pawl events --follow --json", "everything from now on, for programs"}},
    .most = 1,
    .run = events,
    .opens = true,
    .reads = true,
};
