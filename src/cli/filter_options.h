/* filter_options.h - the options that select executions, shared by `pawl ls` and by the commands
 * that act on many executions. */
#ifndef CLI_FILTER_OPTIONS_H
#define CLI_FILTER_OPTIONS_H

#include "cli/cli.h"

/* The values of the options; a member of the structure of a command's values. */
struct filter_options {
    struct pawl_list_query q;
    const char *parent;
    struct texts params;
};

#define FILTER(name, kind, s, m, value, text)            \
    {                                                    \
        name, OPTION_##kind, offsetof(s, m), value, text \
    }
/* The options of a command whose values have the type s; m is its struct filter_options. */
#define FILTER_OPTIONS(s, m)                                                                       \
    FILTER("status", TEXT, s, m.q.status,                                                          \
           "pending|ready|running|succeeded|failed|timed_out|cancelled|skipped,",                  \
           "only executions with one of these statuses"),                                          \
        FILTER("kind", TEXT, s, m.q.kind, "workflow|task|foreach|exec",                            \
               "only executions of this kind"),                                                    \
        FILTER("name", TEXT, s, m.q.name, "GLOB",                                                  \
               "only executions whose full name matches: * is any text, ? is one character"),      \
        FILTER("workflow", TEXT, s, m.q.workflow, "WORKFLOW",                                      \
               "only executions of workflows with this name"),                                     \
        FILTER("queue", TEXT, s, m.q.queue, "QUEUE", "only executions in this queue"),             \
        FILTER("since", TIME, s, m.q.since, "TIME",                                                \
               "only executions requested at or after this time"),                                 \
        FILTER("until", TIME, s, m.q.until, "TIME", "only executions requested before this time"), \
        FILTER("by", TEXT, s, m.q.by, "GLOB",                                                      \
               "only executions requested by this user or schedule"),                              \
        FILTER("param", TEXTS, s, m.params, "NAME=VALUE",                                          \
               "only executions whose input has this value; may be repeated"),                     \
        FILTER("worker", TEXT, s, m.q.worker, "WORKER",                                            \
               "only executions that this worker ran last"),                                       \
        FILTER("host", TEXT, s, m.q.host, "HOST",                                                  \
               "only executions that a worker on this host ran last"),                             \
        FILTER("parent", TEXT, s, m.parent, "ID", "only the children of this execution"),          \
        FILTER("all", FLAG, s, m.q.all, NULL,                                                      \
               "executions at any depth, not only those without a parent")

/* Whether an option is given that leaves executions out; --all does not. */
bool filter_is_given(const struct filter_options *f);
/* Completes f->q; the database must be open. Returns as cli_id does. */
MUST_USE int filter_resolve(struct cli *c, struct filter_options *f);

#endif
