/* SPDX-License-Identifier: Apache-2.0 */

/* What "trace" fills in: dpctl-parties.h, dpctl-pcap.h. */

#include <config.h>
#include "dpctl-parties.h"

#include <check.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpctl-pcap.h"
#include "openvswitch/json.h"
#include "openvswitch/ofpbuf.h"
#include "test-run.h"
#include "util.h"

#define GATEWAY_MAC "0a:00:00:00:00:01"
#define WEB_MAC "0a:00:00:00:00:02"
#define CLIENT_MAC "0a:00:00:00:00:03"

static const char records[] =
    "[{\"kind\": \"NodeConfig\", \"name\": \"n1\","
    "  \"gateway\": {\"port\": \"gw0\", \"mac\": \"" GATEWAY_MAC "\"}},"
    " {\"kind\": \"Pod\", \"name\": \"default/web\", \"port\": \"web-1\","
    "  \"mac\": \"" WEB_MAC "\", \"ips\": [\"10.0.0.2\", \"fd00::2\"]},"
    " {\"kind\": \"Pod\", \"name\": \"lab/client\", \"port\": \"client-1\","
    "  \"mac\": \"" CLIENT_MAC "\", \"ips\": [\"fd00::3\", \"10.0.0.3\"]},"
    " {\"kind\": \"Pod\", \"name\": \"default/old\", \"port\": \"old-1\","
    "  \"mac\": \"0a:00:00:00:00:04\", \"ips\": [\"10.0.0.4\"]},"
    " {\"kind\": \"Pod\", \"name\": \"default/both\", \"port\": \"both-1\","
    "  \"mac\": \"0a:00:00:00:00:05\", \"ips\": [\"10.0.0.5\"]},"
    " {\"kind\": \"Service\", \"name\": \"default/both\","
    "  \"clusterIP\": \"10.96.0.5\", \"ports\": [{\"port\": 5}]},"
    " {\"kind\": \"Service\", \"name\": \"default/one\","
    "  \"clusterIP\": \"10.96.0.1\","
    "  \"ports\": [{\"port\": 53, \"protocol\": \"UDP\"}]},"
    " {\"kind\": \"Service\", \"name\": \"lab/many\","
    "  \"clusterIP\": [\"10.96.0.2\", \"fd96::2\"],"
    "  \"ports\": [{\"name\": \"http\", \"port\": 80},"
    "            {\"name\": \"sip\", \"port\": 5060},"
    "            {\"name\": \"sip-u\", \"port\": 5060, \"protocol\": \"UDP\"},"
    "            {\"name\": \"s\", \"port\": 9, \"protocol\": \"SCTP\"}]},"
    " {\"kind\": \"Service\", \"name\": \"default/headless\","
    "  \"ports\": [{\"port\": 80}]},"
    " {\"kind\": \"Manifest\", \"name\": \"Pod.v1/lab/far\", \"object\":"
    "  {\"status\": {\"podIP\": \"10.0.1.7\","
    "   \"podIPs\": [{\"ip\": \"10.0.1.7\"}, {\"ip\": \"fd00:0:0:1::7\"}]}}},"
    " {\"kind\": \"Manifest\", \"name\": \"Pod.v1/default/older\", \"object\":"
    "  {\"status\": {\"podIP\": \"10.0.1.8\"}}},"
    " {\"kind\": \"Manifest\", \"name\": \"Pod.v1/default/pending\","
    "  \"object\": {\"status\": {}}}]";

static struct dpctl_parties *parties;

static void
setup(void)
{
    struct json *json = json_from_string(records);

    ck_assert_int_eq(json->type, JSON_ARRAY);
    parties = dpctl_parties_create(json);
}

static void
teardown(void)
{
    dpctl_parties_destroy(parties);
}

/* Talks. */

static void
expect_flow(struct dpctl_talk talk, const char *expected_port,
            const char *expected)
{
    char *flow = NULL, *in_port = NULL;
    char *error = dpctl_parties_flow(parties, &talk, &flow, &in_port);

    ck_assert_msg(!error, "%s", error);
    ck_assert_str_eq(flow, expected);
    ck_assert_str_eq(in_port, expected_port);
    free(flow);
    free(in_port);
}

