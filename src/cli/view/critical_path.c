/* critical_path.c - the critical path of a run as a table, one line per execution on it. */
#include "cli/view/view.h"

#include <stdlib.h>

#define WIDE 60 /* a narrower terminal shows only the totals */

static const struct {
    const char *key, *head;
} parts[] = {{"total_us", "TOTAL"},
             {"wait_us", "WAIT"},
             {"held_us", "HELD"},
             {"run_us", "RUN"},
             {"retry_us", "RETRY"}};

static size_t columns_of(const struct style *style)
{
    return style->width && style->width < WIDE ? 1 : sizeof(parts) / sizeof(*parts);
}

static void print_heads(struct line *l)
{
    for (size_t i = 0; i < columns_of(l->style); i++)
        line_addf(l, TINT_FAINT, "%9s", parts[i].head);
    line_add(l, TINT_FAINT, "  STEP");
    line_print(l, stdout);
}

static void add_parts(struct line *l, const json_t *o, enum tint total)
{
    char text[DURATION_TEXT_SIZE];

    for (size_t i = 0; i < columns_of(l->style); i++) {
        int64_t us = field_int(o, parts[i].key);

        line_addf(l, i ? TINT_PLAIN : total, "%9s", us ? text_duration(us, text) : "-");
    }
}

static void print_step(struct line *l, const json_t *o, int64_t top, bool longest)
{
    const char *status = field(o, "status");

    add_parts(l, o, longest ? TINT_BUSY : TINT_PLAIN);
    line_add(l, TINT_PLAIN, "  ");
    for (int64_t i = top; i < field_int(o, "depth"); i++)
        line_add(l, TINT_PLAIN, "  ");
    line_addf(l, status_tint(status), "%s ", status_symbol(status, l->style));
    line_add(l, TINT_PLAIN, field(o, "name"));
    line_addf(l, TINT_FAINT, "  #%lld", (long long)field_int(o, "id"));
    if (field_int(o, "attempt") > 1)
        line_addf(l, TINT_PLAIN, "  attempt %lld", (long long)field_int(o, "attempt"));
    line_print(l, stdout);
}

static const json_t *longest_of(const json_t *steps)
{
    const json_t *longest = NULL, *o;
    size_t i;

    json_array_foreach((json_t *)steps, i,
                       o) if (!longest || field_int(o, "total_us") > field_int(longest, "total_us"))
        longest = o;
    return longest;
}

int view_critical(struct pawl *p, int64_t id, const struct pawl_moment *at, struct pawl_error *err)
{
    struct style style = style_of(stdout);
    AUTO(line_release) struct line l = {0};
    const json_t *steps, *step, *longest;
    json_auto_t *o = NULL;
    char *text;
    size_t i;

    TRY(pawl_critical(p, id, at, &text, err));
    o = take_object(text);
    steps = json_object_get(o, "steps");
    longest = longest_of(steps);
    line_begin(&l, &style);
    print_heads(&l);
    json_array_foreach((json_t *)steps, i, step)
        print_step(&l, step, field_int(json_array_get(steps, 0), "depth"), step == longest);
    add_parts(&l, o, TINT_PLAIN);
    line_addf(&l, TINT_FAINT, "  total of %s, %s", field(o, "name"), field(o, "status"));
    line_print(&l, stdout);
    return 0;
}
