/* ownership.c - checks whether only this user and root can change a file; see ownership.h. */
#include "base/ownership.h"

#include "base/mem.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ENTRY_MAX 16384 /* the longest entry of /etc/passwd or /etc/group, in bytes */

bool ownership_is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() || st->st_uid == 0;
}

/* Whether the group has the name of the user and no other member. */
static bool is_private_group(uid_t uid, gid_t gid)
{
    AUTO_FREE char *texts = mem_alloc(2 * ENTRY_MAX);
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    bool yes = false;

    if (!getpwuid_r(uid, &user, texts, ENTRY_MAX, &found_user) && found_user &&
        !getgrgid_r(gid, &group, texts + ENTRY_MAX, ENTRY_MAX, &found_group) && found_group) {
        yes = !strcmp(user.pw_name, group.gr_name);
        for (size_t i = 0; yes && group.gr_mem[i]; i++)
            yes = !strcmp(group.gr_mem[i], user.pw_name);
    }
    return yes;
}

const char *ownership_fault(const struct stat *st, char out[OWNERSHIP_FAULT_SIZE])
{
    if (!ownership_is_ours(st))
        snprintf(out, OWNERSHIP_FAULT_SIZE, "it belongs to another user (uid %lu)",
                 (unsigned long)st->st_uid);
    else if (st->st_mode & S_IWOTH)
        snprintf(out, OWNERSHIP_FAULT_SIZE, "others can write to it");
    else if (st->st_mode & S_IWGRP && !is_private_group(st->st_uid, st->st_gid))
        snprintf(out, OWNERSHIP_FAULT_SIZE, "others can write to it through its group (gid %lu)",
                 (unsigned long)st->st_gid);
    else
        return NULL;
    return out;
}

bool ownership_has_foreign_link(const char *path)
{
    AUTO_FREE char *prefix = mem_strdup(path);
    char *end = prefix;
    bool found = false;
    struct stat st;

    while (!found && *end) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        *end = '\0';
        found = !lstat(prefix, &st) && S_ISLNK(st.st_mode) && !ownership_is_ours(&st);
        *end = path[end - prefix];
    }
    return found;
}
