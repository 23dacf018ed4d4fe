/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_LINE_DIFF_H
#define DPCTL_LINE_DIFF_H 1

/* What makes one text of another, line by line, as "diff -u" shows it, without
 * the lines that name files.
 *
 * Time and memory: lines that both begin or end with cost nothing more; of the
 * rest a table of the longest common sequence is made, if that takes no more
 * than LINE_DIFF_MAX_CELLS.  Beyond that all of the rest is shown as going and
 * coming, which is right as well, and longer. */

struct ds;

#define LINE_DIFF_MAX_CELLS (4 * 1024 * 1024)

/* Appends nothing if both are the same. */
void dpctl_line_diff(const char *before, const char *after, struct ds *);

#endif /* dpctl-line-diff.h */
