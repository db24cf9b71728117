/* argv.c - see argv.h. */
#include "exec/argv.h"

const char *const *spec_argv(const struct spec *s, struct arena *arena)
{
    const char **argv;

    if (!s->run)
        return s->argv && s->argv[0] ? s->argv : NULL;
    argv = arena_zalloc(arena, 4 * sizeof(*argv));
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = s->run;
    return argv;
}
