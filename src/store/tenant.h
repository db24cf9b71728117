/* tenant.h - creates, drops and lists tenants, which share no data. On PostgreSQL a tenant is a
 * schema and a role of that name, on SQLite a file next to the default one. */
#ifndef STORE_TENANT_H
#define STORE_TENANT_H

#include "store/store.h"

/* Creates the tenant and its tables. -E_INVALID if the name is invalid or the tenant exists. */
MUST_USE int tenant_create(const char *url, const char *name, struct env *env, struct err *err);
/* Deletes the tenant and all its data. -E_NOT_FOUND if there is no such tenant. */
MUST_USE int tenant_drop(const char *url, const char *name, struct env *env, struct err *err);
/* Calls `each` with the name of every tenant, in alphabetical order. */
MUST_USE int tenant_list(const char *url, struct env *env, void (*each)(void *, const char *name),
                         void *arg, struct err *err);

#endif
