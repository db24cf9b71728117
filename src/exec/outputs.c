/* outputs.c - parses the file that a task wrote to $PAWL_OUTPUT; see outputs.h. */
#include "exec/outputs.h"

#include "base/json.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 80 /* bytes shown of a bad line */

struct output {
    const char *key;
    const char *json;
};

struct parser {
    const char *at, *end;
    int line; /* the current line, from 1 */
    const char *const *names;
    VEC(struct output) all;
    struct arena arena;
    struct err *err;
};

/* The next line without its line end; false at the end of the text. */
static bool next_line(struct parser *p, const char **line, size_t *len)
{
    const char *nl;

    if (p->at == p->end)
        return false;
    *line = p->at;
    nl = memchr(p->at, '\n', (size_t)(p->end - p->at));
    *len = (size_t)((nl ? nl : p->end) - p->at);
    p->at = nl ? nl + 1 : p->end;
    p->line++;
    if (*len && (*line)[*len - 1] == '\r')
        (*len)--;
    return true;
}

static bool is_wanted(const struct parser *p, const char *key)
{
    const char *const *name = p->names;

    if (!name || !*name)
        return true;
    for (; *name; name++)
        if (strcmp(*name, key) == 0)
            return true;
    return false;
}

static int set_output(struct parser *p, const char *key, const char *json)
{
    if (!is_wanted(p, key))
        return 0;
    for (size_t i = 0; i < p->all.n; i++) {
        if (strcmp(p->all.at[i].key, key) == 0) {
            p->all.at[i].json = json;
            return 0;
        }
    }
    if (p->all.n == OUTPUTS_KEYS_MAX)
        return err_set(p->err, E_INVALID, "line %d of $PAWL_OUTPUT exceeds the limit of %d outputs",
                       p->line, OUTPUTS_KEYS_MAX);
    *vec_add(&p->all) = (struct output){.key = key, .json = json};
    return 0;
}

static int set_text_output(struct parser *p, const char *key, const char *text, size_t len)
{
    AUTO_BUF quoted = BUF_INIT;

    json_quote(&quoted, text, len);
    return set_output(p, key, arena_memdup0(&p->arena, quoted.ptr, quoted.len));
}

static size_t key_length(const char *line, size_t len)
{
    size_t n = 0;

    while (n < len &&
           (((line[n] | 32) >= 'a' && (line[n] | 32) <= 'z') || line[n] == '_' ||
            (n && ((line[n] >= '0' && line[n] <= '9') || line[n] == '-' || line[n] == '.'))))
        n++;
    return n;
}

static int check_text(const struct parser *p, const char *line, size_t len)
{
    if (text_is_utf8(line, len))
        return 0;
    return err_set(p->err, E_INVALID,
                   "line %d of $PAWL_OUTPUT is not valid UTF-8 (or holds a NUL byte)", p->line);
}

static int read_block(struct parser *p, const char *key, const char *mark, size_t mark_len)
{
    int first = p->line;
    AUTO_BUF text = BUF_INIT;
    const char *line;
    size_t len;
    int rc;

    while (next_line(p, &line, &len)) {
        if ((rc = check_text(p, line, len)))
            return rc;
        if (len == mark_len && memcmp(line, mark, len) == 0)
            return set_text_output(p, key, buf_cstr(&text), text.len ? text.len - 1 : 0);
        buf_add(&text, line, len);
        buf_addch(&text, '\n');
    }
    return err_set(p->err, E_INVALID,
                   "line %d of $PAWL_OUTPUT starts the block of \"%s\", which is not closed: add a "
                   "line with only \"%.*s\"",
                   first, key, (int)mark_len, mark);
}

static int read_object(struct parser *p, const char *line, size_t len)
{
    AUTO_JSON_NODE doc = {0};
    struct json_node member;
    struct err why = ERR_INIT;
    void *iter;
    int rc = 0;

    if (json_read_open(line, len, OUTPUTS_MAX, "it", &doc, &why) ||
        json_read_known_keys(&doc, NULL, &why))
        return err_set(p->err, E_INVALID, "line %d of $PAWL_OUTPUT: %s", p->line, why.msg);
    JSON_EACH(&doc, iter, &member)
    if (!rc)
        rc = set_output(p, arena_strdup(&p->arena, member.key), json_read_raw(&member, &p->arena));
    return rc;
}

static int read_line(struct parser *p, const char *line, size_t len)
{
    size_t n = key_length(line, len);
    const char *key = arena_memdup0(&p->arena, line, n);

    if (!len)
        return 0;
    if (*line == '{')
        return read_object(p, line, len);
    if (n && n < len && line[n] == '=')
        return set_text_output(p, key, line + n + 1, len - n - 1);
    if (n && n + 2 < len && line[n] == '<' && line[n + 1] == '<')
        return read_block(p, key, line + n + 2, len - n - 2);
    for (n = len < SHOWN_MAX ? len : SHOWN_MAX; n < len && (line[n] & 0xc0) == 0x80; n--)
        ; /* do not cut a character in half */
    return err_set(p->err, E_INVALID,
                   "line %d of $PAWL_OUTPUT is neither KEY=VALUE, KEY<<END nor a JSON object: %.*s",
                   p->line, (int)n, line);
}

static void write_outputs(const struct parser *p, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);

    if (!p->all.n)
        return;
    json_write_begin(&w, '{');
    for (size_t i = 0; i < p->all.n; i++) {
        json_write_key(&w, p->all.at[i].key);
        json_write_raw(&w, p->all.at[i].json);
    }
    json_write_end(&w, '}');
}

int outputs_parse(const char *text, size_t len, const char *const *names, struct buf *out,
                  struct err *err)
{
    struct parser p = {.at = text, .end = text + len, .names = names, .err = err};
    const char *line;
    size_t n;
    int rc = 0;

    if (len > OUTPUTS_MAX)
        return err_set(
            err, E_INVALID,
            "$PAWL_OUTPUT is longer than %d bytes: store large values in files and pass their paths",
            OUTPUTS_MAX);
    while (!rc && next_line(&p, &line, &n))
        if (!(rc = check_text(&p, line, n)))
            rc = read_line(&p, line, n);
    if (!rc)
        write_outputs(&p, out);
    vec_release(&p.all);
    arena_release(&p.arena);
    return rc;
}
