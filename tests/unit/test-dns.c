/* SPDX-License-Identifier: Apache-2.0 */

/* DNS messages: what they say, and what they must not be able to do. */

#include <config.h>
#include <check.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

#include "adp-dns.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

static uint8_t msg[65536];
static size_t len;
static struct adp_dns_answer answer;

/* Names that were expanded. */
static size_t n_expanded;

__typeof__(dn_expand) __real_dn_expand, __wrap_dn_expand;

int
__wrap_dn_expand(const unsigned char *start, const unsigned char *end,
                 const unsigned char *p, char *name, int size)
{
    n_expanded++;
    return __real_dn_expand(start, end, p, name, size);
}

static void
put_8(unsigned int value)
{
    msg[len++] = value;
}

static void
put_16(unsigned int value)
{
    put_8(value >> 8);
    put_8(value & 0xff);
}

static void
put_32(uint32_t value)
{
    put_16(value >> 16);
    put_16(value & 0xffff);
}

/* "a.b.c", or "@N" for a pointer to offset N, which may end a name. */
static void
put_name(const char *name)
{
    while (*name) {
        size_t n = strcspn(name, ".");

        if (*name == '@') {
            put_16(0xc000 | atoi(name + 1));
            return;
        }
        put_8(n);
        memcpy(&msg[len], name, n);
        len += n;
        name += n + (name[n] == '.');
    }
    put_8(0);
}

#define QUESTION 12             /* Where the name asked for stands. */
enum { A = 1, CNAME = 5, TXT = 16, AAAA = 28 };

static void
begin(unsigned int flags, const char *name, unsigned int n_answers)
{
    len = 0;
    put_16(0x1234);
    put_16(flags);
    put_16(1);
    put_16(n_answers);
    put_16(0);
    put_16(0);
    put_name(name);
    put_16(A);
    put_16(1);
}

static void
put_record(const char *owner, unsigned int type, uint32_t ttl)
{
    put_name(owner);
    put_16(type);
    put_16(1);
    put_32(ttl);
}

static void
put_a(const char *owner, uint32_t ttl, const char *ip)
{
    ovs_be32 ip4;

    ck_assert(ip_parse(ip, &ip4));
    put_record(owner, A, ttl);
    put_16(4);
    put_32(ntohl(ip4));
}

static void
put_aaaa(const char *owner, uint32_t ttl, const char *ip)
{
    struct in6_addr ip6;

    ck_assert(ipv6_parse(ip, &ip6));
    put_record(owner, AAAA, ttl);
    put_16(sizeof ip6);
    memcpy(&msg[len], &ip6, sizeof ip6);
    len += sizeof ip6;
}

static void
put_cname(const char *owner, uint32_t ttl, const char *target)
{
    put_record(owner, CNAME, ttl);

    size_t at = len;
    put_16(0);
    put_name(target);
    msg[at + 1] = len - at - 2;
}

/* A copy of just the right size, for AddressSanitizer to see who reads beyond. */
static enum adp_dns_result
parse(bool partial)
{
    uint8_t *copy = xmemdup(msg, len);
    enum adp_dns_result result = adp_dns_parse(copy, len, partial, &answer);

    free(copy);
    return result;
}

/* "NAME: IP TTL, ..." of what was parsed. */
static void
expect(const char *expected)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ck_assert_int_eq(parse(false), ADP_DNS_ANSWER);
    ds_put_format(&s, "%s:", answer.name);
    for (size_t i = 0; i < answer.n_addresses; i++) {
        ds_put_cstr(&s, i ? ", " : " ");
        ipv6_format_mapped(&answer.addresses[i].ip, &s);
        ds_put_format(&s, " %"PRIu32, answer.addresses[i].ttl);
    }
    ck_assert_str_eq(ds_cstr(&s), expected);
    ds_destroy(&s);
}

/* Names that host names and those of services are made of. */
START_TEST(plain_names)
{
    begin(0x8180, "_Http._tcp.a-1.xn--bcher-kva.x", 1);
    put_a("@12", 60, "10.0.0.1");
    expect("_http._tcp.a-1.xn--bcher-kva.x: 10.0.0.1 60");
}
END_TEST

START_TEST(addresses)
{
    begin(0x8180, "Api.Example.COM", 3);
    put_a("@12", 60, "10.0.0.1");
    put_aaaa("api.example.com", 30, "fd00::1");
    put_a("API.example.com", 0, "10.0.0.2");
    expect("api.example.com: 10.0.0.1 60, fd00::1 30, 10.0.0.2 0");
}
END_TEST

