/* suggest.h - "did you mean …?": finds the known word nearest to a mistyped one. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>

struct suggestion {
    const char *word; /* the word as the user wrote it */
    size_t len;
    const char *best;  /* the nearest candidate so far; NULL if none is near */
    unsigned distance; /* a better candidate must be nearer than this */
};

/* Starts a search for a word like `word`; then call suggest_try with each valid word. */
struct suggestion suggest_for(const char *word);
void suggest_try(struct suggestion *s, const char *candidate);

/* The three arguments for "%s%s%s" at the end of a message. They print the suggestion as a
 * question, or nothing if it is NULL. */
#define DID_YOU_MEAN(best) \
    (best) ? "; did you mean \"" : "", (best) ? (best) : "", (best) ? "\"?" : ""

/* The word in a list, which ends with NULL, that is nearest to `word`; NULL if none is near. */
const char *suggest_from(const char *word, const char *const *list);

#endif
