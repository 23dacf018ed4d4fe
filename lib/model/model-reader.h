/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MODEL_READER_H
#define ADP_MODEL_READER_H 1

/* Strict reading of JSON into plain values.
 *
 * A reader walks one record.  It knows where it stands ("ports[0].endpoints")
 * and keeps the first error; after that every function returns something
 * harmless, so that a record's parser is a plain list of its fields and
 * looks for the error once, at its end.
 *
 * An adp_object is one JSON object on the way: adp_object_open() enters it,
 * each adp_object_*() call reads the member that it names, and
 * adp_object_close() complains about members that nobody named.
 *
 * Strings that come back are borrowed from the JSON.
 *
 * Upstream's ovsdb-parser.h reads one object, too, but its errors don't say
 * where in a record they are, and its values have no ranges.
 *
 * Thread-safety: a reader belongs to one thread.
 */

#include "model-records.h"
#include "openvswitch/dynamic-string.h"
#include "sset.h"

struct adp_reader {
    char *object;               /* What is read: "Pod default/web". */
    struct ds path;             /* Of the value that is being read. */
    struct adp_error *error;    /* The first one, or NULL. */
};

void adp_reader_init(struct adp_reader *, char *object); /* Takes 'object'. */
/* Returns the error, if any, which is then the caller's. */
struct adp_error *adp_reader_uninit(struct adp_reader *);

/* Notes an error of the value at the current path. */
void adp_reader_error(struct adp_reader *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);
/* Notes an error of the member 'name' of the value at the current path. */
void adp_reader_error_at(struct adp_reader *, const char *name,
                         const char *format, ...)
    OVS_PRINTF_FORMAT(3, 4);

/* Steps down, to a member or an element; returns what adp_reader_leave() needs
 * to step up again. */
size_t adp_reader_enter(struct adp_reader *, const char *name);
size_t adp_reader_enter_index(struct adp_reader *, size_t idx);
void adp_reader_leave(struct adp_reader *, size_t mark);

/* Values.  On error '*out' is left alone. */
const char *adp_value_string(struct adp_reader *, const struct json *);
/* Whatever it is, it must be readable again after it was written. */
void adp_value_any(struct adp_reader *, const struct json *);
/* Not 0.0.0.0, not multicast, not broadcast. */
bool adp_value_host_ip(struct adp_reader *, const struct json *,
                       struct in6_addr *out);
bool adp_value_cidr(struct adp_reader *, const struct json *,
                    struct adp_cidr *out);
/* As adp_value_cidr(); also a single address. */
bool adp_value_ip_or_cidr(struct adp_reader *, const struct json *,
                          struct adp_cidr *out);

/* Objects. */
#define ADP_OBJECT_MAX_MEMBERS 16
struct adp_object {
    struct adp_reader *reader;
    const struct shash *members; /* NULL if it isn't an object. */
    const char *known[ADP_OBJECT_MAX_MEMBERS];
    size_t n_known;
};

void adp_object_open(struct adp_object *, struct adp_reader *,
                     const struct json *);
void adp_object_close(struct adp_object *);

enum adp_presence { ADP_OPTIONAL, ADP_REQUIRED };

/* The member as it stands, NULL if there is none. */
const struct json *adp_object_member(struct adp_object *, const char *name,
                                     enum adp_presence);
/* The same, if it is of 'type'. */
const struct json *adp_object_typed(struct adp_object *, const char *name,
                                    enum json_type type, enum adp_presence);
const char *adp_object_string(struct adp_object *, const char *name,
                              enum adp_presence);
bool adp_object_bool(struct adp_object *, const char *name, bool default_);
/* 'default_' if the member is missing and 'presence' is ADP_OPTIONAL. */
long long int adp_object_integer(struct adp_object *, const char *name,
                                 long long int min, long long int max,
                                 enum adp_presence, long long int default_);
double adp_object_number(struct adp_object *, const char *name,
                         double min, double max, enum adp_presence);
/* The index in 'choices' (which NULL ends) of the string; 'default_' if there
 * is none, where a negative 'default_' means that the member is required. */
int adp_object_choice(struct adp_object *, const char *name,
                      const char *const choices[], int default_);
bool adp_object_host_ip(struct adp_object *, const char *name,
                        enum adp_presence, struct in6_addr *);
bool adp_object_cidr(struct adp_object *, const char *name,
                     enum adp_presence, struct adp_cidr *);
/* One address or prefix, or a list with at most one of each family.  Of a
 * family without one, 'ips' stays as it is, and 'has' is false. */
void adp_object_family_ips(struct adp_object *, const char *name,
                           enum adp_presence,
                           struct in6_addr ips[ADP_N_FAMILIES]);
void adp_object_family_cidrs(struct adp_object *, const char *name,
                             enum adp_presence,
                             struct adp_cidr cidrs[ADP_N_FAMILIES],
                             bool has[ADP_N_FAMILIES]);
/* A unicast address other than 00:00:00:00:00:00. */
bool adp_object_mac(struct adp_object *, const char *name, enum adp_presence,
                    struct eth_addr *);
/* Returns the array's elements and sets '*n'; an empty array if the member is
 * missing. */
struct json **adp_object_array(struct adp_object *, const char *name,
                               enum adp_presence, size_t *n);

/* The elements of an array, one after the other; an empty one if the member is
 * missing. */
struct adp_list {
    struct adp_reader *reader;
    struct json **elems;
    size_t n, i;                /* There are; read so far. */
    size_t outer, mark;         /* Of the reader. */
    struct sset seen;
};

void adp_list_open(struct adp_list *, struct adp_object *, const char *name,
                   enum adp_presence);
void adp_list_close(struct adp_list *);
/* The next element, or NULL at the end or after an error. */
const struct json *adp_list_next(struct adp_list *);
/* Notes an error if 's' stood for an element before, too. */
bool adp_list_is_new(struct adp_list *, const char *s);

/* Lists without duplicates; '*out' must be freed also after an error. */
void adp_object_names(struct adp_object *, const char *name,
                      enum adp_presence, struct adp_names *out);
void adp_object_host_ips(struct adp_object *, const char *name,
                         enum adp_presence, struct adp_ips *out);

void adp_names_uninit(struct adp_names *);
void adp_ips_uninit(struct adp_ips *);
bool adp_ips_contain(const struct adp_ips *, const struct in6_addr *);

#endif /* model-reader.h */
