/* SPDX-License-Identifier: Apache-2.0 */

/* Prints docs/names.md: what the built-in pipelines call tables, bits of
 * registers and connections, constants and cookies. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pipeline-builtin.h"
#include "pipeline-guide.h"
#include "pipeline-text.h"
#include "pipeline.h"
#include "util.h"

static const char *
about(const struct adp_pipeline *p, const char *name)
{
    const struct adp_guide_words *words = adp_guide_words_find(p, name);

    return words ? words->about : "";
}

static void
print_tables(const struct adp_pipeline *p)
{
    puts("| table | | stage | what it does |\n|---:|---|---|---|");
    for (size_t i = 0; i < p->n_tables; i++) {
        const struct adp_pipeline_table *table = &p->tables[i];
        const struct adp_guide_table *guide
            = adp_guide_table_find(p, table->id);

        printf("| %"PRIu8" | %s | %s | %s |\n", table->id, table->name,
               guide->stage, guide->about);
    }
}

static void
print_bits(const struct adp_pipeline *p)
{
    puts("\n| bits | name | value | meaning |\n|---|---|---|---|");
    for (size_t i = 0; i < p->vocabulary->n_bits; i++) {
        const struct adp_text_bits *bits = &p->vocabulary->bits[i];

        printf("| `%s[%"PRIu8, bits->storage, bits->first);
        if (bits->last != bits->first) {
            printf("..%"PRIu8, bits->last);
        }
        printf("]` | %s | ", bits->name);
        if (bits->is_mark) {
            printf("0x%"PRIx32, bits->value);
        }
        printf(" | %s |\n", about(p, bits->name));
    }
}

static void
print_consts(const struct adp_pipeline *p)
{
    puts("\n| constant | value | meaning |\n|---|---|---|");
    for (size_t i = 0; i < p->vocabulary->n_consts; i++) {
        const struct adp_text_const *c = &p->vocabulary->consts[i];

        printf("| %s | %s | %s |\n", c->name, c->text, about(p, c->name));
    }
}

static void
print_cookies(const struct adp_pipeline *p)
{
    puts("\n| cookie, bits 40 to 47 | | flows of |\n|---:|---|---|");
    for (size_t i = 0; i < p->guide->n_cookies; i++) {
        const struct adp_guide_cookie *c = &p->guide->cookies[i];

        printf("| %"PRIu8" | %s | %s |\n", c->category, c->name, c->about);
    }
}

int
main(void)
{
    static const char *const names[] = { "v1.15", "early" };

    puts("# Names\n\n"
         "What the built-in pipelines call their tables, the bits of registers, "
         "connection marks and labels, constants and\ncategories of cookies. "
         "`antrea-dpctl explain` prints the same of a bridge, and tells what a "
         "value means that one\nmeets in a flow: `antrea-dpctl explain "
         "reg0=0x200622 conj_id=5 group=9 cookie=0x3000000000009 ServiceLB`.\n\n"
         "Made from `lib/pipeline/*/pipeline-*.def` and `pipeline-*-guide.c` by "
         "`_build/tests/unit/gen-names >docs/names.md`.");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const struct adp_pipeline *p = adp_pipeline_find(names[i]);

        printf("\n## Pipeline %s\n\n", p->name);
        print_tables(p);
        print_bits(p);
        print_consts(p);
        print_cookies(p);
    }
    return fflush(stdout) || ferror(stdout);
}
