/* SPDX-License-Identifier: Apache-2.0 */

/* What one daemon leaves to the next: the file, and the connections in it.
 *
 * Input: a program.  Packets go through a connection tracker, what it saves
 * goes into a file, beside other parts; bytes of either are changed, with
 * right checksums or without, and the file is cut; then it is read, and
 * another tracker gets the connections and packets.
 *
 * Must hold: what wasn't changed is read as it was written; what was changed
 * without its checksums is refused; who opens the file deletes it; connections
 * are all taken over or none is, and those that were have timeout policies of
 * the new tracker's, and can be saved, dumped and tracked. */

#include <config.h>
#undef NDEBUG
#include "fuzz.h"

#include <sys/stat.h>
#include <unistd.h>
#include "adp-handover-file.h"
#include "conntrack.h"
#include "conntrack-handover.h"
#include "conntrack-peek.h"
#include "conntrack-private.h"
#include "conntrack-tp.h"
#include "ct-dpif.h"
#include "ct-packet.h"
#include "dp-packet.h"
#include "fuzz-place.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"

const long int fuzz_runs = 750;

enum { MAX_PACKETS = 24, MAX_CHANGES = 8, KIND = 1 };

/* Of the file: see adp-handover-file.c. */
enum {
    CONTENT_SUM_OFS = 72, HEADER_SUM_OFS = 272, HEADER_LEN = 280,
};

/* As in conntrack.c, where it is private. */
struct zone_limit {
    struct cmap_node node;
    struct conntrack_zone_limit czl;
};

static char *path;
static struct conntrack *before, *after;
static long long int now = 1000LL * 1000 * 1000 * 1000 * 1000;

/* Packets. */

static void
pass(struct conntrack *ct, struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    uint32_t mark[2] = { how >> 5, 7 };
    struct dp_packet_batch batch;
    struct nat_action_info_t nat;
    struct ends ends;
    struct dp_packet *composed = ct_packet_compose(&ends, in), *other;
    struct dp_packet *p = ct_packet_copy(composed, &ends, how & 0x40);
    bool old = conntrack_bypass_fragments(true);
    bool commit = how & 1;

    memset(&nat, 0, sizeof nat);
    if (how & 2 && commit) {
        struct in6_addr to = ct_packet_host(ends.ipv6, how >> 4 & 3);

        nat.nat_action = how & 4 ? NAT_ACTION_SRC : NAT_ACTION_DST;
        if (ends.ipv6) {
            nat.min_addr.ipv6 = nat.max_addr.ipv6 = to;
        } else {
            nat.min_addr.ipv4 = nat.max_addr.ipv4
                = in6_addr_get_mapped_ipv4(&to);
        }
    }
    dp_packet_delete(composed);
    dp_packet_batch_init_packet(&batch, p);

    struct flow flow;
    flow_extract(p, &flow);
    conntrack_execute(ct, &batch,
                      htons(ends.ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP), false,
                      commit, 1 + (how >> 3 & 1), commit ? mark : NULL, NULL,
                      0, 0, how & 0x40 && commit ? "ftp" : NULL,
                      how & 2 ? &nat : NULL, now, how >> 5);
    DP_PACKET_BATCH_FOR_EACH (i, other, &batch) {
        dp_packet_delete(other);
    }
    conntrack_bypass_fragments(old);
}

static uint32_t
n_conns(struct conntrack *ct)
{
    uint32_t n;

    conntrack_get_nconns(ct, &n);
    return n;
}

static bool
append(const void *data, size_t len, void *bytes)
{
    ofpbuf_put(bytes, data, len);
    return true;
}

static void
save(struct conntrack *ct, struct ofpbuf *bytes,
     struct conntrack_handover_counts *counts)
{
    fuzz_require(conntrack_handover_save(ct, now, append, bytes, counts));
}

/* Each connection is looked at. */
static void
dump(struct conntrack *ct)
{
    struct conntrack_dump d;
    struct ct_dpif_entry entry;
    int n_buckets;

    conntrack_dump_start(ct, &d, NULL, &n_buckets);
    while (!conntrack_dump_next(&d, &entry)) {
        struct ds s = DS_EMPTY_INITIALIZER;

        ct_dpif_format_entry(&entry, &s, true, true);
        ds_destroy(&s);
        ct_dpif_entry_uninit(&entry);
    }
    conntrack_dump_done(&d);
}

