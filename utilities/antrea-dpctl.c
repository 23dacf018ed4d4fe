/* SPDX-License-Identifier: Apache-2.0 */

/* antrea-dpctl: loads and shows the state of an antrea-dp bridge.
 *
 * Speaks JSON-RPC with the control socket (docs/control-socket.md); see
 * antrea-dpctl(8).  Everything that decides something is in dpctl-*.c. */

#include <config.h>

#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dirs.h"
#include "dpctl-cli.h"
#include "dpctl-json.h"
#include "dpctl-print.h"
#include "dpctl-rpc.h"
#include "dpctl-similar.h"
#include "fatal-signal.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "signals.h"
#include "util.h"

/* Options that not every command has. */
enum option_set {
    SET_FILES = 1 << 0,         /* -f, --ignore-unknown */
    SET_NODE = 1 << 1,          /* --node and the node's settings, --db */
    SET_NAMESPACE = 1 << 2,
    SET_DRY_RUN = 1 << 3,
    SET_MISSING = 1 << 4,
    SET_TRACE = 1 << 5,
    SET_TOP = 1 << 6,           /* -d, -n COUNT */
    SET_STREAM = 1 << 7,
    SET_LOGS = 1 << 8,
    SET_KEEP_GOING = 1 << 9,
    SET_SELECT = 1 << 10,       /* --pod, --policy, --service, --table */
    SET_DB = 1 << 11,
};

enum {
    OPT_NODE = UCHAR_MAX + 1,
    OPT_CHANGE_NODE,
    OPT_DB,
    OPT_GATEWAY_PORT,
    OPT_GATEWAY_MAC,
    OPT_TUNNEL_PORT,
    OPT_SERVICE_CIDR,
    OPT_IGNORE_UNKNOWN,
    OPT_IGNORE_MISSING,
    OPT_DRY_RUN,
    OPT_KEEP_GOING,
    OPT_STREAM,
    OPT_PCAP,
    OPT_INDEX,
    OPT_IN_PORT,
    OPT_FROM,
    OPT_TO,
    OPT_PROTOCOL,
    OPT_FAMILY,
    OPT_HTML,
    OPT_NAMESPACE,
    OPT_COUNT,
    OPT_SINCE,
    OPT_POLICY,
    OPT_POD,
    OPT_SERVICE,
    OPT_TABLE,
};

