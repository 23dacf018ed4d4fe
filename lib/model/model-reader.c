/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-reader.h"

#include <arpa/inet.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "util.h"

void
adp_reader_init(struct adp_reader *r, char *object)
{
    r->object = object;
    ds_init(&r->path);
    r->error = NULL;
}

struct adp_error *
adp_reader_uninit(struct adp_reader *r)
{
    free(r->object);
    ds_destroy(&r->path);
    return r->error;
}

static void OVS_PRINTF_FORMAT(3, 0)
reader_error_valist(struct adp_reader *r, const char *name,
                    const char *format, va_list args)
{
    if (r->error) {
        return;
    }

    size_t mark = name ? adp_reader_enter(r, name) : r->path.length;
    char *text = xvasprintf(format, args);
    r->error = adp_error_create("invalid", nullable_xstrdup(r->object),
                                r->path.length ? xstrdup(ds_cstr(&r->path))
                                               : NULL,
                                "%s", text);
    free(text);
    adp_reader_leave(r, mark);
}

void
adp_reader_error(struct adp_reader *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    reader_error_valist(r, NULL, format, args);
    va_end(args);
}

void
adp_reader_error_at(struct adp_reader *r, const char *name,
                    const char *format, ...)
{
    va_list args;

    va_start(args, format);
    reader_error_valist(r, name, format, args);
    va_end(args);
}

size_t
adp_reader_enter(struct adp_reader *r, const char *name)
{
    size_t mark = r->path.length;

    if (mark) {
        ds_put_char(&r->path, '.');
    }
    ds_put_cstr(&r->path, name);
    return mark;
}

size_t
adp_reader_enter_index(struct adp_reader *r, size_t idx)
{
    size_t mark = r->path.length;

    ds_put_format(&r->path, "[%"PRIuSIZE"]", idx);
    return mark;
}

void
adp_reader_leave(struct adp_reader *r, size_t mark)
{
    ds_truncate(&r->path, mark);
}

/* Values. */

static bool
value_has_type(struct adp_reader *r, const struct json *json,
               enum json_type type)
{
    if (json->type == type) {
        return true;
    }
    adp_reader_error(r, "must be %s, not %s", json_type_to_string(type),
                     json_type_to_string(json->type));
    return false;
}

const char *
adp_value_string(struct adp_reader *r, const struct json *json)
{
    if (!value_has_type(r, json, JSON_STRING)) {
        return NULL;
    }

    const char *s = json_string(json);
    if (!s[0]) {
        adp_reader_error(r, "must not be empty");
        return NULL;
    }
    if (strlen(s) > 1024) {
        adp_reader_error(r, "is longer than 1024 bytes");
        return NULL;
    }
    return s;
}

/* Can it be read again, as JSON writes it?  That rounds it, beyond what there
 * is if it is at the edge. */
static bool
may_be_written(double real)
{
    if (!real || (fabs(real) > 1e-300 && fabs(real) < 1e300)) {
        return true;
    }

    char *s = xasprintf("%.*g", DBL_DIG, real);
    bool ok = str_to_double(s, &real);
    free(s);
    return ok;
}

static void
check_real(struct adp_reader *r, const struct json *json)
{
    if (!may_be_written(json_real(json))) {
        adp_reader_error(r, "%.17g is too near to the edge of what numbers "
                         "can be", json_real(json));
    }
}

/* Its numbers were written before: one that can't be read again has an
 * exponent that few texts have. */
static void
check_serialized(struct adp_reader *r, const char *s)
{
    if (strstr(s, "e+308") || strstr(s, "e-30") || strstr(s, "e-31")
        || strstr(s, "e-32")) {
        struct json *json = json_from_string(s);

        if (json->type == JSON_STRING) {
            adp_reader_error(r, "holds a number that is too near to the edge "
                             "of what numbers can be");
        }
        json_destroy(json);
    }
}

