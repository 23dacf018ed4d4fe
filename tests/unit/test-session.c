/* SPDX-License-Identifier: Apache-2.0 */

/* The table of sessions against a naive model.
 *
 * The model knows every session that was ever inserted, and whether it was
 * evicted.  The table may overlook a session that it still has (see
 * adp-session.c), and then has two with one key; but it must never find a
 * wrong one, nor one that has left. */

#include <config.h>
#include "adp-pace.h"
#include "adp-reserve.h"
#include "adp-session.h"
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "little-memory.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

__typeof__(adp_reserve) __real_adp_reserve, __wrap_adp_reserve;
__typeof__(adp_unreserve) __real_adp_unreserve, __wrap_adp_unreserve;

enum { LINE_SLOTS = 8 };

/* A session that was inserted. */
struct token {
    uint32_t key;
    bool live;
};

struct model {
    struct adp_sessions *table;
    struct token *tokens;
    size_t n_tokens, allocated;
    uint32_t *n_live_by_key;
    uint32_t n_keys;
    size_t n_live, n_evicted;
    uint32_t n_hashes;          /* If not 0: few, to make keys collide. */

    size_t n_found, n_overlooked, n_not_first, n_not_candidate;
};

static void
evict(struct adp_session_body *body, void *model_)
{
    struct model *m = model_;
    struct token *token = body->conn1;

    ck_assert(token->live);
    token->live = false;
    m->n_live_by_key[token->key]--;
    m->n_live--;
    m->n_evicted++;
}

/* As large as there is memory for, and no larger than 'capacity'. */
static void
model_init_small(struct model *m, size_t capacity, uint32_t n_keys,
                 size_t n_tokens)
{
    memset(m, 0, sizeof *m);
    m->table = adp_sessions_create(capacity, evict, m);
    m->tokens = xcalloc(n_tokens, sizeof *m->tokens);
    m->allocated = n_tokens;
    m->n_keys = n_keys;
    m->n_live_by_key = xcalloc(n_keys, sizeof *m->n_live_by_key);
}

static void
model_init(struct model *m, size_t capacity, uint32_t n_keys,
           size_t n_tokens)
{
    model_init_small(m, capacity, n_keys, n_tokens);
    ck_assert(adp_sessions_capacity(m->table) >= capacity);
}

static void
model_uninit(struct model *m)
{
    adp_sessions_destroy(m->table);
    ck_assert(m->n_live == 0);
    ck_assert(m->n_evicted == m->n_tokens);
    free(m->tokens);
    free(m->n_live_by_key);
}

/* Keys: every third is IPv6.  Those of numbers that are close differ in few
 * bits. */

static bool
is_ipv6(uint32_t i)
{
    return i % 3 == 0;
}

static void
fill_l4(struct adp_session_l4 *l4, uint32_t i)
{
    l4->tp_src = htons(i);
    l4->tp_dst = htons(80);
    l4->ingress = i >> 28;
    l4->nw_proto = 6;
    l4->nw_ttl = 64;
}

static struct adp_session_key4
make_key4(uint32_t i)
{
    struct adp_session_key4 key;

    memset(&key, 0, sizeof key);
    key.nw_src = htonl(0x0a000000 + (i >> 16));
    key.nw_dst = htonl(0x0a800001);
    fill_l4(&key.l4, i);
    return key;
}

static struct adp_session_key6
make_key6(uint32_t i)
{
    struct adp_session_key6 key;

    memset(&key, 0, sizeof key);
    key.ipv6_src.s6_addr[0] = 0xfd;
    key.ipv6_src.s6_addr[15] = i >> 16;
    key.ipv6_dst.s6_addr[0] = 0xfd;
    key.ipv6_dst.s6_addr[7] = i >> 24;
    fill_l4(&key.l4, i);
    return key;
}

static uint32_t
hash_of(const struct model *m, uint32_t i)
{
    const struct adp_session_seeds *seeds = adp_sessions_seeds(m->table);

    if (m->n_hashes) {
        return (i % m->n_hashes) * 0x01000193;
    } else if (is_ipv6(i)) {
        struct adp_session_key6 key = make_key6(i);

        return adp_session_hash6(seeds, &key);
    } else {
        struct adp_session_key4 key = make_key4(i);

        return adp_session_hash4(seeds, &key);
    }
}

/* What the owner of a session puts into it. */

