/* config_values.c - reads and checks configuration values by their type. Values that are kept are
 * copied to the arena, because the YAML tree is released after reading. */
#include "parse/config/config_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_QUEUE         64
#define MAX_TENANT        41
#define MAX_LIST          1000
#define FOREGROUND_QUEUES "here:" /* prefix of the queues of `pawl run` */

/* A pointer to the member; config_keys.c checks that the member has the type of its key. */
union target {
    void *any;
    const char **text;
    bool *yes;
    int *count;
    double *number;
    int64_t *amount;
    struct config_texts *texts;
    struct retry_policy *retry;
};

/* ---- texts ---- */

static const char *path_from(struct config_reader *r, const char *text)
{
    struct arena *a = &r->config->arena;
    char *joined;

    if (*text == '/')
        return arena_strdup(a, text);
    if (text[0] == '~' && text[1] == '/' && r->host->home)
        joined = mem_printf("%s%s", r->host->home, text + 1);
    else
        joined = mem_printf("%s/%s", r->folder, text[0] == '.' && text[1] == '/' ? text + 2 : text);
    text = arena_strdup(a, joined);
    free(joined);
    return text;
}

static bool read_path(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                      const char *what, union target to)
{
    const char *text;

    (void)k;
    if (!yaml_text(r->doc, node, what, &text))
        return false;
    if (!*text)
        return yaml_expected(r->doc, node, what, "a path");
    *to.text = path_from(r, text);
    return true;
}

/* The URL may contain a password, so messages do not repeat it. */
static bool read_url(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                     const char *what, union target to)
{
    struct arena *a = &r->config->arena;
    const char *text = node->kind == YAML_TEXT ? node->text : "", *file = text + 7;

    (void)k;
    if (!strncmp(text, "postgres://", 11) || !strncmp(text, "postgresql://", 13)) {
        *to.text = arena_strdup(a, text);
        return true;
    }
    if (strncmp(text, "sqlite:", 7) || !*file || *file == '?') {
        yaml_error(r->doc, node, "%s must be sqlite:FILE or postgres://USER@HOST/DATABASE", what);
        return false;
    }
    if (*file == '/' || *file == ':') {
        *to.text = arena_strdup(a, text);
    } else {
        char *url = mem_printf("sqlite:%s", path_from(r, file));

        *to.text = arena_strdup(a, url);
        free(url);
    }
    return true;
}