static const struct option long_options[] = {
    { "socket", required_argument, NULL, 's' },
    { "bridge", required_argument, NULL, 'b' },
    { "output", required_argument, NULL, 'o' },
    { "timeout", required_argument, NULL, 't' },
    { "filename", required_argument, NULL, 'f' },
    { "namespace", required_argument, NULL, OPT_NAMESPACE },
    { "node", required_argument, NULL, OPT_NODE },
    { "change-node", no_argument, NULL, OPT_CHANGE_NODE },
    { "db", required_argument, NULL, OPT_DB },
    { "gateway-port", required_argument, NULL, OPT_GATEWAY_PORT },
    { "gateway-mac", required_argument, NULL, OPT_GATEWAY_MAC },
    { "tunnel-port", required_argument, NULL, OPT_TUNNEL_PORT },
    { "service-cidr", required_argument, NULL, OPT_SERVICE_CIDR },
    { "ignore-unknown", no_argument, NULL, OPT_IGNORE_UNKNOWN },
    { "ignore-not-found", no_argument, NULL, OPT_IGNORE_MISSING },
    { "dry-run", optional_argument, NULL, OPT_DRY_RUN },
    { "keep-going", no_argument, NULL, OPT_KEEP_GOING },
    { "stream", no_argument, NULL, OPT_STREAM },
    { "pcap", required_argument, NULL, OPT_PCAP },
    { "index", required_argument, NULL, OPT_INDEX },
    { "in-port", required_argument, NULL, OPT_IN_PORT },
    { "from", required_argument, NULL, OPT_FROM },
    { "to", required_argument, NULL, OPT_TO },
    { "protocol", required_argument, NULL, OPT_PROTOCOL },
    { "family", required_argument, NULL, OPT_FAMILY },
    { "html", required_argument, NULL, OPT_HTML },
    { "delay", required_argument, NULL, 'd' },
    { "count", required_argument, NULL, OPT_COUNT },
    { "follow", no_argument, NULL, 'F' },
    { "since", required_argument, NULL, OPT_SINCE },
    { "policy", required_argument, NULL, OPT_POLICY },
    { "pod", required_argument, NULL, OPT_POD },
    { "service", required_argument, NULL, OPT_SERVICE },
    { "table", required_argument, NULL, OPT_TABLE },
    { "all-namespaces", no_argument, NULL, 'A' },
    { "watch", no_argument, NULL, 'w' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { NULL, 0, NULL, 0 },
};

static const struct {
    int option;
    unsigned int sets;          /* Of one of these. */
} option_sets[] = {
    { 'f', SET_FILES }, { OPT_IGNORE_UNKNOWN, SET_FILES },
    { OPT_NAMESPACE, SET_NAMESPACE }, { 'A', SET_SELECT },
    { 'w', SET_SELECT },
    { OPT_NODE, SET_NODE }, { OPT_CHANGE_NODE, SET_NODE },
    { OPT_DB, SET_NODE | SET_DB },
    { OPT_GATEWAY_PORT, SET_NODE }, { OPT_GATEWAY_MAC, SET_NODE },
    { OPT_TUNNEL_PORT, SET_NODE }, { OPT_SERVICE_CIDR, SET_NODE },
    { OPT_DRY_RUN, SET_DRY_RUN }, { OPT_IGNORE_MISSING, SET_MISSING },
    { OPT_STREAM, SET_STREAM }, { OPT_KEEP_GOING, SET_KEEP_GOING },
    { OPT_PCAP, SET_TRACE }, { OPT_INDEX, SET_TRACE },
    { OPT_IN_PORT, SET_TRACE }, { OPT_HTML, SET_TRACE },
    { OPT_FROM, SET_TRACE }, { OPT_TO, SET_TRACE },
    { OPT_PROTOCOL, SET_TRACE }, { OPT_FAMILY, SET_TRACE },
    { 'd', SET_TOP }, { OPT_COUNT, SET_TOP },
    { 'F', SET_LOGS | SET_TRACE }, { OPT_SINCE, SET_LOGS },
    { OPT_POLICY, SET_LOGS | SET_SELECT }, { OPT_POD, SET_SELECT },
    { OPT_SERVICE, SET_SELECT }, { OPT_TABLE, SET_SELECT },
};

/* Formats that a command prints. */
enum {
    AS_TABLE = 1 << DPCTL_OUTPUT_TABLE,
    AS_DOCUMENT = 1 << DPCTL_OUTPUT_JSON | 1 << DPCTL_OUTPUT_YAML,
    AS_NAME = 1 << DPCTL_OUTPUT_NAME,
    AS_WIDE = 1 << DPCTL_OUTPUT_WIDE,
    AS_CHANGE = 1 << 8,         /* AS_DOCUMENT, with --dry-run. */
};

static const struct command {
    const char *name;
    int min_args, max_args;
    unsigned int sets;
    unsigned int formats;
    void (*run)(const struct dpctl_command *);
    const char *usage;
    const char *help;
} commands[] = {
    { "apply", 0, 0,
      SET_FILES | SET_NODE | SET_NAMESPACE | SET_DRY_RUN | SET_KEEP_GOING
      | SET_STREAM,
      AS_TABLE | AS_CHANGE, dpctl_cmd_apply,
      "apply -f FILE|DIR|- | apply --stream -f -",
      "add objects, or change those that are there" },
    { "replace", 0, 0,
      SET_FILES | SET_NODE | SET_NAMESPACE | SET_DRY_RUN | SET_KEEP_GOING,
      AS_TABLE | AS_CHANGE, dpctl_cmd_replace,
      "replace -f FILE|DIR|-",
      "make these objects all there is" },
    { "diff", 0, 0,
      SET_FILES | SET_NODE | SET_NAMESPACE,
      AS_TABLE | AS_DOCUMENT, dpctl_cmd_diff,
      "diff -f FILE|DIR|-",
      "show what apply would change" },
    { "delete", 0, INT_MAX,
      SET_FILES | SET_NODE | SET_NAMESPACE | SET_DRY_RUN | SET_MISSING,
      AS_TABLE | AS_CHANGE, dpctl_cmd_delete,
      "delete -f FILE|DIR|- | KIND NAME... | KIND/NAME...",
      "take objects away" },
    { "resync", 0, 0,
      SET_NODE | SET_DRY_RUN | SET_KEEP_GOING,
      AS_TABLE | AS_CHANGE, dpctl_cmd_resync,
      "resync",
      "resolve the objects that are there anew" },
    { "resolve", 0, 0,
      SET_FILES | SET_NODE | SET_NAMESPACE,
      AS_TABLE | AS_DOCUMENT, dpctl_cmd_resolve,
      "resolve -f FILE|DIR|-",
      "print what apply would make of objects" },
    { "follow", 0, 0,
      SET_FILES | SET_NODE | SET_NAMESPACE,
      AS_TABLE, dpctl_cmd_follow,
      "follow -f FILE|FIFO|-",
      "apply what Kubernetes' watch tells, as it comes" },
    { "get", 0, INT_MAX,
      SET_NAMESPACE | SET_SELECT,
      AS_TABLE | AS_DOCUMENT | AS_NAME | AS_WIDE, dpctl_cmd_get,
      "get [KIND[,KIND...] [NAME...] | KIND/NAME...]",
      "list records or objects" },
    { "describe", 1, INT_MAX,
      SET_NAMESPACE,
      AS_TABLE | AS_DOCUMENT, dpctl_cmd_describe,
      "describe KIND [NAME...] | KIND/NAME...",
      "show records in full, and all about a Pod" },
    { "trace", 0, INT_MAX,
      SET_TRACE | SET_NAMESPACE,
      AS_TABLE | AS_DOCUMENT, dpctl_cmd_trace,
      "trace FLOW | --from POD --to WHOM | --pcap FILE | --follow",
      "walk a packet through the tables" },
    { "status", 0, 0,
      SET_DB,
      AS_TABLE | AS_DOCUMENT, dpctl_cmd_status,
      "status",
      "tell whether everything is well" },
    { "supportbundle", 0, 1,
      SET_DB,
      AS_TABLE, dpctl_cmd_supportbundle,
      "supportbundle [FILE|-]",
      "put all that helps to find a fault into a file" },
    { "stats", 0, 0,
      0,
      AS_TABLE | AS_DOCUMENT, dpctl_cmd_stats,
      "stats",
      "show counters" },
    { "top", 0, 0,
      SET_TOP,
      AS_TABLE, dpctl_cmd_top,
      "top [-d SECONDS] [-n COUNT]",
      "show how counters grow, live" },
    { "logs", 0, 0,
      SET_LOGS | SET_NAMESPACE,
      AS_TABLE | AS_DOCUMENT, dpctl_cmd_logs,
      "logs [--follow] [--since=SECONDS] [--policy=NAME]",
      "show what policies have logged" },
    { "explain", 0, INT_MAX,
      0,
      AS_TABLE | AS_DOCUMENT, dpctl_cmd_explain,
      "explain [WHAT...]",
      "tell what reg0=0x3, a cookie, a table means" },
    { "program", 0, 0,
      0,
      AS_TABLE | AS_DOCUMENT, dpctl_cmd_program,
      "program",
      "show the compiled tables" },
    { "version", 0, 0,
      0,
      AS_TABLE | AS_DOCUMENT, dpctl_cmd_version,
      "version",
      "show our and the daemon's version" },
    { "help", 0, 1, 0, AS_TABLE, NULL, "help [COMMAND]",
      "tell about a command" },
};

/* What DPCTL_EXIT_ERROR becomes. */
static int error_status = DPCTL_EXIT_ERROR;

void
dpctl_set_error_status(int status)
{
    error_status = status;
}

/* Prints "antrea-dpctl:KIND TEXT" to stderr. */
static void
complain(const char *kind, const char *color, const char *format, va_list args)
{
    bool colored = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
    char *text = xvasprintf(format, args);
    char *tame = dpctl_print_tame(text);

    fflush(stdout);
    fprintf(stderr, "%santrea-dpctl:%s%s %s\n", colored ? color : "", kind,
            colored ? "\033[0m" : "", tame);
    fflush(stderr);
    free(tame);
    free(text);
}

void
dpctl_fail(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain("", "\033[31m", format, args);
    va_end(args);
    /* What is allocated goes with the process. */
    _exit(status == DPCTL_EXIT_ERROR ? error_status : status);
}

void
dpctl_warn(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(" warning:", "\033[33m", format, args);
    va_end(args);
}

/* Calls. */

struct dpctl_rpc *
dpctl_connect(const struct dpctl_options *o)
{
    struct dpctl_rpc *rpc;
    struct dpctl_rpc_error *error = dpctl_rpc_open(o->socket, o->timeout_s,
                                                   &rpc);
    if (error) {
        dpctl_fail(DPCTL_EXIT_UNREACHABLE, "%s", error->message);
    }
    return rpc;
}

struct dpctl_rpc_error *
dpctl_try_call(struct dpctl_rpc *rpc, const struct dpctl_options *o,
               const char *method, struct json *param, struct json **result)
{
    if (param && o->bridge) {
        json_object_put_string(param, "bridge", o->bridge);
    }
    struct json *params
        = json_array_create_1(param ? param : json_object_create());
    struct dpctl_rpc_error *error = dpctl_rpc_call(rpc, method, params,
                                                   result);
    if (error && error->unreachable) {
        dpctl_fail(DPCTL_EXIT_UNREACHABLE, "%s", error->message);
    }
    return error;
}

struct json *
dpctl_call(struct dpctl_rpc *rpc, const struct dpctl_options *o,
           const char *method, struct json *param)
{
    struct json *result;
    struct dpctl_rpc_error *error = dpctl_try_call(rpc, o, method, param,
                                                   &result);
    if (error) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s", error->message);
    }
    return result;
}

