/* cmd_trust.c - pawl trust: lets the pawl.yaml of a folder decide what runs when Pawl is called
 * there. */
#include "cli/cli.h"

struct values {
    bool remove;
};

static int trust(struct cli *c)
{
    const struct values *v = c->values;
    const char *path = c->nwords ? c->words[0] : NULL;
    AUTO_FREE char *file = NULL;
    AUTO_BUF shown = BUF_INIT;

    TRY((v->remove ? pawl_distrust : pawl_trust)(path, &file, &c->err));
    out_clean(&shown, file);
    printf(v->remove ? "%s is no longer trusted\n" : "%s is trusted until it changes\n",
           buf_cstr(&shown));
    return 0;
}

static const struct option options[] = {
    {"remove", OPTION_FLAG, offsetof(struct values, remove), NULL, "stop trusting FILE"},
    {0},
};

const struct command command_trust = {
    .name = "trust",
    .forms = "[FILE]",
    .text = "let the pawl.yaml of a folder name databases, programs and plugins",
    .about =
        "A pawl.yaml that is found in the current folder may have come with an archive or a "
        "repository. Until you trust it, Pawl refuses it if it sets a key that decides what runs: "
        "db, state, plugins, and shim or image of an executor. Read the file, and the programs "
        "that it names, first. FILE defaults to ./pawl.yaml.\n\n"
        "The path and a hash of the content are stored in your state folder "
        "(~/.local/state/pawl/trusted): trust ends when the file changes. Files named with "
        "--config or PAWL_CONFIG, and your own in ~/.config/pawl, need no trust. A pawl.yaml that "
        "belongs to another user or that others can write is refused in any case.",
    .options = options,
    .size = sizeof(struct values),
    .examples = {{"pawl trust", "the pawl.yaml of this folder, as it is now"},
                 {"pawl trust --remove", "from now on, refuse it again"}},
    .most = 1,
    .run = trust,
    .no_json = true,
};
