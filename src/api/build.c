/* build.c - workflows built in C. The builder produces the text of a workflow file, in JSON, which
 * is also YAML. The text goes through the same parser as any file, so only the parser decides what
 * a valid workflow is. */
#include "api/api.h"
#include "api/build_keys.h"
#include "base/text.h"
#include "parse/workflow/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SHOWN 120

/* The sections of the file, such as its tasks, are collected as lists of lines, separated by
 * commas. */
struct pawl_workflow {
    struct buf keys, params, schedules, webhooks, follows, tasks;
    struct buf wrong; /* sentences about values that can't be written; see struct build in
                         build_keys.h */
    struct buf text;  /* the whole text, as last returned by pawl_workflow_text */
    char *file;       /* read instead of the sections; NULL if built by calls */
    struct arena arena;
    const struct workflow *parsed; /* in the arena; NULL if not parsed since the last change */
};

static void add_line(struct buf *to, const char *indent, const struct buf *line)
{
    buf_addf(to, "%s\n%s", to->len ? "," : "", indent);
    buf_add(to, line->ptr, line->len);
}

/* Adds one param, trigger or task as a line; name is NULL for a trigger. */
static void add_named(struct pawl_workflow *w, struct buf *to, const char *in, const char *name,
                      const struct keys *keys, const void *from)
{
    AUTO_BUF line = BUF_INIT;
    struct build b = {.to = JSON_WRITER(&line), .wrong = &w->wrong};
    char what[NAME_SHOWN + 20];

    snprintf(what, sizeof(what), "%s%s%.*s", in, name ? "." : "", NAME_SHOWN, name ? name : "");
    w->parsed = NULL;
    if (name)
        json_write_key(&b.to, name);
    build_mapping(&b, keys, from, what);
    add_line(to, "  ", &line);
}

struct pawl_workflow *pawl_workflow_new(const struct pawl_workflow_keys *keys)
{
    struct pawl_workflow *w = mem_zalloc(sizeof(*w));
    const struct key *k;
    AUTO_BUF line = BUF_INIT;

    for (k = keys_workflow.at; k->name; k++) {
        struct build b = {.to = JSON_WRITER(&line), .wrong = &w->wrong};

        buf_reset(&line);
        build_key(&b, &keys_workflow, k, keys, "");
        if (line.len)
            add_line(&w->keys, "", &line);
    }
    return w;
}

void pawl_workflow_free(struct pawl_workflow *w)
{
    if (!w)
        return;
    buf_release(&w->keys);
    buf_release(&w->params);
    buf_release(&w->schedules);
    buf_release(&w->webhooks);
    buf_release(&w->follows);
    buf_release(&w->tasks);
    buf_release(&w->wrong);
    buf_release(&w->text);
    arena_release(&w->arena);
    free(w->file);
    free(w);
}

void pawl_workflow_param(struct pawl_workflow *w, const char *name,
                         const struct pawl_param_keys *keys)
{
    add_named(w, &w->params, "params", name ? name : "", &keys_param, keys);
}

void pawl_workflow_schedule(struct pawl_workflow *w, const struct pawl_schedule_keys *keys)
{
    add_named(w, &w->schedules, "on.schedule", NULL, &keys_schedule, keys);
}

void pawl_workflow_webhook(struct pawl_workflow *w, const struct pawl_webhook_keys *keys)
{
    add_named(w, &w->webhooks, "on.webhook", NULL, &keys_webhook, keys);
}

void pawl_workflow_follow(struct pawl_workflow *w, const struct pawl_follow_keys *keys)
{
    add_named(w, &w->follows, "on.workflow", NULL, &keys_follow, keys);
}

void pawl_workflow_task(struct pawl_workflow *w, const char *name,
                        const struct pawl_task_keys *keys)
{
    add_named(w, &w->tasks, "tasks", name ? name : "", &keys_task, keys);
}

/* ---- the text ---- */

/* Returns the code point of a character of n bytes that JSON allows unescaped, but YAML forbids or
 * reads as a line break; 0 for all others. */
