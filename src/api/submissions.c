/* submissions.c - lists SQL submissions with their outcomes: waiting, taken or refused. */
#include "store/query/submissions.h"
#include "api/api.h"

#include <string.h>

#define DEFAULT_COUNT 1000

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

int pawl_submissions(struct pawl *p, const char *status, size_t limit, pawl_line *each, void *arg,
                     struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    enum submission_state state = SUBMISSION_ANY;
    AUTO(submission_list_release) struct submission_list l = {0};
    API_ERR(e);

    limit = limit && limit < DEFAULT_COUNT ? limit : DEFAULT_COUNT;
    TRY(find_state(status, &state, err));
    if (p->remote)
        return remote_lines(p->remote, "/v1/submissions", "status", status, (int64_t)limit, each,
                            arg, err);
    TRY(query_submissions(p->store, state, limit, &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++)
        lines_add(&lines, &submission_noun, &l.at[i]);
    return 0;
}
