/* SPDX-License-Identifier: Apache-2.0 */

/* supportbundle: what somebody needs to look into a Node's trouble from
 * elsewhere, in one archive.
 *
 * Nothing in it is secret: of objects there are only the records that follow
 * from them, which have no more than flows have, of OVSDB only the columns of
 * dpctl_ovsdb_tables().  What can't be had is noted in errors.txt; the rest is
 * worth having then, all the more. */

#include <config.h>
#include "dpctl-cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "dirs.h"
#include "dpctl-flows.h"
#include "dpctl-health.h"
#include "dpctl-json.h"
#include "dpctl-ovsdb.h"
#include "dpctl-rpc.h"
#include "dpctl-tar.h"
#include "openvswitch/dynamic-string.h"
#include "timeval.h"
#include "util.h"

/* Of a file or a dump there is no more than so much, its end or its
 * beginning. */
#define MAX_LOG (4 * 1024 * 1024)
#define MAX_FLOWS (256 * 1024 * 1024)

struct bundle {
    const struct dpctl_options *options;
    FILE *stream;
    char *folder;               /* All files are in it. */
    time_t now;
    struct ds errors;
    struct dpctl_rpc *rpc;      /* NULL: the daemon doesn't answer. */
};

static void
put(struct bundle *b, const char *name, const char *data, size_t len)
{
    char *path = xasprintf("%s/%s", b->folder, name);

    dpctl_tar_put(b->stream, path, data, len, b->now);
    free(path);
}

static void
put_json(struct bundle *b, const char *name, const struct json *json)
{
    char *text = json_to_string(json, JSSF_PRETTY | JSSF_SORT);

    put(b, name, text, strlen(text));
    free(text);
}

static void
note_error(struct bundle *b, const char *name, const char *error)
{
    ds_put_format(&b->errors, "%s: %s\n", name, error);
}

/* The answer to 'method', or NULL, after a note about 'name'.  Takes
 * 'param'. */
static struct json *
ask(struct bundle *b, const char *name, const char *method,
    struct json *param)
{
    struct json *result = NULL;

    if (!b->rpc) {
        json_destroy(param);
        return NULL;
    }
    if (b->options->bridge && strcmp(method, "version")) {
        json_object_put_string(param, "bridge", b->options->bridge);
    }
    struct dpctl_rpc_error *error
        = dpctl_rpc_call(b->rpc, method, json_array_create_1(param), &result);
    if (error) {
        note_error(b, name, error->message);
        if (error->unreachable) {
            dpctl_rpc_close(b->rpc);
            b->rpc = NULL;
        }
        dpctl_rpc_error_destroy(error);
        result = NULL;
    }
    return result;
}

static void
put_answer(struct bundle *b, const char *name, const char *method)
{
    struct json *result = ask(b, name, method, json_object_create());

    if (result) {
        put_json(b, name, result);
    }
    json_destroy(result);
}

/* Records of all kinds but objects. */
static void
put_records(struct bundle *b)
{
    static const char *const kinds[] = {
        "NodeConfig", "Pod", "PeerNode", "Service", "NetworkPolicy",
        "AddressGroup", "AppliedToGroup", "Egress", "TrafficControl",
    };
    struct json *all = json_array_create_empty();

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        struct json *param = json_object_create();

        json_object_put_string(param, "kind", kinds[i]);
        struct json *state = ask(b, "records.json", "get", param);
        const struct json_array *records = dpctl_json_array(state, "records");

        for (size_t j = 0; j < records->n; j++) {
            json_array_add(all, json_clone(records->elems[j]));
        }
        json_destroy(state);
    }
    if (json_array(all)->n) {
        put_json(b, "records.json", all);
    }
    json_destroy(all);
}

static void
put_flows(struct bundle *b)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    char *error = NULL;

    /* Without an answer to this one the next would end the program. */
    struct json *param = json_object_create();
    json_object_put(param, "brief", json_boolean_create(true));
    struct json *stats = ask(b, "flows.txt", "stats", param);

    if (stats) {
        struct dpctl_flows *flows;

        error = dpctl_flows_open(b->rpc, b->options, &flows);
        if (!error) {
            error = dpctl_flows_text(flows, MAX_FLOWS, &s);
        }
        dpctl_flows_close(flows);
    }
    if (error) {
        note_error(b, "flows.txt", error);
    }
    if (s.length) {
        put(b, "flows.txt", ds_cstr(&s), s.length);
    }
    free(error);
    json_destroy(stats);
    ds_destroy(&s);
}

static void
put_database(struct bundle *b)
{
    char *error;
    struct json *tables = dpctl_ovsdb_tables(b->options->db,
                                             b->options->timeout_s, &error);

    if (error) {
        note_error(b, "ovsdb.json", error);
    } else {
        put_json(b, "ovsdb.json", tables);
    }
    json_destroy(tables);
    free(error);
}