struct json *
dpctl_call_once(const struct dpctl_options *o, const char *method,
                struct json *param)
{
    struct dpctl_rpc *rpc = dpctl_connect(o);
    struct json *result = dpctl_call(rpc, o, method, param);

    dpctl_rpc_close(rpc);
    return result;
}

void
dpctl_print_json(const struct dpctl_options *o, const struct json *json)
{
    bool yaml = o->output == DPCTL_OUTPUT_YAML;
    char *text = (yaml ? dpctl_print_yaml(json)
                  : json_to_string(json, JSSF_PRETTY | JSSF_SORT));

    fputs(text, stdout);
    if (!yaml) {
        putchar('\n');
    }
    free(text);
}

/* Options. */

/* Options in words; each goes on to the end of its text.  Those of one text
 * belong to the same commands. */
static const struct {
    int option;                 /* That says which commands take it. */
    const char *text;
} option_help[] = {
    { 's', "  -s, --socket=PATH      the control socket (default: "
           "antrea-dp.sock in the\n"
           "                         run directory)" },
    { 'b', "  -b, --bridge=BRIDGE    the bridge, if there are several" },
    { 'o', "  -o, --output=FORMAT    table, json, yaml; get: name, wide" },
    { 't', "  -t, --timeout=SECONDS  how long to wait for an answer "
           "(default: 30, 0: for ever)" },
    { 'f', "  -f, --filename=FILE    a file, a folder, or - for stdin; "
           "may be repeated" },
    { OPT_NAMESPACE, "  -n, --namespace=NS     of objects that don't name "
                     "one; get, logs: only this one" },
    { OPT_NODE, "      --node=NAME        the Node that this is\n"
                "      --change-node      even if it was another one "
                "before\n"
                "      --db=REMOTE        OVSDB, which knows the Pods' ports "
                "(default: db.sock in\n"
                "                         the run directory)\n"
                "      --gateway-port=PORT, --gateway-mac=MAC, "
                "--tunnel-port=PORT|none,\n"
                "      --service-cidr=CIDR[,CIDR]  of this Node" },
    { OPT_IGNORE_UNKNOWN, "      --ignore-unknown   leave out objects of "
                          "unknown kinds" },
    { OPT_IGNORE_MISSING, "      --ignore-not-found delete: it's fine if "
                          "there is none" },
    { OPT_DRY_RUN, "      --dry-run          only print what would be "
                   "sent" },
    { OPT_KEEP_GOING, "      --keep-going       leave out objects that can't "
                      "be taken, and say which" },
    { OPT_STREAM, "      --stream           apply: each JSON document as it "
                  "comes" },
    { OPT_PCAP, "      --pcap=FILE, --index=N, --in-port=PORT\n"
                "                         trace: packet N (default: 1) of a "
                "capture\n"
                "      --from=POD, --to=POD|SERVICE|ADDRESS[:PORT]\n"
                "      --protocol=tcp|udp|sctp|icmp, --family=ipv4|ipv6\n"
                "                         trace: a new connection between "
                "these\n"
                "      --html=FILE        trace: draw the packet's way on a "
                "page" },
    { OPT_PCAP, "  -f, -F, --follow       trace: wait for a packet that fits "
                "FLOW, a match, or\n"
                "                         --from, --to, --protocol, "
                "--in-port; at most --timeout" },
    { OPT_POD, "  -A, --all-namespaces   get: of all namespaces, as without "
               "-n\n"
               "  -w, --watch            get: go on with what changes, until "
               "interrupted\n"
               "      --pod=POD          get policies, get flows: those that "
               "are about it\n"
               "      --policy=NAME, --service=NAME, --table=TABLE\n"
               "                         get flows: those of it" },
    { 'd', "  -d, --delay=SECONDS    top: between two blocks (default: 1)\n"
           "  -n, --count=COUNT      top: end after so many" },
    { OPT_SINCE, "  -f, -F, --follow       logs: go on with those that come\n"
           "      --since=SECONDS    logs: only those of the last so many "
           "seconds\n"
           "      --policy=NAME      logs: only those of this policy" },
    { 'h', "  -h, --help             this text, or that of a command\n"
           "  -V, --version          our version" },
};

