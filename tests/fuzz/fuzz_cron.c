/* fuzz_cron.c - any bytes as a cron pattern, and as the file of the time zone that it is evaluated
 * in.
 *
 * Input: eight bytes of a time, a pattern up to a line feed, and a TZif file or the rule at the end
 * of one. Besides memory errors and undefined behaviour it looks for results that break the
 * contracts of the headers: clocks that do not advance, and due times that are not after the given
 * time, not the first, or not due. */
#include "base/buf.h"
#include "base/date.h"
#include "base/text.h"
#include "core/schedule/cron.h"

#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* A file with that rule and an empty table. */
static int tz_of_rule(const char *rule, size_t len, struct tz **out, struct err *err)
{
    static const char header[] = "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" /* and the counts: */
                                 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1";
    static const char type[7] = "";
    struct buf b = BUF_INIT;
    int i, rc;

    for (i = 0; i < 2; i++) {
        buf_add(&b, header, sizeof(header) - 1);
        buf_add(&b, type, sizeof(type));
    }
    buf_addch(&b, '\n');
    buf_add(&b, rule, len);
    buf_addch(&b, '\n');
    rc = tz_parse("fuzz", b.ptr, b.len, out, err);
    buf_release(&b);
    return rc;
}

static void check_zone(const struct tz *z, int64_t t)
{
    struct tz_period p = tz_period(z, t);
    int64_t first = tz_from_local(z, t);
    int i;

    must(p.from <= t && t < p.until);
    for (i = 0; i < 8 && p.until < TZ_FOREVER; i++) {
        struct tz_period next = tz_period(z, p.until);

        must(next.from == p.until && next.until > next.from);
        p = next;
    }
    must(tz_to_local(z, first) >= t && tz_to_local(z, first - 1) < t);
}

/* Whether the local time of `due` is a minute of the pattern; at a clock change it may differ. */
static bool shows_minute(const struct cron *c, const struct tz *z, int64_t due)
{
    int64_t local = tz_to_local(z, due / SECOND), minute = floor_div(local, 60);

    return tz_period(z, due / SECOND).from == due / SECOND ||
           (local % 60 == 0 && c->minutes >> (minute - floor_div(minute, 60) * 60) & 1);
}

static void check_cron(const struct cron *c, const struct tz *z, int64_t after)
{
    int64_t next, again, last;
    int i;

    for (i = 0; i < 10; i++, after = next) {
        if (!cron_next(c, z, after, &next))
            return;
        must(next > after && next % SECOND == 0 && shows_minute(c, z, next));
        must(cron_next(c, z, next - 1, &again) && again == next);
        if (after > INT64_MIN / 2) /* from half-way to the due time */
            must(cron_next(c, z, after + (next - after) / 2, &again) && again == next);
        must(cron_last(c, z, after, next, &last) && last == next);
    }
}

static void check_error(int rc, const struct err *err)
{
    must(rc == -E_INVALID && *err->msg && text_is_utf8(err->msg, strlen(err->msg)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    struct tz *z = NULL;
    struct buf text = BUF_INIT;
    const uint8_t *line, *file, *end = data + size;
    struct cron c;
    int64_t after;
    int rc;

    if (size < sizeof(after))
        return 0;
    memcpy(&after, data, sizeof(after));
    data += sizeof(after);
    line = memchr(data, '\n', (size_t)(end - data));
    file = line ? line + 1 : end;
    buf_add(&text, data, (size_t)((line ? line : end) - data));
    if (end - file >= 4 && !memcmp(file, "TZif", 4))
        rc = tz_parse("fuzz", file, (size_t)(end - file), &z, &err);
    else
        rc = tz_of_rule((const char *)file, (size_t)(end - file), &z, &err);
    if (rc) {
        check_error(rc, &err);
        must(!tz_load("UTC", &z, &err));
    }
    check_zone(z, after >> 8);
    check_zone(z, after >> 24);
    if ((rc = cron_parse(buf_cstr(&text), &c, &err)))
        check_error(rc, &err);
    else
        check_cron(&c, z, after);
    buf_release(&text);
    tz_free(&z);
    return 0;
}
