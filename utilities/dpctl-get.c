/* SPDX-License-Identifier: Apache-2.0 */

/* get and describe: what is there. */

#include <config.h>
#include "dpctl-cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-columns.h"
#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-plan.h"
#include "dpctl-pod.h"
#include "dpctl-print.h"
#include "dpctl-similar.h"
#include "dpctl-targets.h"
#include "dpctl-watch.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* What the user asks for. */
struct query {
    const struct dpctl_options *options;
    const char *word;           /* The kind, as typed. */
    const char *record_kind;    /* Records of this kind; NULL: see below. */
    bool all_records;           /* Records of all kinds but Manifest. */
    const struct svec *names;   /* None: all. */
};

/* A name matches with and without its namespace, and a policy's also without
 * its type. */
static bool
is_called(const struct query *q, const char *name, const char *wanted)
{
    const char *namespace_ = q->options->namespace_;
    const char *colon = strchr(name, ':');

    if (q->options->all_namespaces) {
        const char *slash = strchr(name, '/');

        if (slash && !strcmp(slash + 1, wanted)) {
            return true;
        }
    }
    char *long_name = xasprintf("%s/%s", namespace_ ? namespace_ : "default",
                                wanted);
    bool match = (!strcmp(name, wanted) || !strcmp(name, long_name)
                  || (colon && (!strcmp(colon + 1, wanted)
                                || !strcmp(colon + 1, long_name))));
    free(long_name);
    return match;
}

static bool
name_matches(const struct query *q, const char *name)
{
    for (size_t i = 0; i < q->names->n; i++) {
        if (is_called(q, name, q->names->names[i])) {
            return true;
        }
    }
    return !q->names->n;
}

static bool
namespace_matches(const struct query *q, const char *name)
{
    const char *namespace_ = q->options->namespace_;

    if (!namespace_) {
        return true;
    }
    const char *colon = strchr(name, ':');
    const char *start = colon ? colon + 1 : name;
    size_t len = strlen(namespace_);
    return !strncmp(start, namespace_, len) && start[len] == '/';
}

char *
dpctl_full_name_of(const struct json *object)
{
    const char *record_name = dpctl_json_str(object, "name");
    const char *namespace_ = dpctl_json_str(object, "metadata.namespace");
    const char *name = dpctl_json_str(object, "metadata.name");

    return (record_name ? xstrdup(record_name)
            : xasprintf("%s%s%s", namespace_ ? namespace_ : "",
                        namespace_ ? "/" : "", name ? name : ""));
}

/* Is the object in Manifest 'record' one that the user asks for? */
static bool
object_matches(const struct query *q, const struct json *record)
{
    const char *manifest_name = dpctl_json_str(record, "name");
    const struct dpctl_kind *kind = dpctl_manifest_kind(manifest_name);
    const struct json *object = dpctl_json_member(record, "object");
    const char *namespace_ = dpctl_json_str(object, "metadata.namespace");
    const char *name = dpctl_json_str(object, "metadata.name");

    if (!kind || !name || !dpctl_kind_is_called(kind, q->word)
        || (q->options->namespace_
            && !nullable_string_is_equal(namespace_,
                                         q->options->namespace_))) {
        return false;
    }
    char *full = dpctl_full_name_of(object);
    bool match = name_matches(q, full);
    free(full);
    return match;
}

static bool
prints_tables(const struct dpctl_options *o)
{
    return (o->output == DPCTL_OUTPUT_TABLE
            || o->output == DPCTL_OUTPUT_WIDE);
}

static bool
prints_objects(const struct query *q)
{
    return (q->options->output == DPCTL_OUTPUT_JSON
            || q->options->output == DPCTL_OUTPUT_YAML);
}

/* All objects, as they can be given again? */
static bool
saves_all(const struct query *q)
{
    return (q->record_kind && !strcmp(q->record_kind, "Manifest")
            && !q->names->n && !q->options->namespace_ && prints_objects(q));
}

/* Adds the NodeConfig to all objects if it follows from one of them: it has
 * what this doesn't say, such as --service-cidr, and "replace" takes it from
 * there. */
static void
add_node_config(const struct query *q, const struct json_array *records,
                struct json *found)
{
    const struct json *config = NULL;

