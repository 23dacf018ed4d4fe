/* SPDX-License-Identifier: Apache-2.0 */

/* Small parsers of what others wrote: DNS answers, messages of IGMP, captures
 * of tcpdump's, and feeds of Kubernetes' watches.
 *
 * Input: a byte that says which, and what it reads, in memory or in a file
 * that ends with it.
 *
 * Must hold: addresses of an answer are in whole messages; a message in
 * segments says what it says by itself; a feed says the same whatever way it
 * was cut. */

#include <config.h>
#undef NDEBUG
#include "fuzz.h"

#include <ctype.h>
#include <sys/mman.h>
#include <unistd.h>
#include "adp-dns.h"
#include "adp-igmp.h"
#include "dpctl-event.h"
#include "dpctl-feed.h"
#include "dpctl-pcap.h"
#include "openvswitch/json.h"
#include "openvswitch/ofpbuf.h"

const long int fuzz_runs = 20000;

static void
check_answer(enum adp_dns_result result, const struct adp_dns_answer *answer)
{
    if (result == ADP_DNS_ANSWER) {
        size_t len = strlen(answer->name);

        fuzz_require(len < ADP_DNS_NAME_SIZE);
        for (size_t i = 0; i < len; i++) {
            fuzz_require(answer->name[i] == tolower(
                (unsigned char) answer->name[i]));
        }
        fuzz_require(answer->n_addresses <= answer->allocated_addresses);
    }
}

static void
read_dns(const uint8_t *msg, size_t len, bool partial)
{
    struct adp_dns_answer answer;

    adp_dns_answer_init(&answer);
    check_answer(adp_dns_parse(msg, len, partial, &answer), &answer);
    size_t n = answer.n_addresses;
    bool whole = adp_dns_parse(msg, len, true, &answer) == ADP_DNS_ANSWER;
    fuzz_require(!whole || partial || answer.n_addresses >= n);
    adp_dns_answer_uninit(&answer);
}

static void
read_dns_segment(const uint8_t *segment, size_t len)
{
    const uint8_t *msg;
    size_t offset = 0, last = 0, msg_len;
    bool partial;

    while ((msg = adp_dns_next_of_segment(segment, len, &offset, &msg_len,
                                          &partial)) != NULL) {
        fuzz_require(msg >= segment && msg + msg_len <= segment + len);
        fuzz_require(offset > last);
        last = offset;
        read_dns(msg, msg_len, partial);
    }
}

static void
count_group(uint8_t type, ovs_be32 group, bool joins, void *n)
{
    fuzz_require(type != ADP_IGMP_TYPE_QUERY);
    fuzz_require(type != ADP_IGMP_TYPE_LEAVE_V2 || !joins);
    *(uint32_t *) n += ntohl(group) + 1;
}

static void
read_igmp(const uint8_t *msg, size_t len)
{
    uint32_t n = 0;

    if (adp_igmp_parse(msg, len, count_group, &n) != ADP_IGMP_REPORT) {
        fuzz_require(!n);
    }
}

/* Returns the descriptor of a file with 'data', and its name. */
static int
make_file(const uint8_t *data, size_t size, char name[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    fuzz_require(fd >= 0);
    fuzz_require(write(fd, data, size) == size);
    fuzz_require(!lseek(fd, 0, SEEK_SET));
    snprintf(name, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void
read_pcap(const uint8_t *data, size_t size)
{
    char name[64];
    int fd = make_file(data, size, name);

    for (int i = 1; i <= 3; i++) {
        struct dpctl_frame frame;
        char *error = dpctl_pcap_read(name, i, &frame);

        if (error) {
            fuzz_require(*error);
            free(error);
        } else {
            fuzz_require(!frame.is_cooked || frame.bytes->size >= 14);
            ofpbuf_delete(frame.bytes);
        }
    }
    close(fd);
}

static void
read_feed(const uint8_t *data, size_t size)
{
    struct dpctl_feed *feed = xmalloc(sizeof *feed);
    char name[64], *error;
    int fd = make_file(data, size, name);

    error = dpctl_feed_open(feed, name);
    fuzz_require(!error);
    while (!error && !feed->ended) {
        struct json *value = dpctl_feed_next(feed, &error);

        if (value) {
            struct dpctl_event event;

            dpctl_event_open(value, &event);
            fuzz_require(event.type != DPCTL_EVENT_ERROR || event.message);
            json_destroy(value);
        } else if (!error) {
            error = dpctl_feed_read(feed);
        }
    }
    free(error);
    dpctl_feed_close(feed);
    free(feed);
    close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    uint8_t which = fuzz_u8(&in);
    uint8_t *exact = xmalloc(in.n + !in.n);

    memcpy(exact, in.p, in.n);
    switch (which & 7) {
    case 0: case 1:
        read_dns(exact, in.n, which & 1);
        break;
    case 2:
        read_dns_segment(exact, in.n);
        break;
    case 3: case 4:
        read_igmp(exact, in.n);
        break;
    case 5:
        read_pcap(exact, in.n);
        break;
    default:
        read_feed(exact, in.n);
        break;
    }
    free(exact);
    return 0;
}
