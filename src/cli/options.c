/* options.c - reads the options of a command, and opens the database that they name. */
#include "cli/cli.h"

#include "base/env.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

/* A time, or a duration: so long ago. */
static int parse_time(const char *text, int64_t *us, struct err *err)
{
    struct err ignored;

    if (!text_parse_duration(text, us, &ignored)) {
        *us = clock_wall_us() - *us;
        return 0;
    }
    return text_parse_time(text, us, err);
}

static const char *dashes(const struct option *o)
{
    return o->name[1] ? "--" : "-";
}

static int take_value(const struct option *o, const char *value, struct err *err)
{
    int rc = 0;

    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)o->to = true;
        break;
    case OPTION_TEXT:
        *(const char **)o->to = value;
        break;
    case OPTION_TEXTS: {
        struct texts *t = o->to;

        *vec_add(t) = value;
        *vec_add(t) = NULL;
        t->n--;
        break;
    }
    case OPTION_NUMBER:
        if (text_parse_i64(value, o->to) || *(int64_t *)o->to < 0)
            rc = err_set(err, E_INVALID, "%s%s wants a number, not '%.60s'", dashes(o), o->name,
                         value);
        break;
    case OPTION_TIME:
        if ((rc = parse_time(value, o->to, err)))
            err_prefix(err, "%s%s", dashes(o), o->name);
        break;
    case OPTION_DURATION:
        if ((rc = text_parse_duration(value, o->to, err)))
            err_prefix(err, "%s%s", dashes(o), o->name);
        break;
    }
    return rc;
}

static const struct option *find(const struct option *list, const char *name, size_t len)
{
    for (; list && list->name; list++)
        if (strlen(list->name) == len && !memcmp(list->name, name, len))
            return list;
    return NULL;
}

/* One option at argv[*i], "--name", "--name value" or "--name=value"; one dash before one letter.
 */
static int take_option(const struct option *common, const struct option *own, const char *command,
                       int argc, char **argv, int *i, struct err *err)
{
    const char *name = argv[*i] + (argv[*i][1] == '-' ? 2 : 1), *value = strchr(name, '=');
    size_t len = value ? (size_t)(value - name) : strlen(name);
    const struct option *o = find(common, name, len);

    if (!o)
        o = find(own, name, len);
    if (!o || (len == 1) != (argv[*i][1] != '-'))
        return err_set(err, E_INVALID, "pawl %s has no option '%.60s': `pawl help %s` lists them",
                       command, argv[*i], command);
    if (o->kind == OPTION_FLAG && value)
        return err_set(err, E_INVALID, "%s%s takes no value", dashes(o), o->name);
    if (o->kind != OPTION_FLAG && !value) {
        if (*i + 1 >= argc)
            return err_set(err, E_INVALID, "%s%s wants a value", dashes(o), o->name);
        return take_value(o, argv[++*i], err);
    }
    return take_value(o, value ? value + 1 : NULL, err);
}

static int read_all(struct cli *c, const char *command, int argc, char **argv,
                    const struct option *own, struct err *err)
{
    const struct option common[] = {{"db", OPTION_TEXT, &c->db},
                                    {"tenant", OPTION_TEXT, &c->tenant},
                                    {"json", OPTION_FLAG, &c->json},
                                    {"help", OPTION_FLAG, &c->help},
                                    {NULL, OPTION_FLAG, NULL}};
    bool words_only = false;
    int i, rc = 0;

    for (i = 1; i < argc && !rc; i++) {
        if (words_only || argv[i][0] != '-')
            c->words[c->nwords++] = argv[i];
        else if (!strcmp(argv[i], "--"))
            words_only = true;
        else if (!strcmp(argv[i], "-h"))
            c->help = true;
        else
            rc = take_option(common, own, command, argc, argv, &i, err);
    }
    return rc;
}

int cli_begin(struct cli *c, const char *command, int argc, char **argv,
              const struct option *options, int least, int most)
{
    struct err err = ERR_INIT;
    int code = -1;

    *c = (struct cli){.words = mem_zalloc(((size_t)argc + 1) * sizeof(*c->words))};
    if (read_all(c, command, argc, argv, options, &err)) {
        code = cli_wrong("%s", err.msg);
    } else if (c->help) {
        cli_usage(stdout, command);
        code = cli_done(0);
    } else if (c->nwords < least) {
        code =
            cli_wrong("pawl %s wants more than that: `pawl help %s` tells what", command, command);
    } else if (c->nwords > most) {
        code = cli_wrong("pawl %s does not take '%.60s'", command, c->words[most]);
    }
    if (code >= 0)
        cli_end(c);
    return code;
}

void cli_end(struct cli *c)
{
    free(c->words);
    c->words = NULL;
}

/* ---- the database ---- */

static void trace(void *arg, const char *statement, int64_t took, long rows)
{
    (void)arg;
    fprintf(stderr, "trace: %-24s %9.3f ms %6ld rows\n", statement, (double)took / 1000, rows);
}

static void note(void *arg, const char *sentence)
{
    struct buf b = BUF_INIT;

    (void)arg;
    out_clean(&b, sentence);
    fprintf(stderr, "pawl: %s\n", buf_cstr(&b));
    buf_release(&b);
}

struct pawl_options cli_options(const struct cli *c, bool must_exist)
{
    const char *traced = getenv("PAWL_TRACE");

    return (struct pawl_options){.url = c->db,
                                 .tenant = c->tenant,
                                 .must_exist = must_exist,
                                 .trace = traced && *traced && strcmp(traced, "0") ? trace : NULL,
                                 .note = note};
}

int cli_open(const struct cli *c, struct pawl **out)
{
    struct pawl_options options = cli_options(c, true);
    struct pawl_error err;

    return pawl_open(&options, out, &err) ? cli_fail(&err) : 0;
}

int cli_id(struct pawl *p, const char *text, int64_t *id)
{
    struct pawl_error err;

    if (!strcmp(text, "@last"))
        return pawl_last(p, id, &err) ? cli_fail(&err) : 0;
    if (text_parse_i64(text, id) || *id <= 0)
        return cli_wrong("'%.60s' is no id: ids are numbers, or @last for the newest execution",
                         text);
    return 0;
}
