/* read_group.c - reads keys that hold a small mapping, or a single value as its short form, and
 * values that are stored as JSON; see read_key.h. */
#include "parse/read_key.h"

#include "base/json.h"

#include <string.h>

/* Reads a mapping, or its short form: the value of its first key alone. */
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

static bool read_retry(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, struct retry_policy *to)
{
    if (node->kind != YAML_INT && node->kind != YAML_MAP)
        return yaml_expected(r->doc, node, what, "a number of retries or a mapping (key: value)");
    if (!read_short(r, k, node, what, to))
        return false;
    if (to->max_delay && to->delay > to->max_delay)
        return yaml_error(r->doc, node, "%s: delay is longer than max_delay", what);
    return true;
}

static bool read_concurrency(struct reader *r, const struct key *k, const struct yaml *node,
                             const char *what, struct workflow_concurrency *to)
{
    struct workflow_concurrency c = {.key = NULL};

    reader_defaults_of(r, k->group, &c, false);
    if (!read_short(r, k, node, what, &c))
        return false;
    if (!c.key)
        return yaml_error(r->doc, node,
                          "%s: `key` is missing; executions with the same `key` share the limit",
                          what);
    *to = c;
    return true;
}

static bool read_approval(struct reader *r, const struct key *k, const struct yaml *node,
                          const char *what, struct workflow_approval *to)
{
    to->wanted = node->kind != YAML_BOOL || yaml_bool_value(node);
    return node->kind == YAML_BOOL || read_short(r, k, node, what, to);
}

static bool read_container(struct reader *r, const struct key *k, const struct yaml *node,
                           const char *what, const char **to)
{
    struct container_keys c = {.image = NULL};
    AUTO_BUF b = BUF_INIT;
    struct json_writer json = JSON_WRITER(&b);

    keys_init(k->group, &c);
    if (!read_short(r, k, node, what, &c))
        return false;
    json_write_begin(&json, '{');
    keys_write(&json, k->group, &c);
    json_write_end(&json, '}');
    *to = reader_canonical(r, &b);
    return *to;
}

static bool read_foreach(struct reader *r, const struct key *k, const struct yaml *node,
                         const char *what, const char **to)
{
    int64_t n;

    if (node->kind == YAML_INT && !yaml_int(r->doc, node, what, k->min, k->max, &n))
        return false;
    if (node->kind == YAML_LIST && node->n > (uint64_t)k->max)
        return yaml_expected(r->doc, node, what, "a list of at most 100000 items");
    if (node->kind != YAML_INT && node->kind != YAML_LIST &&
        (node->kind != YAML_TEXT || strncmp(node->text, "${{", 3) != 0 || node->n < 5 ||
         strcmp(node->text + node->n - 2, "}}") != 0))
        return yaml_expected(r->doc, node, what, "a list, a number or a single ${{ expression }}");
    *to = reader_value(r, node, what, false);
    if (node->kind == YAML_TEXT && *to) /* if the text is a single expression */
        r->texts.at[r->texts.n - 1].condition = true;
    return *to;
}

bool reader_group(struct reader *r, const struct key *k, const struct yaml *node, const char *what,
                  void *to)
{
    const char *value;

    switch (k->type) {
    case KEY_RETRY:
        return read_retry(r, k, node, what, to);
    case KEY_CONCURRENCY:
        return read_concurrency(r, k, node, what, to);
    case KEY_APPROVAL:
        return read_approval(r, k, node, what, to);
    case KEY_CONTAINER:
        return read_container(r, k, node, what, to);
    case KEY_FOREACH:
        return read_foreach(r, k, node, what, to);
    case KEY_LITERAL:
        if ((value = reader_value(r, node, what, true)))
            *(const char **)to = value;
        return value;
    case KEY_SECTION:
        if (node->kind == YAML_NULL) /* the section is empty: all its lines are commented out */
            return true;
    /* fall through */
    default: /* values for which the mapping has no short form */
        reader_keys(r, k->group, node, what, 0, to);
        return node->kind == YAML_MAP;
    }
}
