/* SPDX-License-Identifier: Apache-2.0 */

/* States on the disk, and what may become of their files.
 *
 * Input: a program.  Its steps write transactions and snapshots, take some
 * back, have calls fail, end in the midst and begin anew; or they cut, change,
 * splice, rename, remove and bring back files; or forge them, with checksums
 * that are right.
 *
 * Must hold: without damage, what was answered is read, and nothing else.
 * With it that is read which once was the state, or there is an error that
 * names the folder.  Forged files are read, or there is an error, by a model
 * of records, too.  Whatever was read, it goes on from there. */

#include <config.h>
#undef NDEBUG
#include "fuzz.h"

#include <check.h>
/* libcheck's own is for a test that runs. */
#undef ck_assert_ptr_null
#define ck_assert_ptr_null(POINTER) fuzz_require(!(POINTER))

#include "tests/unit/disk-world.h"
#include "fuzz-place.h"

#include "adp-disk-private.h"
#include "adp-state-disk.h"
#include "model.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "unaligned.h"

const long int fuzz_runs = 150;

enum { MAX_STEPS = 32, MAX_GENERATIONS = 96, MAX_FILE = 256 * 1024 };

static char *folder;

/* Each state as text, as far as they were made, and the last one. */
static char *states[MAX_GENERATIONS];
static size_t n_states;
static struct smap last = SMAP_INITIALIZER(&last);

/* The state, and what is known of it. */
static struct adp_disk_folder *open_one; /* NULL: nobody has it open. */
static uint64_t answered;       /* What must be there, ... */
static bool in_doubt;           /* or one more. */
static uint64_t highest;        /* That ever was. */
static bool damaged, forged;
static bool over;               /* No more generations. */

/* A copy of a file. */
static struct ofpbuf kept;

/* Calls that fail. */
static unsigned int n_calls, fail_from, fail_to;

static int
fault(const char *what OVS_UNUSED, const char *name OVS_UNUSED)
{
    unsigned int i = n_calls++;

    return i >= fail_from && i < fail_to ? ENOSPC : 0;
}

static void
set_faults(unsigned int from, unsigned int n)
{
    n_calls = 0;
    fail_from = from;
    fail_to = from + n;
}

static const char *
state_of(uint64_t generation)
{
    fuzz_require(generation < MAX_GENERATIONS);
    for (; n_states <= generation; n_states++) {
        if (n_states) {
            struct transaction t;

            transaction_init(&t, n_states);
            carry_out_all(&last, &t);
            transaction_uninit(&t);
        }
        states[n_states] = format(&last);
    }
    return states[generation];
}

static void
set_value_len(int len)
{
    if (len != value_len) {
        while (n_states) {
            free(states[--n_states]);
        }
        smap_clear(&last);
        value_len = len;
    }
}

/* Reading. */

/* As carry_out() of disk-world.h, but forged files hold anything. */
static char *
carry_out_any(enum adp_disk_op op, const struct json *array, void *state)
{
    for (size_t i = 0; array && i < array->array.n; i++) {
        const struct json *o = array->array.elems[i];

        fuzz_require(forged || o->type == JSON_OBJECT);
        if (o->type != JSON_OBJECT) {
            return xstrdup("not an object");
        }

        const struct json *name = shash_find_data(json_object(o), "name");
        const struct json *value = shash_find_data(json_object(o), "value");
        if (!name || name->type != JSON_STRING
            || (op != ADP_DISK_DELETE
                && (!value || value->type != JSON_STRING))) {
            fuzz_require(forged);
            return xstrdup("an object lacks a member");
        }
    }
    return carry_out(op, array, state);
}

/* Forged files hold records, perhaps. */
static void
read_into_model(void)
{
    struct adp_state_disk *disk = adp_state_disk_create_in(folder);
    struct adp_model *model = adp_model_create();
    uint64_t generation;

    adp_model_begin(model);
    char *error = adp_state_disk_read(disk, model, &generation);
    if (error) {
        fuzz_require(strstr(error, folder));
        free(error);
        adp_model_rollback(model);
    } else {
        adp_model_commit(model);
    }
    adp_model_destroy(model);
    adp_state_disk_destroy(disk);
}

static void
begin_anew(void)
{
    set_faults(0, 0);

    char *error = adp_disk_folder_delete(folder);
    if (error) {
        fprintf(stderr, "%s\n", error);
    }
    fuzz_require(!error);
    damaged = forged = in_doubt = false;
    answered = 0;
}

