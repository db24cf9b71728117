/* screen.c - takes the whole terminal and gives it back; see screen.h. The state to restore is in a
 * static structure, because a signal handler has no other way to find it. */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ESCAPE_MS 25 /* the rest of a key's escape sequence arrives within this time */

/* Sequences that switch to the alternate screen without cursor and wrapping, and back. */
static const char enter[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char leave[] = "\033[?7h\033[?25h\033[?1049l";

/* Signals that a crash raises. */
static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define FATAL (sizeof(fatal) / sizeof(*fatal))

static struct {
    volatile sig_atomic_t open;
    struct termios before;
    struct sigaction previous[FATAL];
    unsigned char typed[64];
    size_t n;
} screen;

bool screen_is_supported(void)
{
    const char *term = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb");
}

/* ---- open and close ---- */

static bool write_all(const char *text, size_t len)
{
    ssize_t n;

    while (len && ((n = write(STDOUT_FILENO, text, len)) > 0 || errno == EINTR)) {
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return !len;
}

/* Restores the terminal. Async-signal-safe. */
static void restore_terminal(void)
{
    if (!screen.open)
        return;
    screen.open = 0;
    write_all(leave, sizeof(leave) - 1);
    tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
}

/* Restores the terminal, then raises the signal again for the previous handler. */
static void on_fatal(int signal)
{
    restore_terminal();
    for (size_t i = 0; i < FATAL; i++)
        if (fatal[i] == signal)
            sigaction(signal, &screen.previous[i], NULL);
    raise(signal);
}

bool screen_open(void)
{
    struct sigaction act = {.sa_handler = on_fatal};
    struct termios raw;

    if (screen.open)
        return true;
    if (tcgetattr(STDIN_FILENO, &screen.before))
        return false;
    raw = screen.before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN); /* Ctrl-C and Ctrl-Z stay signals */
    raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    for (size_t i = 0; i < FATAL; i++)
        sigaction(fatal[i], &act, &screen.previous[i]);
    screen.open = 1;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw)) {
        screen_close();
        return false;
    }
    write_all(enter, sizeof(enter) - 1);
    return true;
}

void screen_close(void)
{
    if (!screen.open)
        return;
    restore_terminal();
    for (size_t i = 0; i < FATAL; i++)
        sigaction(fatal[i], &screen.previous[i], NULL);
}

/* ---- drawing ---- */

static bool window_size(struct winsize *size)
{
    return !ioctl(STDOUT_FILENO, TIOCGWINSZ, size) && size->ws_col && size->ws_row;
}

int screen_columns(void)
{
    struct winsize size;

    return window_size(&size) ? size.ws_col : 80;
}

int screen_rows(void)
{
    struct winsize size;

    return window_size(&size) ? size.ws_row : 24;
}

/* Shows a frame. To avoid flicker, each line clears the rest of the line that it overwrites, and
 * everything is written at once. Lines below the last row are dropped, because they would scroll
 * the screen. */
bool screen_show(const struct buf *frame)
{
    const char *at = buf_cstr(frame);
    AUTO_BUF out = BUF_INIT;
    int left = screen_rows();
    bool shown;
    size_t len;

    buf_addstr(&out, "\033[H");
    for (;; at += len + 1) {
        len = strcspn(at, "\n");
        buf_add(&out, at, len);
        buf_addstr(&out, "\033[K");
        if (!at[len] || --left < 1)
            break;
        buf_addstr(&out, "\r\n");
    }
    buf_addstr(&out, "\033[J");
    shown = write_all(out.ptr, out.len);
    return shown;
}

/* ---- keys ---- */

static bool is_readable(int ms)
{
    struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&fd, 1, ms) > 0;
}

/* Waits at most `ms` for more input; false if the terminal is gone. */
static bool read_more(int ms)
{
    ssize_t n;

    if (screen.n == sizeof(screen.typed) || !is_readable(ms))
        return true;
    n = read(STDIN_FILENO, screen.typed + screen.n, sizeof(screen.typed) - screen.n);
    if (n > 0)
        screen.n += (size_t)n;
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

static void consume(size_t n)
{
    memmove(screen.typed, screen.typed + n, screen.n - n);
    screen.n -= n;
}

/* Parses an escape sequence such as ESC [ A, ESC O A or ESC [ 5 ~. Skips an unknown one. */
static int escape_sequence(void)
{
    static const struct {
        const char *end;
        int key;
    } keys[] = {{"A", KEY_UP},   {"B", KEY_DOWN}, {"C", KEY_RIGHT},    {"D", KEY_LEFT},
                {"H", KEY_HOME}, {"F", KEY_END},  {"5~", KEY_PAGE_UP}, {"6~", KEY_PAGE_DOWN}};
    size_t len = 2;

    while (len < screen.n && screen.typed[len] < 0x40)
        len++;
    len += len < screen.n;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strlen(keys[i].end) == len - 2 && !memcmp(screen.typed + 2, keys[i].end, len - 2)) {
            consume(len);
            return keys[i].key;
        }
    consume(len);
    return screen_key();
}

int screen_key(void)
{
    int c;

    if (!screen.n && !read_more(0))
        return KEY_GONE;
    if (!screen.n)
        return KEY_NONE;
    c = screen.typed[0];
    if (c == KEY_ESCAPE && screen.n == 1 && !read_more(ESCAPE_MS))
        return KEY_GONE;
    if (c == KEY_ESCAPE && screen.n > 1 && (screen.typed[1] == '[' || screen.typed[1] == 'O'))
        return escape_sequence();
    consume(1);
    return c == '\n' ? KEY_ENTER : c == '\b' ? KEY_BACKSPACE : c;
}