static void
expect_error(struct dpctl_talk talk, const char *expected)
{
    char *flow = NULL, *in_port = NULL;
    char *error = dpctl_parties_flow(parties, &talk, &flow, &in_port);

    ck_assert_msg(error, "%s", flow);
    ck_assert_str_eq(error, expected);
    ck_assert(!flow && !in_port);
    free(error);
}

#define TALK(...) ((struct dpctl_talk) { __VA_ARGS__ })

START_TEST(to_pods)
{
    /* A neighbour, by ping. */
    expect_flow(TALK(.from = "web", .to = "lab/client"), "web-1",
                "icmp,dl_src=" WEB_MAC ",dl_dst=" CLIENT_MAC
                ",nw_src=10.0.0.2,nw_dst=10.0.0.3,nw_ttl=64"
                ",icmp_type=8,icmp_code=0");
    expect_flow(TALK(.from = "web", .to = "lab/client", .family = "IPv6"),
                "web-1",
                "icmp6,dl_src=" WEB_MAC ",dl_dst=" CLIENT_MAC
                ",ipv6_src=fd00::2,ipv6_dst=fd00::3,nw_ttl=64"
                ",icmp_type=128,icmp_code=0");
    expect_flow(TALK(.from = "pod/client", .to = "po/default/web:81",
                     .namespace_ = "lab"), "client-1",
                "tcp,dl_src=" CLIENT_MAC ",dl_dst=" WEB_MAC
                ",nw_src=10.0.0.3,nw_dst=10.0.0.2,nw_ttl=64"
                ",tp_src=49152,tp_dst=81,tcp_flags=syn");
    /* On another Node, by the gateway. */
    expect_flow(TALK(.from = "web", .to = "lab/far:65535",
                     .protocol = "SCTP"), "web-1",
                "sctp,dl_src=" WEB_MAC ",dl_dst=" GATEWAY_MAC
                ",nw_src=10.0.0.2,nw_dst=10.0.1.7,nw_ttl=64"
                ",tp_src=49152,tp_dst=65535");
    expect_flow(TALK(.from = "web", .to = "lab/far:1", .protocol = "udp",
                     .family = "ipv6"), "web-1",
                "udp6,dl_src=" WEB_MAC ",dl_dst=" GATEWAY_MAC
                ",ipv6_src=fd00::2,ipv6_dst=fd00:0:0:1::7,nw_ttl=64"
                ",tp_src=49152,tp_dst=1");
    expect_flow(TALK(.from = "web", .to = "older"), "web-1",
                "icmp,dl_src=" WEB_MAC ",dl_dst=" GATEWAY_MAC
                ",nw_src=10.0.0.2,nw_dst=10.0.1.8,nw_ttl=64"
                ",icmp_type=8,icmp_code=0");
}
END_TEST

/* What is waited for. */
static void
expect_match(struct dpctl_talk talk, const char *expected_port,
             const char *expected)
{
    char *match = NULL, *in_port = NULL;
    char *error = dpctl_parties_match(parties, &talk, &match, &in_port);

    ck_assert_msg(!error, "%s", error);
    ck_assert_str_eq(match, expected);
    if (expected_port) {
        ck_assert_str_eq(in_port, expected_port);
    } else {
        ck_assert_ptr_null(in_port);
    }
    free(match);
    free(in_port);
}

static void
expect_no_match(struct dpctl_talk talk, const char *expected)
{
    char *match = NULL, *in_port = NULL;
    char *error = dpctl_parties_match(parties, &talk, &match, &in_port);

    ck_assert_msg(error, "%s", match);
    ck_assert_str_eq(error, expected);
    ck_assert(!match && !in_port);
    free(error);
}

