/* scalar.h - finds the kind and value of plain scalars by the core schema of YAML 1.2. */
#ifndef PARSE_YAML_SCALAR_H
#define PARSE_YAML_SCALAR_H

#include "parse/yaml/yaml.h"

enum yaml_kind yaml_scalar_kind(const char *text);

/* Sets the kind of a scalar, or of a list or mapping (then `text` is NULL), to the kind that its
 * tag requires. If the tag does not fit, returns false and writes the reason to `sentence`, which
 * has YAML_TAG_SENTENCE bytes. */
#define YAML_TAG_SENTENCE 256
bool yaml_tag_kind(const char *tag, const char *text, enum yaml_kind *kind, char *sentence);

/* Parses an integer. Returns false if it needs more than 64 bits. */
bool yaml_scalar_int(const char *text, int64_t *out);
/* Parses a number. `text` must be a float or an integer of the core schema. */
double yaml_scalar_float(const char *text);

#endif