/* Timeout policies: some connections have one.  Those of 'after' have other
 * numbers, and there is one less. */

static void
set_policy(struct conntrack *ct, uint32_t id, uint32_t seconds)
{
    struct timeout_policy tp = {
        .policy = { .id = id, .present = 1 << CT_DPIF_TP_ATTR_UDP_SINGLE },
    };

    tp.policy.attrs[CT_DPIF_TP_ATTR_UDP_SINGLE] = seconds;
    fuzz_require(!timeout_policy_update(ct, &tp));
}

static void
set_policies(void)
{
    for (uint32_t id = 1; id < 5; id++) {
        set_policy(before, id, 100 * id);
        if (id != 2) {
            set_policy(after, 100 - id, 100 * id);
        }
    }
}

/* Connections that 'after' took over have its policies, or none. */
static void
check_policies(void)
{
    struct conn *conn;

    for (size_t i = 0; i < N_EXP_LISTS; i++) {
        RCULIST_FOR_EACH (conn, node, &after->exp_lists[i]) {
            fuzz_require(timeout_policy_get(after, conn->tp_id));
        }
    }
}

/* Changes. */

/* Some bits anywhere, mostly near the beginning.  Returns true if the bytes
 * are others. */
static bool
change(uint8_t *data, size_t size, unsigned int n, struct fuzz_input *in)
{
    uint8_t *old = xmemdup(data, size ? size : 1);

    for (unsigned int i = 0; i < n && size; i++) {
        uint16_t ofs = fuzz_u16(in);
        uint8_t bits = fuzz_u8(in);

        data[(ofs & 0x8000 ? ofs & 0x7fff : ofs & 0x1ff) % size] ^= bits;
    }
    bool changed = memcmp(data, old, size);
    free(old);
    return changed;
}

static uint64_t
sum(const void *data, size_t n)
{
    const char *p = data;
    uint64_t s = 0;

    for (size_t i = 0; i < n; i += sizeof s) {
        uint64_t word = 0;

        memcpy(&word, p + i, MIN(sizeof word, n - i));
        s = (s ^ word) * 0x9e3779b97f4a7c15ULL;
        s ^= s >> 32;
    }
    return s;
}

/* Makes the checksums right. */
static void
seal(struct ofpbuf *b)
{
    char *p = b->data;

    if (b->size >= HEADER_LEN) {
        uint64_t s = sum(p + HEADER_LEN, b->size - HEADER_LEN);

        memcpy(p + CONTENT_SUM_OFS, &s, sizeof s);
        s = sum(p, HEADER_SUM_OFS);
        memcpy(p + HEADER_SUM_OFS, &s, sizeof s);
    }
}

/* Files. */

static void
load(struct ofpbuf *b)
{
    FILE *f = fopen(path, "rb");
    char data[4096];
    size_t n;

    fuzz_require(f);
    while ((n = fread(data, 1, sizeof data, f)) > 0) {
        ofpbuf_put(b, data, n);
    }
    fclose(f);
}

static void
store(const struct ofpbuf *b, mode_t mode)
{
    FILE *f = fopen(path, "wb");

    fuzz_require(f);
    fuzz_require(fwrite(b->data, 1, b->size, f) == b->size);
    fclose(f);
    fuzz_require(!chmod(path, mode));
}

static void
write_file(const struct ofpbuf *conns, unsigned int n_others)
{
    struct adp_handover_out *out;
    char *error = adp_handover_out_create(path, 1 << 20, 60 * 1000, &out);
    uint64_t len;

    fuzz_require(!error);
    for (unsigned int i = 0; i < n_others; i++) {
        adp_handover_out_begin(out, KIND + 1 + i, i);
        adp_handover_out_write(out, "other", i);
    }
    adp_handover_out_begin(out, KIND, CONNTRACK_HANDOVER_VERSION);
    adp_handover_out_write(out, conns->data, conns->size);
    error = adp_handover_out_commit(out, &len);
    fuzz_require(!error);
}

/* Reading. */

/* 'data' are connections, changed or not. */
static void
take_over(const void *data, size_t len, bool changed, uint64_t n,
          struct fuzz_input *in)
{
    struct conntrack_handover_counts counts, again;
    void *exact = xmemdup(data, len ? len : 1);
    uint8_t age = fuzz_u8(in);
    struct ofpbuf bytes;

