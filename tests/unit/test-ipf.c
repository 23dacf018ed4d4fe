/* SPDX-License-Identifier: Apache-2.0 */

/* Upstream's fragments: the thread that looks for those whose time is over ends
 * when it is told to, also if it has just begun to look; and nobody knows where
 * in the table his own are. */

#include <config.h>
#include <check.h>
#include <pthread.h>
#include <stdlib.h>

/* In the place of the library's: hashes are nobody else's. */
#include "ipf.c"

#include "csum.h"
#include "dp-packet.h"
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
    enum { L3_LEN = IP_HEADER_LEN + 64 };
    struct dp_packet *p = dp_packet_new(ETH_HEADER_LEN + L3_LEN);
    struct eth_header *eth = dp_packet_put_zeros(p, ETH_HEADER_LEN);
    struct ip_header *ip = dp_packet_put_zeros(p, L3_LEN);
    struct dp_packet_batch batch;
    struct ipf_status status;

    eth->eth_type = htons(ETH_TYPE_IP);
    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tot_len = htons(L3_LEN);
    ip->ip_ttl = 64;
    ip->ip_proto = IPPROTO_UDP;
    ip->ip_frag_off = htons(1200 / 8);
    ip->ip_csum = csum(ip, IP_HEADER_LEN);
    dp_packet_reset_offsets(p);
    dp_packet_set_l3(p, ip);

    dp_packet_batch_init_packet(&batch, p);
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

int
main(void)
{
    Suite *suite = suite_create("ipf");
    TCase *tc = tcase_create("all");

    tcase_set_timeout(tc, MAX_SECONDS);
    tcase_add_test(tc, ends_in_the_midst_of_a_look);
    tcase_add_test(tc, hash_of_what_is_sent_to_itself);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
