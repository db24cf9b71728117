/* workflow_value.c - the plain values of a canonical text; see workflow_fields.h. */
#include "core/workflow_fields.h"

#include <limits.h>
#include <string.h>

int wv_text(const struct value_reader *r, const struct json_place *p, const char **out)
{
    return jr_text(p, 0, WORKFLOW_MAX_TEXT, r->arena, out, r->err);
}

int wv_texts(const struct value_reader *r, const struct json_place *p, struct workflow_texts *out)
{
    struct json_place item;
    const char **texts;
    size_t i, n;
    int rc = jr_array(p, WORKFLOW_MAX_TEXT, &n, r->err);

    if (rc)
        return rc;
    texts = arena_zalloc(r->arena, (n + 1) * sizeof(*texts));
    for (i = 0; i < n; i++) {
        jr_item(p, i, &item);
        if ((rc = wv_text(r, &item, &texts[i])))
            return rc;
    }
    *out = (struct workflow_texts){texts, n};
    return 0;
}

int wv_pairs(const struct value_reader *r, const struct json_place *p, bool raw,
             struct workflow_pairs *out)
{
    struct json_place member;
    struct spec_pair *pairs;
    size_t n = 0;
    void *iter;
    int rc = jr_keys(p, NULL, r->err);

    if (rc)
        return rc;
    pairs = arena_zalloc(r->arena, (jr_size(p) + 1) * sizeof(*pairs));
    JSON_EACH(p, iter, &member)
    {
        pairs[n].key = arena_strdup(r->arena, member.key);
        if (raw)
            pairs[n].value = jr_raw(&member, r->arena);
        else if ((rc = wv_text(r, &member, &pairs[n].value)))
            return rc;
        n++;
    }
    *out = (struct workflow_pairs){pairs, n};
    return 0;
}

/* Whole numbers from 0 to `max`. */
int wv_numbers(const struct value_reader *r, const struct json_place *p, int64_t max,
               uint32_t **out, size_t *n)
{
    struct json_place item;
    int64_t number = 0;
    uint32_t *list;
    size_t i;
    int rc = jr_array(p, WORKFLOW_MAX_TEXT, n, r->err);

    if (rc)
        return rc;
    list = arena_alloc(r->arena, (*n + 1) * sizeof(*list));
    for (i = 0; i < *n; i++) {
        jr_item(p, i, &item);
        if ((rc = jr_i64(&item, 0, max, &number, r->err)))
            return rc;
        list[i] = (uint32_t)number;
    }
    *out = list;
    return 0;
}

int wv_codes(const struct value_reader *r, const struct json_place *p, struct retry_policy *out)
{
    uint32_t *list;
    size_t n, i;
    int *codes, rc = wv_numbers(r, p, 255, &list, &n);

    if (rc)
        return rc;
    codes = arena_alloc(r->arena, (n + 1) * sizeof(*codes));
    for (i = 0; i < n; i++)
        codes[i] = (int)list[i];
    out->codes = codes;
    out->ncodes = n;
    return 0;
}

int wv_place(const struct value_reader *r, const struct json_place *p, uint32_t *line_column)
{
    uint32_t *list;
    size_t n;
    int rc = wv_numbers(r, p, UINT32_MAX, &list, &n);

    if (rc)
        return rc;
    if (n != 2 || !list[0])
        return jr_wrong(p, r->err, "must be a line and a column");
    memcpy(line_column, list, 2 * sizeof(*list));
    return 0;
}

int wv_word(const struct value_reader *r, const struct json_place *p, const char *const *words,
            unsigned *out)
{
    const char *text;
    unsigned i;
    int rc = wv_text(r, p, &text);

    if (rc)
        return rc;
    for (i = 0; words[i]; i++)
        if (!strcmp(words[i], text)) {
            *out = i;
            return 0;
        }
    return jr_wrong(p, r->err, "can't be \"%.40s\"", text);
}

int wv_number(const struct value_reader *r, const struct workflow_field *f,
              const struct json_place *p, void *to)
{
    int64_t n;
    int rc;

    if (f->type == F_FACTOR || f->type == F_PART)
        return jr_double(p, 0, 1e9, to, r->err);
    if (f->type == F_I64)
        return jr_i64(p, CATCHUP_LAST, INT64_MAX, to, r->err);
    if (!(rc = jr_i64(p, INT_MIN, INT_MAX, &n, r->err)))
        *(int *)to = (int)n;
    return rc;
}

int wv_bool(const struct value_reader *r, const struct json_place *p, bool *out)
{
    if (strcmp(jr_raw(p, r->arena), "true") != 0)
        return jr_wrong(p, r->err, "must be true where it is not left out");
    *out = true;
    return 0;
}