void
adp_value_any(struct adp_reader *r, const struct json *json)
{
    if (json->type == JSON_OBJECT) {
        const struct shash_node *node;

        SHASH_FOR_EACH (node, json->object) {
            size_t mark = adp_reader_enter(r, node->name);
            adp_value_any(r, node->data);
            adp_reader_leave(r, mark);
        }
    } else if (json->type == JSON_ARRAY) {
        for (size_t i = 0; i < json->array.n; i++) {
            size_t mark = adp_reader_enter_index(r, i);
            adp_value_any(r, json->array.elems[i]);
            adp_reader_leave(r, mark);
        }
    } else if (json->type == JSON_REAL) {
        check_real(r, json);
    } else if (json->type == JSON_SERIALIZED_OBJECT) {
        check_serialized(r, json_serialized_object(json));
    }
}

static bool
parse_ip(const char *s, struct in6_addr *ip)
{
    struct in_addr in4;

    if (inet_pton(AF_INET, s, &in4) == 1) {
        *ip = in6_addr_mapped_ipv4(in4.s_addr);
        return true;
    }
    /* IPv4 has one spelling only. */
    return inet_pton(AF_INET6, s, ip) == 1 && !adp_ip_is_v4(ip);
}

static bool
is_host_ip(const struct in6_addr *ip)
{
    ovs_be32 in4 = in6_addr_get_mapped_ipv4(ip);

    if (!adp_ip_is_v4(ip)) {
        return ipv6_addr_is_set(ip) && !ipv6_addr_is_multicast(ip);
    }
    return in4 && !ip_is_multicast(in4) && in4 != htonl(UINT32_MAX);
}

bool
adp_value_host_ip(struct adp_reader *r, const struct json *json,
                  struct in6_addr *out)
{
    const char *s = adp_value_string(r, json);
    struct in6_addr ip;

    if (!s) {
        return false;
    }
    if (!parse_ip(s, &ip)) {
        adp_reader_error(r, "\"%s\" is not an IP address", s);
        return false;
    }
    if (!is_host_ip(&ip)) {
        adp_reader_error(r, "%s is not the address of a host", s);
        return false;
    }
    *out = ip;
    return true;
}

/* Parses "0" to what 'max' is, nothing else. */
static bool
parse_plen(const char *s, unsigned int max, unsigned int *plen)
{
    size_t n = strspn(s, "0123456789");
    if (!n || n > 3 || s[n] || (s[0] == '0' && n > 1) || atoi(s) > max) {
        return false;
    }
    *plen = atoi(s);
    return true;
}

static bool
value_cidr__(struct adp_reader *r, const struct json *json,
             bool allow_ip, struct adp_cidr *out)
{
    const char *s = adp_value_string(r, json);
    if (!s) {
        return false;
    }

    const char *slash = strchr(s, '/');
    char *ip_s = slash ? xmemdup0(s, slash - s) : xstrdup(s);
    struct adp_cidr cidr;
    unsigned int plen = 0;
    bool ok = parse_ip(ip_s, &cidr.ip);
    free(ip_s);
    if (ok) {
        unsigned int width = adp_ip_is_v4(&cidr.ip) ? 32 : 128;

        ok = slash ? parse_plen(slash + 1, width, &plen) : allow_ip;
        cidr.plen = 128 - width + (slash ? plen : width);
    }

    if (!ok) {
        adp_reader_error(r, "\"%s\" is not %s", s,
                         allow_ip ? "an IP address or CIDR" : "a CIDR");
        return false;
    }

    struct in6_addr mask = ipv6_create_mask(cidr.plen);
    struct in6_addr start = ipv6_addr_bitand(&cidr.ip, &mask);
    if (!ipv6_addr_equals(&start, &cidr.ip)) {
        adp_reader_error(r, "\"%s\" has bits set beyond its prefix length", s);
        return false;
    }
    *out = cidr;
    return true;
}

bool
adp_value_cidr(struct adp_reader *r, const struct json *json,
               struct adp_cidr *out)
{
    return value_cidr__(r, json, false, out);
}

bool
adp_value_ip_or_cidr(struct adp_reader *r, const struct json *json,
                     struct adp_cidr *out)
{
    return value_cidr__(r, json, true, out);
}

/* Objects. */

void
adp_object_open(struct adp_object *o, struct adp_reader *r,
                const struct json *json)
{
    o->reader = r;
    o->n_known = 0;
    o->members = value_has_type(r, json, JSON_OBJECT) ? json->object : NULL;
}

