/* disk_fixture.h - a small disk that a test can fill. */
#ifndef TESTS_DISK_FIXTURE_H
#define TESTS_DISK_FIXTURE_H

#include "base/mem.h"
#include "harness.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>

/* Mounts a disk at that folder that no other process sees and that ends with this process. */
static inline void mount_small_disk(const char *folder, const char *size)
{
    char options[40];

    snprintf(options, sizeof(options), "size=%s", size);
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", folder, "tmpfs", 0, options))
        SKIP("only root can mount a small disk");
}

/* Returns the path of the file that fills the disk. The caller removes the file and frees the path.
 */
static inline char *fill_disk(const char *folder)
{
    char *path = mem_printf("%s/filler", folder);
    FILE *f = fopen(path, "we");

    CHECK(f != NULL);
    while (fputc('x', f) != EOF && !ferror(f))
        ;
    fclose(f);
    return path;
}

#endif
