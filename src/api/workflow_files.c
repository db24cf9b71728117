/* workflow_files.c - validates workflow files, draws the graph of a file or of a run's definition,
 * and returns the JSON schema of workflow files. */
#include "api/api.h"
#include "base/fd.h"
#include "core/workflow/keys.h"
#include "parse/render/graph.h"
#include "parse/workflow/file.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_WIDTH 80

extern char **environ;

/* ---- validate ---- */

static void report_diagnostics(struct diagnostics *diagnostics, pawl_problem_fn *each, void *arg)
{
    AUTO_BUF shown = BUF_INIT;

    for (size_t i = 0; each && i < diagnostics->list.n; i++) {
        const struct diagnostic *p = &diagnostics->list.at[i];

        buf_reset(&shown);
        source_show(p->source, p->line, p->column, &shown);
        each(arg, &(struct pawl_problem){.file = p->source->name,
                                         .line = p->line,
                                         .column = p->column,
                                         .message = p->sentence,
                                         .shown = buf_cstr(&shown)});
    }
}

static size_t names_executor(const struct workflow_task *t)
{
    return t && t->executor && !executor_is_built_in(t->executor);
}

static size_t count_executors(const struct workflow *w)
{
    size_t n = names_executor(w->on_failure) + names_executor(w->on_exit);

    for (uint32_t i = 0; i < w->ntasks; i++)
        n += names_executor(&w->tasks[i]);
    return n;
}

void api_describe(const struct workflow *w, struct pawl_definition *out)
{
    AUTO_FREE const struct workflow **nested = NULL;
    size_t n;

    *out = (struct pawl_definition){.tasks = w->ntasks, .schedules = w->nschedules};
    memcpy(out->hash, w->hash, sizeof(out->hash));
    stpncpy(out->name, w->name, sizeof(out->name) - 1);
    nested = workflow_below(w, &n);
    out->nested = n;
    out->executors = count_executors(w);
    for (size_t i = 0; i < n; i++)
        out->executors += count_executors(nested[i]);
}

static int validate(const struct api_source *from, pawl_problem_fn *each, void *arg,
                    struct pawl_definition *out, struct pawl_error *e)
{
    AUTO(diagnostics_release) struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    AUTO_ARENA arena = ARENA_INIT;
    const struct workflow *w;
    int rc;
    API_ERR(e);

    rc = api_parse_workflow(from, &diagnostics, &arena, &w, err);
    if (diagnostics.count)
        report_diagnostics(&diagnostics, each, arg);
    else if (!rc && out)
        api_describe(w, out);
    return rc;
}

int pawl_validate(const char *file, pawl_problem_fn *each, void *arg, struct pawl_definition *out,
                  struct pawl_error *e)
{
    return validate(&(struct api_source){.file = file}, each, arg, out, e);
}

int pawl_workflow_check(struct pawl_workflow *built, pawl_problem_fn *each, void *arg,
                        struct pawl_definition *out, struct pawl_error *e)
{
    return validate(&(struct api_source){.built = built}, each, arg, out, e);
}

int pawl_workflow_load(const char *file, pawl_problem_fn *each, void *arg,
                       struct pawl_workflow **out, struct pawl_error *e)
{
    struct pawl_workflow *w = api_built_of_file(file);
    int rc = pawl_workflow_check(w, each, arg, NULL, e);

    if (rc)
        pawl_workflow_free(w);
    else
        *out = w;
    return rc;
}

/* ---- graphs ---- */

static bool find_format(const char *name, enum graph_format *out)
{
    static const char *const names[] = {
#define X(id, text) text,
        GRAPH_FORMATS(X)
#undef X
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(names[i], name)) {
            *out = (enum graph_format)i;
            return true;
        }
    return false;
}

