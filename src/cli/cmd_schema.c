/* cmd_schema.c - pawl schema: prints the JSON Schema of workflow files, for editors. */
#include "cli/cli.h"

#include <stdlib.h>

static int schema(struct cli *c)
{
    (void)c;
    return print_answer(pawl_schema());
}

const struct command command_schema = {
    .name = "schema",
    .forms = "",
    .text = "print the JSON Schema of workflow files, for editors",
    .examples = {{"pawl schema >pawl.schema.json", "for an editor that supports YAML"}},
    .run = schema,
};
