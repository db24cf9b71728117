/* cmd_schema.c - pawl schema: prints the JSON Schema of workflow files, for editors. */
#include "cli/cli.h"

#include <stdlib.h>

static int cmd_schema(int argc, char **argv)
{
    struct cli c;
    char *json;
    int code = cli_begin(&c, &command_schema, argc, argv, NULL);

    if (code >= 0)
        return code;
    json = pawl_schema();
    puts(json);
    free(json);
    cli_end(&c);
    return cli_done(0);
}

const struct command command_schema = {
    .name = "schema",
    .forms = "",
    .text = "print the JSON Schema of workflow files, for editors",
    .examples = {{"pawl schema >pawl.schema.json", "for an editor that supports YAML"}},
    .run = cmd_schema,
};
