/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-targets.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

/* Takes 'kind'. */
static struct dpctl_target *
add_target(struct dpctl_targets *t, char *kind)
{
    t->targets = xrealloc(t->targets, (t->n + 1) * sizeof *t->targets);
    t->targets[t->n] = (struct dpctl_target) {
        .kind = kind, .names = SVEC_EMPTY_INITIALIZER,
    };
    return &t->targets[t->n++];
}

/* "pod/web": what follows one of the same kind is one with it. */
static void
add_one(struct dpctl_targets *t, const char *word)
{
    const char *slash = strchr(word, '/');
    char *kind = xmemdup0(word, slash - word);
    struct dpctl_target *last = t->n ? &t->targets[t->n - 1] : NULL;

    if (last && !strcmp(last->kind, kind)) {
        free(kind);
    } else {
        last = add_target(t, kind);
    }
    svec_add(&last->names, slash + 1);
}

static char *
parse_pairs(struct dpctl_targets *t, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        const char *slash = strchr(argv[i], '/');

        if (!slash || slash == argv[i] || !slash[1]) {
            return xasprintf("%s: give KIND/NAME, as in the words beside it",
                             argv[i]);
        }
        add_one(t, argv[i]);
    }
    return NULL;
}

static char *
parse_kinds(struct dpctl_targets *t, int argc, char *argv[])
{
    char *words = xstrdup(argv[0]);
    char *save_ptr = NULL;

    for (char *word = strtok_r(words, ",", &save_ptr); word;
         word = strtok_r(NULL, ",", &save_ptr)) {
        struct dpctl_target *target = add_target(t, xstrdup(word));

        for (int i = 1; i < argc; i++) {
            svec_add(&target->names, argv[i]);
        }
    }
    free(words);
    return t->n ? NULL : xasprintf("\"%s\" is no kind", argv[0]);
}

char *
dpctl_targets_parse(struct dpctl_targets *t, int argc, char *argv[])
{
    *t = (struct dpctl_targets) { .n = 0 };
    return (!argc ? NULL
            : strchr(argv[0], '/') ? parse_pairs(t, argc, argv)
            : parse_kinds(t, argc, argv));
}

void
dpctl_targets_destroy(struct dpctl_targets *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->targets[i].kind);
        svec_destroy(&t->targets[i].names);
    }
    free(t->targets);
}
