/* cmd_wait.c - pawl wait: waits until executions have ended. */
#include "cli/wait.h"

#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>

struct command_options {
    int64_t timeout;
};

static int read_ids(struct cli *c, int64_t *ids)
{
    for (int i = 0; i < c->nwords; i++)
        TRY(cli_id(c, c->words[i], &ids[i]));
    return 0;
}

static int wait_for_words(struct cli *c)
{
    const struct command_options *w = c->values;
    int64_t *ids = mem_alloc((size_t)c->nwords * sizeof(*ids));
    int rc = read_ids(c, ids);

    rc = rc ? rc : wait_for_ends(c, ids, (size_t)c->nwords, w->timeout);
    free(ids);
    return rc;
}

static const struct option options[] = {
    {"timeout", OPTION_DURATION, offsetof(struct command_options, timeout), "DURATION",
     "wait at most this long; default: no limit"},
    {0},
};

static const struct command_options defaults = {.timeout = -1};

const struct command command_wait = {
    .name = "wait",
    .forms = "ID…",
    .text = "wait until executions have ended, and print each as it ends",
    .about = "Ctrl-C ends only the waiting. The exit code is 0 if all have succeeded, 8 if the "
             "timeout came first, and otherwise that of the first ID that did not succeed.",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl wait 17 18", "until both have ended"},
                 {"pawl wait @last --timeout 10m && ./deploy", "deploy if it succeeds in time"}},
    .least = 1,
    .most = INT_MAX,
    .run = wait_for_words,
    .opens = true,
    .reads = true,
};
