/* cmd_diff.c - pawl diff: compares two executions. Prints the differences in input and definition
 * first, then in the outcome, then the first task that differs and all tasks that differ. */
#include "base/json.h"
#include "base/mem.h"
#include "cli/view/view.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN 20 /* tasks listed per section; the others are only counted */
#define VALUE 60 /* bytes shown of a value */

/* ---- pieces ---- */

static void print_heading(struct line *l, const char *text)
{
    line_add(l, TINT_FAINT, text);
    line_print(l, stdout);
}

/* Prints the last line of a list of n tasks if not all of them are shown. */
static void print_more(struct line *l, size_t n)
{
    if (n <= SHOWN)
        return;
    line_addf(l, TINT_FAINT, "  and %zu more: see --json", n - SHOWN);
    line_print(l, stdout);
}

static const char *arrow(const struct line *l)
{
    return l->style->utf8 ? " → " : " -> ";
}

static void add_value(struct line *l, const json_t *value)
{
    AUTO_FREE char *text = value ? json_text(value) : NULL;

    if (!text)
        line_add(l, TINT_FAINT, "nothing");
    else if (strlen(text) > VALUE)
        line_addf(l, TINT_PLAIN, "%.*s%s", VALUE, text, l->style->utf8 ? "…" : "...");
    else
        line_add(l, TINT_PLAIN, text);
}

static void add_both(struct line *l, const json_t *a, const json_t *b)
{
    add_value(l, a);
    line_add(l, TINT_FAINT, arrow(l));
    add_value(l, b);
}

static bool differs(const json_t *pair, const char *word)
{
    const json_t *w;
    size_t i;

    json_array_foreach(json_object_get(pair, "differs"), i,
                       w) if (!strcmp(json_string_value(w), word)) return true;
    return false;
}

/* ---- parts ---- */

static void print_side(struct line *l, const json_t *side, const json_t *node)
{
    const char *at = field(side, "requested_at"), *status = field(node, "status");
    char took[DURATION_TEXT_SIZE];

    line_addf(l, status_tint(status), "%s ", status_symbol(status, l->style));
    line_addf(l, TINT_PLAIN, "#%lld  ", (long long)field_int(side, "id"));
    line_add(l, TINT_PLAIN, field(side, "name"));
    line_addf(l, status_tint(status), "  %s", status);
    if (json_is_integer(json_object_get(node, "duration_us")))
        line_addf(l, TINT_FAINT, "  ran %s", text_duration(field_int(node, "duration_us"), took));
    if (*at)
        line_addf(l, TINT_FAINT, "  %.10s %.8s UTC", at, text_time_of_day(at));
    line_print(l, stdout);
}

static void print_params(struct line *l, const json_t *params)
{
    const json_t *p;
    size_t i;

    if (!json_array_size(params))
        return;
    print_heading(l, "params");
    json_array_foreach((json_t *)params, i, p)
    {
        line_addf(l, TINT_PLAIN, "  %s: ", *field(p, "name") ? field(p, "name") : "input");
        add_both(l, json_object_get(p, "a"), json_object_get(p, "b"));
        line_print(l, stdout);
    }
}

static void print_definition(struct line *l, const json_t *changes)
{
    const json_t *c, *key;
    size_t i, k;

    if (!json_array_size(changes))
        return;
    print_heading(l, "definition");
    json_array_foreach((json_t *)changes, i, c)
    {
        const char *change = field(c, "change"), *task = field(c, "task");
        bool added = !strcmp(change, "added"), removed = !strcmp(change, "removed");

        line_add(l,
                 added     ? TINT_GOOD
                 : removed ? TINT_BAD
                           : TINT_BUSY,
                 added     ? "  + "
                 : removed ? "  - "
                           : "  ~ ");
        line_add(l, TINT_PLAIN, *task ? task : "(workflow)");
        json_array_foreach(json_object_get(c, "keys"), k, key)
            line_addf(l, TINT_PLAIN, "%s%s", k ? ", " : ": ", json_string_value(key));
        line_print(l, stdout);
    }
}

