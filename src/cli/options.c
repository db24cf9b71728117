/* options.c - parses the options of a command, and opens the database that they name. */
#include "cli/cli.h"

#include "base/env.h"
#include "base/mem.h"
#include "base/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options ---- */

/* Parses a time, or a duration before now. */
static int parse_time(const char *text, int64_t *us, struct err *err)
{
    struct err ignored;

    if (!text_parse_duration(text, us, &ignored)) {
        *us = clock_wall_us() - *us;
        return 0;
    }
    if (text_parse_time(text, us, &ignored))
        return err_set(
            err, E_INVALID,
            "'%.60s' is not a time: write 2026-01-31, 2026-01-31T14:00:00Z, or 5m for five "
            "minutes ago",
            text);
    return 0;
}

/* Parses an event number such as "#1234", or a time. */
static int parse_moment(const char *text, struct pawl_moment *out, struct err *err)
{
    *out = (struct pawl_moment){0};
    if (*text != '#')
        return parse_time(text, &out->time, err);
    if (text_parse_i64(text + 1, &out->event) || out->event <= 0)
        return err_set(err, E_INVALID, "'%.60s' is not an event: write its number as #1234", text);
    return 0;
}

/* Stores the value of an option; `values` is the structure that contains it. */
static int store_value(const struct option *o, void *values, const char *value, struct err *err)
{
    void *to = (char *)values + o->at;
    int rc = 0;

    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)to = true;
        break;
    case OPTION_TEXT:
        *(const char **)to = value;
        break;
    case OPTION_TEXTS: {
        struct texts *t = to;

        *vec_add(t) = value;
        *vec_add(t) = NULL;
        t->n--;
        break;
    }
    case OPTION_NUMBER:
        if (text_parse_i64(value, to) || *(int64_t *)to < 0)
            return err_set(err, E_INVALID,
                           "%s%s needs a whole number of at least 0, but got '%.60s'",
                           option_dashes(o), o->name, value);
        break;
    case OPTION_TIME:
        rc = parse_time(value, to, err);
        break;
    case OPTION_MOMENT:
        rc = parse_moment(value, to, err);
        break;
    case OPTION_DURATION:
        rc = text_parse_duration(value, to, err);
        break;
    }
    return rc ? err_prefix(err, "%s%s", option_dashes(o), o->name) : 0;
}

static void suggest_names(struct suggestion *s, const struct option *list)
{
    for (; list && list->name; list++)
        if (list->name[1])
            suggest_try(s, list->name);
}

#define LOCAL "pawl %s works with the database itself, not through a server: "

static const char *local_hint(const struct command *c)
{
    return c == &command_run ? "use `pawl submit`, which leaves the workflow to workers"
                             : "name the database with --db";
}

static int unknown_option(const struct command *c, const char *given, size_t len, bool words,
                          struct err *err)
{
    char name[64];
    struct suggestion s;

    snprintf(name, sizeof(name), "%.*s", (int)len, given + strspn(given, "-"));
    if (c->local && (!strcmp(name, "server") || !strcmp(name, "token-file")))
        return err_set(err, E_INVALID, LOCAL "%s", c->name, local_hint(c));
    s = suggest_for(name);
    suggest_names(&s, c->options);
    suggest_names(&s, command_common(c));
    if (strstr(c->forms, "-- CMD") && words)
        return err_set(err, E_INVALID,
                       "pawl %s has no option '%.60s': to pass it to the command, write `pawl %s "
                       "-- CMD %.60s`",
                       c->name, given, c->name, given);
    if (s.best && len > 1)
        return err_set(
            err, E_INVALID,
            "pawl %s has no option '%.60s'; did you mean --%s? `pawl help %s` lists its options",
            c->name, given, s.best, c->name);
    return err_set(err, E_INVALID,
                   "pawl %s has no option '%.60s': `pawl help %s` lists its "
                   "options",
                   c->name, given, c->name);
}

/* Parses the option at argv[*i]: "--name", "--name value" or "--name=value", with one dash if
 * the name is one letter. */
