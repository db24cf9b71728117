/* read_key.c - reads a mapping, and values that are numbers or strings; see read_key.h. A reader
 * checks only the value itself; checks that involve other values follow once the whole file is
 * read. */
#include "parse/read_key.h"

#include "base/suggest.h"
#include "base/text.h"
#include "core/schedule/cron.h"
#include "parse/yaml/scalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limit on the bytes of all strings together: a few aliases can expand to a very large text. */
#define TEXTS_MAX (32u << 20)

/* ---- functions shared by the readers ---- */

void reader_release(struct reader *r)
{
    vec_release(&r->refused);
    vec_release(&r->texts);
    arena_release(&r->scratch);
}

const char *reader_what(char *out, const char *above, const char *name)
{
    snprintf(out, WHAT_SIZE, "%.200s%s%.100s", above, *above ? "." : "", name);
    return out;
}

bool reader_spend(struct reader *r, const struct yaml *node, size_t bytes)
{
    struct text_budget *b = r->budget;

    if (!b)
        return true;
    b->spent += bytes;
    if (b->spent > TEXTS_MAX && !b->over_limit)
        yaml_error(r->doc, node,
                   "the text of the workflow, with aliases and defaults expanded, exceeds the "
                   "limit of %u MB here",
                   TEXTS_MAX >> 20);
    b->over_limit = b->spent > TEXTS_MAX;
    return !b->over_limit;
}

const char *reader_keep(struct reader *r, const struct yaml *node, const char *text)
{
    return reader_spend(r, node, strlen(text) + 1) ? arena_strdup(r->arena, text) : "";
}

void reader_note_text(struct reader *r, const struct yaml *node, const char *text, const char *what,
                      bool condition)
{
    if (condition || strstr(text, "${{"))
        *vec_add(&r->texts) = (struct text_use){.text = text,
                                                .what = arena_strdup(&r->scratch, what),
                                                .line = node->line,
                                                .column = node->column,
                                                .task = r->task,
                                                .scope = r->scope,
                                                .condition = condition};
}

/* ---- mappings ---- */

static bool is_allowed(const struct key *k, unsigned places)
{
    return !places || (k->places & places) == places;
}

static void report_unknown_key(struct reader *r, const struct keys *keys, const struct yaml *key,
                               const char *what, unsigned places)
{
    struct suggestion s = suggest_for(key->text);
    const char *in = *what ? " in " : "", *meant = NULL;
    const struct key *k;

    if (places & KEY_CUSTOM) /* the task names an executor: its command key may be mistyped */
        places = (places & ~(unsigned)KEY_CUSTOM) | KEY_COMMANDS;
    if (!diagnostics_full(r->doc->diagnostics))
        KEYS_EACH(keys, k)
    if (is_allowed(k, places)) {
        suggest_try(&s, k->name);
        meant = key_is_elsewhere(k, key->text) ? k->name : meant;
    }
    meant = meant ? meant : s.best;
    yaml_error(r->doc, key, "there is no key \"%.60s\"%s%s%s%s%s", key->text, in, what,
               DID_YOU_MEAN(meant));
}

bool reader_known_keys(struct reader *r, const struct keys *keys, const struct yaml *map,
                       const char *what)
{
    size_t before = r->doc->diagnostics->count;

    for (size_t i = 0; i < map->n; i++) {
        const struct yaml *key = &yaml_pair(map, i)->key;

        if (key->n && !key_find(keys, key->text)) /* the YAML reader has reported empty keys */
            report_unknown_key(r, keys, key, what, 0);
    }
    return r->doc->diagnostics->count == before;
}

static void misplaced_key(struct reader *r, const struct key *k, const struct yaml *key,
                          const char *what, unsigned places)
{
    const char *where = "with a function";

    if (places & KEY_COMMON)
        where = "in defaults";
    else if (places & KEY_HOOKS && !(k->places & KEY_HOOKS))
        where = "in a task that runs after all others";
    else if (places & KEY_CUSTOM)
        where = "without run or argv: pass values to the executor in `with`";
    else if (places & KEY_NESTED)
        where = strcmp(k->name, "env") ? "with a nested workflow"
                                       : "with a nested workflow: pass values in `with`";

    yaml_error(r->doc, key, "%s.%s can't be used %s", what, k->name, where);
}

