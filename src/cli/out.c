/* out.c - output for people: errors, and text without control characters; and access to JSON
 * fields. */
#include "cli/cli.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

/* Removes the characters that can change how a terminal shows the rest; a line break or a tab
 * becomes a space. */
void out_clean(struct buf *b, const char *text)
{
    size_t n;

    for (; *text; text += n) {
        n = text_step(text, strnlen(text, 4));
        n += !n;
        if (*text == '\n' || *text == '\t')
            buf_addch(b, ' ');
        else if (!text_is_hidden(text, n))
            buf_add(b, text, n);
    }
}

void out_word(struct buf *b, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_./+-@%,:=";

    if (*word && !word[strspn(word, plain)]) {
        buf_addstr(b, word);
        return;
    }
    buf_addch(b, '\'');
    for (; *word; word++)
        buf_addstr(b, *word == '\'' ? "'\\''" : (const char[]){*word, '\0'});
    buf_addch(b, '\'');
}

/* Prints an error as one line, replacing newlines. Only a message that ends with a newline keeps
 * its lines: it lists the problems of a file, each with its location. */
static int print_sentence(const char *text, int exit_code)
{
    size_t len = strlen(text);
    char *copy = mem_strdup(text), *at = copy, *line;
    bool lines = len && text[len - 1] == '\n';
    AUTO_BUF b = BUF_INIT;

    if (lines)
        copy[len - 1] = '\0';
    fflush(stdout);
    while ((line = strsep(&at, lines ? "\n" : ""))) {
        buf_addstr(&b, line == copy ? "pawl: " : "");
        out_clean(&b, line);
        buf_addch(&b, '\n');
    }
    fputs(buf_cstr(&b), stderr);
    free(copy);
    return exit_code;
}

/* Prints an error with a hint about params. The library does not know the command line, so hints
 * that name commands and options are added here. */
int cli_fail_param(const struct pawl_error *err, const char *option)
{
    char text[sizeof(err->message) + sizeof(err->name) + 40], *end = stpcpy(text, err->message);
    size_t left = sizeof(text) - (size_t)(end - text);

    if (err->missing == PAWL_MISSING_EXECUTION)
        snprintf(end, left, ": `pawl ls` lists the executions");
    else if (err->missing == PAWL_MISSING_PARAM && option)
        snprintf(end, left, "; write %s %s=VALUE", option, err->name);
    return print_sentence(text, pawl_exit_code(err->code));
}

int cli_fail(const struct pawl_error *err)
{
    return cli_fail_param(err, NULL);
}

int cli_wrong(const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return print_sentence(text, pawl_exit_code(PAWL_E_INVALID));
}

void print_clean(FILE *to, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    AUTO_BUF clean = BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vprintf(fmt, ap);
    va_end(ap);
    out_clean(&clean, text);
    fprintf(to, "%s\n", buf_cstr(&clean));
}

int cli_done(int exit_code)
{
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "pawl: can't write the output: %s\n", strerror(errno));
        return exit_code ? exit_code : 1;
    }
    return exit_code;
}

void out_moment(struct buf *b, const struct pawl_moment *at)
{
    char text[TIME_TEXT_SIZE];

    if (at->event) {
        buf_addf(b, "event %lld", (long long)at->event);
    } else {
        text_time(at->time, text);
        buf_addf(b, "%.10s %.15s UTC", text, text_time_of_day(text));
    }
}

const void *find_named(const void *rows, size_t n, size_t size, const char *name)
{
    for (const char *row = rows; n--; row += size)
        if (!strcmp(*(const char *const *)(const void *)row, name))
            return row;
    return NULL;
}

/* ---- JSON ---- */

json_t *parse_object(const char *json)
{
    return json_loads(json, JSON_ALLOW_NUL, NULL);
}

json_t *take_object(char *json)
{
    json_t *o = parse_object(json);

    free(json);
    return o;
}

int show_object(struct pawl *p, int64_t id, json_t **out, struct pawl_error *err)
{
    char *json;

    TRY(pawl_show(p, id, &json, err));
    *out = take_object(json);
    return 0;
}

int print_answer(char *text)
{
    puts(text);
    free(text);
    return 0;
}

int print_execution(struct cli *c, int64_t id)
{
    char *json;

    if (c->json) {
        TRY(pawl_show(c->p, id, &json, &c->err));
        return print_answer(json);
    }
    printf("%lld\n", (long long)id);
    return 0;
}

const char *field(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

int64_t field_int(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

int64_t field_time(const json_t *o, const char *key)
{
    struct err ignored;
    int64_t us = 0;

    return text_parse_time(field(o, key), &us, &ignored) ? 0 : us;
}

int64_t field_duration(const json_t *o, int64_t now)
{
    int64_t since = field_time(o, "started_at") + field_int(o, "idle_us");

    if (json_is_integer(json_object_get(o, "duration_us")))
        return field_int(o, "duration_us");
    return !since ? -1 : now > since ? now - since : 0;
}

void print_field(const char *label, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vprintf(fmt, ap);
    va_end(ap);
    if (*text)
        print_clean(stdout, "%-10s %s", label, text);
}

void print_json_object(json_t *o)
{
    char *text = json_text(o);

    puts(text);
    free(text);
    json_decref(o);
}

int print_line(void *arg, const char *json)
{
    (void)arg;
    puts(json);
    return 0;
}