static int parse_option(struct cli *c, int argc, char **argv, int *i, struct err *err)
{
    const char *given = argv[*i], *name = given + (given[1] == '-' ? 2 : 1),
               *value = strchr(name, '=');
    size_t len = value ? (size_t)(value - name) : strlen(name);
    const struct option *o = option_find(command_common(c->command), name, len);
    void *values = o ? (void *)c : c->values;

    if (!o)
        o = option_find(c->command->options, name, len);
    if (!o || (len == 1) != (given[1] != '-'))
        return unknown_option(c->command, given, len, c->nwords > 0, err);
    if (o->kind == OPTION_FLAG && value)
        return err_set(err, E_INVALID, "%s%s takes no value", option_dashes(o), o->name);
    if (o->kind != OPTION_FLAG && !value) {
        if (*i + 1 >= argc)
            return err_set(err, E_INVALID, "%s%s needs a value", option_dashes(o), o->name);
        return store_value(o, values, argv[++*i], err);
    }
    return store_value(o, values, value ? value + 1 : NULL, err);
}

static int read_arguments(struct cli *c, int argc, char **argv, struct err *err)
{
    bool words_only = false;

    for (int i = 1; i < argc; i++) {
        if (words_only || argv[i][0] != '-')
            c->words[c->nwords++] = argv[i];
        else if (!strcmp(argv[i], "--"))
            words_only = true;
        else if (!strcmp(argv[i], "-h"))
            c->help = true;
        else
            TRY(parse_option(c, argc, argv, &i, err));
    }
    return 0;
}

static int too_few_arguments(const struct command *c)
{
    if (strchr(c->forms, '\n'))
        return cli_wrong("pawl %s needs more arguments: see `pawl help %s`", c->name, c->name);
    return cli_wrong("pawl %s needs more arguments: write `pawl %s %s`, or see `pawl help %s`",
                     c->name, c->name, c->forms, c->name);
}

/* Suggests the option if the word is NAME=VALUE: leaving out the option is a common mistake. */
static int too_many_arguments(const struct command *c, const char *word)
{
    const struct option *o = c->options;

    while (o && o->name && (!o->value || strcmp(o->value, "NAME=VALUE") != 0))
        o++;
    if (o && o->name && strchr(word, '='))
        return cli_wrong("pawl %s does not take '%.60s'; did you mean --%s %.60s?", c->name, word,
                         o->name, word);
    return cli_wrong("pawl %s does not take '%.60s': see `pawl help %s`", c->name, word, c->name);
}

/* Without this check, --server could name a database. */
static bool is_server(const char *url)
{
    static const char *const begins[] = {"http://", "https://", "http+unix://", "unix:"};
    bool found = false;

    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        found |= !strncmp(url, begins[i], strlen(begins[i]));
    return found;
}

/* Returns -1 if the command should continue, else its exit code, after printing an error or the
 * help. */
static int prepare_command(struct cli *c, int argc, char **argv)
{
    const struct command *command = c->command;
    struct err err = ERR_INIT;
    int code;

    if (read_arguments(c, argc, argv, &err))
        return cli_wrong("%s", err.msg);
    if (c->help) {
        help_command(stdout, command);
        return 0;
    }
    if (c->db && c->server)
        return cli_wrong("--server and --db exclude each other");
    if (command->local && cli_server(c))
        return cli_wrong(LOCAL "%s", command->name, local_hint(command));
    if (cli_server(c) && !is_server(cli_server(c)))
        return cli_wrong(
            "'%.200s' is not the URL of a server: write http://HOST:PORT, https://HOST or "
            "unix:PATH",
            cli_server(c));
    if ((code = cli_read_token(c)))
        return code;
    if (c->nwords < command->least)
        return too_few_arguments(command);
    return c->nwords > command->most ? too_many_arguments(command, c->words[command->most]) : -1;
}

static void release(struct cli *c)
{
    const struct option *o;

    pawl_close(c->p);
    for (o = c->command->options; o && o->name; o++)
        if (o->kind == OPTION_TEXTS)
            vec_release((struct texts *)(void *)((char *)c->values + o->at));
    free(c->token);
    free(c->values);
    free(c->words);
}