void reader_keys(struct reader *r, const struct keys *keys, const struct yaml *map,
                 const char *what, unsigned places, void *to)
{
    enum scope outer = r->scope;
    char name[WHAT_SIZE];

    if (!yaml_is_map(r->doc, map, *what ? what : keys->title))
        return;
    for (size_t i = 0; i < map->n; i++) {
        const struct yaml_pair *p = yaml_pair(map, i);
        const struct key *k = key_find(keys, p->key.text);

        if (!k && p->key.n) /* the YAML reader has reported empty keys */
            report_unknown_key(r, keys, &p->key, what, places);
        else if (k && !is_allowed(k, places))
            misplaced_key(r, k, &p->key, what, places);
        else if (k) {
            r->scope = k->scope ? k->scope : outer;
            reader_what(name, what, k->name);
            if (k->needs_trust && r->untrusted)
                yaml_error(r->doc, &p->key, "%s decides what runs here, and %s", name,
                           r->untrusted);
            else if (reader_key(r, k, &p->value, name, to))
                continue;
            *vec_add(&r->refused) = &p->value;
        }
    }
    r->scope = outer;
}

const struct yaml *reader_given(const struct reader *r, const struct yaml *map, const char *path)
{
    char name[WHAT_SIZE];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, "."), path);
    map = yaml_get(map, name);
    for (size_t i = 0; i < r->refused.n && map; i++)
        if (r->refused.at[i] == map)
            return NULL;
    path = strchr(path, '.');
    return path ? reader_given(r, map, path + 1) : map;
}

/* Parses the documented default of a key as YAML. Almost all defaults are plain scalars, which need
 * no parser. */
static int read_default(const struct source *source, struct diagnostics *none, struct yaml_doc *doc)
{
    if (strchr("[{\"'", *source->text))
        return yaml_read(source, none, doc);
    *doc = (struct yaml_doc){.source = source,
                             .diagnostics = none,
                             .arena = ARENA_INIT,
                             .root = {.kind = (uint8_t)yaml_scalar_kind(source->text),
                                      .line = 1,
                                      .column = 1,
                                      .n = (uint32_t)source->len,
                                      .text = source->text}};
    return 0;
}

void reader_defaults_of(struct reader *r, const struct keys *keys, void *to, bool all)
{
    const struct yaml_doc *reading = r->doc;
    const struct key *k;

    KEYS_EACH(keys, k)
    {
        const char *text = k->default_value ? k->default_value : "(";
        struct source source = {.name = k->name, .text = text, .len = strlen(text)};
        struct diagnostics none = DIAGNOSTICS_INIT;
        struct yaml_doc doc;

        if (k->group && all)
            reader_defaults_of(r, k->group, (char *)to + k->at, all);
        if (*text == '(' || !(all || k->stored_default) || !key_is_default(k, (char *)to + k->at))
            continue;
        r->doc = &doc;
        if ((read_default(&source, &none, &doc) || !reader_key(r, k, &doc.root, k->name, to)) &&
            !(reading && reading->diagnostics->list.n)) /* the file may exceed TEXTS_MAX */
            abort(); /* a programming error: the reader of the key refuses the default of the key */
        yaml_release(&doc);
        diagnostics_release(&none);
    }
    r->doc = reading;
}

/* ---- strings ---- */

static bool check_length(struct reader *r, const struct key *k, const struct yaml *node,
                         const char *what)
{
    if (node->n < (uint64_t)k->min)
        return yaml_expected(r->doc, node, what, "a non-empty string");
    if (k->max && node->n > (uint64_t)k->max)
        return yaml_error(r->doc, node, "%s is %u bytes long; at most %lld are allowed", what,
                          node->n, (long long)k->max);
    return true;
}

const char *bad_name(const char *text)
{
    return workflow_is_name(text) ? NULL
                                  : "a letter or _ followed by up to 99 letters, digits, _ or -,";
}

const char *bad_queue(const char *text)
{
    struct err ignored = ERR_INIT;

    if (!*text || strlen(text) > 64)
        return "a queue name of 1 to 64 bytes";
    if (text_check_name("queue", text, 64, &ignored))
        return "a queue name without control characters";
    return strncmp(text, "here:", 5) ? NULL : "a queue name that does not start with here:";
}

