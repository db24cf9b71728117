/* url.h - where a database is: sqlite:FILE, postgres://… or postgresql://…, and which tenant in it.
 */
#ifndef STORE_DRIVER_URL_H
#define STORE_DRIVER_URL_H

#include "store/driver/db.h"

#define DEFAULT_SCHEMA "pawl"
#define TENANT_MAX     41

struct db_url {
    const struct db_driver *driver;
    char *text;   /* as given: libpq takes it as it is */
    char *safe;   /* without password, for messages */
    char *file;   /* sqlite: the tenant's file; NULL otherwise */
    char *tenant; /* NULL: the default one */
    char *schema; /* postgres: "pawl", or "pawl_TENANT"; also the tenant's role */
};

/* E_INVALID for a URL that can't be parsed or a tenant's name that does not fit. */
MUST_USE int url_parse(const char *text, const char *tenant, struct db_url **out, struct err *err);
void url_free(struct db_url **url);

/* [a-z][a-z0-9_]{0,40} */
MUST_USE int tenant_check_name(const char *name, struct err *err);

/* The file of a tenant beside the default one: pawl.db -> pawl.TENANT.db. */
char *tenant_file(const char *file, const char *tenant);

#endif