    if (!saves_all(q)) {
        return;
    }
    for (size_t i = 0; i < records->n && !config; i++) {
        if (!strcmp(dpctl_json_str(records->elems[i], "kind"),
                    "NodeConfig")) {
            config = records->elems[i];
        }
    }
    for (size_t i = 0; config && i < json_array(found)->n; i++) {
        const struct json *object = json_array(found)->elems[i];
        const char *kind = dpctl_json_str(object, "kind");
        const char *name = dpctl_json_str(object, "metadata.name");
        if (kind && !strcmp(kind, "Node") && name
            && !strcmp(name, dpctl_json_str(config, "name"))) {
            json_array_add(found, json_clone(config));
            break;
        }
    }
}

/* The records, or objects, that the user asks for, as an array. */
static struct json *
select_records(const struct query *q, const struct json_array *records)
{
    struct json *found = json_array_create_empty();

    for (size_t i = 0; i < records->n; i++) {
        const struct json *record = records->elems[i];
        const char *kind = dpctl_json_str(record, "kind");
        const char *name = dpctl_json_str(record, "name");
        if (!kind || !name) {
            continue;
        }
        bool is_manifest = !strcmp(kind, "Manifest");

        if (q->record_kind || q->all_records) {
            if ((q->all_records ? !is_manifest
                 : !strcmp(kind, q->record_kind))
                && name_matches(q, name) && namespace_matches(q, name)) {
                json_array_add(found,
                               json_clone(is_manifest && prints_objects(q)
                                          ? dpctl_json_member(record,
                                                              "object")
                                          : record));
            }
        } else if (is_manifest && object_matches(q, record)) {
            json_array_add(found, json_clone(dpctl_json_member(record,
                                                               "object")));
        }
    }
    add_node_config(q, records, found);
    return found;
}

void
dpctl_fail_kind(const char *word)
{
    struct svec words = SVEC_EMPTY_INITIALIZER;

    if (dpctl_is_flows(word) || dpctl_is_l7_rules(word)) {
        dpctl_fail(DPCTL_EXIT_USAGE, "%s can only be listed, as get %s does",
                   word, word);
    }
    dpctl_kind_words(&words);
    svec_add(&words, "flows");
    const char *meant = dpctl_similar(word, (const char *const *) words.names,
                                      words.n);
    dpctl_fail(DPCTL_EXIT_USAGE, "there is no kind %s%s%s%s", word,
               meant ? "; did you mean " : "", meant ? meant : "",
               meant ? "?" : "");
}

/* Of 'target', which stays in use; NULL is all there is. */
static void
query_init(struct query *q, const struct dpctl_options *options,
           const struct dpctl_target *target)
{
    static const struct svec no_names = SVEC_EMPTY_INITIALIZER;
    const char *word = target ? target->kind : NULL;
    bool known = false;

    *q = (struct query) {
        .options = options, .word = word,
        .names = target ? &target->names : &no_names,
    };
    if (!word || !strcmp(word, "all") || !strcmp(word, "records")) {
        q->all_records = true;
        return;
    }
    q->record_kind = dpctl_record_kind(word);
    for (size_t i = 0; i < DPCTL_N_KINDS && !q->record_kind; i++) {
        if (dpctl_kind_is_called(&dpctl_kinds[i], word)) {
            /* "po" means Pods just as "pods" does; "pods.v1" and what isn't a
             * kind of record means the objects. */
            known = true;
            if (!strchr(word, '.')
                && dpctl_is_record_kind(dpctl_kinds[i].kind)) {
                q->record_kind = dpctl_kinds[i].kind;
            }
        }
    }
    if (!known && !q->record_kind) {
        dpctl_fail_kind(word);
    }
}

static void
print_table(const struct dpctl_options *o, const struct dpctl_layout *layout,
            const struct json_array *records)
{
    bool wide = o->output == DPCTL_OUTPUT_WIDE;
    struct dpctl_table table;

    dpctl_layout_start(layout, wide, NULL, &table);
    for (size_t i = 0; i < records->n; i++) {
        dpctl_layout_add(layout, wide, records->elems[i], &table);
    }
    dpctl_table_print(&table);
    dpctl_table_destroy(&table);
}

