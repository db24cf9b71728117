/* anchors.h - the anchors of a YAML document. Private to the YAML reader. */
#ifndef PARSE_YAML_ANCHORS_H
#define PARSE_YAML_ANCHORS_H

#include "parse/yaml/yaml.h"

struct anchor {
    char *name;
    bool open; /* its node is still being read: an alias inside it would be a cycle */
    struct yaml node;
    size_t nodes; /* number of nodes that an alias to it adds */
    int height;   /* levels of lists and mappings in the node */
};

struct anchors {
    void *tree; /* struct anchor by name, see tsearch(3) */
};

struct anchor *anchor_find(const struct anchors *as, const char *name); /* NULL if none */
/* Defines an anchor. A name that exists already refers to the new node from here on, as in YAML. */
struct anchor *anchor_open(struct anchors *as, const char *name);
void anchors_release(struct anchors *as);

#endif
