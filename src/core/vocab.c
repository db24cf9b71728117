/* vocab.c - converts between the codes and the names in vocab.h. */
#include "core/vocab.h"

#include <stddef.h>
#include <string.h>

#define X(name, code, text) [code] = text,
static const char *const kinds[] = {KINDS(X)};
static const char *const statuses[] = {STATUSES(X)};
static const char *const holds[] = {HOLDS(X)};
static const char *const timers[] = {TIMERS(X)};
static const char *const outcomes[] = {OUTCOMES(X)};
static const char *const audit_actions[] = {AUDIT_ACTIONS(X)};
static const char *const token_scopes[] = {TOKEN_SCOPES(X)};
static const char *const actions[] = {EVENTS(X)};
#undef X
#define X(name, code, text) [code] = "task." text,
static const char *const job_events[] = {EVENTS(X)};
#undef X
#define X(name, code, text) [code] = "workflow." text,
static const char *const workflow_events[] = {EVENTS(X)};
#undef X

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static const char *text_of(const char *const *list, size_t n, int code)
{
    return code >= 0 && (size_t)code < n && list[code] ? list[code] : "?";
}

static int code_of(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] && *list[i] && !strcmp(list[i], text))
            return (int)i;
    return 0;
}

#define TEXT_FUNCTION(name, list)                \
    const char *name(int code)                   \
    {                                            \
        return text_of(list, COUNT(list), code); \
    }
TEXT_FUNCTION(kind_text, kinds)
TEXT_FUNCTION(status_text, statuses)
TEXT_FUNCTION(hold_text, holds)
TEXT_FUNCTION(timer_text, timers)
TEXT_FUNCTION(outcome_text, outcomes)
TEXT_FUNCTION(audit_action_text, audit_actions)
TEXT_FUNCTION(token_scope_text, token_scopes)
TEXT_FUNCTION(action_text, actions)

const char *event_text(int type)
{
    if (type > WORKFLOW_EVENT)
        return text_of(workflow_events, COUNT(workflow_events), type - WORKFLOW_EVENT);
    return text_of(job_events, COUNT(job_events), type);
}

int token_scope_from_text(const char *text)
{
    return code_of(token_scopes, COUNT(token_scopes), text);
}

int status_from_text(const char *text)
{
    return code_of(statuses, COUNT(statuses), text);
}

int kind_from_text(const char *text)
{
    return code_of(kinds, COUNT(kinds), text);
}

int event_from_text(const char *text)
{
    int code = code_of(job_events, COUNT(job_events), text);

    if (code)
        return code;
    code = code_of(workflow_events, COUNT(workflow_events), text);
    return code ? code + WORKFLOW_EVENT : 0;
}
