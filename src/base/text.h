/* text.h - checks and conversions of text: UTF-8, times, durations. It must not know about
 * workflows. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length in bytes of the character at s. 0 if s is at a NUL or not at valid UTF-8. */
size_t text_step(const char *s, size_t left);
/* Whether s is valid UTF-8 (no overlong forms, no surrogates) without NUL. */
bool text_is_utf8(const char *s, size_t len);
/* Whether s is a valid name of a variable: 1 to `max` ASCII letters, digits and _, not starting
 * with a digit. */
bool text_is_variable(const char *s, size_t max);
/* The number of characters of a valid UTF-8 string. */
size_t text_characters(const char *s, size_t len);
/* Replaces each byte that is not part of a valid character with a question mark. */
void text_make_utf8(char *s);
/* Whether the character of n bytes at s can change how a terminal shows the text around it: a
 * control character, or a character that changes the direction of writing (such as U+202E). */
bool text_is_hidden(const char *s, size_t n);
/* Checks a string from a user: it must be UTF-8, not empty, and at most `max` bytes long. NULL is
 * accepted: nothing was given. `what` names the string in the error. */
MUST_USE int text_check(const char *what, const char *s, size_t max, struct err *err);
/* Like text_check, for a name: hidden characters (text_is_hidden) are errors, too. */
MUST_USE int text_check_name(const char *what, const char *s, size_t max, struct err *err);

/* A hash (FNV-1a), the same in every process; NULL has that of "". It is no defence against texts
 * that were chosen to collide. */
uint64_t text_hash(const char *s);

/* Writes a time in µs since 1970 as 2026-01-31T23:59:59.123456Z; `out` has TIME_TEXT_SIZE bytes. */
#define TIME_TEXT_SIZE 32
char *text_time(int64_t us, char *out);
/* The time of day in a string that text_time wrote; "" if the string is too short, as where "-"
 * stands for a missing time. */
const char *text_time_of_day(const char *time);
/* Parses an RFC 3339 time, a date, or "@SECONDS". */
MUST_USE int text_parse_time(const char *s, int64_t *us, struct err *err);

/* Parses 250ms, 30s, 5m, 2h, 90d as µs. A number without a unit is an error. */
MUST_USE int text_parse_duration(const char *s, int64_t *us, struct err *err);
/* Writes µs in the form that text_parse_duration reads, in the largest unit that is exact: 5m, not
 * 300s. `out` has DURATION_TEXT_SIZE bytes. */
#define DURATION_TEXT_SIZE 32
char *text_exact_duration(int64_t us, char *out);
/* Writes µs rounded, for display: "0.4 ms", "12.0 s", "3 h 20 m"; "-" if negative. */
char *text_duration(int64_t us, char *out);

/* -1 unless the whole string is an integer. */
MUST_USE int text_parse_i64(const char *s, int64_t *n);

/* Appends s, escaped for use between the quotes of a Prometheus label's value or of a Graphviz
 * string. A hidden character (text_is_hidden) other than a line break becomes U+FFFD. */
void text_label(struct buf *b, const char *s);

#endif