START_TEST(cnames)
{
    begin(0x8180, "a.x", 4);
    put_cname("@12", 20, "b.y");
    put_cname("b.y", 100, "C.z");
    put_a("c.Z", 60, "10.0.0.1");
    put_a("c.z", 5, "10.0.0.2");
    expect("a.x: 10.0.0.1 20, 10.0.0.2 5");

    /* In any order. */
    begin(0x8180, "a.x", 3);
    put_a("c.z", 60, "10.0.0.1");
    put_cname("b.y", 10, "c.z");
    put_cname("a.x", 20, "b.y");
    expect("a.x: 10.0.0.1 10");

    /* A circle, and a chain that has no end. */
    begin(0x8180, "a.x", 3);
    put_cname("a.x", 20, "b.y");
    put_cname("b.y", 20, "a.x");
    put_a("c.z", 60, "10.0.0.1");
    expect("a.x:");
    begin(0x8180, "n0", ADP_DNS_MAX_CNAMES + 2);
    for (int i = 0; i <= ADP_DNS_MAX_CNAMES; i++) {
        char from[16], to[16];

        snprintf(from, sizeof from, "n%d", i);
        snprintf(to, sizeof to, "n%d", i + 1);
        put_cname(from, 20, to);
    }
    put_a("n9", 60, "10.0.0.1");
    expect("n0:");
}
END_TEST

/* Nobody is told anything about names that weren't asked for. */
START_TEST(others)
{
    begin(0x8180, "a.x", 3);
    put_a("bank.example", 60, "10.0.0.9");
    put_record("a.x", TXT, 60);
    put_16(4);
    put_32(0x0a000001);
    put_cname("bank.example", 60, "a.x");
    expect("a.x:");

    /* Another class, and another size. */
    begin(0x8180, "a.x", 2);
    put_a("a.x", 60, "10.0.0.1");
    msg[len - 11] = 3;
    put_record("a.x", A, 60);
    put_16(5);
    put_32(0x0a000001);
    put_8(0);
    expect("a.x:");

    /* IPv4 in the clothes of IPv6 would be a way around what is known of it;
     * a TTL with the highest bit is 0. */
    begin(0x8180, "a.x", 4);
    put_a("a.x", 60, "0.0.0.0");
    put_aaaa("a.x", 60, "::");
    put_aaaa("a.x", 60, "::ffff:10.0.0.1");
    put_a("a.x", 0x80000001, "10.0.0.2");
    expect("a.x: 10.0.0.2 0");
}
END_TEST

START_TEST(no_answers)
{
    begin(0x0100, "a.x", 1);            /* A query. */
    put_a("a.x", 60, "10.0.0.1");
    ck_assert_int_eq(parse(false), ADP_DNS_OTHER);
    msg[2] = 0xa8;                      /* An update. */
    ck_assert_int_eq(parse(false), ADP_DNS_OTHER);
    msg[2] = 0x81;
    msg[3] = 0x83;                      /* There is no such name. */
    ck_assert_int_eq(parse(false), ADP_DNS_OTHER);
    msg[3] = 0x80;
    ck_assert_int_eq(parse(false), ADP_DNS_ANSWER);
    msg[5] = 2;                         /* Two questions. */
    ck_assert_int_eq(parse(false), ADP_DNS_OTHER);
    msg[5] = 1;
    msg[QUESTION + 8] = 3;              /* Of another class. */
    ck_assert_int_eq(parse(false), ADP_DNS_OTHER);
}
END_TEST

