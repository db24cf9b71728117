/* suggest.h - "did you mean …?": the word that is nearest to a mistyped one. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>

struct suggestion {
    const char *word; /* what was written */
    size_t len;
    const char *best;  /* the nearest of those tried; NULL: none is near */
    unsigned distance; /* a better one is nearer */
};

/* Begins a search; then try all words that would be right. */
struct suggestion suggest_for(const char *word);
void suggest_try(struct suggestion *s, const char *candidate);

/* The nearest of a list that ends with NULL. */
const char *suggest_from(const char *word, const char *const *list);

#endif