START_TEST(matches)
{
    expect_match(TALK(.from = "web"), "web-1", "");
    expect_match(TALK(.from = "web", .protocol = "TCP"), "web-1", "tcp");
    expect_match(TALK(.from = "web", .protocol = "icmp", .family = "ipv6"),
                 "web-1", "icmp6");
    expect_match(TALK(.from = "web", .family = "ipv6"), "web-1", "ipv6");
    expect_match(TALK(.protocol = "udp"), NULL, "udp");
    expect_match(TALK(.family = "ipv4"), NULL, "ip");
    /* From another Node. */
    expect_match(TALK(.from = "lab/far"), NULL, "ip,nw_src=10.0.1.7");
    expect_match(TALK(.from = "lab/far", .to = "web:80", .family = "ipv6"),
                 NULL, "tcp6,ipv6_src=fd00:0:0:1::7,ipv6_dst=fd00::2"
                 ",tp_dst=80");

    expect_match(TALK(.to = "web"), NULL, "ip,nw_dst=10.0.0.2");
    expect_match(TALK(.to = "web", .protocol = "tcp"), NULL,
                 "tcp,nw_dst=10.0.0.2");
    expect_match(TALK(.from = "web", .to = "lab/far:1"), "web-1",
                 "tcp,nw_dst=10.0.1.7,tp_dst=1");
    expect_match(TALK(.to = "2001:db8::1"), NULL, "ipv6,ipv6_dst=2001:db8::1");
    expect_match(TALK(.to = "one"), NULL, "udp,nw_dst=10.96.0.1,tp_dst=53");
    /* Any port of the Service. */
    expect_match(TALK(.to = "lab/many"), NULL, "ip,nw_dst=10.96.0.2");
    expect_match(TALK(.to = "lab/many", .protocol = "tcp"), NULL,
                 "tcp,nw_dst=10.96.0.2");
    expect_match(TALK(.to = "lab/many:sip"), NULL,
                 "tcp,nw_dst=10.96.0.2,tp_dst=5060");

    expect_no_match(TALK(.to = "lab/many:5060"),
                    "--to lab/many:5060: Service lab/many has several ports; "
                    "give one, and --protocol");
    expect_no_match(TALK(.to = "lab/many:81"),
                    "--to lab/many:81: Service lab/many has no such port");
    expect_no_match(TALK(.from = "nobody"),
                    "--from nobody: there is no Pod default/nobody");
    expect_no_match(TALK(.to = "nobody"),
                    "--to nobody: there is no Pod or Service default/nobody");
    expect_no_match(TALK(.from = "web", .protocol = "arp"),
                    "--protocol arp: give tcp, udp, sctp or icmp");
    expect_no_match(TALK(.to = "lab/many", .protocol = "arp"),
                    "--to lab/many: Service lab/many has no such port");
    expect_no_match(TALK(.to = "web:1", .protocol = "icmp"),
                    "--to web:1: ICMP has no ports");
    expect_no_match(TALK(.to = "web:0"), "--to web:0: port 0 is none");
    expect_no_match(TALK(.from = "default/old", .family = "ipv6"),
                    "--family ipv6: default/old has no such address");
    expect_no_match(TALK(.to = "older", .family = "ipv6"),
                    "--family ipv6: older has no such address");
    expect_no_match(TALK(.from = "old", .to = "fd00::3"),
                    "old and fd00::3 have no addresses of the same family");
    expect_no_match(TALK(.family = "x"), "--family x: give ipv4 or ipv6");
}
END_TEST

