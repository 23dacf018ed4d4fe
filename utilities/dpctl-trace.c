/* SPDX-License-Identifier: Apache-2.0 */

/* trace, stats, program, version: what the daemon does. */

#include <config.h>
#include "dpctl-cli.h"

#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpctl-explain.h"
#include "dpctl-html.h"
#include "dpctl-json.h"
#include "dpctl-print.h"
#include "dpctl-stats.h"
#include "dpctl-walk.h"
#include "openvswitch/dynamic-string.h"
#include "socket-util.h"
#include "util.h"

/* The packet 'index' (counted from 1) of a capture, as hex digits. */
static char *
read_pcap(const char *file, int index)
{
    char why[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline(file, why);
    struct pcap_pkthdr *header;
    const u_char *data;
    int retval = 1;

    if (!pcap) {
        /* Only what is about opening it names the file. */
        bool named = !strncmp(why, file, strlen(file));
        dpctl_fail(DPCTL_EXIT_ERROR, "%s%s%s", named ? "" : file,
                   named ? "" : ": ", why);
    }
    if (pcap_datalink(pcap) != DLT_EN10MB) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s: holds no Ethernet frames", file);
    }
    for (int i = 0; i < index && retval == 1; i++) {
        retval = pcap_next_ex(pcap, &header, &data);
    }
    if (retval == PCAP_ERROR) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s: %s", file, pcap_geterr(pcap));
    } else if (retval != 1) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s: has no packet %d", file, index);
    }

    struct ds hex = DS_EMPTY_INITIALIZER;
    for (size_t i = 0; i < header->caplen; i++) {
        ds_put_format(&hex, "%02x", data[i]);
    }
    pcap_close(pcap);
    return ds_steal_cstr(&hex);
}

static void
print_formatted(const struct json *result,
                void (*format)(const struct json *, struct ds *))
{
    struct ds s = DS_EMPTY_INITIALIZER;

    format(result, &s);
    fputs(ds_cstr(&s), stdout);
    ds_destroy(&s);
}

static void
print_text(const struct dpctl_options *o, const struct json *result)
{
    const char *text = dpctl_json_str(result, "text");

    if (o->output != DPCTL_OUTPUT_TABLE || !text) {
        dpctl_print_json(o, result);
        return;
    }
    size_t len = strlen(text);
    fputs(text, stdout);
    if (!len || text[len - 1] != '\n') {
        putchar('\n');
    }
}

/* Writes 'text' to 'fd' and closes it.  Returns 0 or a positive errno. */
static int
write_and_close(int fd, const char *text)
{
    size_t n_written;
    int error = write_fully(fd, text, strlen(text), &n_written);

    return close(fd) && !error ? errno : error;
}

/* Writes 'text' to a new file beside 'name', which then takes its place:
 * nobody ever sees half of it.  Returns 0 or a positive errno. */
static int
replace_file(const char *name, const char *text)
{
    char *temporary = xasprintf("%s.XXXXXX", name);
    int fd = mkstemp(temporary);
    int error = fd < 0 ? errno : 0;

    if (!error) {
        mode_t mask = umask(0);

        umask(mask);
        error = fchmod(fd, 0666 & ~mask) ? errno : 0;
        int write_error = write_and_close(fd, text);
        error = error ? error : write_error;
        if (!error && rename(temporary, name)) {
            error = errno;
        }
        if (error) {
            unlink(temporary);
        }
    }
    free(temporary);
    return error;
}

/* Writes 'text' to 'name', of which there may be no file yet. */
static void
write_file(const char *name, const char *text)
{
    char *target = follow_symlinks(name);
    struct stat st;
    int error;

    if (!stat(target, &st) && !S_ISREG(st.st_mode)) {
        /* A device or a pipe. */
        int fd = open(target, O_WRONLY | O_CLOEXEC);

        error = fd < 0 ? errno : write_and_close(fd, text);
    } else {
        error = replace_file(target, text);
    }
    if (error) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s: cannot write: %s", name,
                   ovs_strerror(error));
    }
    free(target);
}

