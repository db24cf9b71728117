/* cmd_init.c - pawl init: writes a commented workflow file that can be run as it is. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_FILE "hello.flow.yaml"

/* %1$s is the name of the file. */
static const char text[] =
    "# pawl validate %1$s   checks this file\n"
    "# pawl graph %1$s      draws it\n"
    "# pawl run %1$s        runs it in the foreground; --param who=you\n"
    "# pawl submit %1$s     leaves it to `pawl worker`\n"
    "name: hello\n"
    "\n"
    "params:                               # values for a run; tasks get them as variables\n"
    "  who: {type: string, default: world}\n"
    "\n"
    "defaults: {timeout: 10m}              # for all tasks; limits each attempt\n"
    "\n"
    "tasks:\n"
    "  greet:\n"
    "    run: |                            # a script for /bin/sh; `pawl logs` shows its output\n"
    "      echo \"hello, $who\"\n"
    "      echo \"count=3\" >> \"$PAWL_OUTPUT\"   # outputs for other tasks: NAME=VALUE lines\n"
    "\n"
    "  each:\n"
    "    needs: greet                      # starts when greet has succeeded\n"
    "    foreach: ${{ range(fromJSON(tasks.greet.outputs.count)) }}   # one execution per item\n"
    "    max_parallel: 2\n"
    "    run: echo \"item $ITEM\"\n"
    "\n"
    "  flaky:\n"
    "    needs: greet\n"
    "    retry: {max: 3, delay: 200ms}     # retried up to three times\n"
    "    run: test \"$PAWL_ATTEMPT\" -ge 2   # the first attempt fails, on purpose\n"
    "\n"
    "  done:\n"
    "    needs: [each, flaky]              # waits for both\n"
    "    run: echo \"all is done\"\n"
    "\n"
    "on_failure: {run: echo \"something failed\"}   # runs last, if a task failed\n";

static int write_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), code = 0;

    if (fd < 0 && errno == EEXIST)
        return cli_wrong("%.200s already exists and was not changed", path);
    if (fd < 0)
        return cli_wrong("can't create %.200s: %s", path, strerror(errno));
    if (dprintf(fd, text, path) < 0 || close(fd))
        code = cli_wrong("can't write %.200s: %s", path, strerror(errno));
    else
        printf("created %s; run it with `pawl run %s`\n", path, path);
    return code;
}

static int init(struct cli *c)
{
    return write_file(c->nwords ? c->words[0] : DEFAULT_FILE);
}

const struct command command_init = {
    .name = "init",
    .forms = "[FILE]",
    .text = "write a commented workflow file that can be run as it is",
    .about = "FILE defaults to hello.flow.yaml. An existing file is not changed.",
    .examples = {{"pawl init nightly.flow.yaml && pawl run nightly.flow.yaml", "a first run"}},
    .most = 1,
    .run = init,
    .no_json = true,
};
