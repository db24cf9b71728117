/* ownership.h - checks whether only this user and root can change a file. A file that somebody else
 * wrote must not decide what runs here. */
#ifndef BASE_OWNERSHIP_H
#define BASE_OWNERSHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Whether the file belongs to the user of this process or to root. */
bool ownership_is_ours(const struct stat *st);

/* Why others can change a file or folder: "it belongs to another user (uid 1000)", or "others can
 * write to it". NULL if only this user and root can. A group that has its owner's name and no other
 * member does not count as others: with such groups, files are often created group-writable. The
 * text is written to `out`. */
#define OWNERSHIP_FAULT_SIZE 80
const char *ownership_fault(const struct stat *st, char out[OWNERSHIP_FAULT_SIZE]);

/* Whether a component of the path is a symbolic link that belongs to neither this user nor root. */
bool ownership_has_foreign_link(const char *path);

#endif