static void
fill(struct adp_session *s, struct token *token)
{
    struct adp_session_body *body = adp_session_body(s);

    ck_assert(is_all_zeros(body, sizeof *body));
    body->token.life = token->key + 1;
    body->conn1 = token;
    body->conn0 = token;
    body->version0 = token->key;
    body->conn2 = token;
    body->version2 = ~token->key;
    if (!s->is_ipv6) {
        s->v4.nat_src = htonl(token->key);
        s->v4.l4_delta = token->key;
    }
}

static void
check_content(struct adp_session *s, const struct token *token)
{
    const struct adp_session_body *body = adp_session_body(s);

    ck_assert(s->is_ipv6 == is_ipv6(token->key));
    ck_assert(body->conn0 == token);
    ck_assert(body->version0 == token->key);
    ck_assert(body->conn2 == token);
    ck_assert(body->version2 == ~token->key);
    if (!s->is_ipv6) {
        ck_assert(ntohl(s->v4.nat_src) == token->key);
        ck_assert(s->v4.l4_delta == (uint16_t) token->key);
    }
}

static bool
has_key(const struct adp_session *s, uint32_t i)
{
    struct adp_session_key4 key4 = make_key4(i);
    struct adp_session_key6 key6 = make_key6(i);

    return is_ipv6(i) ? adp_session_is6(s, &key6) : adp_session_is4(s, &key4);
}

static struct adp_session *
find_in_table(const struct model *m, uint32_t i, uint32_t hash)
{
    struct adp_session_key4 key4 = make_key4(i);
    struct adp_session_key6 key6 = make_key6(i);

    return (is_ipv6(i) ? adp_sessions_find6(m->table, hash, &key6)
            : adp_sessions_find4(m->table, hash, &key4));
}

static struct adp_session *
find(struct model *m, uint32_t i)
{
    uint32_t hash = hash_of(m, i);

    adp_sessions_prefetch(m->table, hash);
    struct adp_session *first = adp_sessions_candidate(m->table, hash);
    struct adp_session *candidate
        = first ? first : adp_sessions_other_candidate(m->table, hash);
    struct adp_session *s = find_in_table(m, i, hash);

    if (candidate) {
        const struct token *token = adp_session_body(candidate)->conn1;

        ck_assert(token && token->live);
        ck_assert(hash_of(m, token->key) == hash);
    }
    if (!s) {
        ck_assert(!candidate || !has_key(candidate, i));
        m->n_overlooked += m->n_live_by_key[i] > 0;
        return NULL;
    }

    const struct token *token = adp_session_body(s)->conn1;
    ck_assert(token && token->live);
    ck_assert(token->key == i);
    ck_assert(has_key(s, i));
    check_content(s, token);
    m->n_found++;
    m->n_not_first += s != first;
    m->n_not_candidate += s != candidate;
    return s;
}

static void
insert(struct model *m, uint32_t i)
{
    struct token *token = &m->tokens[m->n_tokens++];
    struct adp_session_key4 key4 = make_key4(i);
    struct adp_session_key6 key6 = make_key6(i);
    uint32_t hash = hash_of(m, i);

    ck_assert(m->n_tokens <= m->allocated);
    token->key = i;
    token->live = true;
    fill(is_ipv6(i) ? adp_sessions_insert6(m->table, hash, &key6)
         : adp_sessions_insert4(m->table, hash, &key4), token);
    m->n_live++;
    m->n_live_by_key[i]++;
}

static void
insert_and_find(struct model *m, uint32_t i)
{
    insert(m, i);
    ck_assert(find(m, i) != NULL);
}

static void
remove_found(struct model *m, struct adp_session *s)
{
    const struct token *token = adp_session_body(s)->conn1;

    adp_sessions_remove(m->table, s);
    ck_assert(!token->live);
}

static void
check_sums(const struct model *m, uint64_t serial, size_t n_evicted)
{
    ck_assert(adp_sessions_count(m->table) == m->n_live);
    ck_assert(m->n_live <= adp_sessions_capacity(m->table));
    ck_assert((adp_sessions_serial(m->table) != serial)
              == (m->n_evicted != n_evicted));
}

static void
random_step(struct model *m, int n_inserts_of_8)
{
    uint64_t serial = adp_sessions_serial(m->table);
    size_t n_evicted = m->n_evicted;
    uint32_t i = random_uint32() % m->n_keys;
    struct adp_session *s = find(m, i);
    int what = random_range(8);

    if (!s && what < n_inserts_of_8) {
        insert_and_find(m, i);
    } else if (s && what == 7) {
        remove_found(m, s);
    }
    check_sums(m, serial, n_evicted);
}

