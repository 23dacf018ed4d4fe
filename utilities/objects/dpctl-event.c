/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-event.h"

#include <string.h>

#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "util.h"

/* In a bookmark's annotations. */
#define INITIAL_END "k8s.io/initial-events-end"

/* The kind of what is in a list such as PodList; NULL if it's none that we
 * know, or of anything. */
static const struct dpctl_kind *
list_kind(const struct json *json)
{
    const char *version = dpctl_json_str(json, "apiVersion");
    const char *word = dpctl_json_str(json, "kind");
    size_t len = word ? strlen(word) : 0;

    if (!version || len <= 4 || strcmp(word + len - 4, "List")
        || !dpctl_json_items(json)) {
        return NULL;
    }
    char *kind = xmemdup0(word, len - 4);
    bool known_kind;
    const struct dpctl_kind *found = dpctl_kind_find(version, kind,
                                                     &known_kind);
    free(kind);
    return found;
}

static const struct dpctl_kind *
object_kind(const struct json *object)
{
    const char *version = dpctl_json_str(object, "apiVersion");
    const char *kind = dpctl_json_str(object, "kind");
    bool known_kind;

    return version && kind ? dpctl_kind_find(version, kind, &known_kind)
           : NULL;
}

static bool
is_failure(const struct json *object)
{
    const char *kind = dpctl_json_str(object, "kind");

    return (kind && !strcmp(kind, "Status")
            && dpctl_json_member(object, "status")
            && !dpctl_json_member(object, "spec"));
}

static void
open_object(const struct json *object, struct dpctl_event *event)
{
    event->object = object;
    event->version = dpctl_json_str(object, "metadata.resourceVersion");
    event->kind = list_kind(object);
    if (event->kind) {
        const char *next = dpctl_json_str(object, "metadata.continue");

        event->type = DPCTL_EVENT_LIST;
        event->more = next && next[0];
        return;
    }
    event->kind = object_kind(object);
    event->type = DPCTL_EVENT_SET;
    if (is_failure(object)) {
        event->type = DPCTL_EVENT_ERROR;
        event->message = dpctl_json_str(object, "message");
    }
}

void
dpctl_event_open(const struct json *json, struct dpctl_event *event)
{
    const char *type = dpctl_json_str(json, "type");
    const struct json *object = dpctl_json_member(json, "object");

    *event = (struct dpctl_event) { .type = DPCTL_EVENT_SET };
    if (!type || !object || dpctl_json_str(json, "kind")) {
        open_object(json, event);
        return;
    }
    open_object(object, event);
    if (!strcmp(type, "ADDED") || !strcmp(type, "MODIFIED")) {
        event->type = DPCTL_EVENT_SET;
        event->initial = type[0] == 'A';
    } else if (!strcmp(type, "DELETED")) {
        event->type = DPCTL_EVENT_GONE;
    } else if (!strcmp(type, "BOOKMARK")) {
        const struct json *end = shash_find_data(
            dpctl_json_object(object, "metadata.annotations"), INITIAL_END);

        event->type = DPCTL_EVENT_BOOKMARK;
        event->initial = (end && end->type == JSON_STRING
                          && !strcmp(json_string(end), "true"));
    } else {
        const char *message = dpctl_json_str(object, "message");

        event->type = DPCTL_EVENT_ERROR;
        event->message = message ? message : type;
    }
}
