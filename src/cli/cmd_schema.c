/* cmd_schema.c - pawl schema: the JSON Schema of workflow files, for editors. */
#include "cli/cli.h"

#include <stdlib.h>

int cmd_schema(int argc, char **argv)
{
    struct cli c;
    char *json;
    int code = cli_begin(&c, "schema", argc, argv, NULL, 0, 0);

    if (code >= 0)
        return code;
    json = pawl_schema();
    puts(json);
    free(json);
    cli_end(&c);
    return cli_done(0);
}
