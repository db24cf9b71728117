/* cmd_apply.c - pawl apply: stores a workflow file under its name and activates its schedules. */
#include "cli/cli.h"

static void print_json(const struct pawl_applied *a, json_t *warnings)
{
    const struct pawl_definition *d = &a->definition;

    print_json_object(json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:O}", "name", d->name,
                                "hash", d->hash, "unchanged", a->unchanged, "tasks",
                                (json_int_t)d->tasks, "nested", (json_int_t)d->nested, "schedules",
                                (json_int_t)d->schedules, "kept", (json_int_t)a->kept, "removed",
                                (json_int_t)a->removed, "warnings", warnings));
}

/* Prints the first due time, and ends the list. */
static int print_next(void *arg, const char *json)
{
    json_auto_t *due = parse_object(json);
    const char *at = field(due, "fires_at");

    (void)arg;
    printf("next: %.10s %.8s UTC, %s\n", at, text_time_of_day(at), field(due, "schedule"));
    return 1;
}

static int print_summary(struct cli *c, const struct pawl_applied *a)
{
    const struct pawl_definition *d = &a->definition;

    printf("%s: %s, %zu schedule%s", d->name, a->unchanged ? "unchanged" : "applied", d->schedules,
           d->schedules == 1 ? "" : "s");
    if (a->removed)
        printf(" (%zu removed)", a->removed);
    putchar('\n');
    return d->schedules ? pawl_schedule_next(c->p, d->name, 1, print_next, NULL, &c->err) : 0;
}

static int apply(struct cli *c)
{
    AUTO_WORKFLOW w = NULL;
    json_auto_t *warnings = json_array();
    struct pawl_applied applied;

    TRY(cli_load(c->words[0], &w));
    TRY(cli_open_or_create(c, NULL));
    cli_warn_executors(c->p, NULL, &(struct pawl_job){.built = w}, warnings);
    TRY(pawl_apply_built(c->p, w, NULL, &applied, &c->err));
    if (!c->json)
        return print_summary(c, &applied);
    print_json(&applied, warnings);
    return 0;
}

const struct command command_apply = {
    .name = "apply",
    .forms = "FILE",
    .text = "store a workflow under its name, and activate its schedules",
    .examples = {{"pawl apply nightly.flow.yaml",
                  "from now on `pawl submit nightly` and its schedules run this definition"}},
    .least = 1,
    .most = 1,
    .run = apply,
};
