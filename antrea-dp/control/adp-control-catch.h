/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_CATCH_H
#define ADP_CONTROL_CATCH_H 1

/* A client that waits for a packet ("catch").
 *
 * It asks again and again, and waits in each call for some time only, so that
 * a client that has gone is noticed; from one call to the next for the same
 * packets, the bridge goes on to wait for one.  That ends when one was caught,
 * when the client asks for others or leaves, and ADP_CONTROL_CATCH_LINGER_MS
 * after a call that none followed.
 *
 * Thread-safety: main thread.
 */

#include <stdbool.h>

#define ADP_CONTROL_CATCH_LINGER_MS 2000

struct adp_bridge;
struct adp_catch;
struct json;

struct adp_control_catch {
    struct adp_catch *catch;    /* NULL: nothing is waited for. */
    char *what;                 /* Which packets. */
    long long int deadline;     /* Of the call; 0: none waits. */
    long long int ends;         /* Unless it is asked for again. */
};

/* Waits for packets of 'bridge' that adp_show_parse_match() describes.
 * Returns NULL or, with '*code', what is wrong, the caller's to free. */
char *adp_control_catch_begin(struct adp_control_catch *, struct adp_bridge *,
                              const char *in_port, const char *flow,
                              const char **code);
void adp_control_catch_end(struct adp_control_catch *);
/* The answer to a call that waits for 'wait_ms', or NULL as long as there is
 * none; then it sees to it that the poll loop wakes up in time. */
struct json *adp_control_catch_result(struct adp_control_catch *,
                                      long long int wait_ms);
/* Between calls. */
void adp_control_catch_run(struct adp_control_catch *);

#endif /* adp-control-catch.h */
