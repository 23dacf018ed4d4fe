/* SPDX-License-Identifier: Apache-2.0
 *
 * How the benchmark talks to its ports.
 *
 * Every port "net_gen" has a slot in one file, which the process that holds
 * the port and the benchmark both map.  The benchmark writes the program,
 * increments 'epoch' and sets 'run'; the thread that polls the port counts.
 * No member is written by both sides, except where it says so, and aligned
 * words need no lock.
 *
 * tests/bench/generator.py has the same layout. */

#ifndef NET_GEN_CONTROL_H
#define NET_GEN_CONTROL_H 1

#include <stddef.h>
#include <stdint.h>

enum {
    NET_GEN_N_SLOTS = 128,
    NET_GEN_N_TEMPLATES = 1024,
    NET_GEN_TEMPLATE_LEN = 252,
    NET_GEN_LINE = 64,          /* Bytes, of a cache line. */
    NET_GEN_N_HISTORY = 4000,
    NET_GEN_HISTORY_MS = 10,
    NET_GEN_N_GAPS = 1024,
    NET_GEN_GAP_NS = 400000,    /* Shorter ones are none. */
};

enum net_gen_mode {
    NET_GEN_SINK,               /* Counts and drops what the switch sends. */
    NET_GEN_GENERATE,           /* The same, and sends packets of its own. */
    NET_GEN_ECHO,               /* Sends back what the switch sends. */
};

/* What is chosen at random for each packet, instead of in turn. */
enum {
    NET_GEN_RANDOM_SPORT = 1 << 0,
    NET_GEN_RANDOM_DPORT = 1 << 1,
    NET_GEN_RANDOM_SADDR = 1 << 2,      /* The low 16 bits. */
};

/* A packet of which ports and addresses are varied. */
struct net_gen_template {
    uint16_t len;               /* Bytes; zeros follow the first 252. */
    uint16_t l4_ofs;
    uint8_t bytes[NET_GEN_TEMPLATE_LEN];
};

/* A long time between two polls in which the polling thread neither slept nor
 * had memory mapped, and what was missed in it and until the next. */
struct net_gen_gap {
    uint64_t from_ns, to_ns;    /* CLOCK_MONOTONIC. */
    uint64_t n_missed;          /* Without those of 'missed_away'. */
    uint64_t period;            /* Another one where the ring became empty
                                 * after the gap before. */
};

/* The packet numbered i is made of template i % n_templates, with source port
 * sport_base + i / share % n_sports, so there are share * n_sports different
 * ones if that is a multiple of n_templates. */
struct net_gen_control {
    /* Written by the benchmark. */
    uint32_t mode;              /* enum net_gen_mode. */
    uint32_t epoch;             /* Incremented: start again from packet 0. */
    uint32_t run;               /* Generate. */
    uint32_t n_templates;
    uint64_t count;             /* Packets to generate, 0 for no limit. */
    uint64_t rate;              /* Packets per second, 0 for all it can. */
    uint32_t sport_base;
    uint32_t n_sports;          /* 0 leaves the template's source port. */
    uint32_t share;             /* Packets that share a source port. */
    uint32_t n_dports;          /* For NET_GEN_RANDOM_DPORT. */
    uint32_t random;            /* NET_GEN_RANDOM_*. */
    uint32_t checksum_good;     /* Mark checksums as verified, as NICs do. */
    uint32_t backlog;           /* With 'rate': what a NIC's ring would hold;
                                 * more than that is missed. */
    uint32_t record;            /* Keep 'history' and 'last_tx_ns'. */
    uint32_t probe;             /* 1: measure noise; cleared when done. */
    uint32_t stride;            /* From one template to the next, in bytes:
                                 * as many whole cache lines as the longest
                                 * needs, as many of them are in use at
                                 * once. */

    /* Written by the polling thread. */
    uint64_t rx;                /* Packets handed to the switch... */
    uint64_t tx;                /* ...and sent by it to this port. */
    uint64_t tx_bytes;
    uint64_t missed;
    uint64_t missed_away;       /* Of these, because the polling thread's core
                                 * was away: see away.h. */
    uint64_t echo_dropped;      /* The echo came too slowly. */
    uint64_t no_mbuf;
    uint64_t done;              /* All 'count' packets have been sent. */
    uint64_t last_tx_ns;        /* CLOCK_MONOTONIC. */
    uint64_t probe_alu_cycles;  /* For a million dependent multiplications. */
    uint64_t probe_memory_cycles; /* For 20,000 dependent loads in 32 MB. */
    uint64_t longest_gap_ns;    /* Between two polls of a port with a 'rate';
                                 * the benchmark may set it back. */
    uint64_t n_gaps;            /* The last are in 'gaps', the i-th at i %
                                 * NET_GEN_N_GAPS. */
    uint64_t n_history;         /* Values in 'history'. */
    uint64_t history[NET_GEN_N_HISTORY]; /* 'rx' every 10 ms. */
    struct net_gen_gap gaps[NET_GEN_N_GAPS];

    uint8_t pad[8];             /* Up to a whole line. */
    struct net_gen_template templates[NET_GEN_N_TEMPLATES];
};

_Static_assert(offsetof(struct net_gen_control, templates) % NET_GEN_LINE == 0,
               "templates must begin with a cache line");

/* Of a slot in the file: whole pages. */
enum {
    NET_GEN_SLOT_LEN = (sizeof(struct net_gen_control) + 4095) / 4096 * 4096,
};

#endif /* control.h */