static int run_dot(int in, int to, struct err *err)
{
    char *const argv[] = {"dot", "-Tsvg", NULL};
    posix_spawn_file_actions_t files;
    int rc, status = 0;
    pid_t pid;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, to, 1);
    rc = posix_spawnp(&pid, "dot", &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (rc == ENOENT)
        return err_set(err, E_INVALID,
                       "the format svg needs the program dot, which is not installed: install the "
                       "package graphviz, or use the format ascii, dot or mermaid");
    if (rc)
        return err_set(err, E_INTERNAL, "the program dot (Graphviz) can't be started: %s",
                       strerror(rc));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return err_set(err, E_INTERNAL, "dot did not draw the graph: it ended with %s %d",
                       WIFEXITED(status) ? "status" : "signal",
                       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return 0;
}

/* Replaces the text of a graph with the SVG that dot makes from it. Its input and output are
 * anonymous files rather than pipes, so that neither process can block on the other. */
static int draw_svg(struct buf *text, struct err *err)
{
    AUTO_FD in = memfd_create("graph", MFD_CLOEXEC);
    AUTO_FD to = memfd_create("svg", MFD_CLOEXEC);

    if (in < 0 || to < 0 || write(in, text->ptr, text->len) != (ssize_t)text->len ||
        lseek(in, 0, SEEK_SET) < 0)
        return err_set(err, E_INTERNAL, "can't create a temporary file for the graph: %s",
                       strerror(errno));
    TRY(run_dot(in, to, err));
    buf_reset(text);
    if (lseek(to, 0, SEEK_SET) < 0 || !buf_read(text, to, SIZE_MAX))
        return err_set(err, E_INTERNAL, "the output of dot can't be read: %s", strerror(errno));
    return 0;
}

static int draw(const struct workflow *w, const struct graph_state *state, const char *format,
                int width, char **out, struct err *err)
{
    enum graph_format as = GRAPH_FORMAT_DOT;
    bool svg = format && !strcmp(format, "svg");
    AUTO_BUF text = BUF_INIT;

    if (!svg && !find_format(format ? format : "ascii", &as))
        return err_set(err, E_INVALID,
                       "'%.40s' is not a graph format: use ascii, dot, mermaid or svg", format);
    graph_render(w, state, as, width > 0 ? (size_t)width : DEFAULT_WIDTH, &text);
    if (svg)
        TRY(draw_svg(&text, err));
    *out = mem_strdup(buf_cstr(&text));
    return 0;
}

int pawl_graph(const char *file, const char *format, int width, char **out, struct pawl_error *e)
{
    AUTO(diagnostics_release) struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    AUTO_ARENA arena = ARENA_INIT;
    const struct workflow *w;
    API_ERR(e);

    TRY(workflow_load(file, &diagnostics, &arena, &w, err));
    return draw(w, NULL, format, width, out, err);
}

/* Finds the task of that name at or after the index `from`: the names come in the order of the
 * file. */
static uint32_t find_task(const struct workflow *w, const char *name, uint32_t from)
{
    const struct workflow_task *t;

    for (uint32_t i = from; i < w->ntasks; i++)
        if (!strcmp(w->tasks[i].name, name))
            return i;
    t = workflow_task(w, name);
    return t ? t->index : w->ntasks + 2;
}

/* Reads the status of each task. */
static int read_state(struct pawl *p, int64_t id, const struct workflow *w, struct arena *arena,
                      struct graph_state *out, struct err *err)
{
    const char **tasks = arena_zalloc(arena, (w->ntasks + 3) * sizeof(*tasks));
    AUTO(task_name_list_release) struct task_name_list names = {0};
    int attempts, status;
    uint32_t at = 0;

    TRY(query_attempts(p->store, id, &attempts, &status, err));
    TRY(query_task_names(p->store, &id, 1, &names, err)); /* the list leaves out pending tasks */
    for (uint32_t i = 0; i < w->ntasks; i++)
        tasks[i] = status_text(S_PENDING);
    for (size_t i = 0; i < names.n; i++) {
        at = find_task(w, names.at[i].name, at);
        tasks[at] = status_text(names.at[i].status);
    }
    *out = (struct graph_state){status_text(status), tasks};
    return 0;
}

int pawl_graph_of(struct pawl *p, int64_t id, const char *format, int width, char **out,
                  struct pawl_error *e)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUF text = BUF_INIT;
    const struct workflow *w;
    struct graph_state state;
    API_ERR(e);

    TRY(query_definition(p->store, id, &text, err));
    TRY(workflow_read(text.ptr, text.len, &arena, &w, err));
    TRY(read_state(p, id, w, &arena, &state, err));
    return draw(w, &state, format, width, out, err);
}

/* ---- schema ---- */

char *pawl_schema(void)
{
    struct buf text = BUF_INIT;

    keys_schema(&text);
    return text.ptr;
}