    const char *error = conntrack_handover_restore(after, exact, len, now,
                                                   age & 0x80 ? age * 1000 : 0,
                                                   &counts);
    free(exact);
    fuzz_require(!error || (changed && *error && !n_conns(after)));
    if (error) {
        return;
    }
    fuzz_require(counts.n == n_conns(after));
    check_policies();
    fuzz_require(changed || (counts.n + counts.n_expired + counts.n_known
                             + counts.n_refused == n));
    dump(after);
    ofpbuf_init(&bytes, 0);
    save(after, &bytes, &again);
    fuzz_require(again.n == counts.n);
    ofpbuf_uninit(&bytes);
    for (int i = 0; i < MAX_PACKETS && in->n; i++) {
        pass(after, in);
    }
    dump(after);
}

static void
read_file(bool changed, bool refused, uint64_t n, struct fuzz_input *in)
{
    struct adp_handover_in *file;
    char *error = adp_handover_in_open(path, &file);
    size_t len;

    fuzz_require(access(path, F_OK));
    fuzz_require(!error != !file);
    fuzz_require(changed || file);
    fuzz_require(!refused || !file);
    if (error) {
        fuzz_require(strstr(error, path));
        free(error);
        return;
    }
    fuzz_require(adp_handover_in_age_ms(file) >= 0);

    for (unsigned int i = 0; i < 4; i++) {
        const char *part = adp_handover_in_part(file, KIND + 1 + i, i, &len);

        fuzz_require(changed || !part || (len == i
                                          && !memcmp(part, "other", i)));
        free(part ? xmemdup(part, len + !len) : NULL);
    }
    const void *part = adp_handover_in_part(file, KIND,
                                            CONNTRACK_HANDOVER_VERSION, &len);
    fuzz_require(part || changed);
    if (part) {
        take_over(part, len, changed, n, in);
    }
    adp_handover_in_close(file);
}

/* Everything else. */

static void
reset(struct conntrack *ct)
{
    struct zone_limit *zl;

    conntrack_flush(ct, NULL);
    conntrack_set_tcp_seq_chk(ct, true);
    conntrack_set_maxconns(ct, 2048);
    CMAP_FOR_EACH (zl, node, &ct->zone_limits) {
        zone_limit_delete(ct, zl->czl.zone);
    }
}

static void
finish(void)
{
    conntrack_destroy(before);
    conntrack_destroy(after);
    ovsrcu_barrier();
}

int
LLVMFuzzerInitialize(int *argc OVS_UNUSED, char ***argv OVS_UNUSED)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    fuzz_leave_signals();
    path = xasprintf("%s/handover", fuzz_place());
    before = conntrack_init();
    after = conntrack_init();
    set_policies();
    atexit(finish);
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    uint8_t how = fuzz_u8(&in), n_changes = fuzz_u8(&in);
    struct conntrack_handover_counts counts;
    bool conns_changed, file_changed;
    struct ofpbuf bytes;

    /* See fuzz-conntrack.c. */
    now += 1000LL * 1000 * 1000;
    ct_packet_next_input();
    reset(before);
    reset(after);
    if (how & 0x40) {
        zone_limit_update(before, how >> 3 & 1, how & 7);
    }
    for (int i = 0; i <= (how & 15); i++) {
        pass(before, &in);
    }

    ofpbuf_init(&bytes, 0);
    save(before, &bytes, &counts);
    conns_changed = change(bytes.data, bytes.size,
                           n_changes % MAX_CHANGES, &in);
    write_file(&bytes, how >> 4 & 3);
    ofpbuf_clear(&bytes);
    load(&bytes);
    fuzz_require(bytes.size >= HEADER_LEN);
    file_changed = change(bytes.data, bytes.size,
                          (n_changes >> 3) % MAX_CHANGES, &in);
    if (n_changes & 0x40 && how & 0x80) {
        size_t left = fuzz_u16(&in) % (bytes.size + 1);

        file_changed = file_changed || left != bytes.size;
        bytes.size = left;
    }
    bool sealed = n_changes & 0x80;
    if (sealed) {
        seal(&bytes);
    }
    store(&bytes, n_changes == 0xff ? 0644 : 0600);
    read_file(conns_changed || file_changed || n_changes == 0xff,
              (file_changed && !sealed) || n_changes == 0xff, counts.n, &in);
    ofpbuf_uninit(&bytes);
    ovsrcu_quiesce();
    return 0;
}
