/* cmd_why.c - pawl why: prints the exact condition that an execution waits for, or how it ended. */
#include "cli/cli.h"

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

static int why(struct cli *c)
{
    struct pawl_error err;
    char *json = NULL;
    json_t *o;
    int64_t id;
    int code = cli_id(c->p, c->words[0], &id), rc;

    if (code)
        return code;
    if ((rc = pawl_why(c->p, id, &json, &err)) || c->json)
        return print_answer(rc, json, &err);
    o = take_object(json);
    print_reasons(o);
    json_decref(o);
    return 0;
}

const struct command command_why = {
    .name = "why",
    .forms = "ID",
    .text = "explain why an execution waits, or how it ended",
    .examples = {{"pawl why 17", "the condition that is not met, and how each attempt ended"}},
    .least = 1,
    .most = 1,
    .run = why,
    .opens = true,
};
