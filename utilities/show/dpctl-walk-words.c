/* SPDX-License-Identifier: Apache-2.0 */

/* What happened in a table, sentence by sentence: see dpctl-walk.h. */

#include <config.h>
#include "dpctl-walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* One step on its way to a sentence. */
struct teller {
    const struct json *trace;
    const struct json *visit;
    const struct json *step;
    struct ds s;                /* The sentence. */
};

static const char *
str(const struct teller *t, const char *path)
{
    const char *s = dpctl_json_str(t->step, path);

    return s ? s : "?";
}

static bool
has(const struct teller *t, const char *path)
{
    return dpctl_json_get(t->step, path) != NULL;
}

static bool
is(const struct teller *t, const char *path, const char *value)
{
    const char *s = dpctl_json_str(t->step, path);

    return s && !strcmp(s, value);
}

static long long int
integer(const struct teller *t, const char *path)
{
    return dpctl_json_int(t->step, path, 0);
}

static void
put_named(struct teller *t, const char *text)
{
    char *named = dpctl_walk_named(t->trace, text);

    ds_put_cstr(&t->s, named);
    free(named);
}

/* Is 'object' what the flow itself belongs to, so that it was named before? */
static bool
is_of_flow(const struct teller *t, const char *object)
{
    const char *of_flow = dpctl_json_str(t->visit, "object");

    return of_flow && !strcmp(object, of_flow);
}

/* Fields and what their values mean. */

/* "that the packet comes from a local Pod (FromPodRegMark, WHERE)" for a mark,
 * "the output port (TargetOFPortField, WHERE): antrea-gw0" for a field. */
static void
put_meaning(struct teller *t, const struct json *meaning, const char *where)
{
    const char *about = dpctl_json_str(meaning, "about");
    const char *name = dpctl_json_str(meaning, "name");
    const char *value = dpctl_json_str(meaning, "value");
    const char *object = dpctl_json_str(meaning, "object");

    ds_put_format(&t->s, "%s%s (%s%s%s)", value ? "" : "that ",
                  about ? about : "?", name ? name : "?",
                  where ? ", " : "", where ? where : "");
    if (value) {
        ds_put_cstr(&t->s, ": ");
        put_named(t, value);
        if (object && !is_of_flow(t, object)) {
            ds_put_format(&t->s, ", %s", object);
        }
    }
}

static void
put_meanings(struct teller *t, const char *where)
{
    const struct json_array *means = dpctl_json_array(t->step, "means");

    for (size_t i = 0; i < means->n; i++) {
        ds_put_cstr(&t->s, i ? "; " : "");
        put_meaning(t, means->elems[i], i ? NULL : where);
    }
}