int cli_each_id(struct cli *c, int (*run_id)(struct cli *c, int64_t id))
{
    int64_t id;
    int one, code = 0;

    for (int i = 0; i < c->nwords; i++) {
        if (!(one = cli_id(c, c->words[i], &id)))
            one = run_id(c, id);
        one = one < 0 ? cli_fail(&c->err) : one;
        code = code ? code : one;
    }
    return code;
}

static int run_ids(struct cli *c)
{
    return cli_each_id(c, c->command->run_id);
}

int run_command(const struct command *command, int argc, char **argv)
{
    struct cli c = {.command = command,
                    .words = mem_zalloc(((size_t)argc + 1) * sizeof(*c.words)),
                    .values = mem_zalloc(command->size + 1)};
    int code;

    if (command->defaults)
        memcpy(c.values, command->defaults, command->size);
    if ((code = prepare_command(&c, argc, argv)) < 0) {
        code = command->opens || command->run_id ? cli_open(&c) : 0;
        code = code ? code : (command->run ? command->run : run_ids)(&c);
        code = code < 0 ? cli_fail(&c.err) : code;
    }
    release(&c);
    return cli_done(code);
}

/* ---- the database ---- */

#define TOKEN_FILE_MAX  4096
#define READER_PATIENCE 5000000LL /* µs; a command that writes has the default, 30 s */

static void trace(void *arg, const char *statement, int64_t took, long rows)
{
    (void)arg;
    fprintf(stderr, "trace: %-24s %9.3f ms %6ld rows\n", statement, (double)took / 1000, rows);
}

const char *cli_server(const struct cli *c)
{
    const char *named = getenv("PAWL_SERVER");

    return c->server ? c->server : !c->db && named && *named ? named : NULL;
}

int cli_read_token(struct cli *c)
{
    AUTO_BUF text = BUF_INIT;
    size_t len;
    int fd;
    bool ok;

    if (!c->token_file)
        return 0;
    if (!cli_server(c))
        return cli_wrong("--token-file belongs to --server");
    fd = open(c->token_file, O_RDONLY | O_CLOEXEC);
    ok = fd >= 0 && buf_read(&text, fd, TOKEN_FILE_MAX);
    if (!ok)
        cli_wrong("the token file %.200s can't be read: %s", c->token_file, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!ok)
        return pawl_exit_code(PAWL_E_INVALID);
    len = strcspn(buf_cstr(&text), "\r\n");
    if (!len)
        return cli_wrong("the first line of the token file %.200s is empty", c->token_file);
    c->token = mem_printf("%.*s", (int)len, text.ptr);
    return 0;
}

int cli_needs_database(const struct cli *c, const char *what)
{
    if (!cli_server(c))
        return 0;
    return cli_wrong("%s works with the database itself, not through a server: name the database "
                     "with --db",
                     what);
}

struct pawl_options cli_options(const struct cli *c, bool must_exist)
{
    const char *traced = getenv("PAWL_TRACE");

    return (struct pawl_options){.url = c->db ? c->db : cli_server(c),
                                 .token = c->token,
                                 .tenant = c->tenant,
                                 .must_exist = must_exist,
                                 .patience = c->command && c->command->reads ? READER_PATIENCE : 0,
                                 .one_connection = true,
                                 .trace = traced && *traced && strcmp(traced, "0") ? trace : NULL,
                                 .note = cli_note};
}

int cli_open_or_create(struct cli *c, const char *config)
{
    struct pawl_options options = cli_options(c, false);

    options.config = config;
    return pawl_open(&options, &c->p, &c->err);
}

int cli_open(struct cli *c)
{
    struct pawl_options options = cli_options(c, true);

    return pawl_open(&options, &c->p, &c->err);
}

int cli_id(struct cli *c, const char *text, int64_t *id)
{
    if (!strcmp(text, "@last"))
        return pawl_last(c->p, id, &c->err);
    if (text_parse_i64(text, id) || *id <= 0)
        return cli_wrong("'%.60s' is not an id: write a number, or @last for the newest execution",
                         text);
    return 0;
}
