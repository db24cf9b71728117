/* events.c - reads the history: once, or by following new events. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#define PAGE      1000
#define TREE_PAGE 20000 /* large, because every page reads the whole history of the tree */

#define ROW       struct event_row
static const struct column columns[] = {
    {"sequence_num", INT(sequence_num), "increases over all events"},
    {"execution", INT(execution), NULL},
    {"root", INT(root), NULL},
    {"seq", INT(seq), "counted from 1 for each execution, without gaps"},
    {"type", WORD(type, event_text),
     "`task.claimed`, `workflow.started`, …: see [STATES.md](STATES.md)"},
    {"from", OPT_WORD(from, status_text), "the status before; null for the first event"},
    {"to", WORD(to, status_text), "the status after"},
    {"attempt", INT(attempt), NULL},
    {"epoch", INT(epoch), NULL},
    {"worker", OPT_WORKER(worker), NULL},
    {"host", OPT_TEXT(host), "the worker's host, known for as long as the event is kept"},
    {"data", JSON(data, "object or null"),
     "depends on the type: `outcome`, `error`, `exit_code`, `duration_us`, `by`, `reason`, …"},
    {"created_at", TIME(created_at), "never earlier than that of the previous event"},
};
const struct noun event_noun = {"## An event", NOUN_COLUMNS(columns)};

/* ---- filters ---- */

static uint64_t bits_of(const char *word)
{
    static const char *const prefixes[] = {"", "task.", "workflow."};
    uint64_t bits = 0;

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        AUTO_FREE char *full = mem_printf("%s%s", prefixes[i], word);
        int type = event_from_text(full);

        if (type)
            bits |= EVENT_BIT(type);
    }
    return bits;
}

/* Parses a list of event types such as "failed,task.claimed". */
static int parse_types(const char *text, uint64_t *types, struct err *err)
{
    AUTO_FREE char *copy = mem_strdup(text);
    char *rest = copy, *word;

    while ((word = strsep(&rest, ","))) {
        uint64_t bits = bits_of(word);

        if (!bits)
            return err_set(err, E_INVALID,
                           "'%.60s' is not an event type: write task.created, task.claimed, "
                           "task.failed, workflow.started and so on, or failed alone for both "
                           "kinds",
                           word);
        *types |= bits;
    }
    return 0;
}

/* Reads the filter, and checks that the execution exists, if one is given. */
static int make_filter(struct pawl *p, const struct pawl_event_query *q, struct event_filter *f,
                       struct err *err)
{
    *f = (struct event_filter){.since = q->since, .until = q->until};
    if (q->types)
        TRY(parse_types(q->types, &f->types, err));
    return q->execution ? api_check_exists(p, q->execution, err) : 0;
}

static bool wanted(const struct event_filter *f, const struct event_row *e)
{
    return (!f->types || (f->types & EVENT_BIT(e->type))) && e->created_at >= f->since &&
           (!f->until || e->created_at < f->until);
}

/* ---- read once ---- */

/* Passes lines to the caller; `left` is how many more the caller wants. */
struct sink {
    struct lines *lines;
    int64_t left;
};

static void emit(struct sink *s, const struct event_row *e)
{
    lines_add(s->lines, &event_noun, e);
    s->lines->closed |= --s->left == 0;
}

static void emit_all(struct sink *s, const struct event_list *l)
{
    for (size_t i = 0; i < l->n && !s->lines->closed; i++)
        emit(s, &l->at[i]);
}

static size_t page_size(const struct sink *s, size_t most)
{
    return s->left < (int64_t)most ? (size_t)s->left : most;
}

static int read_execution(struct pawl *p, const struct pawl_event_query *q,
                          const struct event_filter *f, struct sink *s, struct err *err)
{
    size_t n = PAGE;
    int after = 0;

    while (!s->lines->closed && n == PAGE) {
        AUTO(event_list_release) struct event_list l = {0};

        TRY(query_execution_events(p->store, q->execution, after, PAGE, &l, err));
        n = l.n;
        for (size_t i = 0; i < l.n && !s->lines->closed; i++) {
            after = l.at[i].seq;
            if (l.at[i].sequence_num > q->last && wanted(f, &l.at[i]))
                emit(s, &l.at[i]);
        }
    }
    return 0;
}

static int read_tree(struct pawl *p, const struct pawl_event_query *q, const struct event_filter *f,
                     struct sink *s, struct err *err)
{
    struct event_range range = {.after = q->last};
    bool more = true;

    while (!s->lines->closed && more) {
        AUTO(event_list_release) struct event_list l = {0};

        range.max = page_size(s, TREE_PAGE);
        TRY(query_events_below(p->store, q->execution, f, &range, &l, err));
        emit_all(s, &l);
        more = l.n == range.max;
        if (l.n)
            range.after = l.at[l.n - 1].sequence_num;
    }
    return 0;
}

static int read_all(struct pawl *p, const struct pawl_event_query *q, const struct event_filter *f,
                    struct sink *s, struct err *err)
{
    struct event_cursor cursor = {.time = q->last_time, .sequence_num = q->last};

    while (!s->lines->closed && !cursor.end) {
        AUTO(event_list_release) struct event_list l = {0};

        TRY(query_events(p->store, f, page_size(s, PAGE), &cursor, &l, err));
        emit_all(s, &l);
    }
    return 0;
}

int pawl_events(struct pawl *p, const struct pawl_event_query *q, pawl_line *each, void *arg,
                struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    struct sink s = {.lines = &lines, .left = q->limit > 0 ? q->limit : INT64_MAX};
    struct event_filter f;
    API_ERR(e);

    TRY(make_filter(p, q, &f, err));
    return !q->execution ? read_all(p, q, &f, &s, err)
           : q->self     ? read_execution(p, q, &f, &s, err)
                         : read_tree(p, q, &f, &s, err);
}

/* ---- follow ---- */

struct pawl_follower {
    struct pawl *pawl;
    struct event_follower event_follower;
    bool self;
};

int pawl_follow(struct pawl *p, const struct pawl_event_query *q, struct pawl_follower **out,
                struct pawl_error *e)
{
    struct event_filter filter;
    struct pawl_follower *f;
    API_ERR(e);

    TRY(make_filter(p, q, &filter, err));
    *out = f = mem_zalloc(sizeof(*f));
    f->pawl = p;
    f->self = q->self;
    f->event_follower.filter = filter;
    f->event_follower.execution = q->execution;
    f->event_follower.started = q->execution != 0;
    return 0;
}

int pawl_follower_next(struct pawl_follower *f, pawl_line *each, void *arg, size_t *n,
                       struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(event_list_release) struct event_list l = {0};
    API_ERR(e);

    TRY(query_follow(f->pawl->store, &f->event_follower, PAGE, &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++)
        if (!f->self || l.at[i].execution == f->event_follower.execution)
            lines_add(&lines, &event_noun, &l.at[i]);
    *n = l.n;
    return 0;
}

void pawl_follower_close(struct pawl_follower *f)
{
    if (!f)
        return;
    event_follower_release(&f->event_follower);
    free(f);
}
