/* diagnostics.c - collects the errors in a user's files; see diagnostics.h. */
#include "parse/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a source to the arena. A byte order mark is left out, because columns are counted after
 * it. */
static const struct source *add_source(struct diagnostics *ps, struct source s)
{
    size_t mark = s.len >= 3 && !memcmp(s.text, "\xEF\xBB\xBF", 3) ? 3 : 0;

    s.text += mark;
    s.len -= mark;
    return memcpy(arena_alloc(&ps->arena, sizeof(s)), &s, sizeof(s));
}

int diagnostics_read(struct diagnostics *ps, const char *path, const struct source *named_by,
                     const struct source **out, struct err *err)
{
    struct source s;
    int rc = source_read(path, named_by, &ps->arena, &s, err);

    if (!rc)
        *out = add_source(ps, s);
    return rc;
}

int diagnostics_read_config(struct diagnostics *ps, const char *path, const struct source **out,
                            struct err *err)
{
    struct source s;
    int rc = source_read_config(path, &ps->arena, &s, err);

    if (!rc)
        *out = add_source(ps, s);
    return rc;
}

const struct source *diagnostics_take(struct diagnostics *ps, const char *name, const char *text,
                                      size_t len)
{
    return add_source(ps, (struct source){.name = arena_strdup(&ps->arena, name),
                                          .text = arena_memdup0(&ps->arena, text, len),
                                          .len = len});
}

bool diagnostics_full(const struct diagnostics *ps)
{
    return ps->list.n >= DIAGNOSTICS_KEPT;
}

static bool has_diagnostic(const struct diagnostics *ps, const struct source *s)
{
    for (size_t i = 0; i < ps->list.n; i++)
        if (ps->list.at[i].source == s)
            return true;
    return false;
}

void diagnostics_add(struct diagnostics *ps, const struct source *s, uint32_t line, uint32_t column,
                     const char *fmt, ...)
{
    AUTO_BUF visible = BUF_INIT;
    char text[1024];
    va_list ap;

    if (s->hidden && has_diagnostic(ps, s))
        return;
    ps->count++;
    if (diagnostics_full(ps))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (s->hidden)
        snprintf(text, sizeof(text),
                 "this is not a valid workflow; the error is not shown, because %s", s->hidden);
    source_add_visible(&visible, text, strlen(text));
    *vec_add(&ps->list) =
        (struct diagnostic){.source = s,
                            .line = line,
                            .column = column,
                            .sentence = arena_memdup0(&ps->arena, visible.ptr, visible.len)};
}

/* Whether a diagnostic comes before another one by file, line and column. Diagnostics at one
 * location must stay in the order in which they were found, so the sort must be stable; the list is
 * short enough for an insertion sort. */
static bool is_before(const struct diagnostic *a, const struct diagnostic *b)
{
    int file = a->source == b->source ? 0 : strcmp(a->source->name, b->source->name);

    if (file)
        return file < 0;
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

static void sort_diagnostics(struct diagnostics *ps)
{
    size_t i, k;

    for (i = 1; i < ps->list.n; i++) {
        struct diagnostic p = ps->list.at[i];

        for (k = i; k && is_before(&p, &ps->list.at[k - 1]); k--)
            ps->list.at[k] = ps->list.at[k - 1];
        ps->list.at[k] = p;
    }
}

void diagnostics_show(struct diagnostics *ps, struct buf *out)
{
    sort_diagnostics(ps);
    for (size_t i = 0; i < ps->list.n; i++) {
        const struct diagnostic *p = &ps->list.at[i];

        buf_addf(out, "%s:%u:%u: %s\n", p->source->name, p->line, p->column, p->sentence);
        source_show(p->source, p->line, p->column, out);
    }
    if (ps->count > ps->list.n)
        buf_addf(out, "… and %zu more.\n", ps->count - ps->list.n);
}

int diagnostics_err(struct diagnostics *ps, struct err *err)
{
    const struct diagnostic *p;
    char others[64] = "";

    if (!ps->count)
        return 0;
    sort_diagnostics(ps);
    p = &ps->list.at[0];
    if (ps->count > 1)
        snprintf(others, sizeof(others), " (and %zu more)", ps->count - 1);
    return err_set(err, E_INVALID, "%s:%u:%u: %.800s%s", p->source->name, p->line, p->column,
                   p->sentence, others);
}

void diagnostics_release(struct diagnostics *ps)
{
    vec_release(&ps->list);
    arena_release(&ps->arena);
    ps->count = 0;
}