START_TEST(to_addresses)
{
    expect_flow(TALK(.from = "web", .to = "10.0.0.3"), "web-1",
                "icmp,dl_src=" WEB_MAC ",dl_dst=" CLIENT_MAC
                ",nw_src=10.0.0.2,nw_dst=10.0.0.3,nw_ttl=64"
                ",icmp_type=8,icmp_code=0");
    expect_flow(TALK(.from = "web", .to = "8.8.8.8:53", .protocol = "udp"),
                "web-1",
                "udp,dl_src=" WEB_MAC ",dl_dst=" GATEWAY_MAC
                ",nw_src=10.0.0.2,nw_dst=8.8.8.8,nw_ttl=64"
                ",tp_src=49152,tp_dst=53");
    expect_flow(TALK(.from = "web", .to = "2001:db8::1"), "web-1",
                "icmp6,dl_src=" WEB_MAC ",dl_dst=" GATEWAY_MAC
                ",ipv6_src=fd00::2,ipv6_dst=2001:db8::1,nw_ttl=64"
                ",icmp_type=128,icmp_code=0");
    expect_flow(TALK(.from = "web", .to = "[fd00::3]:80"), "web-1",
                "tcp6,dl_src=" WEB_MAC ",dl_dst=" CLIENT_MAC
                ",ipv6_src=fd00::2,ipv6_dst=fd00::3,nw_ttl=64"
                ",tp_src=49152,tp_dst=80,tcp_flags=syn");
    expect_flow(TALK(.from = "web", .to = "[fd00::3]"), "web-1",
                "icmp6,dl_src=" WEB_MAC ",dl_dst=" CLIENT_MAC
                ",ipv6_src=fd00::2,ipv6_dst=fd00::3,nw_ttl=64"
                ",icmp_type=128,icmp_code=0");
}
END_TEST

START_TEST(to_services)
{
    static const char to_one[] =
        "udp,dl_src=" WEB_MAC ",dl_dst=" GATEWAY_MAC
        ",nw_src=10.0.0.2,nw_dst=10.96.0.1,nw_ttl=64"
        ",tp_src=49152,tp_dst=53";

    expect_flow(TALK(.from = "web", .to = "one"), "web-1", to_one);
    expect_flow(TALK(.from = "web", .to = "one:53"), "web-1", to_one);
    expect_flow(TALK(.from = "web", .to = "svc/one"), "web-1", to_one);
    expect_flow(TALK(.from = "web", .to = "service/default/one",
                     .protocol = "udp"), "web-1", to_one);
    expect_flow(TALK(.from = "web", .to = "lab/many:http", .family = "ipv6"),
                "web-1",
                "tcp6,dl_src=" WEB_MAC ",dl_dst=" GATEWAY_MAC
                ",ipv6_src=fd00::2,ipv6_dst=fd96::2,nw_ttl=64"
                ",tp_src=49152,tp_dst=80,tcp_flags=syn");
    expect_flow(TALK(.from = "web", .to = "lab/many", .protocol = "sctp"),
                "web-1",
                "sctp,dl_src=" WEB_MAC ",dl_dst=" GATEWAY_MAC
                ",nw_src=10.0.0.2,nw_dst=10.96.0.2,nw_ttl=64"
                ",tp_src=49152,tp_dst=9");
    expect_flow(TALK(.from = "web", .to = "svc/both"), "web-1",
                "tcp,dl_src=" WEB_MAC ",dl_dst=" GATEWAY_MAC
                ",nw_src=10.0.0.2,nw_dst=10.96.0.5,nw_ttl=64"
                ",tp_src=49152,tp_dst=5,tcp_flags=syn");

    expect_error(TALK(.from = "web", .to = "lab/many"),
                 "--to lab/many: Service lab/many has several ports; give "
                 "one, and --protocol");
    expect_error(TALK(.from = "web", .to = "lab/many:5060"),
                 "--to lab/many:5060: Service lab/many has several ports; "
                 "give one, and --protocol");
    expect_error(TALK(.from = "web", .to = "lab/many:81"),
                 "--to lab/many:81: Service lab/many has no such port");
    expect_error(TALK(.from = "web", .to = "one", .protocol = "tcp"),
                 "--to one: Service default/one has no such port");
    expect_error(TALK(.from = "web", .to = "headless"),
                 "--to headless: Service default/headless has no cluster IP");
}
END_TEST

