/* function.c - a plugin for the workers of a chaos campaign: the function `ledger` records what
 * ran, as job.c does: see ledger.h. It runs in the process of its worker, so the pid in a line
 * names the worker whose death ended it.
 *
 * Its input is {"ms": N}: the milliseconds that it takes. Every seventh execution fails in its
 * first attempt. */
#define _GNU_SOURCE
#include "ledger.h"

#include <pawl.h>

#include <stdlib.h>
#include <string.h>

static long milliseconds(const char *input)
{
    const char *ms = input ? strstr(input, "\"ms\":") : NULL;

    return ms ? atol(ms + 5) : 0;
}

static int run_entry(struct pawl_call *c, int ledger, const struct entry *e)
{
    int code = c->execution % 7 == 0 && c->attempt == 1 ? 3 : 0;

    wait_milliseconds(milliseconds(c->input));
    if (c->ops->set_output(c, "n", "1"))
        code = 8;
    return ledger_append(ledger, 'e', e, code) ? code : 9;
}

static int prove(struct pawl_call *c, void *arg)
{
    struct entry e = {
        .execution = c->execution, .attempt = c->attempt, .key = "-", .mode = "function"};
    int locks = -1, ledger = ledger_begin(&e, &locks), code = 9;

    (void)arg;
    if (ledger >= 0) {
        code = run_entry(c, ledger, &e);
        close(ledger);
    }
    if (locks >= 0)
        close(locks);
    return code;
}

PAWL_API extern const int pawl_plugin_abi;
PAWL_API int pawl_plugin_init(const struct pawl_plugin_host *host);

const int pawl_plugin_abi = PAWL_PLUGIN_ABI;

int pawl_plugin_init(const struct pawl_plugin_host *host)
{
    return host->add(host, "ledger", prove, NULL);
}