/* Returns NULL if the field is null. */
static const json_t *field_of(const json_t *node, const char *key)
{
    const json_t *value = json_object_get(node, key);

    return json_is_null(value) ? NULL : value;
}

/* Prints the differences between two executions, one per line. */
static void print_outcome(struct line *l, const json_t *pair)
{
    static const char *const keys[] = {"status", "error", "outputs"};
    const json_t *a = json_object_get(pair, "a"), *b = json_object_get(pair, "b");

    for (size_t i = 0; i < 3; i++) {
        if (!differs(pair, keys[i]))
            continue;
        line_addf(l, TINT_PLAIN, "  %s: ", keys[i]);
        if (!strcmp(keys[i], "status"))
            line_addf(l, TINT_PLAIN, "%s%s%s", field(a, keys[i]), arrow(l), field(b, keys[i]));
        else
            add_both(l, field_of(a, keys[i]), field_of(b, keys[i]));
        line_print(l, stdout);
    }
    if (json_is_null(a) || json_is_null(b)) {
        line_addf(l, TINT_PLAIN, "  only the %s has it", json_is_null(a) ? "second" : "first");
        line_print(l, stdout);
    }
}

static void add_id(struct line *l, const char *before, const json_t *side)
{
    if (json_is_object(side))
        line_addf(l, TINT_FAINT, "%s#%lld", before, (long long)field_int(side, "id"));
}

static void print_first(struct line *l, const json_t *first)
{
    if (!json_is_object(first))
        return;
    line_add(l, TINT_FAINT, "first difference: ");
    line_add(l, TINT_PLAIN, field(first, "task"));
    add_id(l, "  ", json_object_get(first, "a"));
    add_id(l, json_is_null(json_object_get(first, "a")) ? "  " : ", ", json_object_get(first, "b"));
    line_print(l, stdout);
    print_outcome(l, first);
}

static void print_task(struct line *l, const json_t *pair)
{
    const json_t *a = json_object_get(pair, "a"), *b = json_object_get(pair, "b"), *word;
    const char *was = json_is_null(a) ? "missing" : field(a, "status");
    const char *is = json_is_null(b) ? "missing" : field(b, "status");
    size_t i;

    line_addf(l, status_tint(is), "  %s ", status_symbol(is, l->style));
    line_addf(l, TINT_PLAIN, "%s  %s", field(pair, "task"), was);
    if (strcmp(was, is))
        line_addf(l, TINT_PLAIN, "%s%s", arrow(l), is);
    json_array_foreach(json_object_get(pair, "differs"), i,
                       word) if (!strcmp(json_string_value(word), "outputs") ||
                                 !strcmp(json_string_value(word), "error"))
        line_addf(l, TINT_FAINT, "  different %s", json_string_value(word));
    line_print(l, stdout);
}

static bool has_differences(const json_t *pair)
{
    return differs(pair, "there") || differs(pair, "status") || differs(pair, "outputs") ||
           differs(pair, "error");
}

static void print_tasks(struct line *l, const json_t *tasks)
{
    const json_t *pair;
    size_t i, n = 0;

    json_array_foreach((json_t *)tasks, i, pair)
    {
        if (!has_differences(pair))
            continue;
        if (!n++)
            print_heading(l, "tasks that differ, in the order they ended");
        if (n <= SHOWN)
            print_task(l, pair);
    }
    print_more(l, n);
}

/* ---- durations ---- */

static int64_t longer_by(const json_t *pair)
{
    return field_int(json_object_get(pair, "b"), "duration_us") -
           field_int(json_object_get(pair, "a"), "duration_us");
}

static int by_change(const void *a, const void *b)
{
    int64_t x = llabs(longer_by(*(const json_t *const *)a));
    int64_t y = llabs(longer_by(*(const json_t *const *)b));

    return (x < y) - (x > y);
}

