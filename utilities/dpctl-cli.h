/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_CLI_H
#define DPCTL_CLI_H 1

/* What the commands of antrea-dpctl share: the options, the connection, and
 * the way to fail. */

#include <stdbool.h>
#include "dpctl-plan.h"
#include "openvswitch/compiler.h"
#include "svec.h"

/* Exit statuses. */
enum {
    DPCTL_EXIT_OK = 0,
    DPCTL_EXIT_ERROR = 1,       /* Refused, or wrong input. */
    DPCTL_EXIT_USAGE = 2,
    DPCTL_EXIT_UNREACHABLE = 3, /* No connection, or no answer. */
    DPCTL_EXIT_PARTLY = 4,      /* Done, but for some objects. */
};

enum dpctl_output {
    DPCTL_OUTPUT_TABLE,
    DPCTL_OUTPUT_JSON,
    DPCTL_OUTPUT_YAML,
    DPCTL_OUTPUT_NAME,
    DPCTL_OUTPUT_WIDE,          /* A table with more columns. */
};

struct dpctl_options {
    char *socket;
    char *db;
    char *bridge;               /* NULL: the only one. */
    char *namespace_;           /* NULL: "default", or all. */
    enum dpctl_output output;
    int timeout_s;
    struct svec files;          /* -f */
    bool ignore_unknown;
    bool ignore_missing;
    bool dry_run;
    bool help;
    bool stream;                /* apply: one document after the other. */
    bool only_changes;          /* Don't tell what is unchanged. */
    bool keep_going;            /* apply, replace: leave out what is wrong. */
    struct dpctl_env env;       /* The node and its settings. */
    char *pcap;                 /* trace: so for the next six. */
    int index;
    char *in_port;
    char *from;
    char *to;
    char *protocol;
    char *family;
    char *html;                 /* trace: file for the page. */
    int delay_ms;               /* top: between two blocks. */
    int count;                  /* top: how many; 0: on and on. */
    bool follow;                /* logs: go on. */
    int since_s;                /* logs: how old they may be; -1: any. */
    char *policy;               /* logs, get flows: whose; NULL: all. */
    char *pod;                  /* get: whose; so for the next two. */
    char *service;
    char *table;
    bool watch;                 /* get: go on with what changes. */
    bool all_namespaces;        /* get: as without a namespace. */
};

/* The options, and the words after the command's name. */
struct dpctl_command {
    const struct dpctl_options *options;
    int argc;
    char **argv;
};

/* The commands.  They end the program where they fail. */
void dpctl_cmd_apply(const struct dpctl_command *);
void dpctl_cmd_replace(const struct dpctl_command *);
void dpctl_cmd_diff(const struct dpctl_command *);
void dpctl_cmd_delete(const struct dpctl_command *);
void dpctl_cmd_resync(const struct dpctl_command *);
void dpctl_cmd_resolve(const struct dpctl_command *);
void dpctl_cmd_follow(const struct dpctl_command *);
void dpctl_cmd_get(const struct dpctl_command *);
void dpctl_cmd_describe(const struct dpctl_command *);
void dpctl_cmd_status(const struct dpctl_command *);
void dpctl_cmd_supportbundle(const struct dpctl_command *);
void dpctl_cmd_stats(const struct dpctl_command *);
void dpctl_cmd_top(const struct dpctl_command *);
void dpctl_cmd_trace(const struct dpctl_command *);
void dpctl_cmd_logs(const struct dpctl_command *);
void dpctl_cmd_explain(const struct dpctl_command *);
void dpctl_cmd_program(const struct dpctl_command *);
void dpctl_cmd_version(const struct dpctl_command *);

/* get l7rules. */
bool dpctl_is_l7_rules(const char *word);
void dpctl_get_l7_rules(const struct dpctl_options *);

/* What "status" prints.  '*unreachable', if that isn't NULL, says whether the
 * daemon didn't answer. */
struct json *dpctl_ask_health(const struct dpctl_options *,
                              bool *unreachable);

/* get flows. */
bool dpctl_is_flows(const char *word);
void dpctl_get_flows(const struct dpctl_options *);

/* What files -f names hold. */
void dpctl_read_files(const struct dpctl_options *, struct dpctl_input *);

/* DPCTL_EXIT_ERROR means something else for this command: errors end it with
 * 'status'. */
void dpctl_set_error_status(int status);

/* Prints "antrea-dpctl: ..." and ends the program. */
OVS_NO_RETURN void dpctl_fail(int status, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);

/* There is no kind 'word', which somebody typed. */
OVS_NO_RETURN void dpctl_fail_kind(const char *word);

/* The name of a record, NAMESPACE/NAME of an object, or its NAME alone.  The
 * caller frees it. */
char *dpctl_full_name_of(const struct json *);

/* Prints "antrea-dpctl: warning: ..." and goes on. */
void dpctl_warn(const char *format, ...) OVS_PRINTF_FORMAT(1, 2);

struct dpctl_rpc;
struct dpctl_rpc_error;

struct dpctl_rpc *dpctl_connect(const struct dpctl_options *);
/* Takes 'param', an object, to which it adds the bridge, if one was named. */
struct json *dpctl_call(struct dpctl_rpc *, const struct dpctl_options *,
                        const char *method, struct json *param);
/* The same, but the error is the caller's, if the server refused. */
struct dpctl_rpc_error *dpctl_try_call(struct dpctl_rpc *,
                                       const struct dpctl_options *,
                                       const char *method,
                                       struct json *param,
                                       struct json **result);
/* For a command that makes just one call. */
struct json *dpctl_call_once(const struct dpctl_options *, const char *method,
                             struct json *param);

/* Sees to it that what was printed is written.  Ends the program where it
 * can't be: by SIGPIPE, as others do, where the reader went away. */
void dpctl_flush(void);
/* Ends the program in that way where it is known already. */
void dpctl_check_reader(void);

/* Carries out one change, and says what it did; returns an error that names
 * the object.  What 'input' may leave out moves to what it has left out.  With
 * an outcome, see dpctl-batch.h, nothing is left out but the one that is to
 * blame, and what the daemon refuses after as many full runs as a turn may
 * have is the error, too. */
struct dpctl_outcome;
char *dpctl_run_change(struct dpctl_rpc *, const struct dpctl_options *,
                       enum dpctl_verb, struct dpctl_input *,
                       bool ignore_missing, struct dpctl_outcome *);

/* Tells what was left out, and what that means.  Returns how many objects may
 * let something through by not being there. */
size_t dpctl_tell_left_out(struct dpctl_rpc *, const struct dpctl_options *,
                           const struct shash *left_out);
/* apply --stream. */
void dpctl_run_stream(const struct dpctl_options *);

/* Prints JSON or YAML, as asked for. */
void dpctl_print_json(const struct dpctl_options *, const struct json *);

#endif /* dpctl-cli.h */
