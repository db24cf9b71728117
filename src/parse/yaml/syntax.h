/* syntax.h - what is wrong with a text before it is YAML at all. Private to the reader. */
#ifndef PARSE_YAML_SYNTAX_H
#define PARSE_YAML_SYNTAX_H

#include "parse/diagnostics.h"

#include <yaml.h>

/* Whether the characters are those that YAML allows; else a problem is added. */
bool syntax_check_text(const struct source *source, struct diagnostics *diagnostics);

/* Adds the problem at which libyaml gave up, in our words. */
void syntax_error(const yaml_parser_t *parser, const struct source *source,
                  struct diagnostics *diagnostics);

#endif
