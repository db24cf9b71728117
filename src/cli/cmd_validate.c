/* cmd_validate.c - pawl validate: checks workflow files, and prints all of their problems. */
#include "cli/cli.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/suggest.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct showing {
    bool json;
    size_t diagnostics;
};

static void print_problem(void *arg, const struct pawl_problem *p)
{
    struct showing *s = arg;
    AUTO_BUF b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    s->diagnostics++;
    if (!s->json) {
        fprintf(stderr, "%s:%u:%u: %s\n%s", p->file, p->line, p->column, p->message, p->shown);
        return;
    }
    json_write_begin(&w, '{');
    json_field_text(&w, "file", p->file);
    json_field_i64(&w, "line", p->line);
    json_field_i64(&w, "column", p->column);
    json_field_text(&w, "problem", p->message);
    json_write_end(&w, '}');
    puts(buf_cstr(&b));
}

static void print_valid(const char *file, const struct pawl_definition *d, const json_t *warnings,
                        bool json)
{
    AUTO_BUF b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    if (json) {
        json_write_begin(&w, '{');
        json_field_text(&w, "file", file);
        json_field_text(&w, "name", d->name);
        json_field_text(&w, "hash", d->hash);
        json_field_i64(&w, "tasks", (int64_t)d->tasks);
        json_field_i64(&w, "nested", (int64_t)d->nested);
        json_field_i64(&w, "schedules", (int64_t)d->schedules);
        json_write_key(&w, "warnings");
        (void)json_add_value(&b, warnings, SIZE_MAX);
        json_write_end(&w, '}');
    } else {
        buf_addf(&b, "%s: %s, %zu task%s", file, d->name, d->tasks, d->tasks == 1 ? "" : "s");
        if (d->nested)
            buf_addf(&b, ", %zu nested", d->nested);
        if (d->schedules)
            buf_addf(&b, ", %zu schedule%s", d->schedules, d->schedules == 1 ? "" : "s");
    }
    puts(buf_cstr(&b));
}

/* ---- missing files ---- */

static bool is_yaml(const char *name)
{
    return !fnmatch("?*.yaml", name, 0) || !fnmatch("?*.yml", name, 0);
}

/* Finds the YAML file in the folder whose name is most similar, or differs only in its extension;
 * NULL if none. The caller frees it. */
static char *find_similar(const char *folder, const char *base)
{
    AUTO_VEC(const char *) names = {0};
    AUTO_ARENA texts = ARENA_INIT;
    const struct dirent *entry;
    const char *similar = NULL;
    DIR *dir = opendir(folder);
    size_t stem = strcspn(base, ".");

    while (dir && (entry = readdir(dir)))
        if (is_yaml(entry->d_name))
            *vec_add(&names) = arena_strdup(&texts, entry->d_name);
    if (dir)
        closedir(dir);
    for (size_t i = 0; i < names.n && !similar; i++)
        if (stem && strcspn(names.at[i], ".") == stem && !strncmp(names.at[i], base, stem))
            similar = names.at[i];
    *vec_add(&names) = NULL;
    return mem_strdup(similar ? similar : suggest_from(base, names.at));
}

static int file_not_found(const char *file, const struct pawl_error *err)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    int path = (int)(base - file);
    AUTO_FREE char *folder = path ? mem_printf("%.*s", path, file) : mem_strdup(".");
    AUTO_FREE char *similar = find_similar(folder, base);
    struct pawl_error hint = {.code = err->code};

    if (similar)
        snprintf(hint.message, sizeof(hint.message), "%s; did you mean %.*s%s?", err->message, path,
                 file, similar);
    else
        snprintf(hint.message, sizeof(hint.message),
                 "%s; `pawl init` writes an example workflow file", err->message);
    return cli_fail(&hint);
}

/* Returns the exit code for a result of pawl_validate or pawl_workflow_load, after printing an
 * error that is not a diagnostic. */
static int end_code(int rc, const char *file, const struct showing *s, const struct pawl_error *err)
{
    if (rc == -PAWL_E_NOT_FOUND)
        return file_not_found(file, err);
    if (rc && !s->diagnostics) /* the file itself could not be read */
        return cli_fail(err);
    return rc ? pawl_exit_code(rc) : 0;
}

int cli_load(const char *file, struct pawl_workflow **out)
{
    struct showing s = {0};
    struct pawl_error err;

    return end_code(pawl_workflow_load(file, print_problem, &s, out, &err), file, &s, &err);
}

/* ---- warnings ---- */

static void print_warning(void *arg, const struct pawl_problem *p)
{
    json_t *list = arg;

    if (p->file)
        print_clean(stderr, "%s:%u:%u: warning: %s", p->file, p->line, p->column, p->message);
    else
        print_clean(stderr, "pawl: warning: %s", p->message);
    if (list)
        json_array_append_new(list, json_pack("{s:s?, s:i, s:i, s:s}", "file", p->file, "line",
                                              (int)p->line, "column", (int)p->column, "warning",
                                              p->message));
}

void cli_warn_executors(struct pawl *p, struct pawl_engine *e, const struct pawl_job *job,
                        json_t *list)
{
    struct pawl_error ignored;

    if (pawl_check_executors(p, e, job, print_warning, list, &ignored))
        return;
}

/* Warns of executors that no worker has, if the database exists and can be used at once. */
static void check_executors(struct cli *c, const char *file, json_t *warnings)
{
    struct pawl_options options = cli_options(c, true);

    options.patience = 1;
    options.note = NULL;
    if (c->p || !pawl_open(&options, &c->p, NULL))
        cli_warn_executors(c->p, NULL, &(struct pawl_job){.workflow = file}, warnings);
}

static int validate_file(struct cli *c, const char *file)
{
    struct showing s = {.json = c->json};
    json_auto_t *warnings = json_array();
    struct pawl_definition d;
    struct pawl_error err;
    int code = end_code(pawl_validate(file, print_problem, &s, &d, &err), file, &s, &err);

    if (code)
        return code;
    if (d.executors)
        check_executors(c, file, warnings);
    print_valid(file, &d, warnings, c->json);
    return 0;
}

static int validate(struct cli *c)
{
    int code = 0, one;

    for (int i = 0; i < c->nwords; i++) {
        one = validate_file(c, c->words[i]);
        if (!code || one == pawl_exit_code(PAWL_E_INVALID)) /* an invalid file outweighs a missing
                                                               one */
            code = one;
    }
    return code;
}

const struct command command_validate = {
    .name = "validate",
    .forms = "FILE…",
    .text = "check workflow files, and print all of their problems",
    .examples = {{"pawl validate *.flow.yaml", "all problems of all files, with line and column"}},
    .least = 1,
    .most = 1000,
    .run = validate,
};
