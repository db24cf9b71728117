/* argv.h - the program and the arguments that a spec stands for. */
#ifndef EXEC_ARGV_H
#define EXEC_ARGV_H

#include "core/spec.h"

/* A list that ends with NULL; it lives as long as the spec and the arena. NULL if the spec has no
 * command. */
const char *const *spec_argv(const struct spec *s, struct arena *arena);

#endif