static const char *
field_in_words(const char *field)
{
    static const char *const words[][2] = {
        { "eth_src", "the source MAC address" },
        { "eth_dst", "the destination MAC address" },
        { "ip_src", "the source address" },
        { "ip_dst", "the destination address" },
        { "ipv6_src", "the source address" },
        { "ipv6_dst", "the destination address" },
        { "nw_ttl", "the TTL" },
        { "tun_src", "the tunnel's source" },
        { "tun_dst", "the tunnel's destination" },
        { "tun_id", "the tunnel's key" },
        { "tcp_src", "the source port" }, { "udp_src", "the source port" },
        { "tcp_dst", "the destination port" },
        { "udp_dst", "the destination port" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (!strcmp(field, words[i][0])) {
            return words[i][1];
        }
    }
    return field;
}

static void
tell_set(struct teller *t)
{
    const char *part = dpctl_json_str(t->step, has(t, "part") ? "part"
                                      : "field");
    const char *value = str(t, has(t, "part") ? "part_value" : "value");

    if (!part) {
        ds_put_format(&t->s, "Does %s.", str(t, "action"));
    } else if (dpctl_json_bool(t->step, "absent", false)) {
        ds_put_format(&t->s, "Leaves %s alone: the packet has none.",
                      field_in_words(part));
    } else if (dpctl_json_array(t->step, "means")->n) {
        char *where = xasprintf("%s=%s", part, value);

        ds_put_cstr(&t->s, "Notes ");
        put_meanings(t, where);
        ds_put_char(&t->s, '.');
        free(where);
    } else {
        ds_put_format(&t->s, "Sets %s to ", field_in_words(part));
        put_named(t, value);
        ds_put_char(&t->s, '.');
    }
}

static void
tell_dec_ttl(struct teller *t)
{
    ds_put_format(&t->s, "Counts the TTL down to %lld.", integer(t, "ttl"));
}

/* Conntrack. */

/* Is 'flag' among the flags of "new|trk"? */
static bool
has_flag(const char *flags, const char *flag)
{
    size_t len = strlen(flag);

    for (const char *p = flags; (p = strstr(p, flag)); p += len) {
        if ((p == flags || p[-1] == '|') && (!p[len] || p[len] == '|')) {
            return true;
        }
    }
    return false;
}

static const char *
state_in_words(const char *state)
{
    return (has_flag(state, "inv") ? "it finds the packet invalid"
            : has_flag(state, "rel")
            ? "the packet is related to a known connection"
            : has_flag(state, "new") ? "the connection is new"
            : has_flag(state, "est") && has_flag(state, "rpl")
            ? "the packet is a reply in an established connection"
            : has_flag(state, "est")
            ? "the packet is of an established connection"
            : has_flag(state, "rpl") ? "the packet is a reply"
            : "it knows no more of the packet");
}

static void
put_ct_question(struct teller *t)
{
    bool commit = dpctl_json_bool(t->step, "commit", false);

    ds_put_format(&t->s, commit ? "Commits the connection to conntrack, zone "
                  "%lld" : "Asks conntrack, zone %lld", integer(t, "zone"));
    if (is(t, "nat", "src")) {
        ds_put_cstr(&t->s, ", with another source (SNAT)");
    } else if (is(t, "nat", "dst")) {
        ds_put_cstr(&t->s, ", with another destination (DNAT)");
    } else if (has(t, "nat")) {
        ds_put_cstr(&t->s, ", and translates as the connection does");
    }
}

static void
put_ct_notes(struct teller *t)
{
    const char *mark = dpctl_json_str(t->step, "set_mark");
    const char *label = dpctl_json_str(t->step, "set_label");

    if (!mark && !label) {
        return;
    }
    ds_put_cstr(&t->s, " Leaves");
    if (mark) {
        ds_put_format(&t->s, " ct_mark=%s", mark);
    }
    if (label) {
        ds_put_format(&t->s, "%s ct_label=%s/%s", mark ? " and" : "", label,
                      str(t, "set_label_mask"));
    }
    ds_put_cstr(&t->s, " in the connection");
    if (dpctl_json_array(t->step, "means")->n) {
        ds_put_cstr(&t->s, ": ");
        put_meanings(t, NULL);
    }
    ds_put_char(&t->s, '.');
}

static void
tell_ct(struct teller *t)
{
    const char *state = dpctl_json_str(t->step, "answer.state");

    put_ct_question(t);
    if (!state) {
        ds_put_format(&t->s, ": it can't tell (%s).",
                      str(t, "answer.unknown"));
        return;
    }
    ds_put_format(&t->s, ": %s (ct_state=%s", state_in_words(state), state);
    if (has(t, "answer.mark")) {
        ds_put_format(&t->s, ", ct_mark=%s", str(t, "answer.mark"));
    }
    if (has(t, "answer.label")) {
        ds_put_format(&t->s, ", ct_label=%s", str(t, "answer.label"));
    }
    ds_put_cstr(&t->s, ").");
    if (has(t, "answer.src")) {
        ds_put_cstr(&t->s, " The packet now goes from ");
        put_named(t, str(t, "answer.src"));
        ds_put_cstr(&t->s, " to ");
        put_named(t, str(t, "answer.dst"));
        ds_put_char(&t->s, '.');
    }
    put_ct_notes(t);
}

/* Groups, learned flows, output. */

static void
tell_group(struct teller *t)
{
    ds_put_format(&t->s, "Hands the packet to group %lld",
                  integer(t, "group"));
    if (has(t, "object") && !is_of_flow(t, str(t, "object"))) {
        ds_put_format(&t->s, ", %s", str(t, "object"));
    }
    if (has(t, "result")) {
        ds_put_format(&t->s, ": %s", str(t, "result"));
    }
    ds_put_char(&t->s, '.');
}

static void
tell_bucket(struct teller *t)
{
    long long int bucket = integer(t, "bucket");
    long long int n = integer(t, "buckets");

    if (is(t, "type", "select")) {
        ds_put_format(&t->s, "The packet's hash selects bucket %lld, one of "
                      "%lld.", bucket, n);
    } else if (is(t, "type", "fast_failover")) {
        ds_put_format(&t->s, "Bucket %lld, one of %lld, is the first that is "
                      "alive.", bucket, n);
    } else {
        ds_put_format(&t->s, "Bucket %lld, one of %lld, gets a copy.", bucket,
                      n);
    }
}

static void
tell_learn(struct teller *t)
{
    ds_put_format(&t->s, "Learns a flow for the packets to come: %s.",
                  str(t, "flow"));
}

static void
tell_output(struct teller *t)
{
    if (!has(t, "port")) {
        /* A register that held no port, or NORMAL and its like. */
        ds_put_format(&t->s, "Does %s%s.", str(t, "action"),
                      has(t, "punt") ? "" : ", to no effect");
        return;
    }

    bool sent = is(t, "result", "sent");

    ds_put_cstr(&t->s, sent ? "Sends the packet out of port "
                : "Would send the packet out of port ");
    put_named(t, str(t, "port"));
    if (!sent) {
        ds_put_format(&t->s, ", but that %s", str(t, "result"));
    }
    ds_put_char(&t->s, '.');
}

/* Why the packet is dropped, if the walk ends in the visit. */
static const char *
drop_reason(const struct teller *t)
{
    size_t n = dpctl_walk_n_visits(t->trace);

    return (dpctl_walk_is_outcome(t->trace, "dropped")
            && t->visit == dpctl_walk_visit(t->trace, n - 1)
            ? dpctl_json_str(t->trace, "reason") : NULL);
}

static void
tell_drop(struct teller *t)
{
    const char *reason = drop_reason(t);

    ds_put_format(&t->s, "Drops the packet%s%s.", reason ? ": " : "",
                  reason ? reason : "");
}

static void
tell_action(struct teller *t)
{
    if (has(t, "reply")) {
        const char *reason = dpctl_json_str(t->trace, "reason");

        ds_put_format(&t->s, "Rejects the packet, with %s to its sender: %s.",
                      str(t, "reply"), reason ? reason : "?");
    } else if (has(t, "log")) {
        ds_put_format(&t->s, "Logs the packet: %s.", str(t, "log"));
    } else if (has(t, "held")) {
        ds_put_format(&t->s, "The packet %s.", str(t, "held"));
    } else if (has(t, "action")) {
        ds_put_format(&t->s, "Does %s.", str(t, "action"));
    }
}

static const struct {
    const char *name;           /* The step's "do". */
    void (*tell)(struct teller *);
} tellers[] = {
    { "set", tell_set },
    { "dec_ttl", tell_dec_ttl },
    { "ct", tell_ct },
    { "group", tell_group },
    { "bucket", tell_bucket },
    { "learn", tell_learn },
    { "output", tell_output },
    { "drop", tell_drop },
    { "action", tell_action },
};

/* A step that leads to another table and comes back is told, one that doesn't
 * come back is what the paragraph ends with. */
static void
tell_detour(struct teller *t)
{
    if (dpctl_json_bool(t->step, "returns", false)) {
        char *title = dpctl_walk_title(t->trace, integer(t, "visit"));

        ds_put_format(&t->s, "%s%s to %s, and comes back.",
                      t->s.length ? " " : "",
                      is(t, "do", "ct") ? "Sends a copy" : "Goes", title);
        free(title);
    }
}

static void
tell_step(struct teller *t)
{
    const char *what = dpctl_json_str(t->step, "do");

    for (size_t i = 0; what && i < ARRAY_SIZE(tellers); i++) {
        if (!strcmp(tellers[i].name, what)) {
            tellers[i].tell(t);
        }
    }
    tell_detour(t);
    if (has(t, "punt")) {
        const char *reason = dpctl_json_str(t->trace, "reason");

        ds_put_format(&t->s, "%sThe compiled pipeline ends here, stock "
                      "translation takes the packet: %s.",
                      t->s.length ? " " : "",
                      reason ? reason : str(t, "punt"));
    }
}

/* Which flow was hit. */

static void
tell_conjunction(struct teller *t)
{
    const struct json_array *clauses = dpctl_json_array(t->step, "clauses");
    const char *object = dpctl_json_str(t->step, "object");

    ds_put_format(&t->s, "All clauses of conjunction %lld are met",
                  integer(t, "conj_id"));
    for (size_t i = 0; i < clauses->n; i++) {
        const char *flow = dpctl_json_str(clauses->elems[i], "flow");

        ds_put_format(&t->s, "%s %lld/%lld by %s", i ? "," : ":",
                      dpctl_json_int(clauses->elems[i], "clause", 0),
                      dpctl_json_int(clauses->elems[i], "of", 0),
                      flow ? flow : "?");
    }
    ds_put_char(&t->s, '.');
    if (object) {
        ds_put_format(&t->s, " That is %s.", object);
    }
}

/* 'step' is the visit here. */
static void
tell_hit(struct teller *t)
{
    const char *object = dpctl_json_str(t->step, "object");

    if (!has(t, "flow")) {
        ds_put_cstr(&t->s, "No flow matches.");
    } else if (has(t, "conj_id")) {
        tell_conjunction(t);
    } else if (object) {
        ds_put_format(&t->s, "The flow belongs to %s.", object);
    } else if (is(t, "flow", "priority=0")) {
        ds_put_cstr(&t->s, "No other flow matches.");
    }
    if (dpctl_json_bool(t->step, "learned", false)) {
        ds_put_format(&t->s, "%sIt was learned just now.",
                      t->s.length ? " " : "");
    }
}

static void
add_sentence(struct teller *t, struct svec *sentences)
{
    if (t->s.length) {
        svec_add(sentences, ds_cstr(&t->s));
    }
    ds_clear(&t->s);
}

/* Tells why the packet is dropped, unless 'last', the last step, was it. */
static void
tell_reason(struct teller *t, const struct json *last)
{
    const char *what = last ? dpctl_json_str(last, "do") : NULL;
    const char *result = last ? dpctl_json_str(last, "result") : NULL;
    const char *reason = drop_reason(t);

    if (reason && what && strcmp(what, "drop")
        && (!result || !strcmp(result, "sent"))) {
        ds_put_format(&t->s, "There it is dropped: %s.", reason);
    }
}

void
dpctl_walk_words(const struct json *trace, size_t i, struct svec *sentences)
{
    const struct json *visit = dpctl_walk_visit(trace, i);
    const struct json_array *steps = dpctl_json_array(visit, "steps");
    struct teller t = {
        .trace = trace, .visit = visit, .step = visit,
        .s = DS_EMPTY_INITIALIZER,
    };

    tell_hit(&t);
    add_sentence(&t, sentences);
    for (size_t j = 0; j < steps->n; j++) {
        t.step = steps->elems[j];
        tell_step(&t);
        add_sentence(&t, sentences);
    }
    tell_reason(&t, steps->n ? steps->elems[steps->n - 1] : NULL);
    add_sentence(&t, sentences);
    ds_destroy(&t.s);
}
