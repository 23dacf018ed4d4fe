/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_SCHEMA_H
#define DPCTL_SCHEMA_H 1

/* What the objects that users give may contain.
 *
 * A schema is an array of fields that ends with one without a name.  Checking
 * an object against it finds unknown fields, wrong types, values out of range,
 * missing fields, and what is known but not supported, so that the code which
 * resolves objects can rely on the types of what it reads.  A null is as good
 * as a missing field.
 *
 * Errors are malloc()ed "path.of.field[0]: what is wrong" texts.
 *
 * What a schema doesn't know of nothing reads, so that it needn't be kept: see
 * dpctl_schema_prune().
 */

#include "openvswitch/json.h"

enum dpctl_type {
    DPCTL_ANY,                  /* Not looked into, and not kept. */
    DPCTL_STR,
    DPCTL_ENUM,                 /* One of the comma-separated 'values'. */
    DPCTL_BOOL,
    DPCTL_INT,                  /* 'min' to 'max'. */
    DPCTL_NUM,                  /* An integer or real. */
    DPCTL_INT_OR_STR,           /* An integer from 'min' to 'max', or the name
                                 * of a port (IANA_SVC_NAME). */
    DPCTL_IP,                   /* IPv4 or IPv6. */
    DPCTL_CIDR,
    DPCTL_MAC,
    DPCTL_STRS,                 /* Arrays of these. */
    DPCTL_IPS,
    DPCTL_CIDRS,
    DPCTL_LABELS,               /* An object of strings. */
    DPCTL_OBJ,                  /* An object that follows 'sub'. */
    DPCTL_OBJS,                 /* An array of them. */
};

enum dpctl_field_flags {
    DPCTL_REQUIRED = 1 << 0,
    DPCTL_OPEN = 1 << 1,        /* OBJ(S): fields beyond 'sub' are fine. */
    DPCTL_UNSUPPORTED = 1 << 2, /* Known, but refused when it asks for
                                 * something: neither false nor empty. */
    DPCTL_ANTREAS = 1 << 3,     /* LABELS: only those with a prefix of Antrea
                                 * or of ours are kept. */
    DPCTL_PADDED = 1 << 4,      /* CIDRS: blanks around each aren't kept. */
};

struct dpctl_field {
    const char *name;
    enum dpctl_type type;
    unsigned int flags;
    const struct dpctl_field *sub;
    const char *values;         /* ENUM: supported values. */
    const char *unsupported;    /* ENUM: further ones, that we refuse. */
    long long int min, max;
};

char *dpctl_schema_check(const struct json *, const struct dpctl_field *,
                         bool open);

/* What the schema knows of 'object', which was checked.  Shares the values
 * with it, not the objects and arrays of them that the schema describes, nor
 * what blanks were taken from. */
struct json *dpctl_schema_prune(const struct json *object,
                                const struct dpctl_field *);

#endif /* dpctl-schema.h */
