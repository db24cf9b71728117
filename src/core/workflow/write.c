/* write.c - writes the canonical text of a workflow, and computes its hash. */
#include "core/workflow/fields.h"

#include "base/json.h"
#include "base/suggest.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_pairs(struct json_writer *w, const struct workflow_pairs *pairs, bool raw)
{
    size_t i;

    json_write_begin(w, '{');
    for (i = 0; i < pairs->n; i++) {
        json_write_key(w, pairs->at[i].key);
        (raw ? json_write_raw : json_write_text)(w, pairs->at[i].value);
    }
    json_write_end(w, '}');
}

static void write_texts(struct json_writer *w, const struct workflow_texts *texts)
{
    size_t i;

    json_write_begin(w, '[');
    for (i = 0; i < texts->n; i++)
        json_write_text(w, texts->at[i]);
    json_write_end(w, ']');
}

static void write_codes(struct json_writer *w, const struct retry_policy *p)
{
    size_t i;

    json_write_begin(w, '[');
    for (i = 0; i < p->ncodes; i++)
        json_write_i64(w, p->codes[i]);
    json_write_end(w, ']');
}

static void write_indexes(struct json_writer *w, const uint32_t *list, size_t n)
{
    size_t i;

    json_write_begin(w, '[');
    for (i = 0; i < n; i++)
        json_write_i64(w, list[i]);
    json_write_end(w, ']');
}

/* ---- by the tables ---- */

static bool is_default(const struct workflow_field *f, const char *s);

static bool group_is_default(const struct workflow_record *r, const char *s)
{
    const struct workflow_field *f;

    for (f = r->fields; f->key; f++)
        if (!is_default(f, s))
            return false;
    return true;
}

static bool is_default(const struct workflow_field *f, const char *s)
{
    const char *at = s + f->at;

    switch (f->type) {
    case F_TEXT:
    case F_NAME:
    case F_VALUE:
        return !*(const char *const *)at;
    case F_NESTED:
        return !*(const struct workflow *const *)at;
    case F_TASK:
        return !*(struct workflow_task *const *)at;
    case F_TEXTS:
        return !((const struct workflow_texts *)at)->n;
    case F_PAIRS:
    case F_VALUES:
        return !((const struct workflow_pairs *)at)->n;
    case F_I64:
        return !*(const int64_t *)at;
    case F_INT:
        return *(const int *)at == f->default_value;
    case F_WORD:
        return !*(const unsigned *)at;
    case F_BOOL:
        return !*(const bool *)at;
    case F_FACTOR:
        return !(*(const double *)at > 0);
    case F_PART:
        return *(const double *)at < 0;
    case F_CODES:
        return !((const struct retry_policy *)at)->ncodes;
    case F_LOCATION:
    case F_INDEXES:
        return !*(const uint32_t *)(f->type == F_LOCATION ? at : s + f->count_at);
    case F_LIST:
        return !*(const size_t *)(s + f->count_at);
    case F_OPTION:
        return !*(const bool *)(s + f->count_at);
    case F_GROUP:
        return group_is_default(f->record, s);
    }
    return true;
}

static void write_record(struct json_writer *w, const struct workflow_record *r, const char *s);

static void write_list(struct json_writer *w, const struct workflow_field *f, const char *s)
{
    const char *item = *(const char *const *)(s + f->at);
    size_t n = *(const size_t *)(s + f->count_at);

    json_write_begin(w, '[');
    for (; n; n--, item += f->record->size)
        write_record(w, f->record, item);
    json_write_end(w, ']');
}