const char *bad_path(const char *text)
{
    return *text ? NULL : "a path";
}

static const char *bad_tenant(const char *text)
{
    return *text >= 'a' && *text <= 'z' && strlen(text) <= 41 &&
                   !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")]
               ? NULL
               : "a lowercase letter followed by up to 40 lowercase letters, digits or _,";
}

/* Refuses ${{ }} in a string that is used as written: the author of the file expects that values
 * are inserted. */
static bool check_plain(struct reader *r, const struct key *k, const struct yaml *node,
                        const char *what)
{
    if (node->kind != YAML_TEXT || !strstr(node->text, "${{"))
        return true;
    if (k->type == KEY_SCRIPT)
        yaml_error(
            r->doc, node,
            "%s contains ${{ }}, but values are never inserted into shell text, where they could "
            "run as commands; pass the value in env (env: {X: \"${{ … }}\"}) and write "
            "\"$X\"; params are environment variables already",
            what);
    else
        yaml_error(r->doc, node, "%s can't contain ${{ }}: the value is used as written", what);
    return false;
}

bool reader_template(struct reader *r, const struct key *k, const struct yaml *node,
                     const char *what, const char **to)
{
    const char *text;

    if (!yaml_text(r->doc, node, what, &text) || !check_length(r, k, node, what))
        return false;
    *to = reader_keep(r, node, text);
    reader_note_text(r, node, *to, what, k->type == KEY_CONDITION);
    return true;
}

const char *reader_path(struct reader *r, const char *text)
{
    if (*text == '/')
        return arena_strdup(r->arena, text);
    if (text[0] == '~' && text[1] == '/' && r->home)
        return arena_printf(r->arena, "%s%s", r->home, text + 1);
    return arena_printf(r->arena, "%s/%s", r->folder,
                        text[0] == '.' && text[1] == '/' ? text + 2 : text);
}

/* Reads the URL of a database. It may contain a password, so messages do not repeat it. */
static bool read_url(struct reader *r, const struct yaml *node, const char *what, const char **to)
{
    const char *text = node->kind == YAML_TEXT ? node->text : "", *file;

    if (!strncmp(text, "postgres://", 11) || !strncmp(text, "postgresql://", 13)) {
        *to = arena_strdup(r->arena, text);
        return true;
    }
    file = strncmp(text, "sqlite:", 7) ? "" : text + 7;
    if (!*file || *file == '?')
        return yaml_error(r->doc, node, "%s must be sqlite:FILE or postgres://USER@HOST/DATABASE",
                          what);
    *to = arena_printf(r->arena, "sqlite:%s",
                       *file == '/' || *file == ':' ? file : reader_path(r, file));
    return true;
}

static bool check_parsed(struct reader *r, const struct key *k, const struct yaml *node,
                         const char *what, const char *text)
{
    struct tz *zone = NULL;
    struct cron cron;
    struct err err;

    if (k->type == KEY_CRON ? !cron_parse(text, &cron, &err) : !tz_load(text, &zone, &err)) {
        tz_free(&zone);
        return true;
    }
    return yaml_error(r->doc, node, "%s: %s", what, err.msg);
}

static bool read_text(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, const char **to)
{
    const char *text, *wanted = NULL;

    if (!check_plain(r, k, node, what) || !yaml_text(r->doc, node, what, &text))
        return false;
    wanted = k->type == KEY_NAME     ? bad_name(text)
             : k->type == KEY_QUEUE  ? bad_queue(text)
             : k->type == KEY_TENANT ? bad_tenant(text)
             : k->type == KEY_PATH   ? bad_path(text)
                                     : NULL;
    if (wanted)
        return yaml_expected(r->doc, node, what, "%s", wanted);
    if (!check_length(r, k, node, what))
        return false;
    *to = k->type == KEY_PATH ? reader_path(r, text) : reader_keep(r, node, text);
    return (k->type != KEY_CRON && k->type != KEY_ZONE) || check_parsed(r, k, node, what, text);
}

/* ---- numbers ---- */

static bool read_int(struct reader *r, const struct key *k, const struct yaml *node,
                     const char *what, int *to)
{
    int64_t n;

    if (!yaml_int(r->doc, node, what, k->min, k->max, &n))
        return false;
    *to = (int)n;
    return true;
}

