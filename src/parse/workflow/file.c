/* file.c - loads a workflow file and the files that it nests, each once, and detects
 * files that nest themselves. */
#include "parse/workflow/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A workflow file that was loaded or is being loaded. `open` is set until the file and all files
 * that it nests are read. */
struct loaded {
    const char *path; /* resolved path; NULL if the text is not from a file */
    const char *name;
    const struct workflow *w; /* NULL while the file is open, or if it has errors */
    bool open;
};

struct loading {
    struct diagnostics *diagnostics;
    struct arena *arena;
    VEC(struct loaded) files;
    int depth;
    struct text_budget budget;
};

/* ---- one definition ---- */

/* Reads values whose types exist only in a workflow file. */
static bool read_part(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    switch (k->type) {
    case KEY_FILE:
        return reader_nested(r, node, what, to);
    case KEY_NEEDS:
        return reader_needs(r, node, what, (struct workflow_task *)(void *)((char *)to - k->at));
    case KEY_PARAMS:
        return reader_params(r, node, what);
    case KEY_DEFAULTS:
        return reader_defaults(r, node, what);
    case KEY_SCHEDULES:
        return reader_schedules(r, node, what);
    case KEY_WEBHOOKS:
        return reader_webhooks(r, node, what);
    case KEY_FOLLOWS:
        return reader_follows(r, node, what);
    case KEY_TASK:
        return reader_hook(r, node, k->name, to);
    default:
        return reader_tasks(r, node, what);
    }
}

static const struct workflow *read_source(struct loading *l, const struct source *source,
                                          const char *file, const char *folder)
{
    struct workflow *w = arena_zalloc(l->arena, sizeof(*w));
    struct yaml_doc doc;
    struct reader r = {.doc = &doc,
                       .arena = l->arena,
                       .other = read_part,
                       .loading = l,
                       .budget = &l->budget,
                       .w = w,
                       .task = NO_TASK};
    size_t before = l->diagnostics->count;

    w->file = arena_strdup(l->arena, file);
    w->folder = arena_strdup(l->arena, folder);
    if (l->depth == 1 && !source->hidden)
        w->source = arena_memdup0(l->arena, source->text, source->len);
    if (!yaml_read(source, l->diagnostics, &doc))
        reader_root(&r, &doc.root);
    yaml_release(&doc);
    reader_release(&r);
    return l->diagnostics->count == before ? w : NULL;
}

/* ---- files ---- */

/* The folder of an absolute path. */
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

/* Adds the error that a file nests itself, with the chain of open files, each of which nests the
 * next one. */
static void cycle_error(struct reader *r, const struct yaml *node, const char *what, size_t from)
{
    const struct loading *l = r->loading;
    AUTO_BUF path = BUF_INIT;

    for (size_t i = from; i < l->files.n; i++)
        if (l->files.at[i].open)
            buf_addf(&path, "%s -> ", l->files.at[i].name);
    yaml_error(r->doc, node, "%s: a workflow can't contain itself (%s%s)", what, buf_cstr(&path),
               l->files.at[from].name);
}

static bool find_loaded(struct reader *r, const struct yaml *node, const char *what,
                        const char *real, bool *found, const struct workflow **out)
{
    const struct loading *l = r->loading;

    for (size_t i = 0; i < l->files.n; i++)
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

    if (l->depth >= WORKFLOW_MAX_DEPTH || l->files.n > WORKFLOW_MAX_NESTED)
        return yaml_error(r->doc, node,
                          "%s: at most %d workflows can be nested, at most %d levels deep", what,
                          WORKFLOW_MAX_NESTED, WORKFLOW_MAX_DEPTH);
    if (diagnostics_read(l->diagnostics, shown, r->doc->source, &source, &err))
        return yaml_error(r->doc, node, "%s: %s", what, err.msg);
    *out = load(l, source, real);
    return *out;
}

/* The path in the form that the user would write: relative to the folder of the file that contains
 * it. */
static const char *path_shown(const struct reader *r, const char *path)
{
    const char *name = r->doc->source->name, *slash = strrchr(name, '/');

    if (*path == '/' || !slash)
        return path;
    return arena_printf(r->arena, "%.*s/%s", (int)(slash - name), name, path);
}

static bool is_same_file(const char *path, const char *real)
{
    AUTO_FREE char *found = realpath(path, NULL);

    return found && !strcmp(found, real);
}

bool reader_nested(struct reader *r, const struct yaml *node, const char *what,
                   const struct workflow **out)
{
    const char *full = node->text, *shown = path_shown(r, full);
    AUTO_FREE char *real = NULL;
    bool found = false, ok = false;

    if (!r->w->folder && *node->text != '/')
        return yaml_error(r->doc, node,
                          "%s: a relative path works only in a workflow that is read from a "
                          "file; write an absolute path",
                          what);
    if (*full != '/')
        full = arena_printf(r->arena, "%s/%s", r->w->folder, full);
    real = realpath(full, NULL);
    if (!real)
        yaml_error(r->doc, node, "%s: %s can't be read: %s", what, shown, strerror(errno));
    else
        ok = find_loaded(r, node, what, real, &found, out);
    if (real && !found)
        ok = load_nested(r, node, what, is_same_file(shown, real) ? shown : full,
                         arena_strdup(r->arena, real), out);
    return ok;
}

/* ---- entry points ---- */

static int finish_load(struct loading *l, const struct workflow *w, const struct workflow **out,
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
    return finish_load(&l, read_source(&l, source, slash ? slash + 1 : source->name, folder), out,
                       err);
}

int workflow_load(const char *path, struct diagnostics *diagnostics, struct arena *arena,
                  const struct workflow **out, struct err *err)
{
    struct loading l = {.diagnostics = diagnostics, .arena = arena};
    const struct source *source;
    AUTO_FREE char *real = NULL;
    int rc;

    if ((rc = diagnostics_read(diagnostics, path, NULL, &source, err)))
        return rc;
    if (!(real = realpath(path, NULL)))
        return err_set(err, E_INVALID, "%s can't be read: %s", path, strerror(errno));
    return finish_load(&l, load(&l, source, arena_strdup(arena, real)), out, err);
}
