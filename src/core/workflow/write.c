/* write.c - writes values as JSON by the table of keys, writes the canonical text of a workflow,
 * and computes its hash. */
#include "core/workflow/keys.h"

#include "base/json.h"
#include "base/suggest.h"

#include <sodium.h>
#include <string.h>

/* A list member of any type: a pointer, followed by a count. */
struct list {
    const void *at;
    size_t n;
};

static struct list list_at(const void *member)
{
    struct list l;

    memcpy(&l, member, sizeof(l));
    return l;
}

static const void *pointer_at(const void *member)
{
    const void *p;

    memcpy(&p, member, sizeof(p));
    return p;
}

static void write_pairs(struct json_writer *w, struct list list, bool raw)
{
    const struct spec_pair *pairs = list.at;

    json_write_begin(w, '{');
    for (size_t i = 0; i < list.n; i++) {
        json_write_key(w, pairs[i].key);
        (raw ? json_write_raw : json_write_text)(w, pairs[i].value);
    }
    json_write_end(w, '}');
}

static void write_texts(struct json_writer *w, struct list texts)
{
    json_write_begin(w, '[');
    for (size_t i = 0; i < texts.n; i++)
        json_write_text(w, ((const char *const *)texts.at)[i]);
    json_write_end(w, ']');
}

static void write_numbers(struct json_writer *w, const uint32_t *list, size_t n)
{
    json_write_begin(w, '[');
    for (size_t i = 0; i < n; i++)
        json_write_i64(w, list[i]);
    json_write_end(w, ']');
}

/* ---- by the table ---- */

static bool group_is_default(const struct keys *keys, const char *from)
{
    for (const struct key *k = keys->at; k->name; k++)
        if (!key_is_default(k, from + k->at))
            return false;
    return true;
}

bool key_is_default(const struct key *k, const void *member)
{
    double number;

    switch (key_stored_as(k)) {
    case STORED_TEXT:
    case STORED_JSON:
    case STORED_NESTED:
    case STORED_TASK:
        return !pointer_at(member);
    case STORED_TEXTS:
    case STORED_PAIRS:
    case STORED_VALUES:
    case STORED_CODES:
    case STORED_LIST:
        return !list_at(member).n;
    case STORED_I64:
        return !*(const int64_t *)member;
    case STORED_INT:
    case STORED_WORD:
        return *(const int *)member == k->unset;
    case STORED_BOOL:
    case STORED_OPTION:
        return !*(const bool *)member;
    case STORED_DOUBLE:
        number = *(const double *)member;
        return k->min > 0 ? !(number > 0) : number < 0;
    case STORED_LOCATION:
        return !*(const uint32_t *)member;
    case STORED_INDEXES:
        return !*(const uint32_t *)((const char *)member + sizeof(uint32_t *));
    case STORED_GROUP:
        return group_is_default(k->group, member);
    case STORED_NOTHING:
        break;
    }
    return true;
}

static void write_object(struct json_writer *w, const struct keys *keys, const void *from)
{
    json_write_begin(w, '{');
    keys_write(w, keys, from);
    json_write_end(w, '}');
}

static void write_list(struct json_writer *w, const struct keys *keys, struct list list)
{
    const char *item = list.at;

    json_write_begin(w, '[');
    for (; list.n; list.n--, item += keys->size)
        write_object(w, keys, item);
    json_write_end(w, ']');
}

void key_write(struct json_writer *w, const struct key *k, const void *member)
{
    switch (key_stored_as(k)) {
    case STORED_TEXT:
        json_write_text(w, *(const char *const *)member);
        break;
    case STORED_JSON:
        json_write_raw(w, *(const char *const *)member);
        break;
    case STORED_TEXTS:
        write_texts(w, list_at(member));
        break;
    case STORED_PAIRS:
    case STORED_VALUES:
        write_pairs(w, list_at(member), key_stored_as(k) == STORED_VALUES);
        break;
    case STORED_I64:
        json_write_i64(w, *(const int64_t *)member);
        break;
    case STORED_INT:
        json_write_i64(w, *(const int *)member);
        break;
    case STORED_BOOL:
        json_write_bool(w, *(const bool *)member);
        break;
    case STORED_DOUBLE:
        json_write_double(w, *(const double *)member);
        break;
    case STORED_WORD:
        json_write_text(w, k->words[*(const int *)member]);
        break;
    case STORED_CODES:
        write_numbers(w, list_at(member).at, list_at(member).n);
        break;
    case STORED_LOCATION:
        write_numbers(w, member, 2);
        break;
    case STORED_INDEXES:
        write_numbers(w, pointer_at(member),
                      *(const uint32_t *)((const char *)member + sizeof(uint32_t *)));
        break;
    case STORED_NESTED:
        json_write_text(w, ((const struct workflow *)pointer_at(member))->hash);
        break;
    case STORED_GROUP:
    case STORED_OPTION:
        write_object(w, k->group, member);
        break;
    case STORED_LIST:
        write_list(w, k->group, list_at(member));
        break;
    case STORED_TASK:
        write_object(w, &keys_task, pointer_at(member));
        break;
    case STORED_NOTHING:
        break;
    }
}

void keys_write(struct json_writer *w, const struct keys *keys, const void *from)
{
    for (const struct key *k = keys->at; k->name; k++) {
        const void *member = (const char *)from + k->at;

        if (!key_is_default(k, member)) {
            json_write_key(w, k->name);
            key_write(w, k, member);
        }
    }
}

/* ---- a definition ---- */

/* Writes a definition, but not its closing brace. */
static void write_one(struct json_writer *json, const struct workflow *w)
{
    json_write_begin(json, '{');
    keys_write(json, &keys_workflow, w);
    json_write_key(json, "tasks");
    write_list(json, &keys_task, (struct list){w->tasks, w->ntasks});
}

void workflow_write(const struct workflow *w, struct buf *out)
{
    struct json_writer json = JSON_WRITER(out);
    size_t n, i;
    AUTO_FREE const struct workflow **below = workflow_below(w, &n);

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
    for (uint32_t i = 0; i < w->ntasks; i++)
        if (!strcmp(w->tasks[i].name, name))
            return &w->tasks[i];
    if (w->on_failure && !strcmp(w->on_failure->name, name))
        return w->on_failure;
    return w->on_exit && !strcmp(w->on_exit->name, name) ? w->on_exit : NULL;
}

int workflow_no_task(const struct workflow *w, const char *name, struct err *err)
{
    struct suggestion s = suggest_for(name);

    for (size_t i = 0; i < w->ntasks; i++)
        suggest_try(&s, w->tasks[i].name);
    return err_set(err, E_INVALID, "the workflow %s has no task '%.100s'%s%s%s", w->name, name,
                   s.best ? "; did you mean '" : "", s.best ? s.best : "", s.best ? "'?" : "");
}