/* A table for each kind of record that there is. */
static void
print_all(const struct dpctl_options *o, const struct json_array *records)
{
    bool first = true;

    const char *kind;

    for (size_t i = 0; (kind = dpctl_layout_kind(i)) != NULL; i++) {
        struct json *some = json_array_create_empty();
        for (size_t j = 0; j < records->n; j++) {
            if (!strcmp(dpctl_json_str(records->elems[j], "kind"),
                        kind)) {
                json_array_add(some, json_clone(records->elems[j]));
            }
        }
        if (json_array(some)->n) {
            printf("%s%s%s%s\n", first ? "" : "\n", dpctl_bold(),
                   kind, dpctl_plain());
            print_table(o, dpctl_layout_of_records(kind), json_array(some));
            first = false;
        }
        json_destroy(some);
    }
    if (first) {
        puts("nothing there");
    }
}

static void
print_names(const struct json_array *records)
{
    for (size_t i = 0; i < records->n; i++) {
        char *name = dpctl_full_name_of(records->elems[i]);

        puts(name);
        free(name);
    }
}

/* Objects go into a List, as kubectl has it, records into an array: both are
 * what "apply -f" takes. */
static struct json *
wrap_objects(const struct json *records)
{
    const struct json_array *array = json_array(records);

    for (size_t i = 0; i < array->n; i++) {
        if (!dpctl_json_member(array->elems[i], "apiVersion")) {
            return json_clone(records);         /* Records, or both. */
        }
    }
    if (!array->n) {
        return json_clone(records);
    }
    struct json *list = json_object_create();
    json_object_put_string(list, "apiVersion", "v1");
    json_object_put_string(list, "kind", "List");
    json_object_put(list, "items", json_clone(records));
    return list;
}

/* The records that there are; names and their addresses, which no record has
 * in full, have a method of their own. */
static struct json *
call_for_records(const struct query *q)
{
    static const struct {
        const char *kind, *method, *member;
    } own[] = {
        { "FQDN", "fqdns", "names" },
        { "MulticastGroup", "multicast_groups", "groups" },
    };
    size_t i = 0;

    while (i < ARRAY_SIZE(own)
           && !(q->record_kind && !strcmp(q->record_kind, own[i].kind))) {
        i++;
    }

    bool is_own = i < ARRAY_SIZE(own);
    struct json *state = dpctl_call_once(q->options,
                                         is_own ? own[i].method : "get",
                                         json_object_create());
    if (is_own) {
        const struct json_array *array = dpctl_json_array(state,
                                                          own[i].member);
        struct json *records = json_array_create_empty();

        for (size_t j = 0; j < array->n; j++) {
            struct json *record = json_deep_clone(array->elems[j]);

            json_object_put_string(record, "kind", own[i].kind);
            json_array_add(records, record);
        }
        json_object_put(state, "records", records);
    }
    return state;
}

/* The same with what a wide table shows. */
static struct json *
select_shown(const void *q_, const struct json_array *records)
{
    const struct query *q = q_;
    struct json *found = select_records(q, records);

    if (q->options->output == DPCTL_OUTPUT_WIDE) {
        struct json *wide = dpctl_layout_widen(found, records);

        json_destroy(found);
        found = wide;
    }
    return found;
}

/* Fails if there is none of a name that was asked for. */
static void
check_found(const struct query *q, const struct json_array *found)
{
    for (size_t i = 0; i < q->names->n; i++) {
        const char *wanted = q->names->names[i];
        bool any = false;

        for (size_t j = 0; j < found->n && !any; j++) {
            char *full = dpctl_full_name_of(found->elems[j]);

            any = is_called(q, full, wanted);
            free(full);
        }
        if (!any) {
            dpctl_fail(DPCTL_EXIT_ERROR, "%s %s: there is none", q->word,
                       wanted);
        }
    }
}

/* Adds records that follow from no object to all objects, as "replace" would
 * do without them otherwise. */
static void
add_given(const struct query *q, const struct json *records,
          struct json *found)
{
    struct json *given = dpctl_plan_given(records, &q->options->env);

    for (size_t i = 0; i < json_array(given)->n; i++) {
        json_array_add(found, json_clone(json_array(given)->elems[i]));
    }
    json_destroy(given);
}

static struct json *
query_run(const struct query *q)
{
    struct json *state = call_for_records(q);
    const struct json *records = dpctl_json_member(state, "records");
    struct json *found = select_shown(q, dpctl_json_array(state, "records"));

    if (saves_all(q) && records) {
        add_given(q, records, found);
    }
    json_destroy(state);
    check_found(q, json_array(found));
    return found;
}

