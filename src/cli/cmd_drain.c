/* cmd_drain.c - pawl drain: asks workers to claim nothing more, to finish what they run and to
 * exit. */
#include "cli/list.h"

#include <limits.h>
#include <string.h>

struct drain {
    const char *reason;
};

static int print_if_named(void *arg, const char *json)
{
    json_auto_t *w = parse_object(json);

    if (!strcmp(field(w, "id"), arg))
        puts(json);
    return 0;
}

struct found {
    const char *id;
    int64_t leases;
};

static int find_leases(void *arg, const char *json)
{
    struct found *f = arg;
    json_auto_t *w = parse_object(json);

    if (strcmp(field(w, "id"), f->id))
        return 0;
    f->leases = field_int(w, "leases");
    return 1;
}

static int drain_one(struct cli *c, const char *worker)
{
    const struct drain *d = c->values;
    struct found f = {.id = worker};

    TRY(pawl_worker_drain(c->p, worker, NULL, d->reason, &c->err));
    if (c->json)
        return pawl_workers(c->p, print_if_named, (void *)worker, &c->err);
    TRY(pawl_workers(c->p, find_leases, &f, &c->err));
    printf("worker %s: asked to drain; it holds %lld job%s\n", worker, (long long)f.leases,
           f.leases == 1 ? "" : "s");
    return 0;
}

static int drain(struct cli *c)
{
    for (int i = 0; i < c->nwords; i++)
        TRY(drain_one(c, c->words[i]));
    return 0;
}

static const struct option options[] = {
    {"reason", OPTION_TEXT, offsetof(struct drain, reason), "TEXT",
     "record why; stored with the user's name"},
    {0},
};

const struct command command_drain = {
    .name = "drain",
    .forms = "WORKER…",
    .text = "ask workers to claim nothing more, to finish what they run, commands too, and to exit",
    .about =
        "A worker learns of it at once or with its next heartbeat, and returns jobs that it has "
        "claimed but not started. There is no way to undo it: start another worker. The worker "
        "in `pawl serve --worker` also claims nothing more, but the server goes on serving.",
    .options = options,
    .size = sizeof(struct drain),
    .examples = {{"pawl drain 5c1fd2cd96b4e2a1 --reason 'new disk'",
                  "when it has ended, its host can be taken away"}},
    .least = 1,
    .most = INT_MAX,
    .run = drain,
    .opens = true,
};
