/* SPDX-License-Identifier: Apache-2.0 */

/* top: rates, live.
 *
 * Asks for counters once an interval and prints how they have grown.  On a
 * terminal each block takes the place of the one before; elsewhere one
 * follows the other.  A daemon that goes away is waited for. */

#include <config.h>
#include "dpctl-cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "dpctl-json.h"
#include "dpctl-print.h"
#include "dpctl-rpc.h"
#include "dpctl-stats.h"
#include "fatal-signal.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "util.h"

#define MAX_ROWS 10

struct top {
    const struct dpctl_options *options;
    struct dpctl_rpc *rpc;      /* NULL: not connected. */
    struct json *before;        /* The last counters, or NULL. */
    char *problem;              /* Why there are none, or NULL. */
    bool refused;               /* The daemon is there. */
    long long int down_since;   /* If there is a problem. */
    long long int next;         /* When to ask. */
    bool live;                  /* Redraw. */
    int keys;                   /* Where keys come from, or -1. */
    bool quit;
};

/* The terminal. */

static struct termios saved_termios;

/* Also called when a signal ends the program. */
static void
restore_terminal(void *aux OVS_UNUSED)
{
    static const char show_cursor[] = "\033[?25h";

    tcsetattr(STDIN_FILENO, TCSANOW, &saved_termios);
    ignore(write(STDOUT_FILENO, show_cursor, sizeof show_cursor - 1));
}

static void
open_terminal(struct top *top)
{
    struct termios t;

    top->live = isatty(STDOUT_FILENO) && !top->options->count;
    if (!top->live || tcgetattr(STDIN_FILENO, &saved_termios)) {
        return;
    }
    /* Another name for it, because the poll loop doesn't take 0. */
    top->keys = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    fatal_signal_add_hook(restore_terminal, NULL, NULL, true);
    t = saved_termios;
    t.c_lflag &= ~(ICANON | ECHO);
    t.c_cc[VMIN] = 0;
    t.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &t);
    fputs("\033[2J\033[?25l", stdout);
}

static void
read_keys(struct top *top)
{
    char key;
    ssize_t n;

    while (top->keys >= 0 && (n = read(top->keys, &key, 1)) != 0) {
        if (n < 0) {
            if (errno != EINTR && errno != EAGAIN) {
                close(top->keys);       /* The terminal is gone. */
                top->keys = -1;
            }
            break;
        } else if (key == 'q' || key == 'Q') {
            top->quit = true;
        }
    }
}

static struct winsize
terminal_size(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row
        || !size.ws_col) {
        size = (struct winsize) { .ws_row = 24, .ws_col = 80 };
    }
    return size;
}

/* Shows 'text' from the upper left corner on, as much of it as there is room
 * for. */
static void
redraw(const char *text)
{
    int n_rows = terminal_size().ws_row;
    struct ds s = DS_EMPTY_INITIALIZER;

    /* Long lines are cut, not wrapped. */
    ds_put_cstr(&s, "\033[?7l\033[H");
    for (int row = 1; *text && row < n_rows; row++) {
        size_t len = strcspn(text, "\n");

        ds_put_buffer(&s, text, len);
        ds_put_cstr(&s, "\033[K\n");
        text += len + (text[len] == '\n');
    }
    ds_put_cstr(&s, "\033[J\033[?7h");
    fputs(ds_cstr(&s), stdout);
    dpctl_flush();
    ds_destroy(&s);
}

static void
show(const struct top *top, const char *text)
{
    if (top->live) {
        redraw(text);
    } else {
        fputs(text, stdout);
        dpctl_flush();
    }
}

/* Counters. */

static void
set_problem(struct top *top, const struct dpctl_rpc_error *error)
{
    if (!top->problem) {
        top->down_since = time_msec();
    }
    free(top->problem);
    top->problem = dpctl_print_tame(error->message);
    top->refused = !error->unreachable;

    dpctl_rpc_close(top->rpc);
    top->rpc = NULL;
    json_destroy(top->before);
    top->before = NULL;
}

