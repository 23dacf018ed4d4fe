/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_FLUSH_H
#define ADP_FLUSH_H 1

/* Who has connections flushed waits for that; the main thread doesn't.
 *
 * Upstream flushes connections of its own datapath while a command
 * (dpctl/flush-conntrack) or a request of OpenFlow's (NXT_CT_FLUSH,
 * NXT_CT_FLUSH_ZONE) is handled.  Here that only begins it
 * (conntrack-flush.h), and who asked is kept waiting: the command's reply is
 * held back, and the OpenFlow connection's further messages, a barrier request
 * among them, stay in its socket, and no inactivity probe tries it.  Others
 * are served meanwhile.  A flush of one connection, by its whole tuple, is
 * done at once, as upstream does it.
 *
 * The linker puts functions of ours between upstream's and who calls them
 * (--wrap, in automake.mk).
 *
 * Memory: some 300 bytes for each command and each OpenFlow connection that
 * waits, of which upstream has one each.
 *
 * Thread-safety: the main thread. */

/* Whose work is done next: a flush that begins then is theirs. */
enum adp_flush_client {
    ADP_FLUSH_NOBODY,           /* It is done at once. */
    ADP_FLUSH_COMMAND,
    ADP_FLUSH_REQUEST,
};
void adp_flush_serve(enum adp_flush_client);

/* Replies to commands whose flush is done. */
void adp_flush_run(void);
/* Has poll_block() wake up for that, and for requests that may go on. */
void adp_flush_wait(void);

#endif /* adp-flush.h */