/* The page goes to o->html, "-" is standard output. */
static void
write_page(const struct dpctl_options *o, const struct json *trace)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    if (!dpctl_walk_is_told(trace)) {
        dpctl_fail(DPCTL_EXIT_ERROR, "--html: the daemon doesn't tell the "
                   "steps of a walk");
    }
    dpctl_html_walk(trace, &s);
    if (!strcmp(o->html, "-")) {
        fputs(ds_cstr(&s), stdout);
    } else {
        write_file(o->html, ds_cstr(&s));
    }
    ds_destroy(&s);
}

static void
print_trace(const struct dpctl_options *o, const struct json *trace)
{
    if (o->output != DPCTL_OUTPUT_TABLE || !dpctl_walk_is_told(trace)) {
        print_text(o, trace);
    } else if (o->html) {
        printf("Verdict: %s\n", dpctl_json_str(trace, "verdict"));
    } else {
        print_formatted(trace, dpctl_walk_format);
    }
}

void
dpctl_cmd_trace(const struct dpctl_command *c)
{
    const struct dpctl_options *o = c->options;
    struct json *param = json_object_create();

    if (!o->pcap == !c->argc) {
        dpctl_fail(DPCTL_EXIT_USAGE, "trace: give either a FLOW or --pcap");
    }
    if (o->pcap) {
        json_object_put(param, "packet",
                        json_string_create_nocopy(read_pcap(o->pcap,
                                                            o->index)));
    } else {
        /* A flow may come in several words. */
        struct svec words = SVEC_EMPTY_INITIALIZER;
        for (int i = 0; i < c->argc; i++) {
            svec_add(&words, c->argv[i]);
        }
        json_object_put(param, "flow",
                        json_string_create_nocopy(svec_join(&words, ",",
                                                            "")));
        svec_destroy(&words);
    }
    if (o->in_port) {
        json_object_put_string(param, "in_port", o->in_port);
    }
    struct json *result = dpctl_call_once(o, "trace", param);
    if (o->html) {
        write_page(o, result);
    }
    if (!o->html || strcmp(o->html, "-")) {
        print_trace(o, result);
    }
    json_destroy(result);
}

void
dpctl_cmd_explain(const struct dpctl_command *c)
{
    struct json *param = json_object_create();

    if (c->argc) {
        struct json *what = json_array_create_empty();
        for (int i = 0; i < c->argc; i++) {
            json_array_add(what, json_string_create(c->argv[i]));
        }
        json_object_put(param, "what", what);
    }
    struct json *result = dpctl_call_once(c->options, "explain", param);
    if (c->options->output == DPCTL_OUTPUT_TABLE) {
        print_formatted(result, dpctl_explain_format);
    } else {
        dpctl_print_json(c->options, result);
    }
    json_destroy(result);
}

void
dpctl_cmd_program(const struct dpctl_command *c)
{
    struct json *result = dpctl_call_once(c->options, "program",
                                          json_object_create());
    print_text(c->options, result);
    json_destroy(result);
}

void
dpctl_cmd_stats(const struct dpctl_command *c)
{
    struct json *result = dpctl_call_once(c->options, "stats",
                                          json_object_create());
    if (c->options->output == DPCTL_OUTPUT_TABLE) {
        print_formatted(result, dpctl_stats_format);
    } else {
        dpctl_print_json(c->options, result);
    }
    json_destroy(result);
}

void
dpctl_cmd_version(const struct dpctl_command *c)
{
    bool table = c->options->output == DPCTL_OUTPUT_TABLE;

    if (table) {
        printf("antrea-dpctl %s\n", ADP_VERSION);
        fflush(stdout);
    }
    struct json *result = dpctl_call_once(c->options, "version", NULL);
    if (table) {
        dpctl_print_members(result);
    } else {
        json_object_put_string(result, "client", ADP_VERSION);
        dpctl_print_json(c->options, result);
    }
    json_destroy(result);
}
