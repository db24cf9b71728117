/* cmd_rerun.c - pawl rerun: what has ended runs again. */
#include "base/mem.h"
#include "cli/here.h"

#include <stdlib.h>
#include <string.h>

static void tell(const json_t *told, bool dry)
{
    int64_t id = json_integer_value(json_object_get(told, "id"));
    json_t *nodes = json_object_get(told, "nodes"), *n;
    json_t *of = json_object_get(told, "rerun_of");
    struct buf name = BUF_INIT;
    size_t i;

    if (json_is_integer(of)) {
        if (dry)
            printf("a new execution would run anew what %lld did\n",
                   (long long)json_integer_value(of));
        else
            printf("execution %lld runs anew what %lld did\n", (long long)id,
                   (long long)json_integer_value(of));
        return;
    }
    json_array_foreach(nodes, i, n)
    {
        buf_reset(&name);
        out_clean(&name, json_string_value(json_object_get(n, "name")));
        printf("%s %lld %s (was %s)\n", dry ? "would run again:" : "runs again:",
               (long long)json_integer_value(json_object_get(n, "id")), buf_cstr(&name),
               json_string_value(json_object_get(n, "status")));
    }
    buf_release(&name);
}

static int keep_time(void *arg, const char *json)
{
    json_t *v = parse_object(json);
    struct err err;
    int64_t at;

    if (!text_parse_time(field(v, "created_at"), &at, &err))
        *(int64_t *)arg = at;
    json_decref(v);
    return 0;
}

/* When it was told to run again, by the clock of the database. */
static int64_t rerun_at(struct pawl *p, int64_t id)
{
    struct pawl_event_query q = {.execution = id, .self = true, .types = "rerun"};
    int64_t at = 0;

    return pawl_events(p, &q, keep_time, &at, NULL) ? 0 : at;
}

/* What was run here and now has a queue that no worker serves: it is run so again. */
static int go_on(const struct cli *c, struct pawl *p, int64_t id, const char *state)
{
    struct here h = {.state = state, .kind = c->json ? PROGRESS_NONE : progress_auto()};
    struct pawl_error err;
    json_t *v;
    char *json;
    bool here;

    if (pawl_show(p, id, &json, &err))
        return cli_fail(&err);
    v = parse_object(json);
    h.tree = field_int(v, "root");
    here = !strncmp(field(v, "queue"), "here:", strlen("here:"));
    json_decref(v);
    free(json);
    h.since = rerun_at(p, h.tree);
    return here ? here_run(&h, p) : 0;
}

static int rerun(struct cli *c, struct pawl *p, const struct pawl_rerun *how, const char *state)
{
    struct pawl_error err;
    int64_t id;
    char *json;
    json_t *told;
    int code = cli_id(p, c->words[0], &id);

    if (code)
        return code;
    if (pawl_rerun(p, id, how, &json, &err))
        return cli_fail(&err);
    told = json_loads(json, 0, NULL);
    if (c->json)
        puts(json);
    else
        tell(told, how->dry_run);
    fflush(stdout);
    if (!how->dry_run)
        code = go_on(c, p, json_integer_value(json_object_get(told, "id")), state);
    json_decref(told);
    free(json);
    return code;
}

int cmd_rerun(int argc, char **argv)
{
    struct pawl_rerun how = {0};
    struct texts params = {0};
    const char *state = NULL;
    const struct option options[] = {
        {"failed", OPTION_FLAG, &how.failed},   {"from", OPTION_TEXT, &how.from},
        {"set", OPTION_TEXTS, &params},         {"file", OPTION_TEXT, &how.file},
        {"dry-run", OPTION_FLAG, &how.dry_run}, {"reason", OPTION_TEXT, &how.reason},
        {"state", OPTION_TEXT, &state},         {NULL, OPTION_FLAG, NULL}};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, "rerun", argc, argv, options, 1, 1);

    if (code < 0) {
        how.params = params.at;
        if (!(code = cli_open(&c, &p))) {
            code = rerun(&c, p, &how, state);
            pawl_close(p);
        }
        cli_end(&c);
    }
    vec_release(&params);
    return cli_done(code);
}
