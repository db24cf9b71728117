/* summary.c - what is said about a run that did not end well: the tasks that failed, with the end
 * of their output and the command that shows all of it. */
#include "cli/view/view.h"

#include <string.h>

#define OPENED 5 /* tasks */

static bool is_failed_leaf(const struct view_node *n)
{
    const char *status = field(n->o, "status");

    return n->o && !n->blames && (!strcmp(status, "failed") || !strcmp(status, "timed_out"));
}

static void print_text(struct line *l, const struct style *style, enum tint tint, const char *text,
                       FILE *to)
{
    line_begin(l, style);
    line_add(l, tint, text);
    fprintf(to, "%s\n", buf_cstr(&l->text));
}

/* "--- w::each[1] (14) failed: exited with code 1", then its last lines. */
static int open_node(struct pawl *p, const struct view_node *n, const struct style *style, FILE *to,
                     struct pawl_error *err)
{
    struct tail tail = {.execution = field_int(n->o, "id")};
    struct buf head = BUF_INIT;
    struct line l = {0};
    size_t i;
    int rc = 0;

    buf_addf(&head, "--- %s (%lld) %s: %s", field(n->o, "name"), (long long)tail.execution,
             field(n->o, "status"), field(n->o, "error"));
    print_text(&l, style, TINT_BAD, buf_cstr(&head), to);
    if (field_int(n->o, "attempt")) {
        if (!(rc = tail_refresh(p, &tail, err))) {
            for (i = tail_count(&tail) > TAIL_LINES ? 1 : 0; i < tail_count(&tail); i++)
                print_text(&l, style, TINT_PLAIN, tail_line(&tail, i), to);
            if (i)
                fprintf(to, "    all of it: pawl logs %lld\n", (long long)tail.execution);
        }
    }
    line_release(&l);
    buf_release(&head);
    tail_release(&tail);
    return rc;
}

static void print_advice(int64_t id, const char *file, FILE *to)
{
    struct buf word = BUF_INIT;

    fprintf(to, "--- to run what failed again: pawl rerun %lld --failed\n", (long long)id);
    if (file) {
        out_word(&word, file);
        fprintf(to, "    once the file is mended: pawl rerun %lld --failed --file %s\n",
                (long long)id, buf_cstr(&word));
    }
    buf_release(&word);
}

int view_open_failed(struct pawl *p, const struct view *v, const char *file, FILE *to,
                     struct pawl_error *err)
{
    struct style style = style_of(to);
    int64_t id = field_int(v->nodes.at[0].o, "id");
    size_t i, failed = 0;
    int rc = 0;

    for (i = 0; i < v->nodes.n && !rc; i++)
        if (is_failed_leaf(&v->nodes.at[i]) && ++failed <= OPENED)
            rc = open_node(p, &v->nodes.at[i], &style, to, err);
    if (failed > OPENED)
        fprintf(to, "--- others failed, too: pawl tree %lld\n", (long long)id);
    if (failed)
        print_advice(id, file, to);
    return rc;
}