START_TEST(wrong_talks)
{
    expect_error(TALK(.from = "nobody", .to = "web"),
                 "--from nobody: there is no Pod default/nobody");
    expect_error(TALK(.from = "lab/far", .to = "web"),
                 "--from lab/far: the Pod isn't on this Node; ask on its "
                 "own");
    expect_error(TALK(.from = "svc/one", .to = "web"),
                 "--from svc/one: give a Pod");
    expect_error(TALK(.from = "web:80", .to = "web"),
                 "--from web:80: give a Pod");
    expect_error(TALK(.from = "10.0.0.2", .to = "web"),
                 "--from 10.0.0.2: give a Pod");
    expect_error(TALK(.from = "web", .to = "nobody"),
                 "--to nobody: there is no Pod or Service default/nobody");
    expect_error(TALK(.from = "web", .to = "svc/web"),
                 "--to svc/web: there is no Service default/web");
    expect_error(TALK(.from = "web", .to = "pod/one"),
                 "--to pod/one: there is no Pod default/one");
    expect_error(TALK(.from = "web", .to = "both"),
                 "--to both: there are a Pod and a Service default/both; "
                 "write pod/default/both or svc/default/both");
    expect_error(TALK(.from = "web", .to = "pending"),
                 "--to pending: Pod default/pending has no address yet");
    expect_error(TALK(.from = "web", .to = "old", .protocol = "tcp"),
                 "--to old: give a port, old:PORT");
    expect_error(TALK(.from = "web", .to = "old:1", .protocol = "icmp"),
                 "--to old:1: ICMP has no ports");
    expect_error(TALK(.from = "web", .to = "old:65536"),
                 "--to old:65536: port 65536 is none");
    expect_error(TALK(.from = "web", .to = "old:0"),
                 "--to old:0: port 0 is none");
    expect_error(TALK(.from = "web", .to = "old:http"),
                 "--to old:http: port http is none");
    expect_error(TALK(.from = "web", .to = "old", .protocol = "gre"),
                 "--protocol gre: give tcp, udp, sctp or icmp");
    expect_error(TALK(.from = "web", .to = "old", .family = "ipv6"),
                 "--family ipv6: old has no such address");
    expect_error(TALK(.from = "old", .to = "web", .family = "ipv6"),
                 "--family ipv6: old has no such address");
    expect_error(TALK(.from = "old", .to = "web", .family = "ipx"),
                 "--family ipx: give ipv4 or ipv6");
    expect_error(TALK(.from = "old", .to = "fd00::9"),
                 "old and fd00::9 have no addresses of the same family");
}
END_TEST

START_TEST(names)
{
    struct dpctl_talk talk = TALK(.from = "web", .to = "lab/many:http");
    struct dpctl_talk outside = TALK(.from = "pod/web", .to = "1.1.1.1",
                                     .namespace_ = "lab");
    struct json *json = dpctl_parties_names(&talk);
    char *text = json_to_string(json, 0);

    ck_assert_str_eq(text, "[\"Service default/web\","
                     "\"Manifest Pod.v1/default/web\","
                     "\"Service lab/many\",\"Manifest Pod.v1/lab/many\"]");
    free(text);
    json_destroy(json);

    json = dpctl_parties_names(&outside);
    text = json_to_string(json, 0);
    ck_assert_str_eq(text, "[\"Service lab/web\","
                     "\"Manifest Pod.v1/lab/web\"]");
    free(text);
    json_destroy(json);
}
END_TEST

/* Captures. */

static char capture[] = "/tmp/test-dpctl-trace-XXXXXX";

/* Writes a capture with one packet of those bytes, in hex digits with spaces. */
static void
write_capture(int link_type, const char *hex)
{
    struct ofpbuf bytes;
    pcap_t *pcap = pcap_open_dead(link_type, 65535);
    pcap_dumper_t *dumper = pcap_dump_open(pcap, capture);

    ofpbuf_init(&bytes, 0);
    ck_assert_str_eq(ofpbuf_put_hex(&bytes, hex, NULL), "");
    pcap_dump((u_char *) dumper,
              &(struct pcap_pkthdr) { .caplen = bytes.size,
                                      .len = bytes.size },
              bytes.data);
    pcap_dump_close(dumper);
    pcap_close(pcap);
    ofpbuf_uninit(&bytes);
}

