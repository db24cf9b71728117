/* events.c - reads the history: once, or by following new events. */
#include "api/api.h"
#include "base/text.h"

#include <stdio.h>
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
                           "'%.60s' is not an event type: write a type such as task.failed or "
                           "workflow.started, or one without its prefix, such as failed, for both "
                           "tasks and workflows",
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
    return q->execution && !p->remote ? api_check_exists(p, q->execution, err) : 0;
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
    if (p->remote)
        return remote_events(p->remote, q, each, arg, err);
    return !q->execution ? read_all(p, q, &f, &s, err)
           : q->self     ? read_execution(p, q, &f, &s, err)
                         : read_tree(p, q, &f, &s, err);
}

/* ---- follow ---- */

struct pawl_follower {
    struct pawl *pawl;
    struct remote_follower *remote; /* of a handle on a server: then only `pawl` is set, too */
    struct event_follower event_follower;
    bool self;
    struct buf position;
};

/* A position is "SEEN", or "SEEN.HORIZON.WRITERS" while the history may not be complete up to the
 * horizon (see query_follow). */
static int read_position(const char *text, struct event_follower *f, struct err *err)
{
    long long seen, horizon;
    int end = 0;

    f->started = true;
    if (sscanf(text, "%lld.%lld.%n", &seen, &horizon, &end) == 2 && end && text[end] && seen >= 0 &&
        horizon >= seen && text_is_utf8(text, strlen(text))) {
        f->seen = seen;
        f->horizon = horizon;
        f->writers = mem_strdup(text + end);
        return 0;
    }
    if (!text_parse_i64(text, &f->seen) && f->seen >= 0) {
        f->horizon = f->seen;
        return 0;
    }
    return err_set(err, E_INVALID, "'%.60s' is not a position of a follower", text);
}

static int follow_remote(struct pawl *p, const struct pawl_event_query *q,
                         struct pawl_follower **out, struct err *err)
{
    struct remote_follower *remote;

    TRY(remote_follow(p->remote, q, &remote, err));
    *out = mem_zalloc(sizeof(**out));
    (*out)->pawl = p;
    (*out)->remote = remote;
    return 0;
}

int pawl_follow(struct pawl *p, const struct pawl_event_query *q, struct pawl_follower **out,
                struct pawl_error *e)
{
    struct event_filter filter;
    struct pawl_follower *f;
    int rc = 0;
    API_ERR(e);

    TRY(make_filter(p, q, &filter, err));
    if (p->remote)
        return follow_remote(p, q, out, err);
    f = mem_zalloc(sizeof(*f));
    f->pawl = p;
    f->self = q->self;
    f->event_follower.filter = filter;
    f->event_follower.execution = q->execution;
    f->event_follower.started = q->execution != 0;
    if (q->position && (rc = read_position(q->position, &f->event_follower, err)))
        pawl_follower_close(f);
    else
        *out = f;
    return rc;
}

int pawl_follower_next(struct pawl_follower *f, pawl_line *each, void *arg, size_t *n,
                       struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(event_list_release) struct event_list l = {0};
    API_ERR(e);

    if (f->remote)
        return remote_follower_next(f->remote, each, arg, n, err);
    TRY(query_follow(f->pawl->store, &f->event_follower, PAGE, &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++)
        if (!f->self || l.at[i].execution == f->event_follower.execution)
            lines_add(&lines, &event_noun, &l.at[i]);
    *n = l.n;
    return 0;
}

const char *pawl_follower_position(struct pawl_follower *f)
{
    const struct event_follower *e = &f->event_follower;

    if (f->remote)
        return remote_follower_position(f->remote);
    if (!e->started)
        return NULL;
    buf_reset(&f->position);
    buf_addi64(&f->position, e->seen);
    if (e->writers)
        buf_addf(&f->position, ".%lld.%s", (long long)e->horizon, e->writers);
    return f->position.ptr;
}

bool pawl_follower_is_complete(const struct pawl_follower *f)
{
    return f->remote || (f->event_follower.started && !f->event_follower.writers);
}

void pawl_follower_close(struct pawl_follower *f)
{
    if (!f)
        return;
    remote_follower_close(f->remote);
    buf_release(&f->position);
    event_follower_release(&f->event_follower);
    free(f);
}