static void print_duration(struct line *l, const json_t *pair)
{
    char a[DURATION_TEXT_SIZE], b[DURATION_TEXT_SIZE], by[DURATION_TEXT_SIZE];
    int64_t change = longer_by(pair);

    text_duration(field_int(json_object_get(pair, "a"), "duration_us"), a);
    text_duration(field_int(json_object_get(pair, "b"), "duration_us"), b);
    line_addf(l, TINT_PLAIN, "  %10s%s%-10s ", a, arrow(l), b);
    line_addf(l, change > 0 ? TINT_BAD : TINT_GOOD, "%s%-10s", change > 0 ? "+" : "-",
              text_duration(llabs(change), by));
    line_addf(l, TINT_PLAIN, " %s", field(pair, "task"));
    line_print(l, stdout);
}

/* Prints the tasks whose duration changed notably, the largest change first. */
static void print_durations(struct line *l, const json_t *tasks)
{
    AUTO_VEC(const json_t *) list = {0};
    const json_t *pair;
    size_t i;

    json_array_foreach((json_t *)tasks, i, pair) if (differs(pair, "duration")) * vec_add(&list) =
        pair;
    if (list.n) {
        qsort(list.at, list.n, sizeof(*list.at), by_change);
        print_heading(l, "durations that changed notably");
    }
    for (i = 0; i < list.n && i < SHOWN; i++)
        print_duration(l, list.at[i]);
    print_more(l, list.n);
}

static void print_diff(const json_t *o, bool same)
{
    struct style style = style_of(stdout);
    const json_t *outcome = json_object_get(o, "outcome"), *tasks = json_object_get(o, "tasks");
    AUTO(line_release) struct line l = {0};

    line_begin(&l, &style);
    print_side(&l, json_object_get(o, "a"), json_object_get(outcome, "a"));
    print_side(&l, json_object_get(o, "b"), json_object_get(outcome, "b"));
    print_params(&l, json_object_get(o, "params"));
    print_definition(&l, json_object_get(o, "definition"));
    if (has_differences(outcome))
        print_heading(&l, "outcome");
    print_outcome(&l, outcome);
    print_first(&l, json_object_get(o, "first"));
    print_tasks(&l, tasks);
    if (same)
        print_heading(&l, "no differences except times");
    print_durations(&l, tasks);
}

/* ---- the command ---- */

struct command_options {
    bool exit_code;
};

static int diff(struct cli *c)
{
    const struct command_options *a = c->values;
    json_auto_t *o = NULL;
    char *text;
    int64_t ids[2];
    bool same;

    TRY(cli_id(c, c->words[0], &ids[0]));
    TRY(cli_id(c, c->words[1], &ids[1]));
    TRY(pawl_diff(c->p, ids[0], ids[1], &text, &same, &c->err));
    if (c->json)
        puts(text);
    o = take_object(text);
    if (!c->json)
        print_diff(o, same);
    return a->exit_code && !same;
}

static const struct option options[] = {
    {"exit-code", OPTION_FLAG, offsetof(struct command_options, exit_code), NULL,
     "exit with 1 if the executions differ, as diff does; without it, 0 only means that they were "
     "compared"},
    {0},
};

const struct command command_diff = {
    .name = "diff",
    .forms = "ID ID",
    .text = "compare two executions: input, definition, and the outcome of each task",
    .about = "Tasks are matched by name, at any depth, and items by position. Differences in ids, "
             "times, workers and attempts do not count; a duration is reported if it changed by at "
             "least 0.1 s and by at least a quarter of the longer one.",
    .options = options,
    .size = sizeof(struct command_options),
    .examples = {{"pawl diff 17 23", "what differs in the second execution"},
                 {"pawl diff 17 @last --exit-code --json", "for programs"}},
    .least = 2,
    .most = 2,
    .run = diff,
    .opens = true,
    .reads = true,
};
