/* cmd_apply.c - pawl apply: stores a workflow file under its name and activates its schedules. */
#include "cli/definition.h"

static void print_json(const struct pawl_applied *a)
{
    const struct pawl_definition *d = &a->definition;

    print_json_object(json_pack(
        "{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I}", "name", d->name, "hash", d->hash, "unchanged",
        a->unchanged, "tasks", (json_int_t)d->tasks, "nested", (json_int_t)d->nested, "schedules",
        (json_int_t)d->schedules, "kept", (json_int_t)a->kept, "removed", (json_int_t)a->removed));
}

/* Prints the first due time, and stops the reading. */
static int print_next(void *arg, const char *json)
{
    json_t *due = parse_object(json);
    const char *at = field(due, "fires_at");

    (void)arg;
    printf("next: %.10s %.8s UTC, %s\n", at, at + 11, field(due, "schedule"));
    json_decref(due);
    return 1;
}

static int print_summary(struct pawl *p, const struct pawl_applied *a)
{
    const struct pawl_definition *d = &a->definition;
    struct pawl_error err;

    printf("%s: %s, %zu schedule%s", d->name, a->unchanged ? "unchanged" : "applied", d->schedules,
           d->schedules == 1 ? "" : "s");
    if (a->removed)
        printf(" (%zu removed)", a->removed);
    putchar('\n');
    if (!d->schedules)
        return 0;
    return pawl_schedule_next(p, d->name, 1, print_next, NULL, &err) ? cli_fail(&err) : 0;
}

static int apply_workflow(struct cli *c, struct pawl_workflow *w)
{
    struct pawl_options o = cli_options(c, false);
    struct pawl_applied applied;
    struct pawl_error err;
    int code;

    if ((code = cli_open_with(c, &o)))
        return code;
    if (pawl_apply_built(c->p, w, NULL, &applied, &err))
        return cli_fail(&err);
    if (!c->json)
        return print_summary(c->p, &applied);
    print_json(&applied);
    return 0;
}

static int apply(struct cli *c)
{
    struct pawl_workflow *w = NULL;
    int code = cli_load(c->words[0], &w);

    if (!code)
        code = apply_workflow(c, w);
    pawl_workflow_free(w);
    return code;
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