static unsigned code_to_escape(const char *p, size_t n)
{
    const unsigned char *c = (const unsigned char *)p;
    unsigned code = 0;

    if (n == 1)
        code = c[0];
    else if (n == 2)
        code = (c[0] & 0x1Fu) << 6 | (c[1] & 0x3Fu);
    else if (n == 3)
        code = (c[0] & 0x0Fu) << 12 | (c[1] & 0x3Fu) << 6 | (c[2] & 0x3Fu);
    return (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 || code == 0xFEFF ||
                   code >= 0xFFFE
               ? code
               : 0;
}

/* Appends the JSON and escapes the characters of code_to_escape: they occur only inside strings,
 * where an escape means the same. Invalid UTF-8 is kept as it is: the parser reports its
 * location. */
static void add_as_yaml(struct buf *out, const struct buf *json)
{
    size_t at = 0, n;
    unsigned code;

    for (; at < json->len; at += n) {
        n = text_step(json->ptr + at, json->len - at);
        code = n ? code_to_escape(json->ptr + at, n) : 0;
        n += !n;
        if (code)
            buf_addf(out, "\\u%04x", code);
        else
            buf_add(out, json->ptr + at, n);
    }
}

static void add_section(struct buf *out, const char *begin, const struct buf *lines,
                        const char *end)
{
    if (!lines->len)
        return;
    buf_addf(out, "%s\n%s", out->len > 1 ? "," : "", begin);
    buf_add(out, lines->ptr, lines->len);
    buf_addstr(out, end);
}

static void add_trigger(struct buf *out, const char *key, const struct buf *lines)
{
    if (lines->len)
        buf_addf(out, "%s\"%s\":[%s]", out->len ? ",\n" : "", key, lines->ptr);
}

static void add_triggers(struct buf *out, const struct pawl_workflow *w)
{
    AUTO_BUF on = BUF_INIT;

    add_trigger(&on, "schedule", &w->schedules);
    add_trigger(&on, "webhook", &w->webhooks);
    add_trigger(&on, "workflow", &w->follows);
    if (on.len)
        buf_addf(out, "%s\n\"on\":{%s}", out->len > 1 ? "," : "", on.ptr);
}

const char *pawl_workflow_text(struct pawl_workflow *w)
{
    AUTO_BUF json = BUF_INIT;

    if (w->file)
        return NULL;
    buf_addch(&json, '{');
    buf_add(&json, buf_cstr(&w->keys), w->keys.len);
    add_section(&json, "\"params\":{", &w->params, "}");
    add_triggers(&json, w);
    add_section(&json, "\"tasks\":{", &w->tasks, "}");
    buf_addstr(&json, "\n}\n");
    buf_reset(&w->text);
    add_as_yaml(&w->text, &json);
    return buf_cstr(&w->text);
}

/* ---- the definition ---- */

struct pawl_workflow *api_built_of_file(const char *file)
{
    struct pawl_workflow *w = mem_zalloc(sizeof(*w));

    w->file = mem_strdup(file);
    return w;
}

/* Parses the text. Values that could not be written into it are errors, too. */
static int parse_text(struct pawl_workflow *w, struct diagnostics *diagnostics, struct err *err)
{
    const char *text = pawl_workflow_text(w);
    const struct source *source = diagnostics_take(diagnostics, "workflow", text, strlen(text));

    for (size_t at = 0; at < w->wrong.len; at += strlen(w->wrong.ptr + at) + 1)
        diagnostics_add(diagnostics, source, 1, 1, "%s", w->wrong.ptr + at);
    return workflow_parse(source, NULL, diagnostics, &w->arena, &w->parsed, err);
}

int api_parse_built(struct pawl_workflow *w, struct diagnostics *diagnostics,
                    const struct workflow **out, struct err *err)
{
    int rc = 0;

    if (!w->parsed) {
        arena_release(&w->arena);
        if (!w->file)
            rc = parse_text(w, diagnostics, err);
        else if (w->params.len || w->schedules.len || w->webhooks.len || w->follows.len ||
                 w->tasks.len)
            rc = err_set(err, E_INVALID,
                         "the workflow was read from the file %s, so nothing can be added to "
                         "it: change the file instead",
                         w->file);
        else
            rc = workflow_load(w->file, diagnostics, &w->arena, &w->parsed, err);
    }
    *out = w->parsed;
    return rc;
}
