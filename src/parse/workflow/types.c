/* types.c - one reader for each type of key. A reader checks only the value itself; checks that
 * need other tasks follow when the whole file is read. */
#include "parse/workflow/reader.h"

#include "base/suggest.h"
#include "base/text.h"
#include "core/schedule/cron.h"

#include <stdio.h>
#include <string.h>

/* ---- texts ---- */

static bool check_length(struct reader *r, const struct key *k, const struct yaml *node,
                         const char *what)
{
    if (node->n < (uint64_t)k->min)
        return yaml_expected(r->doc, node, what, "a non-empty string");
    if (k->max && node->n > (uint64_t)k->max) {
        yaml_error(r->doc, node, "%s has %u bytes; at most %lld are allowed", what, node->n,
                   (long long)k->max);
        return false;
    }
    return true;
}

static bool read_text(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    const char *text;

    if (!yaml_text(r->doc, node, what, &text) || !check_length(r, k, node, what))
        return false;
    *(const char **)to = reader_keep(r, node, text);
    return true;
}

/* A text in which ${{ }} is not evaluated: refused, because the author expects that it is. */
static bool read_plain(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to)
{
    if (node->kind == YAML_TEXT && strstr(node->text, "${{")) {
        yaml_error(r->doc, node, "%s can't contain ${{ }}: the value is used as written", what);
        return false;
    }
    return read_text(r, k, node, what, to);
}

bool reader_type_template(struct reader *r, const struct key *k, const struct yaml *node,
                          const char *what, void *to)
{
    if (!read_text(r, k, node, what, to))
        return false;
    reader_note_text(r, node, *(const char **)to, what);
    return true;
}

static bool read_shell(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to)
{
    if (node->kind == YAML_TEXT && strstr(node->text, "${{")) {
        yaml_error(r->doc, node,
                   "%s: values are never inserted into shell text, where they could run as "
                   "commands: pass the value in env (env: {X: \"${{ … }}\"}) and write \"$X\"; "
                   "params are environment variables already",
                   what);
        return false;
    }
    return read_text(r, k, node, what, to);
}

static bool read_condition(struct reader *r, const struct key *k, const struct yaml *node,
                           const char *what, void *to)
{
    if (!read_text(r, k, node, what, to))
        return false;
    reader_note_condition(r, node, *(const char **)to, what);
    return true;
}

static bool read_name(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    const char *text;

    (void)k;
    if (!yaml_text(r->doc, node, what, &text))
        return false;
    if (!workflow_is_name(text))
        return yaml_expected(r->doc, node, what,
                             "a letter or _ followed by up to 99 letters, digits, _ or -,");
    *(const char **)to = reader_keep(r, node, text);
    return true;
}

static bool read_queue(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to)
{
    if (node->kind == YAML_TEXT && !strncmp(node->text, "here:", 5))
        return yaml_expected(r->doc, node, what, "a queue name that does not start with here:");
    return read_plain(r, k, node, what, to);
}

/* ---- numbers and words ---- */

static bool read_bool(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    (void)k;
    return yaml_bool(r->doc, node, what, to);
}

static bool read_int(struct reader *r, const struct key *k, const struct yaml *node,
                     const char *what, void *to)
{
    int64_t n;

    if (!yaml_int(r->doc, node, what, k->min, k->max, &n))
        return false;
    *(int *)to = (int)n;
    return true;
}

static bool read_number(struct reader *r, const struct key *k, const struct yaml *node,
                        const char *what, void *to)
{
    return yaml_number(r->doc, node, what, (double)k->min, (double)k->max, to);
}

static bool read_duration(struct reader *r, const struct key *k, const struct yaml *node,
                          const char *what, void *to)
{
    return yaml_duration(r->doc, node, what, k->min, k->max, to);
}

static bool read_size(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    return yaml_size(r->doc, node, what, k->min, k->max, to);
}

static bool read_word(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    return yaml_word(r->doc, node, what, k->words, to);
}

static bool read_join(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    int64_t n = 0;

    (void)k;
    if (node->kind == YAML_TEXT && !strcmp(node->text, "all"))
        *(int *)to = 0;
    else if (node->kind == YAML_TEXT && !strcmp(node->text, "any"))
        *(int *)to = 1;
    else if (node->kind != YAML_INT)
        return yaml_expected(r->doc, node, what, "all, any or a number of needs");
    else if (!yaml_int(r->doc, node, what, 1, WORKFLOW_MAX_TASKS, &n))
        return false;
    else
        *(int *)to = (int)n;
    return true;
}

/* ---- times ---- */

static bool read_cron(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    struct cron cron;
    struct err err;

    if (!read_text(r, k, node, what, to))
        return false;
    if (!cron_parse(*(const char **)to, &cron, &err))
        return true;
    yaml_error(r->doc, node, "%s: %s", what, err.msg);
    return false;
}

