/* read_value.c - reads the value of a key whose type has no keys of its own: texts, numbers, lists
 * of them, words, pairs. read.c reads tasks, groups and nested workflows. */
#include "core/workflow/keys.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_MAX (100LL * 365 * 86400 * 1000000) /* µs: the longest duration in a spec */
/* Bytes in an argument or an environment variable. */
#define ARG_MAX  (128 * 1024 - 1)

/* ---- lists ---- */

/* The maximum number of items in a list. */
static size_t list_max(const struct key_reader *r, const struct key *k)
{
    if (!r->bounded)
        return WORKFLOW_MAX_TEXT;
    return k->type == KEY_TEMPLATES ? 10000 : k->type == KEY_CODES ? 256 : 1000;
}

static int read_text(const struct key_reader *r, const struct key *k, const struct json_node *p,
                     const char **out)
{
    size_t min = r->bounded ? (size_t)k->min : 0, max = r->bounded ? (size_t)k->max : 0;
    int rc = json_read_text(p, min, max ? max : WORKFLOW_MAX_TEXT, r->arena, out, r->err);

    if (!rc && k->type == KEY_NAME && !workflow_is_name(*out))
        rc = json_read_fail(p, r->err, "is not a valid name");
    return rc;
}

static int read_texts(const struct key_reader *r, const struct key *k, const struct json_node *p,
                      void *member)
{
    struct json_node item;
    const char **texts;
    size_t i, n, max = r->bounded ? ARG_MAX : WORKFLOW_MAX_TEXT;
    int rc = json_read_array(p, list_max(r, k), &n, r->err);

    if (rc)
        return rc;
    texts = arena_zalloc(r->arena, (n + 1) * sizeof(*texts));
    for (i = 0; i < n; i++) {
        json_read_item(p, i, &item);
        if ((rc = json_read_text(&item, 0, max, r->arena, &texts[i], r->err)))
            return rc;
    }
    key_set_list(member, texts, n);
    return 0;
}

static int read_pairs(const struct key_reader *r, const struct key *k, const struct json_node *p,
                      void *member)
{
    size_t n = 0, count, max = WORKFLOW_MAX_TEXT;
    struct json_node at;
    struct spec_pair *pairs;
    void *iter;
    int rc = json_read_known_keys(p, NULL, r->err);

    if (rc)
        return rc;
    count = json_read_size(p);
    if (count > list_max(r, k))
        return json_read_fail(p, r->err, "has %zu variables; at most %zu are allowed", count,
                              list_max(r, k));
    pairs = arena_zalloc(r->arena, (count + 1) * sizeof(*pairs));
    JSON_EACH(p, iter, &at)
    {
        pairs[n].key = arena_strdup(r->arena, at.key);
        if (r->bounded && k->max) /* the limit applies to KEY=VALUE as a whole */
            max = (size_t)k->max - strlen(at.key) - 1;
        if (key_stored_as(k) == STORED_VALUES)
            pairs[n].value = json_read_raw(&at, r->arena);
        else if ((rc = json_read_text(&at, 0, max, r->arena, &pairs[n].value, r->err)))
            return rc;
        n++;
    }
    key_set_list(member, pairs, n);
    return 0;
}

/* Reads a list of integers from 0 to `max`, which must fit in 32 bits. */
static int read_numbers(const struct key_reader *r, const struct key *k, const struct json_node *p,
                        int64_t max, uint32_t **out, size_t *n)
{
    struct json_node item;
    int64_t number = 0;
    uint32_t *list;
    int rc = json_read_array(p, list_max(r, k), n, r->err);

    if (rc)
        return rc;
    list = arena_alloc(r->arena, (*n + 1) * sizeof(*list));
    for (size_t i = 0; i < *n; i++) {
        json_read_item(p, i, &item);
        if ((rc = json_read_i64(&item, 0, max, &number, r->err)))
            return rc;
        list[i] = (uint32_t)number;
    }
    *out = list;
    return 0;
}

