/* screen.h - a whole terminal for a view: its other screen, single keys, its size. However the
 * program ends, but for kill -9, the terminal is then as it was before. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/buf.h"

#include <stdbool.h>

/* Whether there is one, for keys and for a picture. */
bool screen_there(void);

/* Takes the terminal; false: it can't be taken. There is one of them. */
bool screen_open(void);
void screen_close(void); /* harmless if it is not open */

int screen_columns(void);
int screen_rows(void);

/* Shows the lines of a frame, each ended by a line end but the last, from the top. False: the
 * terminal is gone. */
bool screen_show(const struct buf *frame);

/* Keys that are no characters. */
enum key {
    KEY_NONE = -1,
    KEY_GONE = -2, /* the terminal */
    KEY_ENTER = '\r',
    KEY_ESCAPE = 0x1B,
    KEY_BACKSPACE = 0x7F,
    KEY_UP = 256,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_HOME,
    KEY_END,
};
/* What was typed next: a byte or one of those; never waits. The descriptor is 0. */
int screen_key(void);

#endif
