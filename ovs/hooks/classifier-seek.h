/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CLASSIFIER_SEEK_H
#define CLASSIFIER_SEEK_H 1

/* Included by classifier.c: the way to a place in a list of equal rules.
 *
 * Rules of one match are in a list by descending priority, from whose head
 * upstream looks for the place of each that comes or goes.  Policies put
 * thousands of priorities into one list.  So each thread remembers how far it
 * got, and whoever goes on further down in the same list begins there: changes
 * that come list by list, by descending priority, take a step each.
 *
 * What is remembered is believed only as long as no other thread has removed a
 * rule, from whatever classifier.  Until then the rule isn't freed, and those
 * behind it are the ones that are below it: what is inserted comes above or
 * among them.
 *
 * Thread-safety: as the functions of classifier.c that use it.
 */

#include "classifier-private.h"
#include "coverage.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"

COVERAGE_DEFINE(classifier_seek_step);

/* Rises when a rule was removed from any classifier, before it is freed. */
static atomic_uint64_t n_removed = ATOMIC_VAR_INIT(0);

/* How far a thread got. */
struct list_finger {
    const struct cls_match *head; /* Of which list.  NULL: none. */
    struct cls_match *before;   /* Where the next search may begin. */
    uint64_t n_removed;         /* When it got there. */
};

DEFINE_STATIC_PER_THREAD_DATA(struct list_finger, list_finger, { NULL });

/* To be called when 'm' has left its list. */
static void
list_removed(const struct cls_match *m)
{
    struct list_finger *finger = list_finger_get();
    uint64_t before;

    atomic_add(&n_removed, 1, &before);
    if (finger->n_removed == before
        && finger->head != m && finger->before != m) {
        finger->n_removed++;            /* It was this thread. */
    }
}

/* Returns the first rule in the list from 'head' onward of 'priority' or
 * below, or NULL.  Sets '*before' to the one before it, or to NULL. */
static struct cls_match *
list_seek(struct cls_match *head, int priority, struct cls_match **before)
{
    struct list_finger *finger = list_finger_get();
    struct cls_match *prev = NULL, *m = head;
    unsigned int n_steps = 0;
    uint64_t now;

    atomic_read(&n_removed, &now);
    if (finger->head == head && finger->n_removed == now
        && finger->before->priority > priority) {
        prev = finger->before;
        m = cls_match_next_protected(prev);
    }
    for (; m && m->priority > priority; m = cls_match_next_protected(m)) {
        prev = m;
        n_steps++;
    }
    COVERAGE_ADD(classifier_seek_step, n_steps);

    *finger = (struct list_finger) {
        .head = prev ? head : NULL,
        .before = prev,
        .n_removed = now,
    };
    *before = prev;
    return m;
}

/* As FOR_EACH_RULE_IN_LIST_PROTECTED from the first rule of 'PRIORITY' or
 * below on. */
#define FOR_EACH_RULE_IN_LIST_FROM(ITER, PREV, HEAD, PRIORITY)      \
    for ((ITER) = list_seek(HEAD, PRIORITY, &(PREV));               \
         (ITER);                                                    \
         (PREV) = (ITER), (ITER) = cls_match_next_protected(ITER))

/* Returns the first rule in the list from 'head' onward of 'priority' or
 * below, or NULL. */
static const struct cls_match *
list_from(const struct cls_match *head, int priority)
{
    struct cls_match *before;

    return list_seek(CONST_CAST(struct cls_match *, head), priority, &before);
}

#endif /* classifier-seek.h */