/* A label that holds a dot must not look like two. */
START_TEST(odd_names)
{
    begin(0x8180, "a.x", 1);
    put_a("a.x", 60, "10.0.0.1");
    msg[QUESTION + 1] = '.';
    ck_assert_int_eq(parse(false), ADP_DNS_MALFORMED);

    /* Of characters that mean something to a shell or a terminal, too. */
    static const char odd[] = "`'\"{},|&;<>*?[]~#!%=+/:^\\ $()@\x1b\x7f\x9b";
    for (const char *c = odd; *c; c++) {
        begin(0x8180, "a.x", 1);
        put_a("a.x", 60, "10.0.0.1");
        msg[QUESTION + 1] = *c;
        ck_assert_int_eq(parse(false), ADP_DNS_MALFORMED);
    }

    begin(0x8180, "a.x", 2);
    put_cname("a.x", 60, "b.y");
    msg[len - 4] = '.';
    put_a("b.y", 60, "10.0.0.1");
    expect("a.x:");

    /* What only leads to addresses may have any. */
    begin(0x8180, "a.x", 2);
    put_cname("a.x", 60, "b/c.y");
    put_a("b/c.y", 60, "10.0.0.1");
    expect("a.x: 10.0.0.1 60");

    /* Pointers: to itself, forwards, beyond the end. */
    static const int targets[] = { 12, 40, 16383 };
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        char pointer[8];

        snprintf(pointer, sizeof pointer, "@%d", targets[i]);
        begin(0x8180, pointer, 0);
        ck_assert_int_eq(parse(false), ADP_DNS_MALFORMED);
    }
    begin(0x8180, "", 0);
    put_a("@12", 60, "10.0.0.1");
    expect(":");
}
END_TEST

/* An answer with a record whose owner is a pointer to 'target', if not to
 * itself, between two others. */
static void
put_pointer_between(int target)
{
    char pointer[8];

    begin(0x8180, "a.x", 3);
    put_a("@12", 60, "10.0.0.1");
    snprintf(pointer, sizeof pointer, "@%d", target ? target : (int) len);
    put_a(pointer, 60, "10.0.0.2");
    put_a("@12", 60, "10.0.0.3");
}

/* A name goes on before where it began, or the message ends there. */
START_TEST(loops)
{
    put_pointer_between(12);
    expect("a.x: 10.0.0.1 60, 10.0.0.2 60, 10.0.0.3 60");

    put_pointer_between(0);
    ck_assert_int_eq(parse(false), ADP_DNS_MALFORMED);
    n_expanded = 0;
    ck_assert_int_eq(parse(true), ADP_DNS_ANSWER);
    ck_assert_uint_eq(answer.n_addresses, 1);
    ck_assert_uint_le(n_expanded, 2);

    /* To the next record's name, which is right; into the header. */
    begin(0x8180, "a.x", 3);
    size_t record_len = 2 + 10 + 4;
    put_pointer_between(len + 2 * record_len);
    ck_assert_int_eq(parse(false), ADP_DNS_MALFORMED);
    put_pointer_between(4);
    ck_assert_int_eq(parse(false), ADP_DNS_MALFORMED);
}
END_TEST

/* A name that is told by so many pointers is nobody's. */
START_TEST(pointers)
{
    for (int n = 126; n <= 127; n++) {
        begin(0x8180, "a.x", 2);
        put_record("b.x", TXT, 60);
        put_16(2 * n);

        int target = QUESTION;
        for (int i = 0; i < n; i++) {
            int at = len;

            put_16(0xc000 | target);
            target = at;
        }
        char owner[8];
        snprintf(owner, sizeof owner, "@%d", target);
        put_a(owner, 60, "10.0.0.1");
        if (n == 126) {
            expect("a.x: 10.0.0.1 60");
        } else {
            ck_assert_int_eq(parse(false), ADP_DNS_MALFORMED);
        }
    }
}
END_TEST

/* Cut anywhere, and with 'partial' what is whole counts. */
START_TEST(cut)
{
    size_t ends[3];

    begin(0x8180, "a.x", 2);
    ends[0] = len;
    put_a("a.x", 60, "10.0.0.1");
    ends[1] = len;
    put_a("a.x", 60, "10.0.0.2");
    ends[2] = len;
    for (len = 0; len < ends[2]; len++) {
        ck_assert_int_eq(parse(false), ADP_DNS_MALFORMED);
        ck_assert_int_eq(parse(true), (len < ends[0] ? ADP_DNS_MALFORMED
                                       : ADP_DNS_ANSWER));
        if (len >= ends[0]) {
            ck_assert_uint_eq(answer.n_addresses, len >= ends[1]);
        }
    }
    expect("a.x: 10.0.0.1 60, 10.0.0.2 60");
}
END_TEST

/* Whatever it says, it ends, reads no byte that isn't there, and tells of no
 * more than it can hold. */