/* Without what nobody reads. */
#define IP(DST) "45 00 00 14 00 00 00 00 40 01 00 00 0a 00 00 03 " DST
#define IP6(DST) "60 00 00 00 00 00 3b 40 fd 00 00 00 00 00 00 00 " \
    "00 00 00 00 00 00 00 03 ff 02 00 00 " DST
#define SLL(TYPE, PROTOCOL) \
    "00 " TYPE " 00 01 00 06 0a 00 00 00 00 03 00 00 " PROTOCOL
#define SLL2(TYPE, PROTOCOL) PROTOCOL " 00 00 00 00 00 07 00 01 " TYPE \
    " 06 0a 00 00 00 00 03 00 00 "

static void
expect_frame(int link_type, const char *hex, const char *header,
             const char *port)
{
    struct dpctl_frame frame;
    struct ofpbuf expected;

    write_capture(link_type, hex);
    char *error = dpctl_pcap_read(capture, 1, &frame);
    ck_assert_msg(!error, "%s", error);
    error = dpctl_parties_complete(parties, &frame);
    ck_assert_msg(!error, "%s", error);

    ofpbuf_init(&expected, 0);
    ofpbuf_put_hex(&expected, header, NULL);
    ck_assert_uint_ge(frame.bytes->size, expected.size);
    ck_assert_mem_eq(frame.bytes->data, expected.data, expected.size);
    ofpbuf_uninit(&expected);

    const char *found = dpctl_parties_port(parties, &frame);
    ck_assert_msg(port ? found && !strcmp(found, port) : !found, "%s", found);
    ofpbuf_delete(frame.bytes);
}

START_TEST(captures)
{
    static const char to_web[] = "0a0000000002 0a0000000003 0800 45";
    static const char to_gateway[] = "0a0000000001 0a0000000003 0800 45";

    /* As they are. */
    expect_frame(DLT_EN10MB, "aabbccddeeff 0a0000000002 0806",
                 "aabbccddeeff 0a0000000002 0806", "web-1");
    expect_frame(DLT_EN10MB, "aabbccddeeff 0a0000000009 0806 00",
                 "aabbccddeeff 0a0000000009 0806 00", NULL);

    expect_frame(DLT_LINUX_SLL, SLL("04", "08 00 ") IP("0a 00 00 02"),
                 to_web, "client-1");
    expect_frame(DLT_LINUX_SLL2, SLL2("04", "08 00 ") IP("0a 00 00 02"),
                 to_web, "client-1");
    expect_frame(DLT_LINUX_SLL, SLL("04", "08 00 ") IP("0a 00 09 02"),
                 to_gateway, "client-1");
    expect_frame(DLT_LINUX_SLL, SLL("04", "81 00 ") "00 05 08 00 "
                 IP("0a 00 00 02"),
                 "0a0000000002 0a0000000003 8100 0005 0800 45", "client-1");

    /* To many. */
    expect_frame(DLT_LINUX_SLL2, SLL2("01", "08 00 ") IP("0a 00 00 ff"),
                 "ffffffffffff 0a0000000003 0800 45", "client-1");
    expect_frame(DLT_LINUX_SLL2, SLL2("04", "08 00 ") IP("ef 81 02 03"),
                 "01005e010203 0a0000000003 0800 45", "client-1");
    expect_frame(DLT_LINUX_SLL2, SLL2("04", "86 dd ")
                 IP6("00 00 00 00 00 00 00 00 00 00 00 16"),
                 "333300000016 0a0000000003 86dd 60", "client-1");
    expect_frame(DLT_LINUX_SLL2, SLL2("04", "08 06 ")
                 "00 01 08 00 06 04 00 01 0a 00 00 00 00 03 0a 00 00 03 "
                 "00 00 00 00 00 00 0a 00 00 02",
                 "ffffffffffff 0a0000000003 0806 0001", "client-1");
    expect_frame(DLT_LINUX_SLL2, SLL2("04", "08 06 ")
                 "00 01 08 00 06 04 00 02 0a 00 00 00 00 03 0a 00 00 03 "
                 "00 00 00 00 00 00 0a 00 00 02",
                 "0a0000000002 0a0000000003 0806 0001", "client-1");

    /* Without a sender, and cut off. */
    expect_frame(DLT_LINUX_SLL, "00 04 00 01 00 00 00 00 00 00 00 00 00 00 "
                 "08 00 " IP("0a 00 00 02"), to_web, "client-1");
    expect_frame(DLT_LINUX_SLL, SLL("04", "08 00 ") "45",
                 to_gateway, "client-1");
    expect_frame(DLT_LINUX_SLL2, SLL2("04", "08 00 "),
                 "0a0000000001 0a0000000003 0800", "client-1");
}
END_TEST

