/* log_writer.c - writes the capped log, see attempt/log_reader.c. A flood of output takes no more
 * disk space than head and tail, and no memory. A full disk loses output but never fails the task.
 */
#include "base/own_file.h"
#include "exec/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The file offset of byte n of the output. */
static int64_t ring_offset(const struct log *l, int64_t n)
{
    return n < l->head ? n : l->head + (l->tail ? (n - l->head) % l->tail : 0);
}

/* How many bytes can be written contiguously, starting with byte n. */
static int64_t space_at(const struct log *l, int64_t n)
{
    return n < l->head ? l->head - n : l->head + l->tail - ring_offset(l, n);
}

/* Returns how many bytes were written. */
static size_t write_piece(const struct log *l, const char *text, size_t len, int64_t at)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pwrite(l->fd, text + done, len - done, at + (int64_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

void log_append(struct log *l, const char *text, size_t len)
{
    if (!len)
        return;
    if (l->fd < 0)
        l->fd = own_file_open(l->folder, ATTEMPT_LOG, O_WRONLY | O_CREAT | O_EXCL, ATTEMPT_LOG_MAX);
    while (len) {
        int64_t space = space_at(l, l->total);
        size_t n = (int64_t)len < space ? len : (size_t)space;
        size_t written = l->fd < 0 ? 0 : write_piece(l, text, n, ring_offset(l, l->total));

        l->total += (int64_t)written;
        text += written;
        len -= written;
        if (!written || written < n) {
            l->unwritten += (int64_t)len;
            break;
        }
    }
    if (l->total > l->head + l->tail) {
        struct attempt_log_pos pos = {.total = l->total, .head = l->head, .tail = l->tail};

        /* On failure the reader treats the ring as plain text: complete, but in the wrong order. */
        if (record_write(l->folder, &RECORD_LOG_POS, &pos))
            return;
    }
}