/* Takes 'found'. */
static void
print_document(const struct dpctl_options *o, struct json *found)
{
    struct json *json = wrap_objects(found);

    dpctl_print_json(o, json);
    json_destroy(json);
    json_destroy(found);
}

/* What can't be watched. */
static void
check_watch(const struct dpctl_options *o, const struct dpctl_targets *t)
{
    const char *word = t->n ? t->targets[0].kind : "all";
    const char *kind = dpctl_record_kind(word);

    if (o->pod) {
        dpctl_fail(DPCTL_EXIT_USAGE, "give --pod or --watch, not both");
    } else if (t->n > 1 || !strcmp(word, "all")) {
        dpctl_fail(DPCTL_EXIT_USAGE, "get --watch is about one kind: say "
                   "which");
    } else if (dpctl_is_flows(word) || dpctl_is_l7_rules(word)
               || (kind && (!strcmp(kind, "FQDN")
                            || !strcmp(kind, "MulticastGroup")))) {
        dpctl_fail(DPCTL_EXIT_USAGE, "get %s can't be watched: nothing tells "
                   "when they change", word);
    }
}

/* Some options are for some kinds. */
static void
check_get(const struct dpctl_options *o, const struct dpctl_targets *t)
{
    const char *word = t->n == 1 ? t->targets[0].kind : "";
    bool named = t->n && t->targets[0].names.n;
    bool is_flows = dpctl_is_flows(word);
    const char *kind = dpctl_record_kind(word);

    if (o->namespace_ && o->all_namespaces) {
        dpctl_fail(DPCTL_EXIT_USAGE, "give -n or -A, not both");
    } else if (!is_flows && (o->policy || o->service || o->table)) {
        dpctl_fail(DPCTL_EXIT_USAGE, "--policy, --service and --table are "
                   "for get flows");
    } else if (o->pod && !is_flows
               && (named || !kind || strcmp(kind, "NetworkPolicy"))) {
        dpctl_fail(DPCTL_EXIT_USAGE, "--pod is for get flows and get "
                   "policies");
    } else if (is_flows && named) {
        dpctl_fail(DPCTL_EXIT_USAGE, "flows have no names; see --pod, "
                   "--policy, --service, --table");
    }
    if (o->watch) {
        check_watch(o, t);
    }
}

static const struct dpctl_layout *
layout_of(const struct query *q)
{
    return (q->record_kind || q->all_records
            ? dpctl_layout_of_records(q->record_kind)
            : dpctl_layout_of_objects(q->word));
}

static void
print_found(const struct query *q, const struct json *found)
{
    const struct json_array *array = json_array(found);

    if (q->all_records && (!q->word || strcmp(q->word, "records"))) {
        print_all(q->options, array);
    } else {
        print_table(q->options, layout_of(q), array);
    }
}

/* "pods,services": a table for each kind, or one document of all. */
static void
get_several(const struct dpctl_options *o, const struct dpctl_targets *t)
{
    struct json *all = json_array_create_empty();

    for (size_t i = 0; i < t->n; i++) {
        const char *word = t->targets[i].kind;
        struct query q;

        if (dpctl_is_l7_rules(word) || dpctl_is_flows(word)) {
            dpctl_fail(DPCTL_EXIT_USAGE, "get %s goes alone", word);
        }
        query_init(&q, o, &t->targets[i]);
        struct json *found = query_run(&q);
        if (o->output == DPCTL_OUTPUT_NAME) {
            print_names(json_array(found));
        } else if (prints_tables(o)) {
            fputs(i ? "\n" : "", stdout);
            print_found(&q, found);
        } else {
            for (size_t j = 0; j < json_array(found)->n; j++) {
                json_array_add(all, json_clone(json_array(found)->elems[j]));
            }
        }
        json_destroy(found);
    }
    if (o->output == DPCTL_OUTPUT_JSON || o->output == DPCTL_OUTPUT_YAML) {
        print_document(o, all);
    } else {
        json_destroy(all);
    }
}

