/* schedule_answer.h - a schedule as JSON: the row of schedule_noun. */
#ifndef API_SCHEDULE_ANSWER_H
#define API_SCHEDULE_ANSWER_H

#include "api/noun.h"
#include "base/text.h"
#include "store/schedule/schedule.h"

struct schedule_answer {
    struct schedule_listed s;
    char name[SCHEDULE_NAME_SIZE], catchup[DURATION_TEXT_SIZE], jitter[DURATION_TEXT_SIZE];
    const char *schedule, *catchup_text, *jitter_text, *overlap, *tz;
    int64_t next;
    const struct schedule_row *paused; /* NULL if the schedule is not paused */
    const struct last_audit *last;
};
/* Fills in the row; `now` is by turn_wall_time. It borrows from the listed schedule, and points
 * into itself, so it can't be copied. */
void schedule_answer(struct schedule_answer *a, const struct schedule_listed *s, int64_t now);
extern const struct noun schedule_noun;

#endif