static bool read_zone(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    struct tz *zone = NULL;
    struct err err;

    if (!read_text(r, k, node, what, to))
        return false;
    if (!tz_load(*(const char **)to, &zone, &err)) {
        tz_free(&zone);
        return true;
    }
    yaml_error(r->doc, node, "%s: %s", what, err.msg);
    return false;
}

static bool read_catchup(struct reader *r, const struct key *k, const struct yaml *node,
                         const char *what, void *to)
{
    int64_t ignored;
    struct err err;

    if (node->kind == YAML_TEXT && !strcmp(node->text, "last")) {
        *(int64_t *)to = CATCHUP_LAST;
        return true;
    }
    if (node->kind != YAML_TEXT || text_parse_duration(node->text, &ignored, &err))
        return yaml_expected(r->doc, node, what, "a duration such as 6h, or last,");
    return read_duration(r, k, node, what, to);
}

static bool read_time(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    int64_t us;
    struct err err;

    (void)k;
    if (node->kind != YAML_TEXT || text_parse_time(node->text, &us, &err) || us <= 0)
        return yaml_expected(r->doc, node, what,
                             "a time after 1970 such as 2026-01-31 or 2026-01-31T14:00:00Z");
    *(int64_t *)to = us;
    return true;
}

/* ---- types that other files read ---- */

static bool read_nested(struct reader *r, const struct key *k, const struct yaml *node,
                        const char *what, void *to)
{
    const char *path;

    return read_plain(r, k, node, what, &path) && reader_nested(r, node, what, to);
}

static bool read_needs(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to)
{
    return reader_needs(r, node, what, (struct workflow_task *)(void *)((char *)to - k->at));
}

static bool read_params(struct reader *r, const struct key *k, const struct yaml *node,
                        const char *what, void *to)
{
    (void)k, (void)to;
    return reader_params(r, node, what);
}

static bool read_defaults(struct reader *r, const struct key *k, const struct yaml *node,
                          const char *what, void *to)
{
    (void)k, (void)to;
    return reader_defaults(r, node, what);
}

static bool read_triggers(struct reader *r, const struct key *k, const struct yaml *node,
                          const char *what, void *to)
{
    reader_keys(r, k->group, node, what, 0, to);
    return true;
}

static bool read_schedules(struct reader *r, const struct key *k, const struct yaml *node,
                           const char *what, void *to)
{
    (void)k, (void)to;
    return reader_schedules(r, node, what);
}

static bool read_hook(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, void *to)
{
    (void)what;
    return reader_hook(r, node, k->name, to);
}

static bool read_tasks(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to)
{
    (void)k, (void)to;
    return reader_tasks(r, node, what);
}

/* ---- by type ---- */

static reader_reader *const readers[] = {
    [KEY_NAME] = read_name,
    [KEY_TEXT] = read_plain,
    [KEY_TEMPLATE] = reader_type_template,
    [KEY_SHELL] = read_shell,
    [KEY_CONDITION] = read_condition,
    [KEY_BOOL] = read_bool,
    [KEY_INT] = read_int,
    [KEY_NUMBER] = read_number,
    [KEY_DURATION] = read_duration,
    [KEY_SIZE] = read_size,
    [KEY_WORD] = read_word,
    [KEY_QUEUE] = read_queue,
    [KEY_CRON] = read_cron,
    [KEY_ZONE] = read_zone,
    [KEY_CATCHUP] = read_catchup,
    [KEY_TIME] = read_time,
    [KEY_FILE] = read_nested,
    [KEY_JOIN] = read_join,
    [KEY_FOREACH] = reader_type_foreach,
    [KEY_NEEDS] = read_needs,
    [KEY_TEMPLATES] = reader_type_templates,
    [KEY_VARIABLES] = reader_type_variables,
    [KEY_OUTPUTS] = reader_type_outputs,
    [KEY_CODES] = reader_type_codes,
    [KEY_ENV] = reader_type_env,
    [KEY_VALUES] = reader_type_values,
    [KEY_LITERALS] = reader_type_values,
    [KEY_LITERAL] = reader_type_literal,
    [KEY_RETRY] = reader_type_retry,
    [KEY_LIMITS] = reader_type_limits,
    [KEY_CONTAINER] = reader_type_container,
    [KEY_CONCURRENCY] = reader_type_concurrency,
    [KEY_APPROVAL] = reader_type_approval,
    [KEY_PARAMS] = read_params,
    [KEY_DEFAULTS] = read_defaults,
    [KEY_TRIGGERS] = read_triggers,
    [KEY_SCHEDULES] = read_schedules,
    [KEY_TASK] = read_hook,
    [KEY_TASKS] = read_tasks,
};

bool reader_key(struct reader *r, const struct key *k, const struct yaml *node, const char *what,
                void *to)
{
    return readers[k->type](r, k, node, what, (char *)to + k->at);
}
