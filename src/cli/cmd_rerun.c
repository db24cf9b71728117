/* cmd_rerun.c - pawl rerun: what has ended runs again. */
#include "cli/cli.h"

#include "base/mem.h"

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

static int rerun(struct cli *c, struct pawl *p, const struct pawl_rerun *how)
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
    if (c->json) {
        puts(json);
    } else {
        told = json_loads(json, 0, NULL);
        tell(told, how->dry_run);
        json_decref(told);
    }
    free(json);
    return 0;
}

int cmd_rerun(int argc, char **argv)
{
    struct pawl_rerun how = {0};
    struct texts params = {0};
    const struct option options[] = {{"failed", OPTION_FLAG, &how.failed},
                                     {"from", OPTION_TEXT, &how.from},
                                     {"set", OPTION_TEXTS, &params},
                                     {"file", OPTION_TEXT, &how.file},
                                     {"dry-run", OPTION_FLAG, &how.dry_run},
                                     {"reason", OPTION_TEXT, &how.reason},
                                     {NULL, OPTION_FLAG, NULL}};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, "rerun", argc, argv, options, 1, 1);

    if (code < 0) {
        how.params = params.at;
        if (!(code = cli_open(&c, &p))) {
            code = rerun(&c, p, &how);
            pawl_close(p);
        }
        cli_end(&c);
    }
    vec_release(&params);
    return cli_done(code);
}