static bool
object_knows(const struct adp_object *o, const char *name)
{
    for (size_t i = 0; i < o->n_known; i++) {
        if (!strcmp(o->known[i], name)) {
            return true;
        }
    }
    return false;
}

void
adp_object_close(struct adp_object *o)
{
    if (!o->members || o->reader->error) {
        return;
    }

    /* Of several unknown members name the same one each time. */
    const char *first = NULL;
    struct shash_node *node;
    SHASH_FOR_EACH (node, o->members) {
        if (!object_knows(o, node->name)
            && (!first || strcmp(node->name, first) < 0)) {
            first = node->name;
        }
    }
    if (first) {
        adp_reader_error_at(o->reader, first, "unknown field");
    }
}

const struct json *
adp_object_member(struct adp_object *o, const char *name,
                  enum adp_presence presence)
{
    if (!o->members) {
        return NULL;
    }

    ovs_assert(o->n_known < ADP_OBJECT_MAX_MEMBERS);
    o->known[o->n_known++] = name;

    const struct json *json = shash_find_data(o->members, name);
    if (!json && presence == ADP_REQUIRED) {
        adp_reader_error_at(o->reader, name, "missing");
    }
    return json;
}

const struct json *
adp_object_typed(struct adp_object *o, const char *name, enum json_type type,
                 enum adp_presence presence)
{
    const struct json *json = adp_object_member(o, name, presence);
    bool ok = false;

    if (json) {
        size_t mark = adp_reader_enter(o->reader, name);
        ok = value_has_type(o->reader, json, type);
        adp_reader_leave(o->reader, mark);
    }
    return ok ? json : NULL;
}

const char *
adp_object_string(struct adp_object *o, const char *name,
                  enum adp_presence presence)
{
    const struct json *json = adp_object_member(o, name, presence);
    const char *s = NULL;

    if (json) {
        size_t mark = adp_reader_enter(o->reader, name);
        s = adp_value_string(o->reader, json);
        adp_reader_leave(o->reader, mark);
    }
    return s;
}

bool
adp_object_bool(struct adp_object *o, const char *name, bool default_)
{
    const struct json *json = adp_object_member(o, name, ADP_OPTIONAL);

    if (!json) {
        return default_;
    }
    if (json->type != JSON_TRUE && json->type != JSON_FALSE) {
        adp_reader_error_at(o->reader, name, "must be true or false, not %s",
                            json_type_to_string(json->type));
        return default_;
    }
    return json->type == JSON_TRUE;
}

long long int
adp_object_integer(struct adp_object *o, const char *name,
                   long long int min, long long int max,
                   enum adp_presence presence, long long int default_)
{
    const struct json *json = adp_object_member(o, name, presence);

    if (!json) {
        return default_;
    }
    if (json->type != JSON_INTEGER) {
        adp_reader_error_at(o->reader, name, "must be an integer, not %s",
                            json->type == JSON_REAL ? "a fraction"
                            : json_type_to_string(json->type));
        return default_;
    }
    if (json->integer < min || json->integer > max) {
        adp_reader_error_at(o->reader, name,
                            "%lld is not between %lld and %lld",
                            json->integer, min, max);
        return default_;
    }
    return json->integer;
}

double
adp_object_number(struct adp_object *o, const char *name,
                  double min, double max, enum adp_presence presence)
{
    const struct json *json = adp_object_member(o, name, presence);

    if (!json) {
        return min;
    }
    if (json->type != JSON_INTEGER && json->type != JSON_REAL) {
        adp_reader_error_at(o->reader, name, "must be number, not %s",
                            json_type_to_string(json->type));
        return min;
    }
    double value = json_real(json);
    if (!(value >= min && value <= max)) {
        adp_reader_error_at(o->reader, name, "%g is not between %g and %g",
                            value, min, max);
        return min;
    }
    if (json->type == JSON_REAL) {
        size_t mark = adp_reader_enter(o->reader, name);
        check_real(o->reader, json);
        adp_reader_leave(o->reader, mark);
    }
    return value;
}

