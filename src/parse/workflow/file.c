/* file.c - see file.h. Files: a workflow and those that it nests, each read once; then the
 * keys of the file, and at the end what needs the whole. */
#include "parse/workflow/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of all texts together. A few aliases can stand for very many. */
#define TEXTS_MAX (32u << 20)

/* A file that is open until all of it is read. */
struct loaded {
    const char *path; /* real; NULL: no file */
    const char *name;
    const struct workflow *w; /* NULL: open, or there were problems */
    bool open;
};

struct loading {
    struct diagnostics *diagnostics;
    struct arena *arena;
    VEC(struct loaded) files;
    int depth;
    size_t spent;
    bool messages;
};

/* ---- what the readers share ---- */

const char *reader_what(char *out, const char *above, const char *name)
{
    snprintf(out, WHAT_SIZE, "%.200s%s%.100s", above, *above ? "." : "", name);
    return out;
}

bool reader_spend(struct reader *r, const struct yaml *node, size_t bytes)
{
    struct loading *l = r->loading;

    l->spent += bytes;
    if (l->spent > TEXTS_MAX && !l->messages)
        yaml_error(r->doc, node,
                   "up to here the workflow has more than %u MB of text, aliases and defaults "
                   "expanded: at most that much is taken",
                   TEXTS_MAX >> 20);
    l->messages = l->spent > TEXTS_MAX;
    return !l->messages;
}

const char *reader_keep(struct reader *r, const struct yaml *node, const char *text)
{
    return reader_spend(r, node, strlen(text) + 1) ? arena_strdup(r->arena, text) : "";
}

static void note(struct reader *r, const struct yaml *node, const char *text, const char *what,
                 bool condition)
{
    *vec_add(&r->texts) = (struct text_use){.text = text,
                                            .what = arena_strdup(&r->scratch, what),
                                            .line = node->line,
                                            .column = node->column,
                                            .task = r->task,
                                            .scope = r->scope,
                                            .condition = condition};
}

void reader_note_text(struct reader *r, const struct yaml *node, const char *text, const char *what)
{
    if (strstr(text, "${{"))
        note(r, node, text, what, false);
}

void reader_note_condition(struct reader *r, const struct yaml *node, const char *text,
                           const char *what)
{
    note(r, node, text, what, true);
}

/* ---- one definition ---- */

static const struct workflow *read_source(struct loading *l, const struct source *source,
                                          const char *file, const char *folder)
{
    struct workflow *w = arena_zalloc(l->arena, sizeof(*w));
    struct workflow_task common = {.index = 0};
    struct yaml_doc doc;
    struct reader r = {
        .doc = &doc, .loading = l, .arena = l->arena, .w = w, .task = NO_TASK, .common = &common};
    size_t before = l->diagnostics->count;

    w->file = arena_strdup(l->arena, file);
    w->folder = arena_strdup(l->arena, folder);
    if (!yaml_read(source, l->diagnostics, &doc))
        reader_root(&r, &doc.root);
    yaml_release(&doc);
    vec_release(&r.texts);
    arena_release(&r.scratch);
    return l->diagnostics->count == before ? w : NULL;
}

/* ---- files ---- */

/* The folder of a real path. */
static const char *folder_of(struct loading *l, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == path ? "/" : arena_memdup0(l->arena, path, (size_t)(slash - path));
}

static const struct workflow *load(struct loading *l, const struct source *source, const char *path)
{
    const struct workflow *w;
    size_t number = l->files.n;

    *vec_add(&l->files) = (struct loaded){.path = path, .name = source->name, .open = true};
    l->depth++;
    w = read_source(l, source, strrchr(path, '/') + 1, folder_of(l, path));
    l->depth--;
    l->files.at[number].open = false;
    l->files.at[number].w = w;
    return w;
}

/* The files that are open from this one on: each nests the next. */
static void cycle_error(struct reader *r, const struct yaml *node, const char *what, size_t from)
{
    const struct loading *l = r->loading;
    struct buf path = BUF_INIT;
    size_t i;

    for (i = from; i < l->files.n; i++)
        if (l->files.at[i].open)
            buf_addf(&path, "%s -> ", l->files.at[i].name);
    yaml_error(r->doc, node, "%s: a workflow can't be part of itself: %s%s", what, buf_cstr(&path),
               l->files.at[from].name);
    buf_release(&path);
}

