/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-job.h"

#include <stdlib.h>

#include "adp-heap.h"
#include "adp-turn.h"
#include "model-pause.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "util.h"

/* For what the work freed: ten million pieces. */
#define MAX_HEAP_RUNS 1000

enum job_turn {
    TURN_MAIN,                  /* The work stands still. */
    TURN_WORK,                  /* The main thread waits. */
    TURN_NOBODY,                /* The work has ended. */
};

struct adp_job {
    void (*work)(void *aux);    /* NULL: the thread is to end. */
    void *aux;
    pthread_t thread;

    struct ovs_mutex mutex;
    pthread_cond_t changed;
    enum job_turn turn OVS_GUARDED;
    struct adp_turn_slice *slice; /* While it is the work's turn. */
};

/* One that is over, with its thread: to make a thread may take a millisecond
 * where nothing of it is in a cache. */
static struct adp_job *spare;

static void
pass_turn(struct adp_job *job, enum job_turn turn)
{
    ovs_mutex_lock(&job->mutex);
    job->turn = turn;
    xpthread_cond_signal(&job->changed);
    ovs_mutex_unlock(&job->mutex);
}

/* Waits until it is somebody else's turn than the work's, or the work's. */
static enum job_turn
wait_for_turn(struct adp_job *job, bool work)
{
    ovs_mutex_lock(&job->mutex);
    while ((job->turn == TURN_WORK) != work) {
        ovs_mutex_cond_wait(&job->changed, &job->mutex);
    }
    enum job_turn turn = job->turn;
    ovs_mutex_unlock(&job->mutex);
    return turn;
}

static void
wait_for_main(struct adp_job *job)
{
    ovsrcu_quiesce_start();
    wait_for_turn(job, true);
    ovsrcu_quiesce_end();
}

static void
pause_job(void *job_)
{
    struct adp_job *job = job_;

    if (!adp_turn_slice_goes_on(job->slice)) {
        pass_turn(job, TURN_MAIN);
        wait_for_main(job);
    }
}

static void *
job_main(void *job_)
{
    struct adp_job *job = job_;

    adp_pause_set(pause_job, job);
    for (;;) {
        wait_for_main(job);
        if (!job->work) {
            return NULL;
        }
        job->work(job->aux);
        for (int i = 0; i < MAX_HEAP_RUNS && adp_heap_run(); i++) {
            adp_pause();
        }
        pass_turn(job, TURN_NOBODY);
    }
}

static struct adp_job *
make_job(void)
{
    struct adp_job *job = xzalloc(sizeof *job);

    ovs_mutex_init(&job->mutex);
    xpthread_cond_init(&job->changed, NULL);
    ovs_mutex_lock(&job->mutex);
    job->turn = TURN_NOBODY;
    ovs_mutex_unlock(&job->mutex);
    job->thread = ovs_thread_create("adp_job", job_main, job);
    return job;
}

struct adp_job *
adp_job_create(void (*work)(void *aux), void *aux)
{
    struct adp_job *job = spare ? spare : make_job();

    spare = NULL;
    job->work = work;
    job->aux = aux;
    return job;
}

/* For how long the work's thread has run. */
static long long int
cpu_us(const struct adp_job *job)
{
    clockid_t clock;

    return (pthread_getcpuclockid(job->thread, &clock) ? 0
            : adp_turn_read_clock(clock));
}

bool
adp_job_run(struct adp_job *job, struct adp_turn_slice *slice)
{
    long long int cpu = cpu_us(job);

    job->slice = slice;
    pass_turn(job, TURN_WORK);
    enum job_turn turn = wait_for_turn(job, false);
    adp_turn_add_cpu(cpu_us(job) - cpu);
    return turn == TURN_NOBODY;
}

void
adp_job_destroy(struct adp_job *job)
{
    if (!job) {
        return;
    }
    job->work = NULL;
    if (!spare) {
        spare = job;
        return;
    }
    pass_turn(job, TURN_WORK);
    xpthread_join(job->thread, NULL);
    ovs_mutex_destroy(&job->mutex);
    xpthread_cond_destroy(&job->changed);
    free(job);
}