START_TEST(damaged)
{
    test_seed_random();
    for (int i = 0; i < 20000; i++) {
        begin(0x8180, "a.x", 3);
        put_cname("@12", 20, "b.@14");
        put_a("b.x", 60, "10.0.0.1");
        put_aaaa("@12", 60, "fd00::1");
        for (int n = random_range(4); n >= 0; n--) {
            msg[random_range(len)] = random_range(3) ? random_uint32() : 0xc0;
        }
        len -= random_range(4) ? 0 : random_range(len);
        parse(random_range(2));
        ck_assert_uint_le(answer.n_addresses, 3);
    }
}
END_TEST

START_TEST(many)
{
    begin(0x8180, "a.x", 4000);
    for (int i = 0; i < 4000; i++) {
        put_record("@12", A, 60);
        put_16(4);
        put_32(0x0a000000 + i);
    }
    ck_assert_int_eq(parse(false), ADP_DNS_ANSWER);
    ck_assert_uint_eq(answer.n_addresses, 4000);
}
END_TEST

/* However CNAMEs are mixed, and whatever records say of others. */
START_TEST(linear)
{
    enum { N = 4000 };

    begin(0x8180, "n0", N + ADP_DNS_MAX_CNAMES);
    for (int i = ADP_DNS_MAX_CNAMES - 1; i >= 0; i--) {
        char from[16], to[16];

        snprintf(from, sizeof from, "n%d", i);
        snprintf(to, sizeof to, "n%d", i + 1);
        put_cname(from, 20, to);
    }
    for (int i = 0; i < N; i++) {
        put_a("@12", 60, "10.0.0.1");
    }
    n_expanded = 0;
    expect("n0:");
    ck_assert_uint_le(n_expanded, N + 2 * ADP_DNS_MAX_CNAMES + 1);

    begin(0x8180, "n0", N);
    for (int i = 0; i < N; i++) {
        put_record("@12", TXT, 60);
        put_16(0);
    }
    n_expanded = 0;
    expect("n0:");
    ck_assert_uint_eq(n_expanded, 1);
}
END_TEST

/* What it is about is told without a look at the rest. */
START_TEST(subject)
{
    char name[ADP_DNS_NAME_SIZE];

    begin(0x8180, "A.x", 1);
    ck_assert_int_eq(adp_dns_parse_name(msg, len, name), ADP_DNS_ANSWER);
    ck_assert_str_eq(name, "a.x");
    ck_assert_int_eq(parse(false), ADP_DNS_MALFORMED);
    ck_assert_int_eq(adp_dns_parse_name(msg, len - 1, name),
                     ADP_DNS_MALFORMED);
    msg[2] = 0;
    ck_assert_int_eq(adp_dns_parse_name(msg, len, name), ADP_DNS_OTHER);
}
END_TEST

START_TEST(segments)
{
    static const uint8_t segment[] = { 0, 3, 'a', 'b', 'c', 0, 0, 0, 4, 'd' };
    size_t offset = 0, msg_len;
    bool partial;

    const char *m = adp_dns_next_of_segment(segment, sizeof segment, &offset,
                                            &msg_len, &partial);
    ck_assert(m && msg_len == 3 && !partial && !memcmp(m, "abc", 3));
    m = adp_dns_next_of_segment(segment, sizeof segment, &offset, &msg_len,
                                &partial);
    ck_assert(m && !msg_len && !partial);
    m = adp_dns_next_of_segment(segment, sizeof segment, &offset, &msg_len,
                                &partial);
    ck_assert(m && msg_len == 1 && partial && *m == 'd');
    ck_assert(!adp_dns_next_of_segment(segment, sizeof segment, &offset,
                                       &msg_len, &partial));
    offset = 0;
    ck_assert(!adp_dns_next_of_segment(segment, 2, &offset, &msg_len,
                                       &partial));
}
END_TEST

static void
setup(void)
{
    adp_dns_answer_init(&answer);
}

static void
teardown(void)
{
    adp_dns_answer_uninit(&answer);
}

int
main(void)
{
    Suite *suite = suite_create("dns");
    TCase *tc = tcase_create("dns");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, plain_names);
    tcase_add_test(tc, addresses);
    tcase_add_test(tc, cnames);
    tcase_add_test(tc, others);
    tcase_add_test(tc, no_answers);
    tcase_add_test(tc, odd_names);
    tcase_add_test(tc, loops);
    tcase_add_test(tc, pointers);
    tcase_add_test(tc, cut);
    tcase_add_test(tc, damaged);
    tcase_add_test(tc, many);
    tcase_add_test(tc, linear);
    tcase_add_test(tc, subject);
    tcase_add_test(tc, segments);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
