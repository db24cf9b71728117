/* bulk.h - commands that act on executions given by their ids or, instead, by filters. */
#ifndef CLI_BULK_H
#define CLI_BULK_H

#include "cli/filter_options.h"

/* The values of the options; a member of the structure of a command's values. */
struct bulk_options {
    struct filter_options filter;
    bool dry_run, yes;
};
/* The options of a command whose values have the type s; m is its struct bulk_options. */
#define BULK_OPTIONS(s, m)                                                      \
    {"yes", OPTION_FLAG, offsetof(s, m.yes), NULL, "with filters: do not ask"}, \
        {"limit", OPTION_NUMBER, offsetof(s, m.filter.q.limit), "N",            \
         "with filters: at most N executions, the newest; default: all"},       \
        FILTER_OPTIONS(s, m.filter)
#define BULK_DRY_RUN(s, m)                                              \
    {                                                                   \
        "dry-run", OPTION_FLAG, offsetof(s, m), NULL,                   \
            "with filters: print what would be changed, change nothing" \
    }

/* The forms of a command that acts on ids or on filters, and the help text that explains the second
 * form. */
#define BULK_FORMS(ids) ids " [OPTION]…\nFILTER… [OPTION]…"
#define BULK_ABOUT                                                                                \
    "Instead of ids, filters such as --workflow and --status select the executions, as in `pawl " \
    "ls`: without --all, only those that have no parent. Executions whose state does not allow "  \
    "the action are left out. On a terminal the command asks before it changes anything; "        \
    "--dry-run shows what it would change. It works in slices: if it is interrupted, call it "    \
    "again to continue."

struct bulk_action {
    const char *name;  /* the action, as in struct pawl_bulk */
    const char *done;  /* what has happened to an execution: "cancelled" */
    const char *asked; /* the word for an execution that still runs: "asked to end"; NULL to use
                          `done` */
    const char *reason;
    int (*run_id)(struct cli *c, int64_t id);
};
/* Calls run_id for each word, which is an id, or acts on the executions that the filters select.
 * Returns as command.run does. */
MUST_USE int bulk_run(struct cli *c, struct bulk_options *o, const struct bulk_action *a);

#endif
