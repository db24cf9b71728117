/* tenant_name.h - the rule for names of tenants. A name becomes part of the name of a schema, a
 * role or a file, so the rule allows only characters that need no quoting. */
#ifndef CORE_TENANT_NAME_H
#define CORE_TENANT_NAME_H

#include <stdbool.h>
#include <string.h>

#define TENANT_MAX 41

/* Whether the name matches [a-z][a-z0-9_]{0,40}. */
static inline bool tenant_is_name(const char *name)
{
    size_t len = strlen(name);

    return len <= TENANT_MAX && name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

#endif
