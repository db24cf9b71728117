/* log_reader.c - reads the capped log of an attempt, see attempt.h; shim/log_writer.c writes it.
 * The file grows to head + tail bytes; from then on the part after the head is a ring, and
 * `log.pos` holds its position. */
#include "exec/attempt/attempt.h"

#include "base/fd.h"
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the recorded position is plausible: the task may have forged the file. */
static bool is_plausible(const struct attempt_log_pos *pos, int64_t size)
{
    return pos->head >= 0 && pos->tail >= 0 && pos->head <= size && pos->tail <= size - pos->head &&
           pos->total >= pos->head + pos->tail;
}

int attempt_log_size(int at, struct attempt_log *out)
{
    struct attempt_log_pos pos;
    struct stat st;
    AUTO_FD fd = own_file_open(at, ATTEMPT_LOG, O_RDONLY, ATTEMPT_LOG_MAX);

    if (fd < 0 || fstat(fd, &st))
        return -1;
    *out = (struct attempt_log){.kept = st.st_size, .head = st.st_size};
    if (record_read(at, &RECORD_LOG_POS, &pos) == 1 && is_plausible(&pos, st.st_size)) {
        out->head = pos.head;
        out->dropped = pos.total - pos.head - pos.tail;
    }
    return 0;
}

static int read_at(int fd, int64_t offset, size_t max, struct buf *out)
{
    while (max) {
        ssize_t n;

        buf_reserve(out, max);
        n = pread(fd, out->ptr + out->len, max, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        out->len += (size_t)n;
        out->ptr[out->len] = '\0';
        offset += n;
        max -= (size_t)n;
    }
    return 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int attempt_log_read(int at, const struct attempt_log *log, int64_t offset, size_t max,
                     struct buf *out)
{
    int64_t tail = log->kept - log->head, end = least(log->kept, offset + (int64_t)max);
    AUTO_FD fd = own_file_open(at, ATTEMPT_LOG, O_RDONLY, ATTEMPT_LOG_MAX);
    int rc = fd < 0 ? -1 : 0;

    while (!rc && offset < end) {
        int64_t from = offset, upto = end;

        if (offset < log->head) {
            upto = least(end, log->head);
        } else if (tail > 0) { /* the oldest byte of the ring is at the next write position */
            int64_t turned = log->dropped % tail, k = offset - log->head;

            from = log->head + (k + turned) % tail;
            upto = least(end, offset + log->head + tail - from);
        }
        rc = read_at(fd, from, (size_t)(upto - offset), out);
        offset = upto;
    }
    return rc;
}
