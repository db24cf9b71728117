/* admin_settings.h - the subcommands of `pawl admin` that show and change shared settings. */
#ifndef CLI_ADMIN_SETTINGS_H
#define CLI_ADMIN_SETTINGS_H

#include "cli/cli.h"

/* The values of the options of these subcommands; NULL if not given. */
struct admin_settings {
    const char *days, *log_days, *file, *default_executor, *reason;
};

int admin_retention(struct cli *c, const struct admin_settings *o);
int admin_routes(struct cli *c, const struct admin_settings *o);

#endif
