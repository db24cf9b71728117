/* field_values.c - reads the plain values of a canonical text; see fields.h. */
#include "core/workflow/fields.h"

#include <limits.h>
#include <string.h>

int field_read_text(const struct value_reader *r, const struct json_node *p, const char **out)
{
    return json_read_text(p, 0, WORKFLOW_MAX_TEXT, r->arena, out, r->err);
}

int field_read_texts(const struct value_reader *r, const struct json_node *p,
                     struct workflow_texts *out)
{
    struct json_node item;
    const char **texts;
    size_t i, n;
    int rc = json_read_array(p, WORKFLOW_MAX_TEXT, &n, r->err);

    if (rc)
        return rc;
    texts = arena_zalloc(r->arena, (n + 1) * sizeof(*texts));
    for (i = 0; i < n; i++) {
        json_read_item(p, i, &item);
        if ((rc = field_read_text(r, &item, &texts[i])))
            return rc;
    }
    *out = (struct workflow_texts){texts, n};
    return 0;
}

int field_read_pairs(const struct value_reader *r, const struct json_node *p, bool raw,
                     struct workflow_pairs *out)
{
    struct json_node member;
    struct spec_pair *pairs;
    size_t n = 0;
    void *iter;
    int rc = json_read_known_keys(p, NULL, r->err);

    if (rc)
        return rc;
    pairs = arena_zalloc(r->arena, (json_read_size(p) + 1) * sizeof(*pairs));
    JSON_EACH(p, iter, &member)
    {
        pairs[n].key = arena_strdup(r->arena, member.key);
        if (raw)
            pairs[n].value = json_read_raw(&member, r->arena);
        else if ((rc = field_read_text(r, &member, &pairs[n].value)))
            return rc;
        n++;
    }
    *out = (struct workflow_pairs){pairs, n};
    return 0;
}

/* Integers from 0 to `max`. */
int field_read_numbers(const struct value_reader *r, const struct json_node *p, int64_t max,
                       uint32_t **out, size_t *n)
{
    struct json_node item;
    int64_t number = 0;
    uint32_t *list;
    size_t i;
    int rc = json_read_array(p, WORKFLOW_MAX_TEXT, n, r->err);

    if (rc)
        return rc;
    list = arena_alloc(r->arena, (*n + 1) * sizeof(*list));
    for (i = 0; i < *n; i++) {
        json_read_item(p, i, &item);
        if ((rc = json_read_i64(&item, 0, max, &number, r->err)))
            return rc;
        list[i] = (uint32_t)number;
    }
    *out = list;
    return 0;
}

int field_read_codes(const struct value_reader *r, const struct json_node *p,
                     struct retry_policy *out)
{
    uint32_t *list;
    size_t n, i;
    int *codes, rc = field_read_numbers(r, p, 255, &list, &n);

    if (rc)
        return rc;
    codes = arena_alloc(r->arena, (n + 1) * sizeof(*codes));
    for (i = 0; i < n; i++)
        codes[i] = (int)list[i];
    out->codes = codes;
    out->ncodes = n;
    return 0;
}

int field_read_place(const struct value_reader *r, const struct json_node *p, uint32_t *line_column)
{
    uint32_t *list;
    size_t n;
    int rc = field_read_numbers(r, p, UINT32_MAX, &list, &n);

    if (rc)
        return rc;
    if (n != 2 || !list[0])
        return json_read_fail(p, r->err, "must be a line and a column");
    memcpy(line_column, list, 2 * sizeof(*list));
    return 0;
}

int field_read_word(const struct value_reader *r, const struct json_node *p,
                    const char *const *words, unsigned *out)
{
    const char *text;
    unsigned i;
    int rc = field_read_text(r, p, &text);

    if (rc)
        return rc;
    for (i = 0; words[i]; i++)
        if (!strcmp(words[i], text)) {
            *out = i;
            return 0;
        }
    return json_read_fail(p, r->err, "can't be \"%.40s\"", text);
}

int field_read_number(const struct value_reader *r, const struct workflow_field *f,
                      const struct json_node *p, void *to)
{
    int64_t n;
    int rc;

    if (f->type == F_FACTOR || f->type == F_PART)
        return json_read_double(p, 0, 1e9, to, r->err);
    if (f->type == F_I64)
        return json_read_i64(p, CATCHUP_LAST, INT64_MAX, to, r->err);
    if (!(rc = json_read_i64(p, INT_MIN, INT_MAX, &n, r->err)))
        *(int *)to = (int)n;
    return rc;
}

int field_read_bool(const struct value_reader *r, const struct json_node *p, bool *out)
{
    if (strcmp(json_read_raw(p, r->arena), "true") != 0)
        return json_read_fail(p, r->err, "must be true or left out");
    *out = true;
    return 0;
}