int
adp_object_choice(struct adp_object *o, const char *name,
                  const char *const choices[], int default_)
{
    const char *s = adp_object_string(o, name, default_ < 0 ? ADP_REQUIRED
                                                            : ADP_OPTIONAL);
    if (!s) {
        return MAX(default_, 0);
    }

    struct ds list = DS_EMPTY_INITIALIZER;
    for (int i = 0; choices[i]; i++) {
        if (!strcmp(s, choices[i])) {
            ds_destroy(&list);
            return i;
        }
        ds_put_format(&list, "%s%s", i ? ", " : "", choices[i]);
    }
    adp_reader_error_at(o->reader, name, "\"%s\" is none of %s", s,
                        ds_cstr(&list));
    ds_destroy(&list);
    return 0;
}

bool
adp_object_host_ip(struct adp_object *o, const char *name,
                   enum adp_presence presence, struct in6_addr *ip)
{
    const struct json *json = adp_object_member(o, name, presence);
    bool ok = false;

    if (json) {
        size_t mark = adp_reader_enter(o->reader, name);
        ok = adp_value_host_ip(o->reader, json, ip);
        adp_reader_leave(o->reader, mark);
    }
    return ok;
}

bool
adp_object_cidr(struct adp_object *o, const char *name,
                enum adp_presence presence, struct adp_cidr *cidr)
{
    const struct json *json = adp_object_member(o, name, presence);
    bool ok = false;

    if (json) {
        size_t mark = adp_reader_enter(o->reader, name);
        ok = adp_value_cidr(o->reader, json, cidr);
        adp_reader_leave(o->reader, mark);
    }
    return ok;
}

/* Calls 'read' for the member, if it is no list, or for each element. */
static void
object_families(struct adp_object *o, const char *name,
                enum adp_presence presence,
                void (*read)(struct adp_reader *, const struct json *,
                             void *aux), void *aux)
{
    const struct json *json = adp_object_member(o, name, presence);
    struct adp_reader *r = o->reader;

    if (!json) {
        return;
    }

    size_t outer = adp_reader_enter(r, name);
    if (json->type != JSON_ARRAY) {
        read(r, json, aux);
    } else if (!json->array.n) {
        adp_reader_error(r, "must not be empty");
    } else {
        for (size_t i = 0; i < json->array.n && !r->error; i++) {
            size_t mark = adp_reader_enter_index(r, i);
            read(r, json->array.elems[i], aux);
            adp_reader_leave(r, mark);
        }
    }
    adp_reader_leave(r, outer);
}

static bool
family_is_new(struct adp_reader *r, enum adp_family family, bool *has)
{
    if (*has) {
        adp_reader_error(r, "is the second one of %s",
                         family == ADP_IPV4 ? "IPv4" : "IPv6");
        return false;
    }
    *has = true;
    return true;
}

static void
read_family_ip(struct adp_reader *r, const struct json *json, void *ips_)
{
    struct in6_addr *ips = ips_;
    struct in6_addr ip;

    if (adp_value_host_ip(r, json, &ip)) {
        enum adp_family family = adp_ip_family(&ip);
        bool has = ipv6_addr_is_set(&ips[family]);

        if (family_is_new(r, family, &has)) {
            ips[family] = ip;
        }
    }
}

void
adp_object_family_ips(struct adp_object *o, const char *name,
                      enum adp_presence presence,
                      struct in6_addr ips[ADP_N_FAMILIES])
{
    object_families(o, name, presence, read_family_ip, ips);
}

struct family_cidrs {
    struct adp_cidr *cidrs;
    bool *has;
};

static void
read_family_cidr(struct adp_reader *r, const struct json *json, void *fc_)
{
    const struct family_cidrs *fc = fc_;
    struct adp_cidr cidr;

    if (adp_value_cidr(r, json, &cidr)) {
        enum adp_family family = adp_cidr_family(&cidr);

        if (family_is_new(r, family, &fc->has[family])) {
            fc->cidrs[family] = cidr;
        }
    }
}

