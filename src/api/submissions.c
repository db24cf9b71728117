/* submissions.c - lists SQL submissions with their outcomes: waiting, taken or refused. */
#include "store/query/submissions.h"
#include "api/api.h"

#include <stdio.h>
#include <string.h>

#define MOST 1000 /* lines of a page */

static void write_state(struct json_writer *w, const void *row)
{
    json_write_text(w, submission_states[submission_state(row)]);
}

#define ROW struct submission_row
static const struct column columns[] = {
    {"id", INT(id), "what `pawl_submit()` returned, and the id of its execution"},
    {"workflow", TEXT(workflow), NULL},
    {"status", CUSTOM(write_state, "text"), "`waiting` for a worker, `taken`, `refused`"},
    {"execution", ID(execution),
     "once it is taken: its own id, or that of an earlier execution with the same key"},
    {"error", OPT_TEXT(error), "why it was refused"},
    {"key", OPT_TEXT(key), NULL},
    {"queue", OPT_TEXT(queue), NULL},
    {"priority", INT(priority), NULL},
    {"delay_us", INT(delay), "after `requested_at`"},
    {"params", JSON(params, "object"), NULL},
    {"definition", TEXT(definition),
     "the hash of the definition that the name referred to when it was submitted"},
    {"requested_by", OPT_TEXT(by),
     "the database role that submitted it; for `source`: its workflow and id"},
    {"source", ID(source), "the execution whose end submitted it (`on: workflow`)"},
    {"requested_at", TIME(requested_at), NULL},
    {"decided_at", OPT_TIME(decided_at), "when it was taken or refused"},
};
const struct noun submission_noun = {"## A submission", NOUN_COLUMNS(columns)};

static int find_state(const char *text, enum submission_state *out, struct err *err)
{
    int i;

    for (i = 1; text && i < SUBMISSION_STATE_COUNT && strcmp(text, submission_states[i]); i++)
        ;
    if (i == SUBMISSION_STATE_COUNT)
        return err_set(err, E_INVALID,
                       "'%.60s' is not a status of submissions: use waiting, taken or refused",
                       text);
    *out = text ? (enum submission_state)i : SUBMISSION_ANY;
    return 0;
}

/* A cursor is the place of the last line. */
static int read_cursor(const char *text, struct submission_place *out, struct err *err)
{
    long long at, id;
    int end = 0;

    if (sscanf(text, "%lld-%lld%n", &at, &id, &end) != 2 || !end || text[end] || at < 0 || id <= 0)
        return err_set(err, E_INVALID,
                       "'%.60s' is not a cursor: use the one that came with the page before", text);
    *out = (struct submission_place){at, id};
    return 0;
}

static char *cursor_after(const struct submission_row *last, enum submission_state list)
{
    struct submission_place p = submission_place(last, list);

    return mem_printf("%lld-%lld", (long long)p.at, (long long)p.id);
}

int pawl_submissions(struct pawl *p, const struct pawl_submission_query *query, pawl_line *each,
                     void *arg, char **next, struct pawl_error *e)
{
    struct pawl_submission_query q = query ? *query : (struct pawl_submission_query){0};
    AUTO_LINES lines = {.each = each, .arg = arg};
    enum submission_state state = SUBMISSION_ANY;
    AUTO(submission_list_release) struct submission_list l = {0};
    struct submission_place after;
    size_t limit = q.limit > 0 && q.limit < MOST ? (size_t)q.limit : MOST, i;
    API_ERR(e);

    if (next)
        *next = NULL;
    TRY(find_state(q.status, &state, err));
    if (q.cursor)
        TRY(read_cursor(q.cursor, &after, err));
    if (p->remote) {
        q.limit = (int64_t)limit;
        return remote_submissions(p->remote, &q, each, arg, next, err);
    }
    TRY(query_submissions(p->store, state, q.cursor ? &after : NULL, limit + 1, &l, err));
    for (i = 0; i < l.n && i < limit && !lines.closed; i++)
        lines_add(&lines, &submission_noun, &l.at[i]);
    if (next && l.n > limit && !lines.closed)
        *next = cursor_after(&l.at[limit - 1], state);
    return 0;
}
