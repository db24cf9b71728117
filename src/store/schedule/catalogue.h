/* catalogue.h - the catalogue of applied workflows: list, show and delete them. apply.c adds to it.
 *
 *   delete_applied.c       deletes a name with its schedules
 *   ../query/catalogue.c   reads
 *
 * A name is bound to one definition. Each time it is bound to another one, apply.c adds a row to
 * workflow_applications; retention deletes that row with its definition. So the versions of a name
 * stay after the name is deleted, as long as their definitions are kept. */
#ifndef STORE_SCHEDULE_CATALOGUE_H
#define STORE_SCHEDULE_CATALOGUE_H

#include "store/schedule/schedule.h"

/* ---- delete ---- */

struct applied_deletion {
    const char *name;
    const char *expected;    /* the hash that the name must be bound to; NULL for any */
    const char *by, *reason; /* user and reason; NULL if not given */

    /* out */
    char hash[WORKFLOW_HASH_SIZE];
    size_t schedules;
    size_t waiting; /* result: due times that waited for a run to end, and are dropped */
};
/* Unbinds the name and deletes its schedules. Executions, and SQL submissions that wait, keep their
 * definition and run as before. -E_NOT_FOUND if the name is not applied; -E_CONFLICT if it is bound
 * to another definition than expected. */
MUST_USE int op_delete_applied(struct turn *t, struct applied_deletion *d, struct err *err);

/* ---- read ---- */

struct applied_row {
    /* Description and applied_by are NULL if not known. */
    const char *name, *description, *hash, *applied_by;
    int64_t applied_at; /* when the name was last applied, even if its definition did not change */
    int64_t tasks, params, schedules;
    int64_t last_run; /* the newest execution of this workflow without a parent; 0 if none */
    int last_status;
    int64_t last_started, last_finished; /* times of the last run; 0 if not yet */
};
STORE_LIST(applied_list, struct applied_row, bool more)
/* Lists at most max names, starting after the name `after` ("" for the first), ordered as the
 * database orders text. `name` is a glob with * and ?; NULL for all. */
MUST_USE int query_catalogue(struct store *s, const char *after, const char *name, size_t max,
                             struct applied_list *out, struct err *err);

struct applied_version {
    int64_t number; /* number of the version, from 1; rises with each change of the name */
    const char *hash, *applied_by;
    int64_t applied_at, tasks;
    bool current; /* whether the name is bound to this version now */
};
STORE_LIST(applied_version_list, struct applied_version, bool more)
/* Lists at most max versions with a number below `before` (0 for no bound), newest first.
 * -E_NOT_FOUND if the name was never applied, or no definition of it is kept. */
MUST_USE int query_applied_versions(struct store *s, const char *name, int64_t before, size_t max,
                                    struct applied_version_list *out, struct err *err);

struct applied_detail {
    /* The last run and the schedules in it are those of the name, whatever version is shown. */
    struct applied_row row;
    bool current;           /* whether the name is bound to this version now */
    const char *definition; /* canonical text */
    /* The text that the version was applied from; NULL if unknown. */
    const char *source;
    struct schedule_list schedules; /* schedules of the name, whatever version is shown */
    struct arena arena;
};
/* Reads one version of a name. `version` is a hash; NULL for the current version. -E_NOT_FOUND if
 * the name is not applied, or has no such version. */
MUST_USE int query_applied_detail(struct store *s, const char *name, const char *version,
                                  struct applied_detail *out, struct err *err);
void applied_detail_release(struct applied_detail *d);

#endif