/* Returns the daemon's counters, or NULL and sets the problem. */
static struct json *
ask(struct top *top)
{
    const struct dpctl_options *o = top->options;
    struct dpctl_rpc_error *error = NULL;
    struct json *stats = NULL;

    if (!top->rpc) {
        error = dpctl_rpc_open(o->socket, o->timeout_s, &top->rpc);
    }
    if (!error) {
        struct json *param = json_object_create();

        json_object_put(param, "brief", json_boolean_create(true));
        if (o->bridge) {
            json_object_put_string(param, "bridge", o->bridge);
        }
        error = dpctl_rpc_call(top->rpc, "stats", json_array_create_1(param),
                               &stats);
    }
    if (error) {
        set_problem(top, error);
        dpctl_rpc_error_destroy(error);
    } else {
        free(top->problem);
        top->problem = NULL;
    }
    return stats;
}

/* Blocks. */

static void
show_problem(const struct top *top)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "antrea-dpctl: %s; waiting for ovs-vswitchd\n",
                  top->problem);
    if (top->live) {
        redraw(ds_cstr(&s));
    } else {
        dpctl_flush();
        fputs(ds_cstr(&s), stderr);
    }
    ds_destroy(&s);
}

static void
show_rates(const struct top *top, const struct json *now)
{
    const char *bridge = dpctl_json_str(now, "bridge");
    struct ds rates = DS_EMPTY_INITIALIZER;
    struct ds s = DS_EMPTY_INITIALIZER;
    long long int ms = (dpctl_json_int(now, "time_ms", 0)
                        - dpctl_json_int(top->before, "time_ms", 0));

    dpctl_rates_format(top->before, now, MAX_ROWS,
                       top->live ? terminal_size().ws_col : 0, &rates);
    ds_put_format(&s, "bridge %s, %lld.%lld s%s\n\n%s%s",
                  bridge ? bridge : "?", ms / 1000, ms / 100 % 10,
                  top->live ? " (q: quit)" : "", ds_cstr(&rates),
                  top->live ? "" : "\n");
    show(top, ds_cstr(&s));
    ds_destroy(&s);
    ds_destroy(&rates);
}

/* Asks for counters and shows what has become of them.  Returns true if those
 * were rates. */
static bool
run_once(struct top *top)
{
    bool was_down = top->problem != NULL;
    struct json *now = ask(top);
    bool shown = false;

    if (!now) {
        if (!was_down || top->live) {
            show_problem(top);
        }
        return false;
    }
    if (top->before && dpctl_rates_known(top->before, now)) {
        show_rates(top, now);
        shown = true;
    } else if (top->before || was_down) {
        show(top, "ovs-vswitchd's counters began anew\n");
    }
    json_destroy(top->before);
    top->before = now;
    return shown;
}

static void
fail(const struct top *top)
{
    dpctl_fail(top->refused ? DPCTL_EXIT_ERROR : DPCTL_EXIT_UNREACHABLE, "%s",
               top->problem);
}

static void
sleep_until(struct top *top, long long int when)
{
    read_keys(top);
    while (!top->quit && time_msec() < when) {
        if (top->keys >= 0) {
            poll_fd_wait(top->keys, POLLIN);
        }
        poll_timer_wait_until(when);
        poll_block();
        read_keys(top);
    }
}

/* Is the time over that the daemon was given to come back? */
static bool
waited_enough(const struct top *top)
{
    return (top->problem && top->options->timeout_s
            && (time_msec() - top->down_since
                >= top->options->timeout_s * 1000LL));
}

void
dpctl_cmd_top(const struct dpctl_command *c)
{
    struct top top = { .options = c->options, .keys = -1 };
    int n_shown = 0;

    fatal_signal_init();

    /* Only a daemon that was there is waited for. */
    top.before = ask(&top);
    if (!top.before) {
        fail(&top);
    }
    open_terminal(&top);
    if (top.live) {
        show(&top, "");
    }
    top.next = time_msec();
    while (!c->options->count || n_shown < c->options->count) {
        top.next = MAX(top.next + c->options->delay_ms, time_msec());
        sleep_until(&top, top.next);
        if (top.quit) {
            break;
        }
        n_shown += run_once(&top);
        if (waited_enough(&top)) {
            break;
        }
    }
    if (top.keys >= 0) {
        restore_terminal(NULL);
        close(top.keys);
    }
    if (top.problem && !top.quit) {
        fail(&top);
    }
    free(top.problem);
    dpctl_rpc_close(top.rpc);
    json_destroy(top.before);
}