static bool
takes_option(const struct command *command, int c)
{
    for (size_t i = 0; i < ARRAY_SIZE(option_sets); i++) {
        if (option_sets[i].option == c) {
            return option_sets[i].sets & command->sets;
        }
    }
    return true;
}

/* The options of 'command', or of all commands. */
static void
print_options(const struct command *command)
{
    puts("\nOptions:");
    for (size_t i = 0; i < ARRAY_SIZE(option_help); i++) {
        if (!command || takes_option(command, option_help[i].option)) {
            puts(option_help[i].text);
        }
    }
}

static void
usage(void)
{
    puts("antrea-dpctl: loads and shows the state of an antrea-dp bridge\n"
         "usage: antrea-dpctl [OPTION...] COMMAND [ARG...]\n"
         "\nCommands:");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        printf("  %-48s %s\n", commands[i].usage, commands[i].help);
    }
    print_options(NULL);
    printf("\nThe run directory is %s.\n", ovs_rundir());
    puts("Exit status: 0 done, 1 refused or wrong input, 2 usage, "
         "3 the daemon can't be reached,\n"
         "4 done but for objects that --keep-going left out; diff: 0 no "
         "difference,\n1 some, 2 refused, wrong input or usage\n"
         "antrea-dpctl(8) has the rest.");
}