static bool read_tenant(struct config_reader *r, const struct config_key *k,
                        const struct yaml *node, const char *what, union target to)
{
    const char *text;
    size_t len;

    (void)k;
    if (!yaml_text(r->doc, node, what, &text))
        return false;
    len = strlen(text);
    if (len > MAX_TENANT || *text < 'a' || *text > 'z' ||
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") != len)
        return yaml_expected(
            r->doc, node, what,
            "a lowercase letter followed by up to 40 lowercase letters, digits or _,");
    *to.text = arena_strdup(&r->config->arena, text);
    return true;
}

static bool read_text(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                      const char *what, union target to)
{
    const char *text;

    (void)k;
    if (!yaml_text(r->doc, node, what, &text))
        return false;
    if (!*text)
        return yaml_expected(r->doc, node, what, "a string");
    *to.text = arena_strdup(&r->config->arena, text);
    return true;
}

/* ---- numbers and words ---- */

static bool read_bool(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                      const char *what, union target to)
{
    (void)k;
    return yaml_bool(r->doc, node, what, to.yes);
}

static bool read_int(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                     const char *what, union target to)
{
    int64_t n;

    if (!yaml_int(r->doc, node, what, k->min, k->max, &n))
        return false;
    *to.count = (int)n;
    return true;
}

static bool read_count(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                       const char *what, union target to)
{
    int64_t n = r->host->processors;
    char wanted[96];

    if (node->kind == YAML_TEXT && !strcmp(node->text, "auto")) {
        *to.count = (int)(n < k->min ? k->min : n > k->max ? k->max : n);
        return true;
    }
    if (node->kind == YAML_INT)
        return read_int(r, k, node, what, to);
    snprintf(wanted, sizeof(wanted), "a whole number from %lld to %lld, or auto,",
             (long long)k->min, (long long)k->max);
    return yaml_expected(r->doc, node, what, wanted);
}

static bool read_number(struct config_reader *r, const struct config_key *k,
                        const struct yaml *node, const char *what, union target to)
{
    return yaml_number(r->doc, node, what, (double)k->min, (double)k->max, to.number);
}

static bool read_duration(struct config_reader *r, const struct config_key *k,
                          const struct yaml *node, const char *what, union target to)
{
    return yaml_duration(r->doc, node, what, k->min, k->max, to.amount);
}

static bool read_size(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                      const char *what, union target to)
{
    return yaml_size(r->doc, node, what, k->min, k->max, to.amount);
}

static bool read_word(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                      const char *what, union target to)
{
    return yaml_word(r->doc, node, what, k->words, to.count);
}

/* ---- lists ---- */

/* These return NULL if a text of a list is valid, else what is expected instead. */
static const char *bad_queue(const char *text)
{
    if (!*text || strlen(text) > MAX_QUEUE)
        return "a queue name of 1 to 64 bytes";
    return strncmp(text, FOREGROUND_QUEUES, strlen(FOREGROUND_QUEUES))
               ? NULL
               : "a queue name that does not start with here:";
}

static const char *bad_name(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return *text && text[strspn(text, letters)] == '\0' && (*text < '0' || *text > '9')
               ? NULL
               : "a variable name (letters, digits and _)";
}

static const char *bad_path(const char *text)
{
    return *text ? NULL : "a path";
}

/* Reads a list of distinct texts, each checked by `bad`; paths are made absolute. */
static bool read_texts(struct config_reader *r, const struct yaml *node, const char *what,
                       const char *(*bad)(const char *), struct config_texts *out)
{
    struct arena *a = &r->config->arena;
    const struct yaml *items;
    const char **texts;
    size_t n, i, k;
    bool ok = true;

    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    if (n > MAX_LIST)
        return yaml_expected(r->doc, node, what, "a list of at most 1000 items");
    texts = arena_zalloc(a, (n + 1) * sizeof(*texts));
    for (i = 0; i < n; i++) {
        const char *text = NULL, *wanted;

        if (!yaml_text(r->doc, &items[i], what, &text)) {
            ok = false;
        } else if ((wanted = bad(text))) {
            ok = yaml_expected(r->doc, &items[i], what, wanted);
        } else {
            texts[i] = bad == bad_path ? path_from(r, text) : arena_strdup(a, text);
            for (k = 0; k < i; k++)
                if (texts[k] && !strcmp(texts[k], texts[i])) {
                    yaml_error(r->doc, &items[i], "%s: '%.60s' is listed twice", what, text);
                    ok = false;
                    break;
                }
        }
    }
    if (ok)
        *out = (struct config_texts){.at = texts, .n = n};
    return ok;
}

static bool read_queues(struct config_reader *r, const struct config_key *k,
                        const struct yaml *node, const char *what, union target to)
{
    (void)k;
    if (node->kind == YAML_LIST && !node->n)
        return yaml_expected(r->doc, node, what, "at least one queue");
    return read_texts(r, node, what, bad_queue, to.texts);
}

static bool read_names(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                       const char *what, union target to)
{
    (void)k;
    return read_texts(r, node, what, bad_name, to.texts);
}

static bool read_paths(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                       const char *what, union target to)
{
    (void)k;
    return read_texts(r, node, what, bad_path, to.texts);
}

static bool read_codes(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                       const char *what, union target to)
{
    const struct yaml *items;
    size_t n, i;
    int64_t code;
    bool ok = true;
    int *codes;

    (void)k;
    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    codes = arena_alloc(&r->config->arena, n * sizeof(*codes));
    for (i = 0; i < n; i++) {
        code = 0;
        ok = yaml_int(r->doc, &items[i], what, 1, 255, &code) && ok;
        codes[i] = (int)code;
    }
    if (ok) {
        to.retry->codes = codes;
        to.retry->ncodes = n;
    }
    return ok;
}

static bool accept_unread(struct config_reader *r, const struct config_key *k,
                          const struct yaml *node, const char *what, union target to)
{
    (void)r, (void)k, (void)node, (void)what, (void)to;
    return true;
}

/* ---- by type ---- */

static bool (*const readers[])(struct config_reader *, const struct config_key *,
                               const struct yaml *, const char *what, union target) = {
    [CONFIG_TYPE_TEXT] = read_text,          [CONFIG_TYPE_URL] = read_url,
    [CONFIG_TYPE_TENANT] = read_tenant,      [CONFIG_TYPE_PATH] = read_path,
    [CONFIG_TYPE_BOOL] = read_bool,          [CONFIG_TYPE_INT] = read_int,
    [CONFIG_TYPE_COUNT] = read_count,        [CONFIG_TYPE_NUMBER] = read_number,
    [CONFIG_TYPE_DURATION] = read_duration,  [CONFIG_TYPE_SIZE] = read_size,
    [CONFIG_TYPE_WORD] = read_word,          [CONFIG_TYPE_QUEUES] = read_queues,
    [CONFIG_TYPE_NAMES] = read_names,        [CONFIG_TYPE_PATHS] = read_paths,
    [CONFIG_TYPE_CODES] = read_codes,        [CONFIG_TYPE_ROUTES] = accept_unread,
    [CONFIG_TYPE_EXECUTORS] = accept_unread,
};

bool config_read_value(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                       const char *what, void *to)
{
    union target target = {.any = (char *)to + k->offset};

    return readers[k->type](r, k, node, what, target);
}
