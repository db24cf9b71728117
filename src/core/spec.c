/* spec.c - reads and writes a job's spec as JSON. Its keys are the keys of a task that the command
 * needs; they are read and written with the table of keys (core/workflow/keys.h). */
#include "core/spec.h"

#include "base/json.h"
#include "base/text.h"
#include "core/workflow/keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SPEC_MAX (1024 * 1024)

#define MAX_KEYS 32

/* Lists the keys of a spec, ordered by their positions in it; the list ends with NULL. */
static void list_keys(const struct key *list[MAX_KEYS])
{
    memset(list, 0, MAX_KEYS * sizeof(*list));
    for (const struct key *k = keys_task.at; k->name; k++)
        if (k->spec)
            list[k->spec - 1] = k;
}

static void *member_of(const struct key *k, const struct spec *s)
{
    return (char *)(uintptr_t)s + k->at - offsetof(struct workflow_task, command);
}

void spec_write(const struct spec *s, struct buf *out)
{
    struct spec stored = *s;
    struct json_writer w = JSON_WRITER(out);
    const struct key *keys[MAX_KEYS], **k;

    list_keys(keys);
    stored.retry.max = -1;
    json_write_begin(&w, '{');
    for (k = keys; *k; k++)
        if (!key_is_default(*k, member_of(*k, &stored))) {
            json_write_key(&w, (*k)->name);
            key_write(&w, *k, member_of(*k, &stored));
        }
    json_write_end(&w, '}');
}

/* ---- checks of what a command can receive ---- */

bool spec_is_output(const char *s)
{
    size_t n = strlen(s);

    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7F || *s == '=')
            return false;
    return n && n <= KEY_NAME_BYTES;
}

static int check_variables(const struct json_node *doc, const char *key,
                           const struct spec_pair *pairs, size_t n, struct err *err)
{
    struct json_node list, item;

    for (size_t i = 0; i < n; i++)
        if (!text_is_variable(pairs[i].key, KEY_NAME_BYTES)) {
            (void)json_read_member(doc, key, &list);
            (void)json_read_member(&list, pairs[i].key, &item);
            return json_read_fail(
                &item, err,
                "is not a valid variable name (letters, digits and _, not starting with a digit)");
        }
    return 0;
}

static int check_names(const struct spec *s, const struct json_node *doc, struct err *err)
{
    struct json_node list, item;
    int rc;

    for (size_t i = 0; i < s->nsecrets; i++)
        if (!text_is_variable(s->secrets[i], KEY_NAME_BYTES)) {
            (void)json_read_member(doc, "secrets", &list);
            json_read_item(&list, i, &item);
            return json_read_fail(&item, err,
                                  "is not a valid variable name: \"%.60s\" (letters, digits and _, "
                                  "not starting with a digit)",
                                  s->secrets[i]);
        }
    for (size_t i = 0; i < s->noutputs; i++)
        if (!spec_is_output(s->outputs[i])) {
            (void)json_read_member(doc, "outputs", &list);
            json_read_item(&list, i, &item);
            return json_read_fail(
                &item, err, "is not a valid output name: \"%.60s\" (no =, no control characters)",
                s->outputs[i]);
        }
    if ((rc = check_variables(doc, "env", s->env, s->nenv, err)))
        return rc;
    return check_variables(doc, "files", s->files, s->nfiles, err);
}

static int check_spec(const struct spec *s, const struct json_node *doc, struct err *err)
{
    struct json_node at, first;

    if (s->argv && (!s->argc || !*s->argv[0])) {
        (void)json_read_member(doc, "argv", &at);
        if (!s->argc)
            return json_read_fail(&at, err, "is an empty list");
        json_read_item(&at, 0, &first);
        return json_read_fail(&first, err, "is empty: it must name the program");
    }
    if (s->cwd && *s->cwd != '/') {
        (void)json_read_member(doc, "cwd", &at);
        return json_read_fail(&at, err, "must be an absolute path, not \"%.60s\"", s->cwd);
    }
    if (s->retry.max >= 0)
        return json_read_fail(doc, err,
                              "can't have retry.max: the job's max_attempts limits the attempts");
    if (s->run && s->argv)
        return json_read_fail(doc, err, "has both run and argv: give only one of them");
    return check_names(s, doc, err);
}

/* ---- read ---- */

static int unknown_member(const struct json_node *doc, const struct key *const *keys,
                          struct err *err)
{
    const char *names[MAX_KEYS] = {NULL};

    for (size_t i = 0; keys[i]; i++)
        names[i] = keys[i]->name;
    return json_read_known_keys(doc, names, err);
}

static int read_spec(struct key_reader *r, const struct json_node *doc, struct spec *s)
{
    const struct key *keys[MAX_KEYS], **k;
    struct json_node member;
    void *iter;
    int rc = json_read_known_keys(doc, NULL, r->err);

    if (rc)
        return rc;
    list_keys(keys);
    JSON_EACH(doc, iter, &member)
    {
        for (k = keys; *k && strcmp((*k)->name, member.key) != 0; k++)
            ;
        rc = *k ? key_read(r, *k, &member, member_of(*k, s)) : unknown_member(doc, keys, r->err);
        if (rc)
            return rc;
    }
    return check_spec(s, doc, r->err);
}

int spec_parse(const char *json, struct arena *arena, struct spec *out, struct err *err)
{
    struct spec spec = {.retry = {.max = -1, .jitter = -1}};
    struct key_reader r = {.arena = arena, .err = err, .bounded = true};
    AUTO_JSON_NODE doc = {0};
    int rc;

    if (json && ((rc = json_read_open(json, strlen(json), SPEC_MAX, "the spec", &doc, err)) ||
                 (rc = read_spec(&r, &doc, &spec))))
        return rc;
    *out = spec;
    return 0;
}

/* ---- the command ---- */

/* The command for a script: the words of the shell, with the script in place of the word {}.
 * Without {}, the script follows the option -c, which is added unless it is the last word. */
const char *const *spec_argv(const struct spec *s, struct arena *arena)
{
    static const char *const plain[] = {"/bin/sh", NULL};
    const char *const *words = s->nshell ? s->shell : plain;
    const char **argv;
    bool placed = false;
    size_t n = 0;

    if (!s->run)
        return s->argv && s->argv[0] ? s->argv : NULL;
    argv = arena_zalloc(arena, ((s->nshell ? s->nshell : 1) + 3) * sizeof(*argv));
    for (; words[n]; n++) {
        argv[n] = strcmp(words[n], "{}") ? words[n] : s->run;
        placed = placed || argv[n] == s->run;
    }
    if (placed)
        return argv;
    if (strcmp(argv[n - 1], "-c") != 0)
        argv[n++] = "-c";
    argv[n] = s->run;
    return argv;
}

/* ---- variables ---- */

bool pairs_have(const struct spec_pair *pairs, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(pairs[i].key, name))
            return true;
    return false;
}

static bool text_mentions(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (; (text = strchr(text, '$')); text++) {
        const char *at = text + 1 + (text[1] == '{');

        if (!strncmp(at, name, len) && at[len] != '_' && !isalnum((unsigned char)at[len]))
            return true;
    }
    return false;
}

bool spec_mentions(const struct spec *s, const char *name)
{
    if (s->run && text_mentions(s->run, name))
        return true;
    for (size_t i = 0; i < s->argc; i++)
        if (text_mentions(s->argv[i], name))
            return true;
    return false;
}