/* The end of file 'path'.  What is in /proc has no size. */
static void
put_file(struct bundle *b, const char *name, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *data = xmalloc(MAX_LOG);
    struct stat st;
    size_t len = 0;
    ssize_t n = -1;

    if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
        if (st.st_size > MAX_LOG) {
            lseek(fd, -(off_t) MAX_LOG, SEEK_END);
        }
        while (len < MAX_LOG
               && (n = read(fd, data + len, MAX_LOG - len)) > 0) {
            len += n;
        }
        n = n > 0 ? 0 : n;
    }
    if (n < 0) {
        note_error(b, name, ovs_strerror(errno));
    } else {
        put(b, name, data, len);
    }
    if (fd >= 0) {
        close(fd);
    }
    free(data);
}

static void
put_logs(struct bundle *b)
{
    static const char *const names[] = {
        "ovs-vswitchd.log", "ovsdb-server.log"
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char *path = xasprintf("%s/%s", ovs_logdir(), names[i]);

        put_file(b, names[i], path);
        free(path);
    }
    put_file(b, "meminfo.txt", "/proc/meminfo");
    put_file(b, "cpuinfo.txt", "/proc/cpuinfo");
    put_file(b, "os-release.txt", "/etc/os-release");
}

static void
put_versions(struct bundle *b)
{
    struct json *versions = ask(b, "version.json", "version",
                                json_object_create());
    struct utsname u;

    versions = versions ? versions : json_object_create();
    json_object_put_string(versions, "client", ADP_VERSION);
    if (!uname(&u)) {
        json_object_put_string(versions, "host", u.nodename);
        json_object_put_string(versions, "kernel", u.release);
        json_object_put_string(versions, "machine", u.machine);
    }
    put_json(b, "version.json", versions);
    json_destroy(versions);
}

static void
put_all(struct bundle *b)
{
    struct dpctl_rpc_error *error
        = dpctl_rpc_open(b->options->socket, b->options->timeout_s, &b->rpc);

    if (error) {
        note_error(b, "the daemon", error->message);
        dpctl_rpc_error_destroy(error);
        b->rpc = NULL;
    }

    struct json *health = dpctl_ask_health(b->options, NULL);
    put_json(b, "status.json", health);
    json_destroy(health);
    put_versions(b);
    put_answer(b, "stats.json", "stats");
    put_records(b);
    put_answer(b, "fqdns.json", "fqdns");
    put_answer(b, "multicast-groups.json", "multicast_groups");
    put_answer(b, "program.json", "program");
    put_answer(b, "policy-logs.json", "logs");
    put_answer(b, "shadow.json", "shadow");
    put_flows(b);
    put_database(b);
    put_logs(b);
    if (b->errors.length) {
        put(b, "errors.txt", ds_cstr(&b->errors), b->errors.length);
    }
    dpctl_tar_end(b->stream);
    dpctl_rpc_close(b->rpc);
}

/* "antrea-dp-support-HOST-20260102-030405". */
static char *
bundle_name(time_t now)
{
    char host[33] = "node", when[32];
    struct tm tm;

    gethostname(host, sizeof host - 1);
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", gmtime_r(&now, &tm));
    for (char *c = host; *c; c++) {
        *c = strchr("/ ", *c) ? '-' : *c;
    }
    return xasprintf("antrea-dp-support-%s-%s", host, when);
}

/* A file that nobody else can read, and that wasn't there. */
static FILE *
create_file(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");

    if (!stream) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s: cannot write: %s", name,
                   ovs_strerror(errno));
    }
    return stream;
}

void
dpctl_cmd_supportbundle(const struct dpctl_command *c)
{
    struct bundle b = {
        .options = c->options, .now = time_wall(),
        .errors = DS_EMPTY_INITIALIZER,
    };

    b.folder = bundle_name(b.now);
    char *name = (c->argc ? xstrdup(c->argv[0])
                  : xasprintf("%s.tar", b.folder));
    bool to_stdout = !strcmp(name, "-");

    b.stream = to_stdout ? stdout : create_file(name);
    put_all(&b);
    if (to_stdout) {
        dpctl_flush();
    } else {
        bool failed = ferror(b.stream);

        if (fclose(b.stream) || failed) {
            int error = errno;

            unlink(name);
            dpctl_fail(DPCTL_EXIT_ERROR, "%s: cannot write: %s", name,
                       ovs_strerror(error));
        }
        puts(name);
    }
    if (b.errors.length) {
        dpctl_warn("something is missing; errors.txt in it says what");
    }
    ds_destroy(&b.errors);
    free(b.folder);
    free(name);
}
