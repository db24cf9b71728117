/* summary.c - the summary of a run that did not succeed: the failed tasks, with the end of their
 * output and the command that shows all of it. */
#include "cli/view/view.h"

#include <string.h>

#define MAX_SHOWN 5 /* failed tasks that are shown; a line refers to `pawl tree` for more */

static bool is_failed_leaf(const struct view_node *n)
{
    const char *status = field(n->o, "status");

    return n->o && !n->blames && (!strcmp(status, "failed") || !strcmp(status, "timed_out"));
}

/* Prints a heading such as "--- w::each[1] (14) failed: exited with code 1", then the last lines of
 * the task's output. */
static int print_failed_task(struct pawl *p, const struct view_node *n, const struct style *style,
                             FILE *to, struct pawl_error *err)
{
    AUTO(tail_release) struct tail tail = {.execution = field_int(n->o, "id")};
    AUTO_BUF head = BUF_INIT;
    AUTO(line_release) struct line l = {0};
    size_t i;
    int rc = 0;

    buf_addf(&head, "--- %s (%lld) %s: %s", field(n->o, "name"), (long long)tail.execution,
             field(n->o, "status"), field(n->o, "error"));
    line_begin(&l, style);
    line_add(&l, TINT_BAD, buf_cstr(&head));
    line_print(&l, to);
    if (field_int(n->o, "attempt") && !(rc = tail_refresh(p, &tail, err))) {
        for (i = tail_count(&tail) > TAIL_LINES ? 1 : 0; i < tail_count(&tail); i++) {
            line_add(&l, TINT_PLAIN, tail_line(&tail, i));
            line_print(&l, to);
        }
        if (i)
            fprintf(to, "    full output: pawl logs %lld\n", (long long)tail.execution);
    }
    return rc;
}

static void print_rerun_hint(int64_t id, const char *file, FILE *to)
{
    AUTO_BUF word = BUF_INIT;

    fprintf(to, "--- to run the failed tasks again: pawl rerun %lld --failed\n", (long long)id);
    if (file) {
        out_word(&word, file);
        fprintf(to, "    after fixing the file: pawl rerun %lld --failed --file %s\n",
                (long long)id, buf_cstr(&word));
    }
}

int view_print_failed(struct pawl *p, const struct view *v, const char *file, FILE *to,
                      struct pawl_error *err)
{
    struct style style = style_of(to);
    int64_t id = field_int(v->nodes.at[0].o, "id");
    size_t failed = 0;
    int rc = 0;

    for (size_t i = 0; i < v->nodes.n && !rc; i++)
        if (is_failed_leaf(&v->nodes.at[i]) && ++failed <= MAX_SHOWN)
            rc = print_failed_task(p, &v->nodes.at[i], &style, to, err);
    if (failed > MAX_SHOWN)
        fprintf(to, "--- more tasks failed: pawl tree %lld\n", (long long)id);
    if (failed && strcmp(field(v->nodes.at[0].o, "status"), "succeeded") != 0)
        print_rerun_hint(id, file, to); /* if the run succeeded, its failures were allowed */
    return rc;
}
