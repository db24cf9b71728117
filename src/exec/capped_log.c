/* capped_log.c - keeps the first and the last part of the output that threads of this process
 * write; see capped_log.h. */
#include "exec/capped_log.h"

#include <string.h>

#define HEAD_MAX (512 * 1024)
#define TAIL_MAX (512 * 1024)

static void cut_tail(struct capped_log *l)
{
    size_t cut = l->tail.len > TAIL_MAX ? l->tail.len - TAIL_MAX : 0;

    if (!cut)
        return;
    memmove(l->tail.ptr, l->tail.ptr + cut, TAIL_MAX + 1);
    l->tail.len = TAIL_MAX;
    l->dropped += (int64_t)cut;
}

/* The tail is cut only when it is twice as long as allowed, so that each byte is moved once. */
void capped_log_add(struct capped_log *l, const char *bytes, size_t len)
{
    size_t room = HEAD_MAX - l->head.len, part = len < room ? len : room;

    buf_add(&l->head, bytes, part);
    bytes += part;
    len -= part;
    if (len > TAIL_MAX) {
        l->dropped += (int64_t)(len - TAIL_MAX);
        bytes += len - TAIL_MAX;
        len = TAIL_MAX;
    }
    buf_add(&l->tail, bytes, len);
    if (l->tail.len >= (size_t)2 * TAIL_MAX)
        cut_tail(l);
    l->due = true;
}

void capped_log_report_again(struct capped_log *l)
{
    l->sent = 0;
    l->due = l->head.len > 0;
}

void capped_log_report(struct capped_log *l, pthread_mutex_t *lock, bool last,
                       void (*send)(void *arg, struct report *r), void *arg)
{
    struct report r = {.kind = REPORT_LOG};
    AUTO_BUF more = BUF_INIT;

    pthread_mutex_lock(lock);
    l->due = false;
    r.offset = l->sent;
    if ((size_t)l->sent < l->head.len)
        buf_add(&more, l->head.ptr + l->sent, l->head.len - (size_t)l->sent);
    l->sent = (int64_t)l->head.len;
    pthread_mutex_unlock(lock);
    r.log = more.ptr;
    r.log_len = more.len;
    if (more.len)
        send(arg, &r);
    if (!last || !l->tail.len)
        return;
    cut_tail(l);
    r = (struct report){.kind = REPORT_LOG,
                        .offset = (int64_t)l->head.len,
                        .log = l->tail.ptr,
                        .log_len = l->tail.len,
                        .dropped = l->dropped};
    send(arg, &r);
}

void capped_log_release(struct capped_log *l)
{
    buf_release(&l->head);
    buf_release(&l->tail);
}
