/* state.c - the state of pawl top: which page and row is shown, when to refresh; and how keys
 * change it. */
#include "cli/screen.h"
#include "cli/top/top.h"

#include "base/env.h"

#include <stdlib.h>

#define SHARE 10 /* reading the page takes at most 1/SHARE of the time */

/* ---- reading ---- */

/* Keeps the selected job selected, or its row if the job is gone. */
void top_find_selected(struct top *t)
{
    size_t n = top_count(&t->model), i;

    for (i = 0; i < n; i++)
        if (top_id(&t->model, i) == t->id) {
            t->selected = i;
            return;
        }
    if (t->selected >= n)
        t->selected = n ? n - 1 : 0;
    t->id = n ? top_id(&t->model, t->selected) : 0;
}

static void select_row(struct top *t, int64_t row)
{
    int64_t n = (int64_t)top_count(&t->model);

    row = row >= n ? n - 1 : row;
    t->selected = row > 0 ? (size_t)row : 0;
    t->id = n ? top_id(&t->model, t->selected) : 0;
}

/* Reads the current page. If the database is unreachable, keeps the last data and tries again
 * later. */
void top_refresh(struct top *t)
{
    struct pawl_error err;
    int64_t start = clock_boot_us(), took;
    int rc, pause = pawl_yield(t->p);

    free(t->note);
    t->note = NULL;
    if (pause) {
        t->note = mem_strdup("the server has few free connections: waiting until it has more");
        t->due = start + pause * 1000LL;
        return;
    }
    rc = top_read(&t->model, t->p, buf_cstr(&t->part), &err);
    if (!rc && t->page == PAGE_DETAIL)
        rc = detail_read(&t->detail, t->p, t->id, &err);
    else if (!rc)
        top_find_selected(t);
    t->note = rc ? mem_strdup(err.message) : NULL;
    took = (clock_boot_us() - start) * SHARE;
    t->due = clock_boot_us() + (took > t->interval ? took : t->interval);
}

/* ---- keys ---- */

static void edit_filter(struct top *t, int key)
{
    if (key == KEY_ENTER || key == KEY_ESCAPE)
        t->typing = false;
    if (key == KEY_ESCAPE)
        buf_reset(&t->part);
    else if (key == KEY_BACKSPACE)
        while (t->part.len && ((unsigned char)t->part.ptr[--t->part.len] & 0xC0) == 0x80)
            ; /* removes a whole character */
    else if (key >= ' ' && key < 256 && t->part.len < 60)
        buf_addch(&t->part, (char)key);
    if (t->part.ptr)
        t->part.ptr[t->part.len] = '\0';
    /* apply the filter unless its last character is incomplete */
    if (text_is_utf8(buf_cstr(&t->part), t->part.len))
        t->due = 0;
}

static void open_detail(struct top *t)
{
    if (!top_count(&t->model))
        return;
    t->page = PAGE_DETAIL;
    t->scroll = 0;
    top_refresh(t);
    if (!t->detail.why) /* the page could not be read: the note shows why */
        t->page = PAGE_LIST;
}

static void close_page(struct top *t)
{
    t->page = PAGE_LIST;
    detail_release(&t->detail);
    t->due = 0;
}

static void move(struct top *t, int64_t by)
{
    if (t->page == PAGE_LIST)
        select_row(t, (int64_t)t->selected + by);
    else if (by < 0)
        t->scroll = t->scroll > (size_t)-by ? t->scroll - (size_t)-by : 0;
    else
        t->scroll += (size_t)by;
}

bool top_key(struct top *t, int key)
{
    int page = screen_rows() / 2;

    if (t->typing) {
        edit_filter(t, key);
        return true;
    }
    switch (key) {
    case 'q':
    case KEY_ESCAPE:
    case KEY_LEFT:
        if (t->page != PAGE_LIST)
            close_page(t);
        else if (key == 'q')
            return false;
        break;
    case 'p':
        t->paused = !t->paused;
        t->due = 0;
        break;
    case 'k':
    case KEY_UP:
        move(t, -1);
        break;
    case 'j':
    case KEY_DOWN:
        move(t, 1);
        break;
    case KEY_PAGE_UP:
        move(t, -page);
        break;
    case KEY_PAGE_DOWN:
        move(t, page);
        break;
    case KEY_ENTER:
    case KEY_RIGHT:
        if (t->page == PAGE_LIST)
            open_detail(t);
        break;
    case 'f':
    case '/':
        t->typing = t->page == PAGE_LIST;
        break;
    case '?':
    case 'h':
        t->page = t->page == PAGE_LIST ? PAGE_HELP : t->page;
        break;
    default:
        break;
    }
    return true;
}