void
adp_object_family_cidrs(struct adp_object *o, const char *name,
                        enum adp_presence presence,
                        struct adp_cidr cidrs[ADP_N_FAMILIES],
                        bool has[ADP_N_FAMILIES])
{
    struct family_cidrs fc = { cidrs, has };

    memset(has, 0, ADP_N_FAMILIES * sizeof *has);
    object_families(o, name, presence, read_family_cidr, &fc);
}

bool
adp_object_mac(struct adp_object *o, const char *name,
               enum adp_presence presence, struct eth_addr *mac)
{
    const char *s = adp_object_string(o, name, presence);
    struct eth_addr ea;

    if (!s) {
        return false;
    }
    /* eth_addr_from_string() would take single digits as well. */
    if (strlen(s) != ETH_ADDR_STRLEN || !eth_addr_from_string(s, &ea)) {
        adp_reader_error_at(o->reader, name, "\"%s\" is not a MAC address", s);
        return false;
    }
    if (eth_addr_is_multicast(ea) || eth_addr_is_zero(ea)) {
        adp_reader_error_at(o->reader, name,
                            "%s is not the MAC address of an interface", s);
        return false;
    }
    *mac = ea;
    return true;
}

struct json **
adp_object_array(struct adp_object *o, const char *name,
                 enum adp_presence presence, size_t *n)
{
    const struct json *json = adp_object_typed(o, name, JSON_ARRAY, presence);

    *n = json ? json->array.n : 0;
    return json ? json->array.elems : NULL;
}

void
adp_list_open(struct adp_list *l, struct adp_object *o, const char *name,
              enum adp_presence presence)
{
    l->reader = o->reader;
    l->elems = adp_object_array(o, name, presence, &l->n);
    l->i = 0;
    l->outer = adp_reader_enter(l->reader, name);
    sset_init(&l->seen);
}

const struct json *
adp_list_next(struct adp_list *l)
{
    if (l->i) {
        adp_reader_leave(l->reader, l->mark);
    }
    if (l->i >= l->n || l->reader->error) {
        return NULL;
    }
    l->mark = adp_reader_enter_index(l->reader, l->i);
    return l->elems[l->i++];
}

bool
adp_list_is_new(struct adp_list *l, const char *s)
{
    bool is_new = sset_add(&l->seen, s) != NULL;

    if (!is_new) {
        adp_reader_error(l->reader, "\"%s\" is listed twice", s);
    }
    return is_new;
}

void
adp_list_close(struct adp_list *l)
{
    adp_reader_leave(l->reader, l->outer);
    sset_destroy(&l->seen);
}

void
adp_object_names(struct adp_object *o, const char *name,
                 enum adp_presence presence, struct adp_names *out)
{
    const struct json *json;
    struct adp_list l;

    adp_list_open(&l, o, name, presence);
    out->names = l.n ? xmalloc(l.n * sizeof *out->names) : NULL;
    out->n = 0;
    while ((json = adp_list_next(&l)) != NULL) {
        const char *s = adp_value_string(l.reader, json);

        if (s && adp_list_is_new(&l, s)) {
            out->names[out->n++] = xstrdup(s);
        }
    }
    adp_list_close(&l);
}

void
adp_object_host_ips(struct adp_object *o, const char *name,
                    enum adp_presence presence, struct adp_ips *out)
{
    const struct json *json;
    struct adp_list l;

    adp_list_open(&l, o, name, presence);
    out->ips = l.n ? xmalloc(l.n * sizeof *out->ips) : NULL;
    out->n = 0;
    while ((json = adp_list_next(&l)) != NULL) {
        struct in6_addr *ip = &out->ips[out->n];

        out->n += (adp_value_host_ip(l.reader, json, ip)
                   && adp_list_is_new(&l, adp_ip_text(ip).s));
    }
    adp_list_close(&l);
}

void
adp_names_uninit(struct adp_names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        free(names->names[i]);
    }
    free(names->names);
}

void
adp_ips_uninit(struct adp_ips *ips)
{
    free(ips->ips);
}

bool
adp_ips_contain(const struct adp_ips *ips, const struct in6_addr *ip)
{
    for (size_t i = 0; i < ips->n; i++) {
        if (ipv6_addr_equals(&ips->ips[i], ip)) {
            return true;
        }
    }
    return false;
}
