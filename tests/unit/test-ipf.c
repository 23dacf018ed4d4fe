/* SPDX-License-Identifier: Apache-2.0 */

/* Upstream's fragments: the thread that looks for those whose time is over ends
 * when it is told to, also if it has just begun to look; nobody knows where in
 * the table his own are; no datagram, however long or torn, becomes a packet
 * that it isn't; and what waited leaves with nobody else's packets. */

#include <config.h>
#include <check.h>
#include <pthread.h>
#include <stdlib.h>

/* In the place of the library's: hashes are nobody else's, and how often keys
 * are compared is counted. */
static size_t n_compared;
#define memcmp(A, B, N) (n_compared++, memcmp(A, B, N))
#include "ipf.c"
#undef memcmp

#include "dp-packet.h"
#include "ip-fragment.h"
#include "ipf.h"
#include "latch.h"
#include "ovs-thread.h"
#include "packets.h"
#include "test-run.h"
#include "timeval.h"

/* Far more than it takes. */
enum { MAX_SECONDS = 120 };

__typeof__(time_msec) __real_time_msec, __wrap_time_msec;
__typeof__(latch_set) __real_latch_set, __wrap_latch_set;

static pthread_t tester;
static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool looks, told;

/* Between its look whether it shall end and the one at the fragments the thread
 * reads the time. */
long long int
__wrap_time_msec(void)
{
    if (!pthread_equal(pthread_self(), tester)) {
        ovs_mutex_lock(&mutex);
        looks = true;
        xpthread_cond_broadcast(&cond);
        while (!told) {
            ovs_mutex_cond_wait(&cond, &mutex);
        }
        ovs_mutex_unlock(&mutex);
    }
    return __real_time_msec();
}

void
__wrap_latch_set(struct latch *latch)
{
    __real_latch_set(latch);
    ovs_mutex_lock(&mutex);
    told = true;
    xpthread_cond_broadcast(&cond);
    ovs_mutex_unlock(&mutex);
}

static void
keep_last_fragment(struct ipf *ipf)
{
    const struct ip_fragment last = { .offset = 1200, .size = 64 };
    struct dp_packet_batch batch;
    struct ipf_status status;

    dp_packet_batch_init_packet(&batch, ip_fragment_compose(&last));
    ipf_preprocess_conntrack(ipf, &batch, __real_time_msec(),
                             htons(ETH_TYPE_IP), 1, 0);
    ck_assert_uint_eq(dp_packet_batch_size(&batch), 0);
    ipf_get_status(ipf, &status);
    ck_assert_uint_eq(status.nfrag, 1);
}

START_TEST(ends_in_the_midst_of_a_look)
{
    tester = pthread_self();
    struct ipf *ipf = ipf_init();

    keep_last_fragment(ipf);
    ovs_mutex_lock(&mutex);
    while (!looks) {
        ovs_mutex_cond_wait(&cond, &mutex);
    }
    ovs_mutex_unlock(&mutex);
    ipf_destroy(ipf);
}
END_TEST

/* What an address sends to itself has another hash with another secret, too. */
START_TEST(hash_of_what_is_sent_to_itself)
{
    enum { N = 100 };
    struct ipf_list_key key;
    size_t n_same = 0;

    memset(&key, 0, sizeof key);
    key.src_addr.ipv6.s6_addr[0] = key.dst_addr.ipv6.s6_addr[0] = 0xfd;
    key.dl_type = htons(ETH_TYPE_IPV6);
    key.ip_id = htonl(7);
    key.nw_proto = IPPROTO_UDP;
    for (uint32_t secret = 0; secret < N; secret++) {
        n_same += (ipf_list_key_hash(&key, secret)
                   == ipf_list_key_hash(&key, secret + 1));
    }
    ck_assert_uint_eq(n_same, 0);
}
END_TEST

/* Fragments of datagrams of one address. */

enum { UDP_MAX = 65535, PIECE = 1448 };

/* Where conntrack would be. */
static size_t n_whole;          /* Packets that became whole, all in all. */
static size_t whole_size;       /* Data of the latest. */