static void write_field(struct json_writer *w, const struct workflow_field *f, const char *s)
{
    const char *at = s + f->at;

    switch (f->type) {
    case F_TEXT:
    case F_NAME:
        json_write_text(w, *(const char *const *)at);
        break;
    case F_VALUE:
        json_write_raw(w, *(const char *const *)at);
        break;
    case F_TEXTS:
        write_texts(w, (const struct workflow_texts *)at);
        break;
    case F_PAIRS:
    case F_VALUES:
        write_pairs(w, (const struct workflow_pairs *)at, f->type == F_VALUES);
        break;
    case F_I64:
        json_write_i64(w, *(const int64_t *)at);
        break;
    case F_INT:
        json_write_i64(w, *(const int *)at);
        break;
    case F_BOOL:
        json_write_bool(w, *(const bool *)at);
        break;
    case F_FACTOR:
    case F_PART:
        json_write_double(w, *(const double *)at);
        break;
    case F_WORD:
        json_write_text(w, f->words[*(const unsigned *)at]);
        break;
    case F_CODES:
        write_codes(w, (const struct retry_policy *)at);
        break;
    case F_LOCATION:
        write_indexes(w, (const uint32_t *)at, 2);
        break;
    case F_INDEXES:
        write_indexes(w, *(const uint32_t *const *)at, *(const uint32_t *)(s + f->count_at));
        break;
    case F_NESTED:
        json_write_text(w, (*(const struct workflow *const *)at)->hash);
        break;
    case F_GROUP:
    case F_OPTION:
        write_record(w, f->record, s);
        break;
    case F_LIST:
        write_list(w, f, s);
        break;
    case F_TASK:
        write_record(w, &workflow_task_record, *(const char *const *)at);
        break;
    }
}

static void write_members(struct json_writer *w, const struct workflow_record *r, const char *s)
{
    const struct workflow_field *f;

    for (f = r->fields; f->key; f++)
        if (!is_default(f, s)) {
            json_write_key(w, f->key);
            write_field(w, f, s);
        }
}

static void write_record(struct json_writer *w, const struct workflow_record *r, const char *s)
{
    json_write_begin(w, '{');
    write_members(w, r, s);
    json_write_end(w, '}');
}

/* Writes a definition without the closing brace. */
static void write_one(struct json_writer *json, const struct workflow *w)
{
    uint32_t i;

    json_write_begin(json, '{');
    write_members(json, &workflow_record, (const char *)w);
    json_write_key(json, "tasks");
    json_write_begin(json, '[');
    for (i = 0; i < w->ntasks; i++)
        write_record(json, &workflow_task_record, (const char *)&w->tasks[i]);
    json_write_end(json, ']');
}

void workflow_write(const struct workflow *w, struct buf *out)
{
    struct json_writer json = JSON_WRITER(out);
    size_t n, i;
    const struct workflow **below = workflow_below(w, &n);

    write_one(&json, w);
    if (n) {
        json_write_key(&json, "nested");
        json_write_begin(&json, '{');
        for (i = 0; i < n; i++) {
            json_write_key(&json, below[i]->hash);
            write_one(&json, below[i]);
            json_write_end(&json, '}');
        }
        json_write_end(&json, '}');
    }
    json_write_end(&json, '}');
    free(below);
}

void workflow_hash(const char *text, size_t len, char out[WORKFLOW_HASH_SIZE])
{
    unsigned char hash[(WORKFLOW_HASH_SIZE - 1) / 2];

    crypto_generichash(hash, sizeof(hash), (const unsigned char *)text, len, NULL, 0);
    sodium_bin2hex(out, WORKFLOW_HASH_SIZE, hash, sizeof(hash));
}

/* ---- names ---- */

bool workflow_is_name(const char *s)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-");

    return n && n <= WORKFLOW_NAME_MAX && !s[n] && strchr(letters, *s);
}

const struct workflow_task *workflow_task(const struct workflow *w, const char *name)
{
    uint32_t i;

    for (i = 0; i < w->ntasks; i++)
        if (!strcmp(w->tasks[i].name, name))
            return &w->tasks[i];
    if (w->on_failure && !strcmp(w->on_failure->name, name))
        return w->on_failure;
    return w->on_exit && !strcmp(w->on_exit->name, name) ? w->on_exit : NULL;
}

int workflow_no_task(const struct workflow *w, const char *name, struct err *err)
{
    struct suggestion s = suggest_for(name);
    size_t i;

    for (i = 0; i < w->ntasks; i++)
        suggest_try(&s, w->tasks[i].name);
    if (s.best)
        return err_set(err, E_INVALID, "the workflow %s has no task '%.100s': did you mean '%s'?",
                       w->name, name, s.best);
    return err_set(err, E_INVALID, "the workflow %s has no task '%.100s'", w->name, name);
}