static void
command_usage(const struct command *command)
{
    printf("antrea-dpctl %s: %s\nusage: antrea-dpctl %s\n", command->name,
           command->help, command->usage);
    print_options(command);
    printf("\nantrea-dpctl(8) has the rest.\n");
}

static const char *const output_words[] = {
    "table", "json", "yaml", "name", "wide"
};

/* About 'command', or all if that is NULL. */
static void
help(const struct command *command)
{
    if (command) {
        command_usage(command);
    } else {
        usage();
    }
}

static enum dpctl_output
parse_output(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(output_words); i++) {
        if (!strcmp(word, output_words[i])) {
            return i;
        }
    }
    dpctl_fail(DPCTL_EXIT_USAGE, "-o: must be table, json, yaml, name or "
               "wide, not %s", word);
}

static int
parse_number(const char *option, const char *word, int min)
{
    int value;

    if (!str_to_int(word, 10, &value) || value < min) {
        dpctl_fail(DPCTL_EXIT_USAGE, "%s: must be a number from %d, not %s",
                   option, min, word);
    }
    return value;
}

static int
parse_delay(const char *arg)
{
    double seconds;

    if (!str_to_double(arg, &seconds)
        || !(seconds >= 0.1 && seconds <= 86400)) {     /* Or "nan". */
        dpctl_fail(DPCTL_EXIT_USAGE, "--delay: must be a number of seconds "
                   "from 0.1 to 86400, not %s", arg);
    }
    return seconds * 1000;
}

