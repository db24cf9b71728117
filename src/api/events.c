/* events.c - reads the history: once, or by following new events. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#define PAGE      1000
#define TREE_PAGE 20000 /* large, because every page reads the whole history of the tree */

#define ROW       struct event_row
static const struct column columns[] = {
    {"sequence_num", INT(sequence_num), "rises over all events"},
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
    size_t i;

    for (i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        char *full = mem_printf("%s%s", prefixes[i], word);
        int type = event_from_text(full);

        if (type)
            bits |= EVENT_BIT(type);
        free(full);
    }
    return bits;
}

/* "failed,task.claimed" */
static int parse_types(const char *text, uint64_t *types, struct err *err)
{
    char *copy = mem_strdup(text), *rest = copy, *word;
    int rc = 0;

    while (!rc && (word = strsep(&rest, ","))) {
        uint64_t bits = bits_of(word);

        if (!bits)
            rc = err_set(err, E_INVALID,
                         "'%.60s' is not an event type: write task.created, task.claimed, "
                         "task.failed, workflow.started and so on, or failed alone for both kinds",
                         word);
        *types |= bits;
    }
    free(copy);
    return rc;
}

static int make_filter(const struct pawl_event_query *q, struct event_filter *f, struct err *err)
{
    *f = (struct event_filter){.since = q->since, .until = q->until};
    return q->types ? parse_types(q->types, &f->types, err) : 0;
}

static bool wanted(const struct event_filter *f, const struct event_row *e)
{
    return (!f->types || (f->types & EVENT_BIT(e->type))) && e->created_at >= f->since &&
           (!f->until || e->created_at < f->until);
}

/* ---- read once ---- */

/* Receives the lines; `left` is how many more are wanted. */
struct sink {
    struct lines lines;
    int64_t left;
};

static void emit(struct sink *s, const struct event_row *e)
{
    lines_add(&s->lines, &event_noun, e);
    s->lines.closed |= --s->left == 0;
}

static size_t page_size(const struct sink *s, size_t most)
{
    return s->left < (int64_t)most ? (size_t)s->left : most;
}

static int read_execution(struct pawl *p, const struct pawl_event_query *q,
                          const struct event_filter *f, struct sink *s, struct err *err)
{
    struct event_list l = {0};
    int after = 0, rc = 0;
    size_t i, n = PAGE;

    while (!rc && !s->lines.closed && n == PAGE) {
        if ((rc = query_execution_events(p->store, q->execution, after, PAGE, &l, err)))
            break;
        n = l.n;
        for (i = 0; i < l.n && !s->lines.closed; i++) {
            after = l.at[i].seq;
            if (wanted(f, &l.at[i]))
                emit(s, &l.at[i]);
        }
        event_list_release(&l);
    }
    return rc;
}

static int read_tree(struct pawl *p, const struct pawl_event_query *q, const struct event_filter *f,
                     struct sink *s, struct err *err)
{
    struct event_range range = {0};
    struct event_list l = {0};
    bool more = true;
    int rc = 0;
    size_t i;

    while (!rc && !s->lines.closed && more) {
        range.max = page_size(s, TREE_PAGE);
        if ((rc = query_events_below(p->store, q->execution, f, &range, &l, err)))
            break;
        for (i = 0; i < l.n && !s->lines.closed; i++)
            emit(s, &l.at[i]);
        more = l.n == range.max;
        if (l.n)
            range.after = l.at[l.n - 1].sequence_num;
        event_list_release(&l);
    }
    return rc;
}

static int read_all(struct pawl *p, const struct event_filter *f, struct sink *s, struct err *err)
{
    struct event_cursor cursor = {0};
    struct event_list l = {0};
    int rc = 0;
    size_t i;

    while (!rc && !s->lines.closed && !cursor.end) {
        if ((rc = query_events(p->store, f, page_size(s, PAGE), &cursor, &l, err)))
            break;
        for (i = 0; i < l.n && !s->lines.closed; i++)
            emit(s, &l.at[i]);
        event_list_release(&l);
    }
    return rc;
}

int pawl_events(struct pawl *p, const struct pawl_event_query *q, pawl_line *each, void *arg,
                struct pawl_error *e)
{
    struct sink s = {.lines = {.each = each, .arg = arg},
                     .left = q->limit > 0 ? q->limit : INT64_MAX};
    struct event_filter f;
    struct err err = ERR_INIT;
    int rc;

    if ((rc = make_filter(q, &f, &err)) ||
        (q->execution && (rc = api_check_exists(p, q->execution, &err))))
        goto done;
    rc = !q->execution ? read_all(p, &f, &s, &err)
         : q->self     ? read_execution(p, q, &f, &s, &err)
                       : read_tree(p, q, &f, &s, &err);
done:
    return api_end_lines(&s.lines, rc, &err, e);
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
    struct pawl_follower *f = mem_zalloc(sizeof(*f));
    struct err err = ERR_INIT;
    int rc;

    f->pawl = p;
    f->self = q->self;
    f->event_follower.execution = q->execution;
    f->event_follower.started = q->execution != 0;
    if ((rc = make_filter(q, &f->event_follower.filter, &err)) ||
        (q->execution && (rc = api_check_exists(p, q->execution, &err))))
        pawl_follower_close(f);
    else
        *out = f;
    return api_end(rc, &err, e);
}

int pawl_follower_next(struct pawl_follower *f, pawl_line *each, void *arg, size_t *n,
                       struct pawl_error *e)
{
    struct sink s = {.lines = {.each = each, .arg = arg}, .left = INT64_MAX};
    struct event_list l = {0};
    struct err err = ERR_INIT;
    int rc = query_follow(f->pawl->store, &f->event_follower, PAGE, &l, &err);
    size_t i;

    for (i = 0; !rc && i < l.n && !s.lines.closed; i++)
        if (!f->self || l.at[i].execution == f->event_follower.execution)
            emit(&s, &l.at[i]);
    if (!rc)
        *n = l.n;
    event_list_release(&l);
    return api_end_lines(&s.lines, rc, &err, e);
}

void pawl_follower_close(struct pawl_follower *f)
{
    if (!f)
        return;
    event_follower_release(&f->event_follower);
    free(f);
}
