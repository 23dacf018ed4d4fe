/* SPDX-License-Identifier: Apache-2.0 */

#ifndef QUOTED_JSON_H
#define QUOTED_JSON_H 1

/* JSON in C's string literals, with ' in place of ".  A test that gives what
 * isn't JSON fails.  The caller destroys what is returned. */

/* An object or an array. */
struct json *json_from_quoted(const char *quoted);
/* The array with these elements. */
struct json *json_array_from_quoted(const char *elements);
/* Members in order.  The caller frees the text. */
char *json_to_quoted(const struct json *);

#endif /* quoted-json.h */
