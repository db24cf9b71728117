/* cmd_why.c - pawl why: prints the exact condition that an execution waits for, or how it ended. */
#include "cli/cli.h"

static void print_reasons(const json_t *o)
{
    const json_t *reasons = json_object_get(o, "reasons");

    print_clean(stdout, "execution %lld, %s: %s", (long long)field_int(o, "id"), field(o, "name"),
                field(o, "status"));
    for (size_t i = 0; i < json_array_size(reasons); i++)
        print_clean(stdout, "  %s", field(json_array_get(reasons, i), "text"));
}

static int why(struct cli *c, int64_t id)
{
    json_auto_t *o = NULL;
    char *json;

    TRY(pawl_why(c->p, id, &json, &c->err));
    if (c->json)
        return print_answer(json);
    o = take_object(json);
    print_reasons(o);
    return 0;
}

const struct command command_why = {
    .name = "why",
    .forms = "ID",
    .text = "explain why an execution waits, or how it ended",
    .examples = {{"pawl why 17", "the condition that is not met, and how each attempt ended"}},
    .least = 1,
    .most = 1,
    .run_id = why,
    .reads = true,
};