/* The folder is opened, or there is an error, and it is deleted. */
static void
open_it(void)
{
    struct smap state = SMAP_INITIALIZER(&state);
    const struct adp_disk_ops ops = {
        .carry_out = carry_out_any, .aux = &state
    };
    struct adp_disk_position position;

    if (open_one) {
        return;
    }
    set_faults(0, 0);
    if (forged) {
        read_into_model();
    }

    char *error = adp_disk_folder_read(folder, &ops, &position);
    if (error) {
        if (!damaged && !forged) {
            fprintf(stderr, "%s\n", error);
        }
        fuzz_require(damaged || forged);
        fuzz_require(strstr(error, folder));
        free(error);
        begin_anew();
        memset(&position, 0, sizeof position);
    } else if (!forged) {
        char *s = format(&state);

        fuzz_require(position.generation <= (damaged ? highest
                                             : answered + in_doubt));
        fuzz_require(damaged || position.generation >= answered);
        fuzz_require(!strcmp(s, state_of(position.generation)));
        free(s);
        answered = position.generation;
        in_doubt = false;
    } else {
        /* What is in it is nobody's.  That it can be gone on with is seen to,
         * then it goes. */
        const struct json_array none = { .n = 0 };
        struct json array = { .type = JSON_ARRAY, .array = none };
        const struct adp_disk_change change = { .apply = &array };
        struct adp_disk_folder *f = adp_disk_folder_create(folder, &position);

        if (position.generation < UINT64_MAX) {
            error = adp_disk_folder_append(f, position.generation + 1,
                                           &change, 1);
            fuzz_require(!error);
            error = adp_disk_folder_read(folder, &ops, &position);
            fuzz_require(!error);
        }
        adp_disk_folder_destroy(f);
        begin_anew();
        memset(&position, 0, sizeof position);
    }
    smap_destroy(&state);
    open_one = adp_disk_folder_create(folder, &position);
}

static void
close_it(void)
{
    adp_disk_folder_destroy(open_one);
    open_one = NULL;
}

/* Writing. */

static void
append_one(void)
{
    open_it();
    if (answered + 2 >= MAX_GENERATIONS) {
        over = true;
        return;
    }

    bool may_stay = fail_to > fail_from + 1;
    char *error = append(open_one);
    if (error) {
        fuzz_require(fail_to > fail_from);
        in_doubt = in_doubt || may_stay;
        free(error);
    } else {
        answered++;
        in_doubt = damaged = false;
    }
    highest = MAX(highest, answered + in_doubt);
    fuzz_require(adp_disk_folder_generation(open_one) == answered);
}

/* Goes on for 'n' steps at most, with transactions in between. */
static void
write_snapshot(unsigned int n, bool in_between)
{
    open_it();

    struct json *records = records_at(answered);
    char *error = adp_disk_folder_begin_snapshot(open_one, records);
    bool done = error != NULL;

    for (unsigned int i = 0; !done && i < n; i++) {
        if (in_between) {
            append_one();
        }
        error = adp_disk_folder_go_on(open_one, &done);
        fuzz_require(!error || done);
    }
    fuzz_require(!error || fail_to > fail_from);
    free(error);
    if (!done) {
        close_it();
    }
    json_destroy(records);
}

/* Who couldn't write has nothing to take back. */
static void
take_back(void)
{
    if (in_doubt) {
        return;
    }
    open_it();

    char *error = adp_disk_folder_take_back(open_one);
    uint64_t generation = adp_disk_folder_generation(open_one);
    fuzz_require(generation == answered || generation + 1 == answered);
    if (generation < answered) {
        answered = generation;
        in_doubt = in_doubt || error;
    } else {
        fuzz_require(error);
    }
    free(error);
}

/* Damage. */

/* A file of the folder, or NULL.  The caller frees it. */
static char *
choose_file(struct fuzz_input *in)
{
    struct adp_disk_files files;
    uint8_t which = fuzz_u8(in);
    char *error = adp_disk_files_list(folder, &files);
    char *name = NULL;

    fuzz_require(!error);
    if (files.n) {
        name = xasprintf("%s/%s", folder, files.entries[which % files.n].name);
    }
    adp_disk_files_uninit(&files);
    return name;
}