/* kubectl's words mean the same here: nothing is changed. */
static bool
parse_dry_run(const char *arg)
{
    if (arg && strcmp(arg, "client") && strcmp(arg, "server")
        && strcmp(arg, "none")) {
        dpctl_fail(DPCTL_EXIT_USAGE, "--dry-run: must be client, server or "
                   "none, not %s", arg);
    }
    return !arg || strcmp(arg, "none");
}

static void
parse_option(int c, char *arg, struct dpctl_options *o)
{
    struct eth_addr mac;

    switch (c) {
    case 's':
        o->socket = arg;
        break;
    case 'b':
        o->bridge = arg;
        break;
    case 'o':
        o->output = parse_output(arg);
        break;
    case 't':
        o->timeout_s = parse_number("--timeout", arg, 0);
        break;
    case 'f':
        svec_add(&o->files, arg);
        break;
    case OPT_NAMESPACE:
        o->namespace_ = arg;
        break;
    case OPT_COUNT:
        o->count = parse_number("--count", arg, 1);
        break;
    case 'd':
        o->delay_ms = parse_delay(arg);
        break;
    case 'F':
        o->follow = true;
        break;
    case OPT_SINCE:
        o->since_s = parse_number("--since", arg, 0);
        break;
    case OPT_POLICY:
        o->policy = arg;
        break;
    case OPT_POD:
        o->pod = arg;
        break;
    case OPT_SERVICE:
        o->service = arg;
        break;
    case OPT_TABLE:
        o->table = arg;
        break;
    case 'w':
        o->watch = true;
        break;
    case 'A':
        o->all_namespaces = true;
        break;
    case OPT_NODE:
        o->env.node = arg;
        break;
    case OPT_CHANGE_NODE:
        o->env.change_node = true;
        break;
    case OPT_DB:
        o->db = arg;
        break;
    case OPT_GATEWAY_PORT:
        o->env.gateway_port = arg;
        break;
    case OPT_GATEWAY_MAC:
        if (!eth_addr_from_string(arg, &mac)) {
            dpctl_fail(DPCTL_EXIT_USAGE, "--gateway-mac: %s is no MAC "
                       "address", arg);
        }
        o->env.gateway_mac = arg;
        break;
    case OPT_TUNNEL_PORT:
        o->env.tunnel_port = arg;
        break;
    case OPT_SERVICE_CIDR:
        o->env.service_cidr = arg;
        break;
    case OPT_IGNORE_UNKNOWN:
        o->ignore_unknown = true;
        break;
    case OPT_IGNORE_MISSING:
        o->ignore_missing = true;
        break;
    case OPT_KEEP_GOING:
        o->keep_going = true;
        break;
    case OPT_STREAM:
        o->stream = true;
        break;
    case OPT_DRY_RUN:
        o->dry_run = parse_dry_run(arg);
        break;
    case OPT_PCAP:
        o->pcap = arg;
        break;
    case OPT_INDEX:
        o->index = parse_number("--index", arg, 1);
        break;
    case OPT_IN_PORT:
        o->in_port = arg;
        break;
    case OPT_FROM:
        o->from = arg;
        break;
    case OPT_TO:
        o->to = arg;
        break;
    case OPT_PROTOCOL:
        o->protocol = arg;
        break;
    case OPT_FAMILY:
        o->family = arg;
        break;
    case OPT_HTML:
        o->html = arg;
        break;
    case 'h':
        o->help = true;
        break;
    case 'V':
        printf("antrea-dpctl %s\n", ADP_VERSION);
        dpctl_flush();
        exit(DPCTL_EXIT_OK);
    default:
        /* getopt_long() has said what is wrong. */
        exit(DPCTL_EXIT_USAGE);
    }
}

