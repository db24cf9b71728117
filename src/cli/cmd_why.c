/* cmd_why.c - pawl why: prints the exact condition that an execution waits for, or how it ended. */
#include "cli/cli.h"

#include <stdlib.h>

static void print_reasons(const json_t *o)
{
    const json_t *reasons = json_object_get(o, "reasons");
    struct buf b = BUF_INIT;
    size_t i;

    out_clean(&b, field(o, "name"));
    printf("execution %lld, %s: %s\n", (long long)field_int(o, "id"), buf_cstr(&b),
           field(o, "status"));
    for (i = 0; i < json_array_size(reasons); i++) {
        buf_reset(&b);
        out_clean(&b, field(json_array_get(reasons, i), "text"));
        printf("  %s\n", buf_cstr(&b));
    }
    buf_release(&b);
}

static int why(struct pawl *p, const char *which, bool as_json)
{
    struct pawl_error err;
    char *json = NULL;
    json_t *o;
    int64_t id;
    int code = cli_id(p, which, &id);

    if (code)
        return code;
    if (pawl_why(p, id, &json, &err))
        return cli_fail(&err);
    if (as_json) {
        puts(json);
    } else {
        o = parse_object(json);
        print_reasons(o);
        json_decref(o);
    }
    free(json);
    return 0;
}

static int cmd_why(int argc, char **argv)
{
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_why, argc, argv, NULL);

    if (code >= 0)
        return code;
    if (!(code = cli_open(&c, &p))) {
        code = why(p, c.words[0], c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_why = {
    .name = "why",
    .forms = "ID",
    .text = "explain why an execution waits, or how it ended",
    .examples = {{"pawl why 17", "the condition that is not met, and how each attempt ended"}},
    .least = 1,
    .most = 1,
    .run = cmd_why,
};