static void
load(const char *name, struct ofpbuf *b)
{
    FILE *f = fopen(name, "rb");
    struct stat s;

    fuzz_require(f && !fstat(fileno(f), &s));
    ofpbuf_clear(b);
    ofpbuf_prealloc_tailroom(b, s.st_size);
    b->size = fread(b->data, 1, s.st_size, f);
    fclose(f);
}

static void
store(const char *name, const struct ofpbuf *b)
{
    FILE *f = fopen(name, "wb");

    fuzz_require(f);
    fuzz_require(!b->size
                 || fwrite(b->data, 1, b->size, f) == b->size);
    fclose(f);
}

static size_t
choose_offset(struct fuzz_input *in, size_t size)
{
    /* Beginnings matter most. */
    uint16_t ofs = fuzz_u16(in);

    return size ? (ofs & 0x8000 ? ofs & 0x7fff : ofs & 0xff) % (size + 1) : 0;
}

/* Puts 'data' in place of 'n_old' bytes at 'ofs'. */
static void
replace(struct ofpbuf *b, size_t ofs, size_t n_old, const void *data, size_t n)
{
    struct ofpbuf new;

    n_old = MIN(n_old, b->size - ofs);
    ofpbuf_init(&new, b->size + n);
    ofpbuf_put(&new, b->data, ofs);
    ofpbuf_put(&new, data, n);
    ofpbuf_put(&new, (char *) b->data + ofs + n_old, b->size - ofs - n_old);
    ofpbuf_uninit(b);
    *b = new;
}

static void
damage(struct fuzz_input *in, uint8_t how)
{
    struct ofpbuf b;
    char *name;

    close_it();
    name = choose_file(in);
    if (!name) {
        return;
    }
    ofpbuf_init(&b, 0);
    load(name, &b);
    damaged = true;

    size_t ofs = choose_offset(in, b.size), n = fuzz_u8(in);
    switch (how) {
    case 0:
        b.size = ofs;
        break;
    case 1:
        if (ofs < b.size) {
            ((uint8_t *) b.data)[ofs] ^= 1 << (n & 7);
        }
        break;
    case 2: {
        const uint8_t *bytes = fuzz_bytes(in, &n);

        replace(&b, ofs, n, bytes, n);
        break;
    }
    case 3: {                   /* A piece of itself, or of a copy. */
        const struct ofpbuf *other = n & 1 && kept.size ? &kept : &b;
        size_t from = choose_offset(in, other->size);
        size_t len = MIN(32 * (n >> 2), other->size - from);
        void *piece = xmemdup0((char *) other->data + from, len);

        replace(&b, ofs, n & 2 ? len : 0, piece, len);
        free(piece);
        break;
    }
    case 4:
        ofpbuf_clear(&kept);
        ofpbuf_put(&kept, b.data, b.size);
        break;
    case 5:
        if (kept.size) {
            ofpbuf_clear(&b);
            ofpbuf_put(&b, kept.data, kept.size);
        }
        break;
    case 6:
        fuzz_require(!unlink(name));
        break;
    default: {                  /* Another name. */
        char *to = adp_disk_name(folder, n & 1 ? "log" : "snapshot",
                                 ofs % 8 + answered);

        fuzz_require(!rename(name, to));
        free(name);
        name = to;
        break;
    }
    }
    if (how != 6 && b.size <= MAX_FILE) {
        store(name, &b);
    }
    ofpbuf_uninit(&b);
    free(name);
}

/* Forging. */

static void
put_be32(uint8_t *p, uint32_t value)
{
    put_unaligned_be32(ALIGNED_CAST(ovs_be32 *, p), htonl(value));
}

static void
seal(uint8_t *header)
{
    const size_t n = ADP_DISK_HEADER_LEN - 4;

    put_be32(header + n, ntohl(crc32c(header, n)));
}

/* A frame with a payload of the input's. */
static void
put_frame(struct fuzz_input *in, struct ofpbuf *b, uint64_t generation,
          uint32_t number)
{
    uint8_t *header = ofpbuf_put_zeros(b, ADP_DISK_HEADER_LEN);
    size_t n = fuzz_u16(in);
    uint8_t op = fuzz_range(in, 8);
    const uint8_t *payload = fuzz_bytes(in, &n);

    put_be32(header, n);
    put_be32(header + 4, op);
    put_be32(header + 8, generation >> 32);
    put_be32(header + 12, generation);
    put_be32(header + 16, number);
    put_be32(header + 20, ntohl(crc32c(payload, n)));
    seal(header);
    ofpbuf_put(b, payload, n);
}

