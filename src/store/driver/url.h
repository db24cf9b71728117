/* url.h - the URL of a database (sqlite:FILE, postgres://… or postgresql://…) and the tenant in it.
 */
#ifndef STORE_DRIVER_URL_H
#define STORE_DRIVER_URL_H

#include "core/tenant_name.h"
#include "store/driver/db.h"

#define DEFAULT_SCHEMA "pawl"

struct db_url {
    const struct db_driver *driver;
    char *text;   /* as given; libpq gets it unchanged */
    char *safe;   /* without the password, for messages */
    char *file;   /* sqlite: the tenant's file; NULL otherwise */
    char *tenant; /* NULL for the default tenant */
    char *schema; /* postgres: "pawl" or "pawl_TENANT", also the tenant's role; NULL otherwise */
};

/* E_INVALID if the URL can't be parsed or the tenant's name is invalid. */
MUST_USE int url_parse(const char *text, const char *tenant, struct db_url **out, struct err *err);
void url_free(struct db_url **url);

/* E_INVALID unless tenant_is_name. */
MUST_USE int tenant_check_name(const char *name, struct err *err);

/* The tenant's file, next to the default file: pawl.db -> pawl.TENANT.db. The caller frees it. */
char *tenant_file(const char *file, const char *tenant);

#endif
