/* model_time.c - timers: delays, timeouts of approvals and timeouts of workflows; and how long
 * nodes run: attempts and the waits between them count, the time between an end and the next start
 * does not. */
#include "model_inner.h"

#define HOUR (3600 * 1000000LL)

/* A delay and an approval's timeout both start here. A fan-out waits once, not for each item. */
void model_be_ready(struct model *m, struct model_node *n)
{
    n->delayed = n->task->delay > 0;
    n->delay_due = n->delayed ? m->now + n->task->delay * HOUR : 0;
    n->approval_due = n->task->approval_timeout ? m->now + n->task->approval_timeout * HOUR : 0;
    model_begin(m, n);
}

/* The shorter of the timeouts in its file and in the task that nests it. */
void model_set_timeout(const struct model *m, struct model_node *n)
{
    int own = n->workflow->timeout, task = n->task ? n->task->timeout : 0;
    int hours = own && (!task || own < task) ? own : task;

    n->timeout_due = hours ? m->now + hours * HOUR : 0;
}

/* When its next timer is due, and which one. */
static int64_t due_at(const struct model_node *n, enum model_timer kind)
{
    if (model_ended(n->status))
        return 0;
    if (kind == M_DELAY)
        return n->delayed ? n->delay_due : 0;
    if (model_awaits_approval(n))
        return n->approval_due;
    return n->kind == M_WORKFLOW && n->status == M_RUNNING && !n->cancel_asked ? n->timeout_due : 0;
}

int64_t model_next_due(const struct model *m)
{
    const struct model_node *n;
    int64_t next = 0, due;
    int kind;

    for (n = m->all; n; n = n->next)
        for (kind = M_DELAY; kind <= M_TIMEOUT; kind++)
            if ((due = due_at(n, (enum model_timer)kind)) && (!next || due < next))
                next = due;
    return next;
}

bool model_fire(struct model *m, struct model_node *n, enum model_timer kind, int64_t ahead)
{
    int64_t due = due_at(n, kind);

    if (!due) /* a retry's delay, or a workflow that is already ending: it has no effect */
        return true;
    if (due > m->now + ahead)
        return false;
    if (kind == M_DELAY) {
        n->delayed = false;
    } else if (model_awaits_approval(n)) {
        n->status = M_TIMED_OUT;
    } else {
        n->timed_out = true;
        model_cancel(n, false);
    }
    return true;
}

/* ---- durations ---- */

void model_note_times(struct model *m)
{
    struct model_node *n;

    for (n = m->all; n; n = n->next) {
        if (!n->runs && n->status == M_RUNNING) {
            n->runs = true;
            n->since = m->now;
        } else if (n->runs && model_ended(n->status)) {
            n->runs = false;
            n->ran += m->now - n->since;
        }
    }
}
