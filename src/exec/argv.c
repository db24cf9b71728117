/* argv.c - see argv.h. */
#include "exec/argv.h"

#include <string.h>

/* The words of the shell with the text in place of {}; else after -c, which is added unless it is
 * the last word. */
const char *const *spec_argv(const struct spec *s, struct arena *arena)
{
    static const char *const plain[] = {"/bin/sh", NULL};
    const char *const *words = s->nshell ? s->shell : plain;
    const char **argv;
    bool placed = false;
    size_t n = 0;

    if (!s->run)
        return s->argv && s->argv[0] ? s->argv : NULL;
    argv = arena_zalloc(arena, ((s->nshell ? s->nshell : 1) + 3) * sizeof(*argv));
    for (; words[n]; n++) {
        argv[n] = strcmp(words[n], "{}") ? words[n] : s->run;
        placed = placed || argv[n] == s->run;
    }
    if (placed)
        return argv;
    if (strcmp(argv[n - 1], "-c") != 0)
        argv[n++] = "-c";
    argv[n] = s->run;
    return argv;
}