static void
random_steps(size_t capacity, uint32_t n_keys, uint32_t n_hashes, size_t n)
{
    struct model m;

    model_init(&m, capacity, n_keys, n);
    m.n_hashes = n_hashes;
    for (size_t i = 0; i < n; i++) {
        random_step(&m, i < n / 2 ? 8 : 4);
    }
    if (!n_hashes) {
        /* Overlooked are those in their other line alone, which are few. */
        ck_assert_uint_gt(m.n_found, n / 16);
        ck_assert_uint_lt(m.n_overlooked, m.n_found / 20);
        ck_assert_uint_lt(m.n_not_candidate, m.n_found / 10);
        ck_assert_uint_gt(m.n_live, adp_sessions_capacity(m.table) / 4);
    }
    model_uninit(&m);
}

static void
setup(void)
{
    test_seed_random();
}

START_TEST(test_random_small)
{
    random_steps(1, 6000, 0, 50000);
    random_steps(5000, 20000, 0, 100000);
}
END_TEST

START_TEST(test_random_large)
{
    random_steps(20000, 60000, 0, 200000);
}
END_TEST

/* Lines are full all the time. */
START_TEST(test_random_collisions)
{
    random_steps(1, 300, 1, 10000);
    random_steps(1, 1000, 5, 20000);
    random_steps(1, 5000, 150, 50000);
}
END_TEST

/* While the table has room only few sessions leave: because their lines are
 * full. */
START_TEST(test_growth)
{
    enum { N = 50000 };
    struct model m;

    model_init(&m, N + N / 4, N, N);
    for (uint32_t i = 0; i < N; i++) {
        insert_and_find(&m, i);
    }
    m.n_found = m.n_overlooked = m.n_not_first = m.n_not_candidate = 0;
    for (uint32_t i = 0; i < N; i++) {
        find(&m, i);
    }
    /* Lines have overflowed, and the second place is asked too. */
    ck_assert_uint_gt(m.n_not_first, N / 1000);
    ck_assert_uint_lt(m.n_not_candidate, m.n_not_first / 10);
    ck_assert_uint_lt(m.n_evicted, N / 40);
    ck_assert_uint_lt(m.n_overlooked, N / 10);
    ck_assert_uint_lt(m.n_not_candidate, N / 10);
    model_uninit(&m);
}
END_TEST

/* Keys with one hash have room in two lines, which rarely are one, and while
 * they have room none is lost. */
START_TEST(test_two_lines)
{
    int n_two_lines = 0;

    for (uint32_t hash = 1; hash <= 20; hash++) {
        struct model m;
        uint32_t i;

        /* Keys 'hash' + 'n_hashes' * i have the hash. */
        model_init(&m, 1, 21 * 100, 100);
        m.n_hashes = 21;
        for (i = 0; !m.n_evicted; i++) {
            insert_and_find(&m, hash + 21 * i);
        }
        ck_assert_uint_eq(m.n_evicted, 1);
        ck_assert_uint_eq(adp_sessions_evicted(m.table), 1);
        ck_assert(i == LINE_SLOTS + 1 || i == 2 * LINE_SLOTS + 1);

        m.n_found = 0;
        for (uint32_t j = 0; j < i; j++) {
            find(&m, hash + 21 * j);
        }
        ck_assert_uint_eq(m.n_found, i - 1);
        ck_assert_uint_eq(m.n_overlooked, 0);
        n_two_lines += i > LINE_SLOTS + 1;
        model_uninit(&m);
    }
    ck_assert_int_gt(n_two_lines, 12);
}
END_TEST

/* At capacity one leaves for each that comes. */
START_TEST(test_capacity)
{
    struct model m;
    size_t capacity;

    model_init(&m, 1, 200000, 20000);
    capacity = adp_sessions_capacity(m.table);
    ck_assert_uint_lt(capacity, 10000);
    for (uint32_t i = 0; i < 20000; i++) {
        insert_and_find(&m, i * 7);
    }
    ck_assert_uint_le(m.n_live, capacity);
    ck_assert_uint_gt(m.n_live, capacity - capacity / 100);
    ck_assert_uint_eq(adp_sessions_evicted(m.table), m.n_evicted);

    /* Room that was made is used. */
    size_t n = m.n_live;
    for (uint32_t i = 19999; m.n_live > n / 2; i--) {
        struct adp_session *s = find(&m, i * 7);

        if (s) {
            remove_found(&m, s);
        }
    }
    ck_assert_uint_eq(adp_sessions_count(m.table), m.n_live);
    model_uninit(&m);
}
END_TEST

