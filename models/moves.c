/* moves.c - prints the table of legal moves as Promela: the statuses as mtypes, TERMINAL(status),
 * and for each event JOB_EVENT(from, to) and WORKFLOW_EVENT(from, to), which say whether the event
 * may make that move. models/run builds it with src/core/transitions.c, so that the models are
 * checked against the table that the door and verify use. */
#include "core/transitions.h"

#include <stdio.h>

#define X(name, code, text) [code] = #name,
static const char *const statuses[] = {[S_NONE] = "NONE", STATUSES(X)};
static const char *const events[] = {[0] = "", EVENTS(X)};
#undef X

static void print_statuses(void)
{
    int s;

    printf("mtype = { S_%s", statuses[S_NONE]);
    for (s = S_NONE + 1; s < S_COUNT; s++)
        printf(", S_%s", statuses[s]);
    printf(" };\n#define TERMINAL(status) (false");
    for (s = S_NONE; s < S_COUNT; s++)
        if (status_is_terminal(s))
            printf(" || status == S_%s", statuses[s]);
    puts(")");
}

static void print_moves(const char *prefix, enum move_for who, int action)
{
    size_t i;

    printf("#define %s_%s(from, to) (false", prefix, events[action]);
    for (i = 0; i < legal_move_count; i++) {
        const struct move *m = &legal_moves[i];

        if ((m->who & who) && (int)m->action == action)
            printf(" || (from == S_%s && to == S_%s)", statuses[m->from], statuses[m->to]);
    }
    puts(")");
}

int main(void)
{
    int action;

    puts("/* Generated from src/core/transitions.c by models/moves.c. */");
    print_statuses();
    for (action = 1; action < EV_COUNT; action++) {
        print_moves("JOB", FOR_JOBS, action);
        print_moves("WORKFLOW", FOR_WORKFLOWS, action);
    }
    return ferror(stdout) || fflush(stdout);
}
