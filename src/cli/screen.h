/* screen.h - full-screen use of a terminal: its alternate screen, single keys, its size. The
 * terminal is restored however the program ends, except after kill -9. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/buf.h"

#include <stdbool.h>

/* Whether stdin and stdout are a terminal that supports a full screen. */
bool screen_is_supported(void);

/* Switches to the full screen; false if that is not possible. A process has only one screen. */
bool screen_open(void);
void screen_close(void); /* does nothing if the screen is not open */

int screen_columns(void);
int screen_rows(void);

/* Shows a frame from the top: lines separated by newlines. False if the terminal is gone. */
bool screen_show(const struct buf *frame);

/* Keys that are not characters. */
enum key {
    KEY_NONE = -1,
    KEY_GONE = -2, /* the terminal is gone */
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
/* Returns the next key: a byte or one of the constants above; never waits. Reads from descriptor
 * 0. */
int screen_key(void);

#endif