static void
age(struct model *m, long long int now)
{
    size_t left = SIZE_MAX;

    adp_sessions_age(m->table, now, &left);
}

/* Where there is little memory, or none but malloc()'s, there is a table all
 * the same, with less room. */
START_TEST(test_little_memory)
{
    static const size_t amounts[] = { 4 << 20, 1 << 20, 64 << 10, 0 };

    for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
        struct model m;
        size_t capacity;

        most_memory = amounts[i];
        model_init_small(&m, 2 << 20, 200000, 60000);
        capacity = adp_sessions_capacity(m.table);
        ck_assert_uint_ge(capacity, 4096);
        ck_assert_uint_le(capacity, MAX(4096, amounts[i] / 64));
        if (i > 0) {
            ck_assert_uint_ge(capacity * 2 + 4096, amounts[i] / 256);
        }
        for (uint32_t j = 0; j < 60000; j++) {
            insert_and_find(&m, j * 3);
        }
        ck_assert_uint_le(m.n_live, capacity);
        ck_assert_uint_gt(m.n_live, capacity - capacity / 50);
        /* All leave, and give back what can be given. */
        for (int second = 0; second < 200; second++) {
            age(&m, second * 1000LL);
        }
        model_uninit(&m);
    }
    most_memory = SIZE_MAX;
}
END_TEST

/* What is reserved: a table's sessions and its index. */
static struct {
    char *p;
    size_t size;
} reserved[2];

void *
__wrap_adp_reserve(size_t size)
{
    void *p = __real_adp_reserve(size);

    for (size_t i = 0; p && i < ARRAY_SIZE(reserved); i++) {
        if (!reserved[i].p) {
            reserved[i].p = p;
            reserved[i].size = size;
            break;
        }
    }
    return p;
}

void
__wrap_adp_unreserve(void *p, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
        if (reserved[i].p == p) {
            reserved[i].p = NULL;
        }
    }
    __real_adp_unreserve(p, size);
}

/* How much of it the system has given. */
static size_t
resident_bytes(void)
{
    const size_t page_size = get_page_size();
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
        size_t n_pages = DIV_ROUND_UP(reserved[i].size, page_size);
        unsigned char *pages = xmalloc(n_pages);

        ck_assert_ptr_nonnull(reserved[i].p);
        ck_assert_int_eq(mincore(reserved[i].p, reserved[i].size, pages), 0);
        for (size_t j = 0; j < n_pages; j++) {
            n += pages[j] & 1;
        }
        free(pages);
    }
    return n * page_size;
}

/* Whether there is a huge page, and how much beside what is used lies in it, is
 * chance. */