/* Remembers that option 'c' was given, if not all commands take it. */
static void
note_option(int c, bool given[])
{
    for (size_t i = 0; i < ARRAY_SIZE(option_sets); i++) {
        given[i] |= option_sets[i].option == c;
    }
}

/* The long form of an option. */
static const char *
option_name(int c)
{
    const struct option *o = long_options;

    while (o->val != c) {
        o++;
    }
    return o->name;
}

/* Did the reader of the output go away? */
static bool
output_is_closed(void)
{
    struct pollfd pollfd = { .fd = STDOUT_FILENO, .events = POLLOUT };

    return poll(&pollfd, 1, 0) > 0 && pollfd.revents & POLLERR;
}

void
dpctl_check_reader(void)
{
    if (output_is_closed()) {
        /* What anybody dies of who writes into a closed pipe.  The signal is
         * ignored elsewhere: a server may go, too. */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
}

void
dpctl_flush(void)
{
    if (!fflush(stdout) && !ferror(stdout)) {
        return;
    }
    dpctl_check_reader();
    clearerr(stdout);
    dpctl_fail(DPCTL_EXIT_ERROR, "can't write the output");
}

/* Fails if an option was given that 'command' doesn't take. */
static void
check_options(const struct command *command, const bool given[])
{
    for (size_t i = 0; i < ARRAY_SIZE(option_sets); i++) {
        if (given[i] && !(option_sets[i].sets & command->sets)) {
            dpctl_fail(DPCTL_EXIT_USAGE, "%s doesn't take --%s; see "
                       "antrea-dpctl(8)", command->name,
                       option_name(option_sets[i].option));
        }
    }
}

/* What is called otherwise elsewhere. */
static const struct {
    const char *word, *here;
} other_words[] = {
    { "create", "apply -f FILE" }, { "edit", "apply -f FILE" },
    { "patch", "apply -f FILE" }, { "set", "apply -f FILE" },
    { "trace-packet", "trace --from POD --to WHOM" },
    { "traceflow", "trace --from POD --to WHOM" },
    { "packetcapture", "trace --follow" },
    { "api-resources", "help" }, { "cluster-info", "status" },
    { "agentinfo", "status" }, { "health", "status" },
    { "query", "describe pod NAME" },
    { "dump-flows", "get flows" }, { "flows", "get flows" },
    { "log-level", "ovs-appctl vlog/set" },
};

static const struct command *
find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        if (!strcmp(commands[i].name, name)) {
            return &commands[i];
        }
    }

    for (size_t i = 0; i < ARRAY_SIZE(other_words); i++) {
        if (!strcmp(other_words[i].word, name)) {
            dpctl_fail(DPCTL_EXIT_USAGE, "unknown command %s; see %s", name,
                       other_words[i].here);
        }
    }

    const char *similar[ARRAY_SIZE(commands)];
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        similar[i] = commands[i].name;
    }
    const char *meant = dpctl_similar(name, similar, ARRAY_SIZE(similar));
    if (meant) {
        dpctl_fail(DPCTL_EXIT_USAGE, "unknown command %s; did you mean %s?",
                   name, meant);
    }
    dpctl_fail(DPCTL_EXIT_USAGE, "unknown command %s; see --help", name);
}

/* Fails if 'command' doesn't print in the form that is asked for. */
static void
check_output(const struct command *command, const struct dpctl_options *o)
{
    unsigned int format = 1u << o->output;

    if (command->formats & format) {
        return;
    }
    if (command->formats & AS_CHANGE && format & AS_DOCUMENT) {
        if (!o->dry_run) {
            dpctl_fail(DPCTL_EXIT_USAGE, "%s prints json and yaml only of "
                       "what it would send; see --dry-run", command->name);
        }
        return;
    }
    dpctl_fail(DPCTL_EXIT_USAGE, "%s prints %s, not -o %s", command->name,
               (command->formats & AS_DOCUMENT ? "tables, json or yaml"
                : "tables only"), output_words[o->output]);
}