/* Reads a value of one of the three types that are lists of integers. */
static int read_number_list(const struct key_reader *r, const struct key *k,
                            const struct json_node *p, void *member)
{
    enum stored_as stored = key_stored_as(k);
    int64_t max = stored == STORED_CODES     ? 255
                  : stored == STORED_INDEXES ? WORKFLOW_MAX_TASKS
                                             : UINT32_MAX;
    uint32_t *list, count;
    size_t n;
    int rc = read_numbers(r, k, p, max, &list, &n);

    if (rc)
        return rc;
    count = (uint32_t)n;
    if (stored == STORED_CODES) {
        key_set_list(member, list, n);
    } else if (stored == STORED_INDEXES) {
        memcpy(member, &list, sizeof(list));
        memcpy((char *)member + sizeof(list), &count, sizeof(count));
    } else {
        if (n != 2 || !list[0])
            return json_read_fail(p, r->err, "must be a line and a column");
        memcpy(member, list, 2 * sizeof(*list));
    }
    return 0;
}

/* ---- scalars ---- */

static int read_word(const struct key_reader *r, const struct key *k, const struct json_node *p,
                     int *out)
{
    const char *text;
    int i, rc = read_text(r, k, p, &text);

    if (rc)
        return rc;
    for (i = 0; k->words[i]; i++)
        if (!strcmp(k->words[i], text)) {
            *out = i;
            return 0;
        }
    return json_read_fail(p, r->err, "can't be \"%.40s\"", text);
}

static int64_t number_max(const struct key *k)
{
    return k->stored_max ? k->stored_max : k->type == KEY_DURATION ? SPAN_MAX : k->max;
}

static int read_i64(const struct key_reader *r, const struct key *k, const struct json_node *p,
                    int64_t *out)
{
    return r->bounded ? json_read_i64(p, 0, number_max(k), out, r->err)
                      : json_read_i64(p, CATCHUP_LAST, INT64_MAX, out, r->err);
}

static int read_int(const struct key_reader *r, const struct key *k, const struct json_node *p,
                    int *out)
{
    int64_t n;
    int rc = r->bounded ? json_read_i64(p, 0, number_max(k), &n, r->err)
                        : json_read_i64(p, INT_MIN, INT_MAX, &n, r->err);

    if (!rc)
        *out = (int)n;
    return rc;
}

static int read_double(const struct key_reader *r, const struct key *k, const struct json_node *p,
                       double *out)
{
    double max = r->bounded ? (double)number_max(k) : 1e9;
    int rc = json_read_double(p, 0, max, out, r->err);

    if (!rc && r->bounded && *out > 0 && *out < (double)k->min)
        rc =
            json_read_fail(p, r->err, "must be at least %lld, not %g, so that delays do not shrink",
                           (long long)k->min, *out);
    return rc;
}

static int read_bool(const struct key_reader *r, const struct json_node *p, bool *out)
{
    if (strcmp(json_read_raw(p, r->arena), "true") != 0)
        return json_read_fail(p, r->err, "must be true or left out");
    *out = true;
    return 0;
}

static int read_json(const struct key_reader *r, const struct json_node *p, const char **out)
{
    int rc = r->bounded ? json_read_known_keys(p, NULL, r->err) : 0; /* the JSON of `container` */

    if (!rc)
        *out = json_read_raw(p, r->arena);
    return rc;
}

/* ---- by type ---- */

int value_read(struct key_reader *r, const struct key *k, const struct json_node *p, void *member)
{
    switch (key_stored_as(k)) {
    case STORED_TEXT:
        return read_text(r, k, p, member);
    case STORED_JSON:
        return read_json(r, p, member);
    case STORED_TEXTS:
        return read_texts(r, k, p, member);
    case STORED_PAIRS:
    case STORED_VALUES:
        return read_pairs(r, k, p, member);
    case STORED_I64:
        return read_i64(r, k, p, member);
    case STORED_INT:
        return read_int(r, k, p, member);
    case STORED_DOUBLE:
        return read_double(r, k, p, member);
    case STORED_BOOL:
        return read_bool(r, p, member);
    case STORED_WORD:
        return read_word(r, k, p, member);
    case STORED_CODES:
    case STORED_INDEXES:
    case STORED_LOCATION:
        return read_number_list(r, k, p, member);
    default:
        return 0;
    }
}
