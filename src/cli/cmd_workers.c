/* cmd_workers.c - pawl workers: lists the workers and how many jobs they hold. */
#include "cli/list.h"

#include <string.h>

static void cell_state(struct table *t, const json_t *o)
{
    const char *state = field(o, "state");

    table_add_tinted(t, strcmp(state, "alive") ? TINT_BUSY : TINT_PLAIN, state);
}

static const struct list_column columns[] = {
    {"<WORKER", "id", NULL},          {"~<HOST", "host", NULL},
    {"~~PID", "pid", NULL},           {"HOLDS", "leases", NULL},
    {"ROOM", "room", NULL},           {"~~<SINCE (UTC)", "started_at", NULL},
    {"~SEEN AGO", "silent_us", NULL}, {"<STATE", "state", cell_state},
};

static int workers(struct cli *c)
{
    struct list l = {.columns = LIST_COLUMNS(columns), .json = c->json};

    return list_end(&l, pawl_workers(c->p, list_line, &l, &c->err));
}

const struct command command_workers = {
    .name = "workers",
    .forms = "",
    .text = "show the workers and how many jobs they hold",
    .examples = {{"pawl workers", "all workers, with their state"}},
    .run = workers,
    .opens = true,
    .reads = true,
};
