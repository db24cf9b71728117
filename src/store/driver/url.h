/* url.h - the URL of a database (sqlite:FILE, postgres://… or postgresql://…), with the tenant to
 * use in the database. */
#ifndef STORE_DRIVER_URL_H
#define STORE_DRIVER_URL_H

#include "core/tenant_name.h"
#include "store/driver/db.h"

#define DEFAULT_SCHEMA "pawl"

struct db_url {
    const struct db_driver *driver;
    char *text;   /* the URL as given; libpq gets it unchanged */
    char *safe;   /* the URL without the password, for messages */
    char *file;   /* for sqlite, the tenant's file; otherwise NULL */
    char *tenant; /* name of the tenant; NULL for the default tenant */
    /* For postgres, "pawl" or "pawl_TENANT", which is also the tenant's role; otherwise NULL. */
    char *schema;
};

/* Parses a URL. -E_INVALID if it can't be parsed or the tenant's name is invalid. */
MUST_USE int url_parse(const char *text, const char *tenant, struct db_url **out, struct err *err);
void url_free(struct db_url **url);

/* -E_INVALID unless the name is valid (tenant_is_name). */
MUST_USE int tenant_check_name(const char *name, struct err *err);

/* The tenant's file, next to the default file: pawl.db -> pawl.TENANT.db. The caller frees it. */
char *tenant_file(const char *file, const char *tenant);

#endif
