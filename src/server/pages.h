/* pages.h - the files of web/, built in by tools/webgen. */
#ifndef SERVER_PAGES_H
#define SERVER_PAGES_H

#include <stddef.h>

struct page_file {
    const char *name;                /* "app.js" */
    const unsigned char *text, *zip; /* as it is, and by gzip */
    size_t len, zip_len;
    const char *preload; /* of a script: a value of the header Link; "" if app.js imports it */
};

extern const struct page_file page_files[]; /* ends with a NULL name */
/* A hash of all files: part of their paths, so that a browser may keep them forever. */
extern const char page_version[];

struct endpoint;
struct request;

/* The endpoint of a request whose path no endpoint has: the document, if a browser asks for a page;
 * else NULL. */
const struct endpoint *page_for_missing(struct request *r);

#endif
