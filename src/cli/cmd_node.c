/* cmd_node.c - pawl pause, resume, skip, approve and reject: what a person decides about
 * executions. One that can't be done does not keep the others from it; the exit code is that of the
 * first. */
#include "cli/cli.h"

#include <limits.h>
#include <stdlib.h>

typedef int verb_fn(struct pawl *p, int64_t id, const char *by, const char *reason,
                    struct pawl_error *err);

struct verb {
    const char *name, *done;
    verb_fn *run;
};

static int one(struct pawl *p, const struct verb *v, const char *which, const char *reason,
               bool json)
{
    struct pawl_error err;
    int64_t id;
    char *shown;
    int code = cli_id(p, which, &id);

    if (code)
        return code;
    if (v->run(p, id, NULL, reason, &err))
        return cli_fail(&err);
    if (!json) {
        printf("execution %lld: %s\n", (long long)id, v->done);
        return 0;
    }
    if (pawl_show(p, id, &shown, &err))
        return cli_fail(&err);
    puts(shown);
    free(shown);
    return 0;
}

static int decide(const struct verb *v, int argc, char **argv)
{
    const char *reason = NULL;
    const struct option options[] = {{"reason", OPTION_TEXT, &reason}, {NULL, OPTION_FLAG, NULL}};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, v->name, argc, argv, options, 1, INT_MAX), i;

    if (code >= 0)
        return code;
    if (!(code = cli_open(&c, &p))) {
        for (i = 0; i < c.nwords; i++) {
            int rc = one(p, v, c.words[i], reason, c.json);

            code = code ? code : rc;
        }
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

#define VERB(name, done)                                            \
    int cmd_##name(int argc, char **argv)                           \
    {                                                               \
        static const struct verb verb = {#name, done, pawl_##name}; \
                                                                    \
        return decide(&verb, argc, argv);                           \
    }

VERB(pause, "paused")
VERB(resume, "goes on")
VERB(skip, "skipped")
VERB(approve, "approved")
VERB(reject, "rejected")
