/* snapshot.c - see snapshot.h. */
#include "snapshot.h"

#include "../as_of_fixture.h"
#include "../fixture.h"

#include <stdio.h>

void snapshot_take(struct snapshots *all, struct store *s, int64_t root)
{
    struct err err = ERR_INIT;
    char sql[120];

    if (all->n == SNAPSHOTS)
        return;
    CHECK_OK_ERR(query_tree(s, root, &all->at[all->n], &err), &err);
    snprintf(sql, sizeof(sql), "SELECT max(sequence_num) FROM execution_events WHERE root = %lld",
             (long long)root);
    all->event[all->n++] = sql_number(s, sql);
}

static int64_t last_change(const struct execution_list *l)
{
    int64_t last = 0;
    size_t i;

    for (i = 0; i < l->n; i++)
        if (l->at[i].updated_at > last)
            last = l->at[i].updated_at;
    return last;
}

void snapshots_compare(struct snapshots *all, struct store *s, struct buf *wrong)
{
    size_t i;

    for (i = 0; i < all->n; i++) {
        struct moment by_number = {.event = all->event[i]};
        struct moment by_time = {.time = last_change(&all->at[i])};

        as_of_compare(s, &all->at[i], &by_number, wrong);
        as_of_compare(s, &all->at[i], &by_time, wrong);
        execution_list_release(&all->at[i]);
    }
    all->n = 0;
}
