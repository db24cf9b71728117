/* revoke.c - checks the tokens of clients that stay connected again, at each tick of their watch,
 * and ends the streams and waits of those whose token was revoked or has expired. */
#include "server/watch_internal.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool token_list_has(const struct token_list *l, const char *token)
{
    return l->at.n && bsearch(&token, l->at.at, l->at.n, sizeof(*l->at.at), compare);
}

/* Sorts the list, and copies each token once into the arena. */
static void make_unique(struct token_list *l, struct arena *arena)
{
    size_t n = 0;

    if (l->at.n)
        qsort((void *)l->at.at, l->at.n, sizeof(*l->at.at), compare);
    for (size_t i = 0; i < l->at.n; i++)
        if (!n || strcmp(l->at.at[n - 1], l->at.at[i]))
            l->at.at[n++] = arena_strdup(arena, l->at.at[i]);
    l->at.n = n;
}

static void find_tokens(struct watch *w, const struct request *waiting, struct arena *arena,
                        struct token_list *out)
{
    for (const struct request *r = waiting; r; r = r->next)
        if (r->is_stored)
            *vec_add(&out->at) = r->token;
    pthread_mutex_lock(&w->mutex);
    streams_add_tokens(w, out);
    make_unique(out, arena);
    pthread_mutex_unlock(&w->mutex);
}

/* Keeps the tokens that are not active. Keeps none if the database can't be read: then they are
 * checked at the next tick. */
static void keep_revoked(struct pawl *p, struct token_list *l)
{
    AUTO_FREE bool *active = mem_zalloc((l->at.n + 1) * sizeof(*active));
    struct pawl_error err = {0};
    bool failed = pawl_tokens_check(p, l->at.at, l->at.n, active, &err) != 0;
    size_t n = 0;

    for (size_t i = 0; i < l->at.n && !failed; i++)
        if (!active[i])
            l->at.at[n++] = l->at.at[i];
    l->at.n = n;
}

static void refuse_waiting(struct request **waiting, const struct token_list *revoked)
{
    for (struct request **at = waiting; *at;) {
        struct request *r = *at;

        if (!r->is_stored || !token_list_has(revoked, r->token)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        guard_refuse_token(r);
        r->waits_for = 0;
        request_done(r);
    }
}

void watch_end_revoked(struct watch *w, struct pawl *p, struct request **waiting)
{
    struct token_list list = {0};
    struct arena arena = {0};

    find_tokens(w, *waiting, &arena, &list);
    if (list.at.n)
        keep_revoked(p, &list);
    if (list.at.n) {
        pthread_mutex_lock(&w->mutex);
        streams_end_revoked(w, &list);
        pthread_mutex_unlock(&w->mutex);
        refuse_waiting(waiting, &list);
    }
    vec_release(&list.at);
    arena_release(&arena);
}
