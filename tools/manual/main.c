/* main.c - manual: generates pages from the tables in the code. Not installed.
 *
 *   manual man DIR    the man pages
 *   manual markdown   docs/CLI.md, on stdout */
#include "manual.h"

#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

/* Writes a page, and resets the buffer. */
static int write_page(const char *dir, const char *name, struct buf *b)
{
    char path[4096];
    FILE *f;
    int bad;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (!(f = fopen(path, "we"))) {
        perror(path);
        return 1;
    }
    bad = fwrite(b->ptr, 1, b->len, f) != b->len;
    bad |= fclose(f);
    if (bad)
        perror(path);
    buf_reset(b);
    return bad;
}

static int write_all(const char *dir)
{
    const struct command *const *c;
    struct buf b = BUF_INIT;
    char name[64];
    int bad = 0;

    page_pawl(&b);
    bad |= write_page(dir, "pawl.1", &b);
    page_config(&b);
    bad |= write_page(dir, "pawl.yaml.5", &b);
    page_workflow(&b);
    bad |= write_page(dir, "pawl-workflow.5", &b);
    for (c = commands; *c; c++)
        if (!(*c)->hidden) {
            snprintf(name, sizeof(name), "pawl-%s.1", (*c)->name);
            page_command(&b, *c);
            bad |= write_page(dir, name, &b);
        }
    buf_release(&b);
    return bad;
}

int main(int argc, char **argv)
{
    struct buf b = BUF_INIT;

    if (argc == 3 && !strcmp(argv[1], "man"))
        return write_all(argv[2]);
    if (argc != 2 || strcmp(argv[1], "markdown")) {
        fprintf(stderr, "usage: manual man DIR | manual markdown\n");
        return 2;
    }
    page_markdown(&b);
    fputs(buf_cstr(&b), stdout);
    buf_release(&b);
    return fflush(stdout) ? 1 : 0;
}