static void
get_watch(const struct query *q)
{
    struct dpctl_watch watch = {
        .options = q->options, .layout = layout_of(q),
        .select = select_shown, .aux = q,
        .missing = (q->names->n
                    ? xasprintf("%s %s: there is none", q->word,
                                q->names->names[0]) : NULL),
    };
    bool is_manifest = (q->record_kind
                        ? !strcmp(q->record_kind, "Manifest")
                        : !q->all_records);

    /* Wide tables, and all objects, have something of other kinds. */
    if (q->options->output != DPCTL_OUTPUT_WIDE && !q->all_records
        && !(is_manifest && q->record_kind)) {
        watch.kind = is_manifest ? "Manifest" : q->record_kind;
    }
    dpctl_watch_run(&watch);
}

/* Takes one kind, or all there is if 'target' is NULL. */
static void
get_one(const struct dpctl_options *o, const struct dpctl_target *target)
{
    bool all = !target || !target->names.n;
    struct query q;

    /* Those that always tell all. */
    struct dpctl_options narrow = *o;
    if (narrow.output == DPCTL_OUTPUT_WIDE) {
        narrow.output = DPCTL_OUTPUT_TABLE;
    }
    if (target && all && dpctl_is_l7_rules(target->kind)) {
        dpctl_get_l7_rules(&narrow);
        return;
    } else if (target && all && dpctl_is_flows(target->kind)) {
        dpctl_get_flows(&narrow);
        return;
    }
    query_init(&q, o, target);
    if (o->watch) {
        get_watch(&q);
        return;
    }
    struct json *found = (o->pod ? dpctl_policies_of_pod(o, o->pod)
                          : query_run(&q));

    if (o->output == DPCTL_OUTPUT_NAME) {
        print_names(json_array(found));
    } else if (!prints_tables(o)) {
        print_document(o, json_clone(found));
    } else {
        print_found(&q, found);
    }
    json_destroy(found);
}

/* Fails if that's wrong. */
static void
parse_targets(const struct dpctl_command *c, struct dpctl_targets *t)
{
    char *error = dpctl_targets_parse(t, c->argc, c->argv);

    if (error) {
        dpctl_fail(DPCTL_EXIT_USAGE, "%s", error);
    }
}

void
dpctl_cmd_get(const struct dpctl_command *c)
{
    struct dpctl_targets t;

    parse_targets(c, &t);
    check_get(c->options, &t);
    if (t.n > 1) {
        get_several(c->options, &t);
    } else {
        get_one(c->options, t.n ? t.targets : NULL);
    }
    dpctl_targets_destroy(&t);
}

static void
describe_record(const struct json *record, bool first)
{
    const char *kind = dpctl_json_str(record, "kind");
    char *name = dpctl_full_name_of(record);
    char *title = dpctl_print_tame(name);
    char *yaml = dpctl_print_yaml(record);

    printf("%s%s%s %s%s\n%s", first ? "" : "\n", dpctl_bold(),
           kind ? kind : "?", title, dpctl_plain(), yaml);
    free(name);
    free(title);
    free(yaml);
}

/* The records in full; of a Pod that is named all that there is to tell. */
void
dpctl_cmd_describe(const struct dpctl_command *c)
{
    const struct dpctl_options *o = c->options;
    struct json *all = json_array_create_empty();
    struct dpctl_targets t;
    bool first = true, pods = false;

    parse_targets(c, &t);
    for (size_t i = 0; i < t.n; i++) {
        const struct svec *names = &t.targets[i].names;
        struct query q;

        query_init(&q, o, &t.targets[i]);
        if (names->n && q.record_kind && !strcmp(q.record_kind, "Pod")) {
            if (o->output != DPCTL_OUTPUT_TABLE
                && (t.n > 1 || names->n > 1)) {
                dpctl_fail(DPCTL_EXIT_USAGE, "describe prints one Pod alone "
                           "as json or yaml");
            }
            pods = true;
            for (size_t j = 0; j < names->n; j++) {
                fputs(first ? "" : "\n", stdout);
                dpctl_describe_pod(o, names->names[j]);
                first = false;
            }
            continue;
        }
        struct json *found = query_run(&q);
        for (size_t j = 0; j < json_array(found)->n; j++) {
            const struct json *record = json_array(found)->elems[j];

            if (o->output == DPCTL_OUTPUT_TABLE) {
                describe_record(record, first);
            } else {
                json_array_add(all, json_clone(record));
            }
            first = false;
        }
        json_destroy(found);
    }
    dpctl_targets_destroy(&t);
    if (o->output != DPCTL_OUTPUT_TABLE && !pods) {
        print_document(o, all);
    } else {
        json_destroy(all);
    }
}
