/* admin_hook.h - `pawl admin hook`: create, list and revoke webhooks. */
#ifndef CLI_ADMIN_HOOK_H
#define CLI_ADMIN_HOOK_H

#include "cli/cli.h"

/* The values of its options; NULL if not given. */
struct admin_hook {
    const char *signature, *secret_file;
    const char *url, *statuses, *workflow;
    bool tasks;
};

/* queues: the values of --queue, which other subcommands have, too. */
int admin_hook(struct cli *c, const struct admin_hook *o, const struct texts *queues,
               const char *reason);

#endif