static void
track(struct dp_packet_batch *batch)
{
    struct dp_packet *p;

    DP_PACKET_BATCH_FOR_EACH (i, p, batch) {
        p->md.ct_orig_tuple_ipv6 = false;
        if (ip_fragment_is(p)) {
            p->md.ct_state = CS_INVALID;
            continue;
        }
        n_whole++;
        whole_size = dp_packet_l4_size(p);
        const uint8_t *data = dp_packet_l4(p);
        for (size_t at = 0; at < whole_size; at++) {
            ck_assert_uint_eq(data[at], ip_datum(1, at));
        }
    }
}

/* Fragments that left, all in all. */
static size_t n_left, n_invalid;

/* The thread that looks for what is over has the real time. */
static long long int began;

/* A call for 'f', or for no packet, in 'zone', 'after' milliseconds. */
static void
call(struct ipf *ipf, const struct ip_fragment *f, bool comes, uint16_t zone,
     long long int after)
{
    long long int now = began + after;
    ovs_be16 dl_type = htons(f->v6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    struct dp_packet_batch batch;
    struct dp_packet *p;

    dp_packet_batch_init(&batch);
    if (comes) {
        dp_packet_batch_add(&batch, ip_fragment_compose(f));
    }
    ipf_preprocess_conntrack(ipf, &batch, now, dl_type, zone, 0);
    track(&batch);
    ipf_postprocess_conntrack(ipf, &batch, now, dl_type);
    DP_PACKET_BATCH_FOR_EACH (i, p, &batch) {
        n_left++;
        n_invalid += (p->md.ct_state & CS_INVALID) != 0;
        dp_packet_delete(p);
    }
}

static unsigned int
n_waiting(struct ipf *ipf)
{
    struct ipf_status status;

    ipf_get_status(ipf, &status);
    return status.nfrag;
}

static struct ipf *
start_ipf(void)
{
    tester = pthread_self();
    told = true;
    began = __real_time_msec();
    n_left = n_invalid = n_whole = whole_size = 0;
    return ipf_init();
}

/* Calls for all of a datagram, but for the fragment that begins at 'without'.
 * Returns the number of fragments. */
static size_t
send_datagram(struct ipf *ipf, struct ip_fragment f, size_t size, size_t without)
{
    size_t n = 0;

    for (f.offset = 0; f.offset < size; f.offset += PIECE, n++) {
        f.more = f.offset + PIECE < size;
        f.size = MIN(PIECE, size - f.offset);
        if (f.offset != without) {
            call(ipf, &f, true, 1, 0);
        }
    }
    return n;
}

/* The longest datagrams: all of their fragments are found whole and leave. */
START_TEST(longest)
{
    const bool v6 = _i;
    const size_t most = v6 ? UDP_MAX : UDP_MAX - IP_HEADER_LEN;

    for (size_t size = most - 10; size <= most; size++) {
        struct ipf *ipf = start_ipf();
        struct ip_fragment f = { .v6 = v6, .id = 1, .in_port = 1 };
        size_t n = send_datagram(ipf, f, size, SIZE_MAX);

        ck_assert_uint_eq(n_whole, 1);
        ck_assert_uint_eq(whole_size, size);
        ck_assert_uint_eq(n_left, NETDEV_MAX_BURST);
        /* The rest needs one call more. */
        f.id = 2, f.size = PIECE, f.more = true;
        call(ipf, &f, true, 1, 0);
        ck_assert_uint_eq(n_left, n);
        ck_assert_uint_eq(n_invalid, 0);
        ck_assert_uint_eq(n_waiting(ipf), 1);
        ipf_destroy(ipf);
    }
}
END_TEST

/* A fragment that ends behind the longest packet is none of any, wherever in
 * the sequence it comes. */
START_TEST(beyond)
{
    const bool v6 = _i;
    const size_t first_size = 44 * PIECE;

    for (int when = 0; when < 3; when++) {
        struct ipf *ipf = start_ipf();
        struct ip_fragment last = { .v6 = v6, .id = 1, .in_port = 1,
                             .offset = 65528, .size = 16 };
        struct ip_fragment f = last;

        if (when == 0) {
            call(ipf, &last, true, 1, 0);
            ck_assert_uint_eq(n_left, 1);
        }
        for (f.offset = 0, f.more = true; f.offset < first_size;
             f.offset += f.size) {
            f.size = PIECE;
            call(ipf, &f, true, 1, 0);
            if (when == 1 && !f.offset) {
                call(ipf, &last, true, 1, 0);
            }
        }
        f.size = last.offset - f.offset;
        call(ipf, &f, true, 1, 0);
        if (when == 2) {
            call(ipf, &last, true, 1, 0);
        }
        ck_assert_uint_eq(n_whole, 0);
        ck_assert_uint_eq(n_left, 1);           /* 'last' itself. */
        ck_assert_uint_eq(n_invalid, 1);
        ipf_destroy(ipf);
    }
}
END_TEST

/* The longest offset that there is, for data that just fit: it is the last. */
START_TEST(at_the_end)
{
    struct ipf *ipf = start_ipf();
    struct ip_fragment f = { .v6 = true, .id = 1, .in_port = 1, .more = true,
                      .size = PIECE };
    const struct ip_fragment end = { .v6 = true, .id = 1, .in_port = 1,
                              .offset = 65528, .size = 7 };
    const struct ip_fragment last = { .v6 = true, .id = 1, .in_port = 1,
                               .offset = 2 * PIECE, .size = PIECE };

    call(ipf, &f, true, 1, 0);
    call(ipf, &last, true, 1, 0);
    call(ipf, &end, true, 1, 0);
    f.offset = PIECE;
    call(ipf, &f, true, 1, 0);
    /* Upstream put 'end' before the first, and the middle made it whole. */
    ck_assert_uint_eq(n_whole, 0);
    ck_assert_uint_eq(n_waiting(ipf), 4);
    ipf_destroy(ipf);
}
END_TEST

/* More fragments than fit into a batch, whose time is over before the last
 * comes: all are freed at once, and what comes late finds none of them. */
START_TEST(expired)
{
    enum { TIME_OVER = 16 * 1000 };
    struct ipf *ipf = start_ipf();
    struct ip_fragment f = { .v6 = _i, .id = 1, .in_port = 1 };
    size_t n = send_datagram(ipf, f, 40 * PIECE, 20 * PIECE);

    ck_assert_uint_eq(n_waiting(ipf), n - 1);
    call(ipf, &f, false, 1, TIME_OVER);
    ck_assert_uint_eq(n_left, 0);
    ck_assert_uint_eq(n_waiting(ipf), 0);

    f.offset = 20 * PIECE, f.size = PIECE, f.more = true;
    call(ipf, &f, true, 1, TIME_OVER);
    ck_assert_uint_eq(n_whole, 0);
    ck_assert_uint_eq(n_waiting(ipf), 1);
    ipf_destroy(ipf);
}
END_TEST

/* What of a whole packet didn't fit into a batch leaves by no other call than
 * one for a fragment that could be the same sender's to the same receiver. */
START_TEST(not_with_others)
{
    struct ipf *ipf = start_ipf();
    struct ip_fragment f = { .v6 = _i, .id = 1, .in_port = 1 };
    size_t n = send_datagram(ipf, f, 40 * PIECE, SIZE_MAX);
    size_t n_rest = n - NETDEV_MAX_BURST;

    ck_assert_uint_eq(n_left, NETDEV_MAX_BURST);
    n_left = 0;
    f.id = 2, f.size = PIECE, f.more = true;

    call(ipf, &f, false, 1, 0);                 /* No packet. */
    call(ipf, &f, true, 2, 0);                  /* Another zone. */
    f.in_port = 2;
    call(ipf, &f, true, 1, 0);                  /* Another port. */
    f.in_port = 1, f.v6 = !f.v6;
    call(ipf, &f, true, 1, 0);                  /* The other family. */
    ck_assert_uint_eq(n_left, 0);
    ck_assert_uint_eq(n_waiting(ipf), n_rest + 3);

    f.v6 = !f.v6, f.offset = PIECE;
    call(ipf, &f, true, 1, 0);
    ck_assert_uint_eq(n_left, n_rest);
    ck_assert_uint_eq(n_waiting(ipf), 4);
    ipf_destroy(ipf);
}
END_TEST

/* If nobody comes for it, it is freed. */
START_TEST(nobody_comes)
{
    enum { TIME_OVER = 26 * 1000 };
    struct ipf *ipf = start_ipf();
    struct ip_fragment f = { .v6 = _i, .id = 1, .in_port = 1 };

    send_datagram(ipf, f, 40 * PIECE, SIZE_MAX);
    n_left = 0;
    call(ipf, &f, false, 2, TIME_OVER);
    ck_assert_uint_eq(n_left, 0);
    ck_assert_uint_eq(n_waiting(ipf), 0);
    ipf_destroy(ipf);
}
END_TEST

/* However many wait, a call doesn't look at those that it isn't for. */
START_TEST(many_wait)
{
    enum { N = 200 };
    struct ipf *ipf = start_ipf();
    struct ip_fragment f = { .v6 = _i, .id = 1, .in_port = 1 };

    for (f.host = 0; f.host < N; f.host++) {
        send_datagram(ipf, f, (NETDEV_MAX_BURST + 1) * PIECE, SIZE_MAX);
    }
    ck_assert_uint_eq(n_waiting(ipf), N);

    n_left = n_compared = 0;
    f.size = PIECE, f.more = true;
    call(ipf, &f, false, 1, 0);
    ck_assert_uint_eq(n_compared, 0);
    call(ipf, &f, true, 1, 0);
    ck_assert_uint_lt(n_compared, N / 10);
    ck_assert_uint_eq(n_left, 0);

    /* Nor are those behind others out of reach, */
    f.host = N / 2, f.id = 2;
    call(ipf, &f, true, 1, 0);
    ck_assert_uint_eq(n_left, 1);
    /* nor does a fragment with the ID of one that was whole go on alone. */
    f.host = N / 2 + 1, f.id = 1;
    call(ipf, &f, true, 1, 0);
    ck_assert_uint_eq(n_left, 2);
    ck_assert_uint_eq(n_waiting(ipf), N - 2 + 3);
    ipf_destroy(ipf);
}
END_TEST

/* A packet that another thread made whole, and hasn't tracked yet. */
START_TEST(not_tracked_by_others)
{
    struct ipf *ipf = start_ipf();
    const struct ip_fragment f = { .id = 1, .in_port = 1, .size = PIECE,
                            .more = true };
    const struct ip_fragment last = { .id = 1, .in_port = 1, .offset = PIECE,
                               .size = 1 };
    const struct ip_fragment other = { .v6 = true, .id = 1, .in_port = 1,
                                .size = PIECE, .more = true };
    struct dp_packet_batch batch;

    call(ipf, &f, true, 1, 0);
    dp_packet_batch_init_packet(&batch, ip_fragment_compose(&last));
    ipf_call_begin();
    ipf_extract_frags_from_batch(ipf, &batch, htons(ETH_TYPE_IP), 1,
                                 began, 0);
    ck_assert_uint_eq(dp_packet_batch_size(&batch), 0);

    call(ipf, &other, true, 1, 0);
    ck_assert_uint_eq(n_whole, 0);
    ck_assert_uint_eq(n_left, 0);
    ipf_destroy(ipf);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("ipf");
    TCase *tc = tcase_create("all");

    tcase_set_timeout(tc, MAX_SECONDS);
    tcase_add_test(tc, ends_in_the_midst_of_a_look);
    tcase_add_test(tc, hash_of_what_is_sent_to_itself);
    tcase_add_loop_test(tc, longest, 0, 2);
    tcase_add_loop_test(tc, beyond, 0, 2);
    tcase_add_test(tc, at_the_end);
    tcase_add_loop_test(tc, expired, 0, 2);
    tcase_add_loop_test(tc, not_with_others, 0, 2);
    tcase_add_loop_test(tc, nobody_comes, 0, 2);
    tcase_add_loop_test(tc, many_wait, 0, 2);
    tcase_add_test(tc, not_tracked_by_others);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