static bool read_count(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, int *to)
{
    int64_t n = r->processors;

    if (node->kind == YAML_TEXT && !strcmp(node->text, "auto")) {
        *to = (int)(n < k->min ? k->min : n > k->max ? k->max : n);
        return true;
    }
    if (node->kind == YAML_INT)
        return read_int(r, k, node, what, to);
    return yaml_expected(r->doc, node, what, "a whole number from %lld to %lld, or auto,",
                         (long long)k->min, (long long)k->max);
}

static bool read_join(struct reader *r, const struct yaml *node, const char *what, int *to)
{
    static const struct key number = {.min = 1, .max = WORKFLOW_MAX_TASKS};

    if (node->kind == YAML_INT)
        return read_int(r, &number, node, what, to);
    if (node->kind != YAML_TEXT || (strcmp(node->text, "all") && strcmp(node->text, "any")))
        return yaml_expected(r->doc, node, what, "all, any or a number of needs");
    *to = !strcmp(node->text, "any");
    return true;
}

static bool read_catchup(struct reader *r, const struct key *k, const struct yaml *node,
                         const char *what, int64_t *to)
{
    int64_t ignored;
    struct err err;

    if (node->kind == YAML_TEXT && !strcmp(node->text, "last")) {
        *to = CATCHUP_LAST;
        return true;
    }
    if (node->kind != YAML_TEXT || text_parse_duration(node->text, &ignored, &err))
        return yaml_expected(r->doc, node, what, "a duration such as 6h, or last,");
    return yaml_duration(r->doc, node, what, k->min, k->max, to);
}

static bool read_time(struct reader *r, const struct yaml *node, const char *what, int64_t *to)
{
    int64_t us;
    struct err err;

    if (node->kind != YAML_TEXT || text_parse_time(node->text, &us, &err) || us <= 0)
        return yaml_expected(r->doc, node, what,
                             "a time after 1970 such as 2026-01-31 or 2026-01-31T14:00:00Z");
    *to = us;
    return true;
}

/* ---- by type ---- */

static bool read_number(struct reader *r, const struct key *k, const struct yaml *node,
                        const char *what, void *to)
{
    switch (k->type) {
    case KEY_COUNT:
        return read_count(r, k, node, what, to);
    case KEY_NUMBER:
        return yaml_number(r->doc, node, what, (double)k->min, (double)k->max, to);
    case KEY_DURATION:
        return yaml_duration(r->doc, node, what, k->min, k->max, to);
    case KEY_SIZE:
        return yaml_size(r->doc, node, what, k->min, k->max, to);
    case KEY_CATCHUP:
        return read_catchup(r, k, node, what, to);
    case KEY_TIME:
        return read_time(r, node, what, to);
    case KEY_JOIN:
        return read_join(r, node, what, to);
    default:
        return read_int(r, k, node, what, to);
    }
}

bool reader_key(struct reader *r, const struct key *k, const struct yaml *node, const char *what,
                void *to)
{
    void *member = (char *)to + k->at;
    const char *path;

    switch (k->type) {
    case KEY_TEMPLATE:
    case KEY_CONDITION:
        return reader_template(r, k, node, what, member);
    case KEY_URL:
        return read_url(r, node, what, member);
    case KEY_BOOL:
        return yaml_bool(r->doc, node, what, member);
    case KEY_WORD:
        return yaml_word(r->doc, node, what, k->words, member);
    case KEY_FILE:
        return read_text(r, k, node, what, &path) && r->other(r, k, node, what, member);
    default:
        break;
    }
    switch (key_stored_as(k)) {
    case STORED_TEXT:
        return read_text(r, k, node, what, member);
    case STORED_INT:
    case STORED_I64:
    case STORED_DOUBLE:
        return read_number(r, k, node, what, member);
    case STORED_TEXTS:
    case STORED_CODES:
    case STORED_PAIRS:
    case STORED_VALUES:
        return reader_list(r, k, node, what, member);
    case STORED_INDEXES:
    case STORED_LIST:
    case STORED_TASK:
    case STORED_NOTHING:
        if (k->type != KEY_SECTION && k->type != KEY_TRIGGERS)
            return r->other(r, k, node, what, member);
    /* fall through */
    default:
        return reader_group(r, k, node, what, member);
    }
}
