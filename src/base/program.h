/* program.h - finds the programs that are installed together with this one. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

/* The path of `name` relative to this program's folder; NULL if it is not executable. The caller
 * frees it. */
char *program_next_to_this(const char *name);

#endif
