/* anchors.h - the names that a document gives to its nodes. Private to the reader. */
#ifndef PARSE_YAML_ANCHORS_H
#define PARSE_YAML_ANCHORS_H

#include "parse/yaml/yaml.h"

struct anchor {
    char *name;
    bool open;        /* what it names has not ended: an alias in there would be endless */
    struct yaml node; /* and what an alias to it costs: */
    size_t nodes;
    int height;
};

struct anchors {
    void *tree; /* of struct anchor by name, see tsearch(3) */
};

struct anchor *anchor_find(const struct anchors *as, const char *name); /* NULL: there is none */
/* A name that is used again names the new node from here on, as YAML says. */
struct anchor *anchor_open(struct anchors *as, const char *name);
void anchors_release(struct anchors *as);

#endif
