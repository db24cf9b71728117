/* cmd_init.c - pawl init: a first workflow file, with comments, that can be run as it is. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define USUAL "hello.flow.yaml"

/* %1$s is the name of the file. */
static const char text[] =
    "# pawl validate %1$s   says what is wrong with this file, if something is\n"
    "# pawl graph %1$s      draws it\n"
    "# pawl run %1$s        runs it here and now; --param who=you\n"
    "# pawl submit %1$s     leaves it to `pawl worker`\n"
    "name: hello\n"
    "\n"
    "params:                               # values for a run; a task finds them in its environment\n"
    "  who: {type: string, default: world}\n"
    "\n"
    "defaults: {timeout: 10m}              # of all tasks; of one attempt\n"
    "\n"
    "tasks:\n"
    "  greet:\n"
    "    run: |                            # text for /bin/sh; what it prints is in `pawl logs`\n"
    "      echo \"hello, $who\"\n"
    "      echo \"count=3\" >> \"$PAWL_OUTPUT\"   # what it gives to others: NAME=VALUE lines\n"
    "\n"
    "  each:\n"
    "    needs: greet                      # begins when greet has succeeded\n"
    "    foreach: ${{ range(fromJSON(tasks.greet.outputs.count)) }}   # one execution for each item\n"
    "    max_parallel: 2\n"
    "    run: echo \"item $ITEM\"\n"
    "\n"
    "  flaky:\n"
    "    needs: greet\n"
    "    retry: {max: 3, delay: 200ms}     # tried again up to three times\n"
    "    run: test \"$PAWL_ATTEMPT\" -ge 2   # fails at first, on purpose\n"
    "\n"
    "  done:\n"
    "    needs: [each, flaky]              # waits for both\n"
    "    run: echo \"all is done\"\n"
    "\n"
    "on_failure: {run: echo \"something failed\"}   # after all others, if one failed\n";

static int write_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), code = 0;

    if (fd < 0 && errno == EEXIST)
        return cli_wrong("%.200s is there already; it was left as it is", path);
    if (fd < 0)
        return cli_wrong("%.200s can't be made: %s", path, strerror(errno));
    if (dprintf(fd, text, path) < 0 || close(fd))
        code = cli_wrong("%.200s can't be written: %s", path, strerror(errno));
    else
        printf("%s is written: `pawl run %s` runs it\n", path, path);
    return code;
}

static int cmd_init(int argc, char **argv)
{
    struct cli c;
    int code = cli_begin(&c, &command_init, argc, argv, NULL);

    if (code >= 0)
        return code;
    code = write_file(c.nwords ? c.words[0] : USUAL);
    cli_end(&c);
    return cli_done(code);
}

const struct command command_init = {
    .name = "init",
    .forms = "[FILE]",
    .text = "write a first workflow file, with comments, that can be run as it is",
    .about = "Without FILE it is hello.flow.yaml. A file that is there is left alone.",
    .examples = {{"pawl init nightly.flow.yaml && pawl run nightly.flow.yaml", "a first run"}},
    .most = 1,
    .run = cmd_init,
    .no_json = true,
};
