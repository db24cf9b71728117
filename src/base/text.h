/* text.h - checks and conversions of text: UTF-8, times, durations. Knows nothing of workflows. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Valid UTF-8 (no overlong forms, no surrogates) without NUL. */
bool text_is_utf8(const char *s, size_t len);
/* Makes it so: a byte that belongs to no character becomes a question mark. */
void text_make_utf8(char *s);

/* A time in µs since 1970 as 2026-01-31T23:59:59.123456Z; `out` holds TIME_TEXT_SIZE bytes. */
#define TIME_TEXT_SIZE 32
char *text_time(int64_t us, char *out);
/* The reverse: an RFC 3339 time, a date, or "@SECONDS". */
MUST_USE int text_parse_time(const char *s, int64_t *us, struct err *err);

/* 250ms 30s 5m 2h 90d -> µs. A bare number has no unit and is refused. */
MUST_USE int text_parse_duration(const char *s, int64_t *us, struct err *err);
/* µs -> the same, in the unit that says it in the smallest whole number: 5m, not 300s; and the
 * shortest exact-enough form for people: "0.4 ms", "12 s", "3 h 20 m". */
#define DURATION_TEXT_SIZE 32
char *text_exact_duration(int64_t us, char *out);
char *text_duration(int64_t us, char *out);

MUST_USE int text_parse_i64(const char *s, int64_t *n); /* -1 unless all of s is a number */

/* Adds the value of a label as Prometheus wants it, without its quotes. */
void text_label(struct buf *b, const char *s);

#endif
