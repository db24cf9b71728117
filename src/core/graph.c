/* graph.c - decisions about a task and its needs; see graph.h. */
#include "core/graph.h"

static bool has_failed(int status)
{
    return status == S_FAILED || status == S_TIMED_OUT;
}

bool graph_is_success(const struct graph_need *n)
{
    if (has_failed(n->status))
        return n->allow_failure;
    return n->status == S_SUCCEEDED || (n->status == S_SKIPPED && n->by_operator);
}

bool graph_is_failure(const struct graph_need *n)
{
    if (has_failed(n->status))
        return !n->allow_failure;
    return n->status == S_SKIPPED && n->skipped_by_failure && !n->by_operator;
}

struct graph_facts graph_facts(const struct graph_need *needs, size_t n)
{
    struct graph_facts f = {.success = true};

    for (size_t i = 0; i < n; i++) {
        f.success &= graph_is_success(&needs[i]);
        f.failure |= graph_is_failure(&needs[i]);
        f.cancelled |= needs[i].status == S_CANCELLED;
    }
    return f;
}

enum graph_decision graph_join(int join, size_t left, size_t succeeded)
{
    if (join == 0)
        return left ? GRAPH_WAIT : GRAPH_DECIDE;
    if (succeeded >= (size_t)join)
        return GRAPH_DECIDE;
    return succeeded + left < (size_t)join ? GRAPH_SKIP : GRAPH_WAIT;
}

int graph_flags_of(const struct graph_need *n)
{
    if (has_failed(n->status) && !n->allow_failure)
        return FLAG_FAILED;
    return n->status == S_CANCELLED ? FLAG_CANCELLED : 0;
}

int graph_end(int bits, bool cancel_requested)
{
    if (bits & FLAG_FAILED)
        return S_FAILED; /* also if the workflow was cancelled later: a failure is never hidden */
    return cancel_requested || (bits & FLAG_CANCELLED) ? S_CANCELLED : S_SUCCEEDED;
}