static void
expect_unreadable(int link_type, const char *hex, const char *expected)
{
    struct dpctl_frame frame;
    char *error, *full = xasprintf("%s: %s", capture, expected);

    write_capture(link_type, hex);
    error = dpctl_pcap_read(capture, 1, &frame);
    ck_assert_ptr_ne(error, NULL);
    ck_assert_str_eq(error, full);
    ck_assert(!frame.bytes);
    free(error);
    free(full);
}

START_TEST(bad_captures)
{
    struct dpctl_frame frame;
    char *error;

    expect_unreadable(DLT_EN10MB, "aabbccddeeff 0a0000000002 08",
                      "packet 1 is cut off within its header");
    expect_unreadable(DLT_LINUX_SLL,
                      "00 04 00 01 00 06 0a 00 00 00 00 03 00 00 08",
                      "packet 1 is cut off within its header");
    expect_unreadable(DLT_LINUX_SLL2,
                      "08 00 00 00 00 00 00 07 00 01 04 06 0a 00 00 00 00 03 "
                      "00", "packet 1 is cut off within its header");
    expect_unreadable(DLT_LINUX_SLL, "00 04 03 04 00 06 0a 00 00 00 00 03 00 "
                      "00 08 00 45",
                      "packet 1 comes from a device that isn't Ethernet");
    expect_unreadable(DLT_LINUX_SLL, SLL("04", "00 04 ") "45",
                      "packet 1 isn't Ethernet II");
    expect_unreadable(DLT_RAW, "45", "has packets of link type RAW; Ethernet "
                      "and Linux cooked captures can be read (tcpdump -i "
                      "eth0, tcpdump -i any)");

    write_capture(DLT_LINUX_SLL, "00 04 00 01 00 00 00 00 00 00 00 00 00 00 "
                  "08 00 45");
    ck_assert_ptr_eq(dpctl_pcap_read(capture, 1, &frame), NULL);
    error = dpctl_parties_complete(parties, &frame);
    ck_assert_str_eq(error, "the packet has no sender's MAC address, and is "
                     "from no Pod of this Node");
    free(error);

    struct dpctl_parties *nobody
        = dpctl_parties_create(json_array_create_empty());
    error = dpctl_parties_complete(nobody, &frame);
    ck_assert_str_eq(error, "cooked captures have no destination's MAC "
                     "address, and no NodeConfig tells the gateway's");
    free(error);
    dpctl_parties_destroy(nobody);
    ofpbuf_delete(frame.bytes);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("dpctl-trace");
    TCase *tc = tcase_create("dpctl-trace");
    int fd = mkstemp(capture);

    if (fd < 0 || close(fd)) {
        return 1;
    }
    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, to_pods);
    tcase_add_test(tc, matches);
    tcase_add_test(tc, to_addresses);
    tcase_add_test(tc, to_services);
    tcase_add_test(tc, wrong_talks);
    tcase_add_test(tc, names);
    tcase_add_test(tc, captures);
    tcase_add_test(tc, bad_captures);
    int retval = test_run(s);
    unlink(capture);
    return retval;
}