static bool find_loaded(struct reader *r, const struct yaml *node, const char *what,
                        const char *real, bool *found, const struct workflow **out)
{
    const struct loading *l = r->loading;
    size_t i;

    for (i = 0; i < l->files.n; i++)
        if (l->files.at[i].path && !strcmp(l->files.at[i].path, real)) {
            *found = true;
            if (l->files.at[i].open)
                cycle_error(r, node, what, i);
            else
                *out = l->files.at[i].w;
            return l->files.at[i].w;
        }
    return false;
}

static bool load_nested(struct reader *r, const struct yaml *node, const char *what,
                        const char *shown, const char *real, const struct workflow **out)
{
    struct loading *l = r->loading;
    const struct source *source;
    struct err err;

    if (l->depth >= WORKFLOW_MAX_DEPTH || l->files.n > WORKFLOW_MAX_NESTED) {
        yaml_error(r->doc, node, "%s: at most %d workflows may be nested, at most %d deep", what,
                   WORKFLOW_MAX_NESTED, WORKFLOW_MAX_DEPTH);
        return false;
    }
    if (diagnostics_read(l->diagnostics, shown, &source, &err)) {
        yaml_error(r->doc, node, "%s: %s", what, err.msg);
        return false;
    }
    *out = load(l, source, real);
    return *out;
}

/* A path as people know it: beside that of the file that names it. */
static char *beside(const struct reader *r, const char *path)
{
    const char *name = r->doc->source->name, *slash = strrchr(name, '/');

    if (*path == '/' || !slash)
        return mem_strdup(path);
    return mem_printf("%.*s/%s", (int)(slash - name), name, path);
}

static bool is_same(const char *path, const char *real)
{
    char *found = realpath(path, NULL);
    bool same = found && !strcmp(found, real);

    free(found);
    return same;
}

bool reader_nested(struct reader *r, const struct yaml *node, const char *what,
                   const struct workflow **out)
{
    char *full, *shown, *real;
    bool found = false, ok = false;

    if (!r->w->folder && *node->text != '/') {
        yaml_error(r->doc, node, "%s: a relative path has no meaning here: the text is no file",
                   what);
        return false;
    }
    full =
        *node->text == '/' ? mem_strdup(node->text) : mem_printf("%s/%s", r->w->folder, node->text);
    shown = beside(r, node->text);
    real = realpath(full, NULL);
    if (!real)
        yaml_error(r->doc, node, "%s: %s can't be read: %s", what, shown, strerror(errno));
    else
        ok = find_loaded(r, node, what, real, &found, out);
    if (real && !found)
        ok = load_nested(r, node, what, is_same(shown, real) ? shown : full,
                         arena_strdup(r->arena, real), out);
    free(full);
    free(shown);
    free(real);
    return ok;
}

/* ---- the whole ---- */

static int end(struct loading *l, const struct workflow *w, const struct workflow **out,
               struct err *err)
{
    int rc = diagnostics_err(l->diagnostics, err);

    if (!rc)
        *out = w;
    vec_release(&l->files);
    return rc;
}

int workflow_parse(const struct source *source, const char *folder, struct diagnostics *diagnostics,
                   struct arena *arena, const struct workflow **out, struct err *err)
{
    struct loading l = {.diagnostics = diagnostics, .arena = arena};
    const char *slash = strrchr(source->name, '/');

    *vec_add(&l.files) = (struct loaded){.name = source->name, .open = true};
    l.depth = 1;
    return end(&l, read_source(&l, source, slash ? slash + 1 : source->name, folder), out, err);
}

int workflow_load(const char *path, struct diagnostics *diagnostics, struct arena *arena,
                  const struct workflow **out, struct err *err)
{
    struct loading l = {.diagnostics = diagnostics, .arena = arena};
    const struct source *source;
    char *real;
    int rc;

    if ((rc = diagnostics_read(diagnostics, path, &source, err)))
        return rc;
    real = realpath(path, NULL);
    if (!real)
        return err_set(err, E_INVALID, "%s can't be read: %s", path, strerror(errno));
    rc = end(&l, load(&l, source, arena_strdup(arena, real)), out, err);
    free(real);
    return rc;
}
