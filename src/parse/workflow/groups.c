/* groups.c - reads keys that hold a small mapping, or a single value as its short form. */
#include "parse/workflow/reader.h"

#include "base/json.h"
#include "base/json_read.h"

#include <string.h>

/* Reads a mapping, or the value of its first key. */
static bool read_short(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to)
{
    size_t before = r->doc->diagnostics->count;

    if (node->kind == YAML_MAP)
        reader_keys(r, k->group, node, what, 0, to);
    else
        (void)reader_key(r, &k->group->at[0], node, what, to);
    return r->doc->diagnostics->count == before;
}

bool reader_type_retry(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to)
{
    struct workflow_retry *retry = to;

    if (node->kind != YAML_INT && node->kind != YAML_MAP)
        return yaml_expected(r->doc, node, what, "a number of retries or a mapping (key: value)");
    if (!read_short(r, k, node, what, to))
        return false;
    if (retry->policy.max_delay && retry->policy.delay > retry->policy.max_delay) {
        yaml_error(r->doc, node, "%s: delay is longer than max_delay", what);
        return false;
    }
    return true;
}

bool reader_type_limits(struct reader *r, const struct key *k, const struct yaml *node,
                        const char *what, void *to)
{
    if (!yaml_is_map(r->doc, node, what))
        return false;
    reader_keys(r, k->group, node, what, 0, to);
    return true;
}

bool reader_type_concurrency(struct reader *r, const struct key *k, const struct yaml *node,
                             const char *what, void *to)
{
    struct workflow_concurrency c = {.max = 1};

    if (!read_short(r, k, node, what, &c))
        return false;
    if (!c.key) {
        yaml_error(r->doc, node, "%s needs a key: everything with the same key shares the limit",
                   what);
        return false;
    }
    *(struct workflow_concurrency *)to = c;
    return true;
}

bool reader_type_approval(struct reader *r, const struct key *k, const struct yaml *node,
                          const char *what, void *to)
{
    struct workflow_task *t = (struct workflow_task *)(void *)((char *)to - k->at);

    t->has_approval = node->kind != YAML_BOOL || yaml_bool_value(node);
    return node->kind == YAML_BOOL || read_short(r, k, node, what, to);
}

/* ---- container: stored as JSON for the executor ---- */

static void write_text(struct json_writer *json, const char *key, const char *text)
{
    if (!text)
        return;
    json_write_key(json, key);
    json_write_text(json, text);
}

static void write_texts(struct json_writer *json, const char *key,
                        const struct workflow_texts *texts)
{
    size_t i;

    if (!texts->n)
        return;
    json_write_key(json, key);
    json_write_begin(json, '[');
    for (i = 0; i < texts->n; i++)
        json_write_text(json, texts->at[i]);
    json_write_end(json, ']');
}

bool reader_type_container(struct reader *r, const struct key *k, const struct yaml *node,
                           const char *what, void *to)
{
    struct container_keys c = {.pull = -1};
    struct buf b = BUF_INIT;
    struct json_writer json = JSON_WRITER(&b);

    if (!read_short(r, k, node, what, &c))
        return false;
    json_write_begin(&json, '{');
    write_text(&json, "image", c.image);
    write_text(&json, "pull", c.pull < 0 ? NULL : container_pulls[c.pull]);
    write_text(&json, "network", c.network);
    write_texts(&json, "volumes", &c.volumes);
    write_texts(&json, "options", &c.options);
    json_write_end(&json, '}');
    *(const char **)to = reader_canonical(r, &b);
    buf_release(&b);
    return *(const char **)to;
}
