/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-line-diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "svec.h"
#include "util.h"

/* Lines around a change that are shown with it. */
enum { CONTEXT = 3 };

/* A line of either text, in the order in which they are shown. */
struct step {
    char sign;                  /* ' ', '-' or '+'. */
    const char *line;
};

struct steps {
    struct step *steps;
    size_t n;
};

static void
split(const char *text, struct svec *lines)
{
    svec_init(lines);
    while (*text) {
        size_t len = strcspn(text, "\n");

        svec_add_nocopy(lines, xmemdup0(text, len));
        text += len + (text[len] == '\n');
    }
}

static void
add(struct steps *s, char sign, char *const *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->steps[s->n++] = (struct step) { sign, lines[i] };
    }
}

/* The middle, that begins and ends with different lines.  A cell is the length
 * of the longest common sequence of what follows: at most 2,048, the root of
 * the number of cells. */
static void
add_middle(struct steps *s, char *const *a, size_t n_a, char *const *b,
           size_t n_b)
{
    size_t width = n_b + 1;

    if (!n_a || !n_b || n_a + 1 > LINE_DIFF_MAX_CELLS / width) {
        add(s, '-', a, n_a);
        add(s, '+', b, n_b);
        return;
    }

    uint16_t *cells = xcalloc((n_a + 1) * width, sizeof *cells);
    for (size_t i = n_a; i-- > 0; ) {
        for (size_t j = n_b; j-- > 0; ) {
            uint16_t *cell = &cells[i * width + j];

            *cell = (!strcmp(a[i], b[j]) ? cell[width + 1] + 1
                     : MAX(cell[width], cell[1]));
        }
    }
    for (size_t i = 0, j = 0; i < n_a || j < n_b; ) {
        const uint16_t *cell = &cells[i * width + j];

        if (i < n_a && j < n_b && !strcmp(a[i], b[j])) {
            add(s, ' ', &a[i++], 1);
            j++;
        } else if (i < n_a && (j == n_b || cell[width] >= cell[1])) {
            add(s, '-', &a[i++], 1);
        } else {
            add(s, '+', &b[j++], 1);
        }
    }
    free(cells);
}

static void
compare(const struct svec *a, const struct svec *b, struct steps *s)
{
    size_t head = 0, tail = 0;
    size_t n = MIN(a->n, b->n);

    while (head < n && !strcmp(a->names[head], b->names[head])) {
        head++;
    }
    while (tail < n - head && !strcmp(a->names[a->n - 1 - tail],
                                      b->names[b->n - 1 - tail])) {
        tail++;
    }
    s->steps = xcalloc(a->n + b->n + 1, sizeof *s->steps);
    s->n = 0;
    add(s, ' ', a->names, head);
    add_middle(s, a->names + head, a->n - head - tail,
               b->names + head, b->n - head - tail);
    add(s, ' ', a->names + a->n - tail, tail);
}

/* Steps 'start' to 'end', before which there are 'n_a' and 'n_b' lines of both
 * texts. */
static void
put_hunk(const struct steps *s, size_t start, size_t end, size_t n_a,
         size_t n_b, struct ds *out)
{
    size_t a = 0, b = 0;

    for (size_t i = start; i < end; i++) {
        a += s->steps[i].sign != '+';
        b += s->steps[i].sign != '-';
    }
    ds_put_format(out, "@@ -%"PRIuSIZE",%"PRIuSIZE" +%"PRIuSIZE",%"PRIuSIZE
                  " @@\n", n_a + (a > 0), a, n_b + (b > 0), b);
    for (size_t i = start; i < end; i++) {
        ds_put_format(out, "%c%s\n", s->steps[i].sign, s->steps[i].line);
    }
}

/* Behind the last step of the hunk whose first change is at 'i'. */
static size_t
find_end(const struct steps *s, size_t i)
{
    size_t last = i;

    for (; i < s->n && i - last <= 2 * CONTEXT; i++) {
        if (s->steps[i].sign != ' ') {
            last = i;
        }
    }
    return MIN(last + 1 + CONTEXT, s->n);
}

void
dpctl_line_diff(const char *before, const char *after, struct ds *out)
{
    struct svec a, b;
    struct steps s;
    size_t n_a = 0, n_b = 0, told = 0;

    split(before, &a);
    split(after, &b);
    compare(&a, &b, &s);
    for (size_t i = 0; i < s.n; i++) {
        if (s.steps[i].sign == ' ') {
            continue;
        }
        size_t start = MAX(told, i - MIN(i, (size_t) CONTEXT));
        size_t end = find_end(&s, i);

        n_a += start - told;
        n_b += start - told;
        put_hunk(&s, start, end, n_a, n_b, out);
        for (size_t j = start; j < end; j++) {
            n_a += s.steps[j].sign != '+';
            n_b += s.steps[j].sign != '-';
        }
        told = end;
        i = end - 1;
    }
    free(s.steps);
    svec_destroy(&a);
    svec_destroy(&b);
}
