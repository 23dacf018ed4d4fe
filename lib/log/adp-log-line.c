/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-log-line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

#define NIL "<nil>"

char *
adp_log_line_text(const char *const fields[ADP_N_LOG_FIELDS])
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < ADP_N_LOG_FIELDS; i++) {
        const char *field = fields[i] && fields[i][0] ? fields[i] : NIL;

        if (i) {
            ds_put_char(&s, ' ');
        }
        for (const char *p = field; *p; p++) {
            ds_put_char(&s, (unsigned char) *p <= ' ' || *p == 0x7f ? '_'
                        : *p);
        }
    }
    return ds_steal_cstr(&s);
}

void
adp_log_format_time(uint64_t time_us, struct ds *s)
{
    time_t seconds = time_us / 1000000;
    struct tm tm;

    localtime_r(&seconds, &tm);
    ds_put_format(s, "%04d/%02d/%02d %02d:%02d:%02d.%06"PRIu64,
                  tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                  tm.tm_min, tm.tm_sec, time_us % 1000000);
}

/* 'n' with 'digits' of it behind the point, without zeros at the end. */
static void
put_decimal(struct ds *s, uint64_t n, int digits)
{
    uint64_t unit = 1;

    for (int i = 0; i < digits; i++) {
        unit *= 10;
    }
    ds_put_format(s, "%"PRIu64, n / unit);
    if (n % unit) {
        ds_put_format(s, ".%0*"PRIu64, digits, n % unit);
        while (ds_last(s) == '0') {
            ds_chomp(s, '0');
        }
    }
}

void
adp_log_format_duration(uint64_t us, struct ds *s)
{
    if (us >= 1000000) {
        put_decimal(s, us, 6);
        ds_put_char(s, 's');
    } else if (us >= 1000) {
        put_decimal(s, us, 3);
        ds_put_cstr(s, "ms");
    } else {
        ds_put_format(s, "%"PRIu64"\302\265s", us);
    }
}

void
adp_log_format(const struct adp_log_line *line, uint64_t time_us,
               uint64_t n_packets, uint64_t duration_us, struct ds *s)
{
    adp_log_format_time(time_us, s);
    ds_put_format(s, " %s", line->text);
    if (n_packets > 1) {
        ds_put_format(s, " [%"PRIu64" packets in ", n_packets);
        adp_log_format_duration(duration_us, s);
        ds_put_char(s, ']');
    }
}

void
adp_log_line_to_json(const char *text, struct json *o)
{
    static const char *const names[] = {
#define X(SYMBOL, NAME) NAME,
        ADP_LOG_FIELDS
#undef X
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t len = strcspn(text, " ");

        if (len != strlen(NIL) || strncmp(text, NIL, len)) {
            json_object_put_nocopy(o, xstrdup(names[i]),
                                   json_string_create_nocopy(
                                       xmemdup0(text, len)));
        }
        text += len + (text[len] != '\0');
    }
}
