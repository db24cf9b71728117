/* syntax.h - reports text that is not valid YAML: characters and syntax. Private to the YAML
 * reader. */
#ifndef PARSE_YAML_SYNTAX_H
#define PARSE_YAML_SYNTAX_H

#include "parse/diagnostics.h"

#include <yaml.h>

/* Whether YAML allows all characters of the source; adds a diagnostic if not. */
bool syntax_check_text(const struct source *source, struct diagnostics *diagnostics);

/* Adds a diagnostic for the error at which libyaml stopped, in plainer words than libyaml's. */
void syntax_error(const yaml_parser_t *parser, const struct source *source,
                  struct diagnostics *diagnostics);

#endif