static void
without_huge_pages(void)
{
    ck_assert_int_eq(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
}

/* More than the rest of two pages, and a byte for each line. */
#define SLACK (96 * 1024)

/* What adp_sessions_size() says is what the system gave.  A session costs at
 * most 160 bytes at capacity. */
START_TEST(test_memory)
{
    enum { N = 150000 };
    struct model m;
    size_t size;

    without_huge_pages();
    model_init(&m, N, 2 * N, 2 * N);
    ck_assert_uint_lt(adp_sessions_size(m.table), 16384);
    for (uint32_t i = 0; i < N / 2; i++) {
        insert_and_find(&m, i);
    }
    size = adp_sessions_size(m.table);
    ck_assert_uint_ge(size, m.n_live * sizeof(struct adp_session));
    ck_assert_uint_le(resident_bytes(), size + SLACK);
    ck_assert_uint_ge(resident_bytes() + SLACK, size);

    for (uint32_t i = N / 2; i < 2 * N; i++) {
        insert_and_find(&m, i);
    }
    ck_assert_uint_gt(m.n_live, N - N / 100);
    size = adp_sessions_size(m.table);
    ck_assert_uint_le(size, 160 * m.n_live);
    ck_assert_uint_le(resident_bytes(), size + SLACK);
    ck_assert_uint_ge(resident_bytes() + SLACK, size);
    model_uninit(&m);
}
END_TEST

/* Sessions that no packet uses leave within a minute, those in use stay where
 * they are found, whatever is moved to give memory back. */
START_TEST(test_age)
{
    enum { N = 60000, N_BUSY = 500, STEP_MS = 50 };
    const long long int start = 1000000000;
    struct model m;

    without_huge_pages();
    model_init(&m, 2 * N, N, N + 1);
    const size_t size = adp_sessions_size(m.table);
    long long int now = start;
    for (uint32_t i = 0; i < N; i++) {
        insert_and_find(&m, i);
        adp_session_body(find(&m, i))->used = adp_session_age(now);
    }
    const size_t full_size = adp_sessions_size(m.table);
    ck_assert_uint_gt(resident_bytes(), 3 * ADP_RESERVE_PIECE);
    for (; now < start + 60000; now += STEP_MS) {
        age(&m, now);
        for (uint32_t i = 0; i < N && now % 1000 == 0; i += N / N_BUSY) {
            struct adp_session *s = find(&m, i);

            if (s) {
                adp_session_use(adp_session_body(s), adp_session_age(now));
            }
        }
        if (now == start + 20000) {
            ck_assert_uint_gt(m.n_live, N - N / 40);
        }
    }
    ck_assert_uint_gt(m.n_live, N_BUSY - N_BUSY / 20);
    ck_assert_uint_le(m.n_live, N_BUSY);
    ck_assert_uint_lt(adp_sessions_size(m.table), full_size / 20);
    size_t n_found = 0;
    for (uint32_t i = 0; i < N; i++) {
        n_found += find(&m, i) != NULL;
    }
    ck_assert_uint_eq(n_found, m.n_live);

    for (; now < start + 120000; now += STEP_MS) {
        age(&m, now);
    }
    ck_assert_uint_eq(m.n_live, 0);
    ck_assert_uint_eq(adp_sessions_size(m.table), size);
    insert_and_find(&m, 0);
    /* The first piece of the index stays. */
    ck_assert_uint_le(resident_bytes(), ADP_RESERVE_PIECE + SLACK);
    model_uninit(&m);
}
END_TEST

/* The same among random steps. */
START_TEST(test_random_age)
{
    enum { N = 300000 };
    struct model m;
    long long int now = 1000000000;

    model_init(&m, 20000, 30000, N);
    for (size_t i = 0; i < N; i++) {
        uint32_t key = random_uint32() % (i / 10000 % 2 ? 300 : m.n_keys);
        struct adp_session *s = find(&m, key);

        now += random_range(20);
        if (!s) {
            insert_and_find(&m, key);
            s = find(&m, key);
        } else if (random_range(16) == 0) {
            remove_found(&m, s);
            s = NULL;
        }
        if (s) {
            adp_session_use(adp_session_body(s), adp_session_age(now));
        }
        age(&m, now);
        ck_assert(adp_sessions_count(m.table) == m.n_live);
    }
    ck_assert_uint_gt(m.n_found, N / 4);
    ck_assert_uint_lt(m.n_overlooked, m.n_found / 20);
    model_uninit(&m);
}
END_TEST

/* Who looks at few at a time, and comes back as long as nothing is left, sees
 * as much as who looks at all at once, and no more. */
START_TEST(test_pace)
{
    enum { N = 26000000, STEP_MS = 1000, MAX = 100000 };
    static const size_t few[] = { 1, 256, 65536 };
    struct adp_pace pace = { .last_ms = 0 };
    long long int now = 1000000;
    size_t n = 0;

    for (int i = 0; i <= ADP_PACE_ROUND_MS / STEP_MS; i++, now += STEP_MS) {
        const size_t max = few[i % 3];
        size_t left, n_calls = 0;

        do {
            left = max;
            size_t n_now = adp_pace(&pace, now, N, &left);
            ck_assert_uint_eq(n_now + left, max);
            n += n_now;
        } while (!left && ++n_calls < MAX);
    }
    /* Of what the last call that saw one at a time left over nothing is
     * lost. */
    for (size_t left = 0; !left; ) {
        left = SIZE_MAX / 2;
        n += adp_pace(&pace, now - STEP_MS, N, &left);
    }
    ck_assert_uint_eq(n, N);

    /* Once round is enough after however long. */
    size_t left = SIZE_MAX;
    now += 10 * ADP_PACE_ROUND_MS;
    ck_assert_uint_eq(adp_pace(&pace, now, N, &left), N);
    ck_assert_uint_eq(left, SIZE_MAX - N);
    now += ADP_PACE_ROUND_MS;
    ck_assert_uint_eq(adp_pace(&pace, now, N / 2, &left), N / 2);
    ck_assert_uint_eq(adp_pace(&pace, now, N / 2, &left), 0);
}
END_TEST

/* Every bit of a key counts, and no two tables hash alike. */
START_TEST(test_hash)
{
    struct adp_sessions *a = adp_sessions_create(1, evict, NULL);
    struct adp_sessions *b = adp_sessions_create(1, evict, NULL);
    const struct adp_session_seeds *seeds = adp_sessions_seeds(a);
    struct adp_session_key4 key4 = make_key4(1);
    struct adp_session_key6 key6 = make_key6(3);
    uint32_t hash4 = adp_session_hash4(seeds, &key4);
    uint32_t hash6 = adp_session_hash6(seeds, &key6);

    for (size_t bit = 0; bit < 8 * sizeof key4; bit++) {
        struct adp_session_key4 other = key4;

        other.words[bit / 64] ^= UINT64_C(1) << bit % 64;
        ck_assert_uint_ne(adp_session_hash4(seeds, &other), hash4);
    }
    for (size_t bit = 0; bit < 8 * sizeof key6; bit++) {
        struct adp_session_key6 other = key6;

        other.words[bit / 64] ^= UINT64_C(1) << bit % 64;
        ck_assert_uint_ne(adp_session_hash6(seeds, &other), hash6);
    }
    ck_assert_uint_ne(adp_session_hash4(adp_sessions_seeds(b), &key4), hash4);
    ck_assert_uint_ne(adp_session_hash6(adp_sessions_seeds(b), &key6), hash6);
    adp_sessions_destroy(a);
    adp_sessions_destroy(b);
}
END_TEST

/* What comes one after the other, as a client's ports do, spreads as well as
 * anything else, whatever a table's seeds are: of few sessions next to none
 * finds its line full. */

enum { N_ALIKE = 36 };

static size_t
count_crowded(size_t step, bool ipv6, size_t *n_evicted)
{
    struct adp_sessions *t = adp_sessions_create(1, NULL, NULL);
    const struct adp_session_seeds *seeds = adp_sessions_seeds(t);
    struct adp_session_key4 key4 = make_key4(1);
    struct adp_session_key6 key6 = make_key6(1);
    uint32_t hashes[N_ALIKE];
    size_t n = 0;

    for (size_t i = 0; i < N_ALIKE; i++) {
        struct adp_session *s;

        if (ipv6) {
            key6.words[4] = UINT64_C(0x1234567890ab0000) + i * step;
            hashes[i] = adp_session_hash6(seeds, &key6);
            s = adp_sessions_insert6(t, hashes[i], &key6);
        } else {
            key4.words[1] = UINT64_C(0x1234567890ab0000) + i * step;
            hashes[i] = adp_session_hash4(seeds, &key4);
            s = adp_sessions_insert4(t, hashes[i], &key4);
        }
        adp_session_body(s)->token.life = 1;
    }
    for (size_t i = 0; i < N_ALIKE; i++) {
        n += !adp_sessions_candidate(t, hashes[i]);
    }
    *n_evicted += N_ALIKE - adp_sessions_count(t);
    adp_sessions_destroy(t);
    return n;
}

START_TEST(test_alike)
{
    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        for (size_t step = 1; step <= 256; step *= 256) {
            size_t n = 0, n_evicted = 0;

            for (int i = 0; i < 1000; i++) {
                n += count_crowded(step, ipv6, &n_evicted);
            }
            /* By chance there are 7, and none or one. */
            ck_assert_uint_lt(n, 40);
            ck_assert_uint_lt(n_evicted, 10);
        }
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("session");
    TCase *tc = tcase_create("session");

    suite_add_tcase(s, tc);
    tcase_add_unchecked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, test_random_small);
    tcase_add_test(tc, test_random_large);
    tcase_add_test(tc, test_random_collisions);
    tcase_add_test(tc, test_growth);
    tcase_add_test(tc, test_two_lines);
    tcase_add_test(tc, test_capacity);
    tcase_add_test(tc, test_little_memory);
    tcase_add_test(tc, test_memory);
    tcase_add_test(tc, test_age);
    tcase_add_test(tc, test_random_age);
    tcase_add_test(tc, test_pace);
    tcase_add_test(tc, test_hash);
    tcase_add_test(tc, test_alike);
    return test_run_nofork(s);
}
