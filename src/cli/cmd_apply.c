/* cmd_apply.c - pawl apply: stores a workflow file under its name and activates its schedules. */
#include "cli/definition.h"

#include "base/json.h"

static void add_number(struct json_writer *w, const char *key, size_t n)
{
    json_write_key(w, key);
    json_write_i64(w, (int64_t)n);
}

static void print_json(const struct pawl_applied *a)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_write_key(&w, "name");
    json_write_text(&w, a->definition.name);
    json_write_key(&w, "hash");
    json_write_text(&w, a->definition.hash);
    json_write_key(&w, "unchanged");
    json_write_bool(&w, a->unchanged);
    add_number(&w, "tasks", a->definition.tasks);
    add_number(&w, "nested", a->definition.nested);
    add_number(&w, "schedules", a->definition.schedules);
    add_number(&w, "kept", a->kept);
    add_number(&w, "removed", a->removed);
    json_write_end(&w, '}');
    puts(buf_cstr(&b));
    buf_release(&b);
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

static int print_text(struct pawl *p, const struct pawl_applied *a)
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

static int apply(struct pawl *p, const char *file, bool json)
{
    struct pawl_applied applied;
    struct pawl_error err;

    if (pawl_apply(p, file, NULL, &applied, &err))
        return cli_fail(&err);
    if (!json)
        return print_text(p, &applied);
    print_json(&applied);
    return 0;
}

static int cmd_apply(int argc, char **argv)
{
    struct pawl_options o;
    struct pawl_error err;
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_apply, argc, argv, NULL);

    if (code >= 0)
        return code;
    o = cli_options(&c, false);
    if (!(code = cli_validate(c.words[0], false, NULL)))
        code = pawl_open(&o, &p, &err) ? cli_fail(&err) : 0;
    if (!code) {
        code = apply(p, c.words[0], c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_apply = {
    .name = "apply",
    .forms = "FILE",
    .text = "store a workflow under its name, and activate its schedules",
    .examples = {{"pawl apply nightly.flow.yaml",
                  "from now on `pawl submit nightly` and its schedules run this definition"}},
    .least = 1,
    .most = 1,
    .run = cmd_apply,
};