/* A log, or a snapshot, of frames of the input's. */
static void
forge_file(struct fuzz_input *in)
{
    enum adp_disk_kind kind = fuzz_u8(in) & 1 ? ADP_DISK_SNAPSHOT
                              : ADP_DISK_LOG;
    uint64_t generation = fuzz_u8(in);
    unsigned int n = fuzz_range(in, 8);
    struct ofpbuf b;

    generation = generation >= 0xf0 ? UINT64_MAX - (generation & 15)
                 : generation & 3;
    ofpbuf_init(&b, 0);
    uint8_t *header = ofpbuf_put_zeros(&b, ADP_DISK_HEADER_LEN);
    memcpy(header, "adp-disk", 8);
    put_be32(header + 8, ADP_DISK_VERSION);
    put_be32(header + 12, kind);
    put_be32(header + 16, generation >> 32);
    put_be32(header + 20, generation);
    seal(header);
    for (unsigned int i = 0; i < n; i++) {
        uint8_t which = fuzz_u8(in);

        put_frame(in, &b, generation + (kind == ADP_DISK_LOG) + (which & 3),
                  which & 4 ? which : i);
    }

    char *name = adp_disk_name(folder, kind == ADP_DISK_LOG ? "log"
                               : "snapshot", generation);
    ignore(mkdir(folder, 0700));
    store(name, &b);
    free(name);
    ofpbuf_uninit(&b);
}

/* A header that says something else. */
static void
forge_header(struct fuzz_input *in)
{
    char *name = choose_file(in);
    struct ofpbuf b;

    if (!name) {
        return;
    }
    ofpbuf_init(&b, 0);
    load(name, &b);
    size_t ofs = choose_offset(in, b.size) & ~3u;
    size_t at = fuzz_range(in, ADP_DISK_HEADER_LEN);
    if (b.size >= ADP_DISK_HEADER_LEN && ofs <= b.size - ADP_DISK_HEADER_LEN) {
        uint8_t *header = (uint8_t *) b.data + ofs;

        header[at] ^= fuzz_u8(in);
        seal(header);
        store(name, &b);
    }
    ofpbuf_uninit(&b);
    free(name);
}

/* Everything else. */

static void
step(struct fuzz_input *in)
{
    uint8_t op = fuzz_u8(in);

    if (getenv("FUZZ_TELL")) {
        fprintf(stderr, "step %#x, answered %"PRIu64"%s%s%s, calls %u of %u "
                "to %u fail\n", op, answered, in_doubt ? "?" : "",
                damaged ? " damaged" : "", forged ? " forged" : "", n_calls,
                fail_from, fail_to);
    }
    switch (op & 15) {
    case 0: case 1: case 2: case 3:
        for (int i = 0; i <= (op >> 4 & 3); i++) {
            append_one();
        }
        break;
    case 4:
        write_snapshot(op & 0x80 ? op >> 4 & 3 : 100, op & 0x40);
        break;
    case 5:
        take_back();
        break;
    case 6: {
        uint8_t n = fuzz_u8(in);

        open_it();
        set_faults(n & 31, n >> 5);
        break;
    }
    case 7:
        close_it();
        break;
    case 8:
        close_it();
        begin_anew();
        set_value_len(op & 0x10 ? 70000 : 3);
        ofpbuf_clear(&kept);
        highest = 0;
        break;
    case 9:
        close_it();
        forged = true;
        forge_file(in);
        break;
    case 10:
        close_it();
        forged = true;
        forge_header(in);
        break;
    default:
        damage(in, op >> 4 & 7);
        break;
    }
}

int
LLVMFuzzerInitialize(int *argc OVS_UNUSED, char ***argv OVS_UNUSED)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    folder = xasprintf("%s/states/bridge", fuzz_place());
    adp_disk_fault = fault;
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };

    set_value_len(3);
    over = false;
    highest = 0;
    ofpbuf_init(&kept, 0);
    set_faults(0, 0);
    begin_anew();
    for (int i = 0; i < MAX_STEPS && in.n && !over; i++) {
        step(&in);
    }
    close_it();
    open_it();
    append_one();
    close_it();
    open_it();
    close_it();
    begin_anew();
    ofpbuf_uninit(&kept);
    return 0;
}
