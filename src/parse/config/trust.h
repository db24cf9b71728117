/* trust.h - which pawl.yaml files in current folders the user trusts (`pawl trust`).
 *
 * If a command finds a pawl.yaml in the current folder, this file may have come with an archive or
 * a repository that the user has not read. Until it is trusted, it may not set the keys that decide
 * what runs (needs_trust in config_keys.c). Trust ends when the file changes.
 *
 * Trust is stored in the user's state folder, never in the `state` of a configuration: each trusted
 * path has a file trusted/HASH-OF-PATH with the hash of the content and the path. */
#ifndef PARSE_CONFIG_TRUST_H
#define PARSE_CONFIG_TRUST_H

#include "parse/config/config.h"

/* Returns NULL if the user trusts this file with this content. Otherwise returns the reason why it
 * is not trusted, as the end of a sentence. */
const char *trust_refusal(const struct source *source, const struct config_host *host);

/* Trusts the file at `path` with its present content; NULL means ./pawl.yaml. -E_NOT_FOUND if the
 * file does not exist, -E_INVALID if it must not be used (see source_read_config). *file is the
 * absolute path of the file; the caller frees it. */
MUST_USE int trust_add(const char *path, const struct config_host *host, char **file,
                       struct err *err);
/* Ends the trust in a file, which may have been deleted. -E_NOT_FOUND if the file was not
 * trusted. */
MUST_USE int trust_remove(const char *path, const struct config_host *host, char **file,
                          struct err *err);

#endif
