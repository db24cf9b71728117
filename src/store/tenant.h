/* tenant.h - tenants: separate worlds in one place. On PostgreSQL each is a schema and the role
 * that owns it, on SQLite a file beside the default one. */
#ifndef STORE_TENANT_H
#define STORE_TENANT_H

#include "store/store.h"

/* Makes the tenant with its tables. E_INVALID: bad name, or it exists. */
MUST_USE int tenant_create(const char *url, const char *name, struct env *env, struct err *err);
/* Removes it with everything in it. E_NOT_FOUND. */
MUST_USE int tenant_drop(const char *url, const char *name, struct env *env, struct err *err);
/* Calls `each` with every name, in order. */
MUST_USE int tenant_list(const char *url, struct env *env, void (*each)(void *, const char *name),
                         void *arg, struct err *err);

#endif
