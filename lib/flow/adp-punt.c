/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-punt.h"

static const char *const punt_names[ADP_N_PUNTS] = {
    [ADP_PUNT_NONE] = "none",
#define X(SYMBOL, NAME, TEXT) [ADP_PUNT_##SYMBOL] = NAME,
    ADP_PUNT_REASONS
#undef X
};

static const char *const punt_texts[ADP_N_PUNTS] = {
    [ADP_PUNT_NONE] = "handled by the compiled pipeline",
#define X(SYMBOL, NAME, TEXT) [ADP_PUNT_##SYMBOL] = TEXT,
    ADP_PUNT_REASONS
#undef X
};

/* The word for 'punt' in statistics. */
const char *
adp_punt_name(enum adp_punt punt)
{
    return punt < ADP_N_PUNTS ? punt_names[punt] : "unknown";
}

/* 'punt' for a person to read. */
const char *
adp_punt_text(enum adp_punt punt)
{
    return punt < ADP_N_PUNTS ? punt_texts[punt] : "unknown";
}