/* Signals end the program wherever it is.  Handlers of fatal_signal_init(),
 * which poll_block() would install, only note them for the next poll_block(),
 * and many a command has none behind its last answer. */
static void
end_at_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction old[ARRAY_SIZE(signals)];

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        xsigaction(signals[i], NULL, &old[i]);
    }
    fatal_signal_init();
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        xsigaction(signals[i], &old[i], NULL);
    }
}

static void
run_command(const struct command *command, const struct dpctl_options *o,
            const bool given[], int argc, char *argv[])
{
    struct dpctl_command c = { .options = o, .argc = argc, .argv = argv };

    if (c.argc < command->min_args || c.argc > command->max_args) {
        dpctl_fail(DPCTL_EXIT_USAGE, "usage: antrea-dpctl %s%s",
                   command->usage,
                   c.argc && command->sets & SET_FILES && !o->files.n
                   ? "; files are named with -f" : "");
    }
    check_options(command, given);
    check_output(command, o);
    if (!(command->sets & SET_TOP)) {   /* It has a terminal to restore. */
        end_at_signals();
    }
    command->run(&c);
}

/* Short options; "-f" is --filename, or --follow where that is one. */
#define SHORT_OPTIONS "s:b:o:t:n:d:AFwhV"

/* Is "-f" short for --follow?  The command says so, which options may stand
 * before. */
static bool
f_is_follow(int argc, char *argv[])
{
    opterr = 0;
    while (getopt_long(argc, argv, "+" SHORT_OPTIONS "f", long_options,
                       NULL) != -1) {
        continue;
    }
    int i = optind;
    opterr = 1;
    optind = 0;                 /* The next call begins anew. */
    for (size_t j = 0; i < argc && j < ARRAY_SIZE(commands); j++) {
        if (!strcmp(commands[j].name, argv[i])) {
            return commands[j].sets & (SET_LOGS | SET_TRACE);
        }
    }
    return false;
}

int
main(int argc, char *argv[])
{
    char *default_socket = xasprintf("%s/antrea-dp.sock", ovs_rundir());
    char *default_db = xasprintf("unix:%s/db.sock", ovs_rundir());
    struct dpctl_options o = {
        .socket = default_socket, .db = default_db, .timeout_s = 30,
        .files = SVEC_EMPTY_INITIALIZER, .index = 1, .delay_ms = 1000,
        .since_s = -1,
    };
    bool given[ARRAY_SIZE(option_sets)] = { false };
    char *n = NULL;             /* -n, whose meaning the command knows. */

    ovs_set_program_name(argv[0], ADP_VERSION);
    fatal_ignore_sigpipe();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    const char *letters = (f_is_follow(argc, argv) ? SHORT_OPTIONS "f"
                           : SHORT_OPTIONS "f:");
    for (int c; (c = getopt_long(argc, argv, letters,
                                 long_options, NULL)) != -1; ) {
        c = c == 'f' && !optarg ? 'F' : c;
        if (c == 'n') {
            n = optarg;
        } else {
            parse_option(c, optarg, &o);
            note_option(c, given);
        }
    }

    const struct command *command
        = optind < argc ? find_command(argv[optind]) : NULL;
    if (o.help || (command && !command->run)) {
        help(o.help ? command
             : optind + 1 < argc ? find_command(argv[optind + 1]) : NULL);
    } else if (!command) {
        dpctl_fail(DPCTL_EXIT_USAGE, "which command?  See --help");
    } else {
        if (n) {
            int c = command->sets & SET_TOP ? OPT_COUNT : OPT_NAMESPACE;

            parse_option(c, n, &o);
            note_option(c, given);
        }
        run_command(command, &o, given, argc - optind - 1, argv + optind + 1);
    }

    svec_destroy(&o.files);
    free(default_socket);
    free(default_db);
    dpctl_flush();
    return DPCTL_EXIT_OK;
}
