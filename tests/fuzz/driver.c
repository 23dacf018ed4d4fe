/* SPDX-License-Identifier: Apache-2.0 */

/* main() of a fuzzer that isn't linked with libFuzzer.
 *
 *     fuzz-NAME [-runs=N] [-seed=N] [FILE-OR-FOLDER]...
 *
 * Runs what is in the files, by default those of the tree's corpus for NAME,
 * and then N changed copies of them, with a seed that is always the same, and
 * as many with one that is drawn.  Files are run in the order of their names.
 * If one run ends the program, its input is left in a file. */

#include <config.h>
#undef NDEBUG
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of the one that libFuzzer makes up; ours are no longer, either. */
enum { MAX_LEN = 4096, MAX_FILES = 1024, MAX_TOKENS = 512 };

/* An input that takes longer hangs: thousands of times what they take. */
enum { MAX_SECONDS = 120 };

struct bytes {
    uint8_t *data;
    size_t n;
};

static struct bytes corpus[MAX_FILES];
static size_t n_corpus;
static struct bytes tokens[MAX_TOKENS];
static size_t n_tokens;

/* The input that is run. */
static const uint8_t *running;
static size_t running_len;
static char found_file[256];

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
void __sanitizer_set_death_callback(void (*)(void)) __attribute__((weak));

/* Random numbers of our own: the fuzzers may set those of OVS's library. */
static uint64_t state;

static uint32_t
draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 16;
}

static size_t
draw_range(size_t n)
{
    return n ? draw() % n : 0;
}

/* Leaves the input behind.  Async-signal-safe. */
static void
leave_input(void)
{
    int fd;

    if (!running) {
        return;
    }
    fd = open(found_file, O_CREAT | O_TRUNC | O_WRONLY, 0666);
    if (fd >= 0) {
        static const char intro[] = "input left in ";

        ignore(write(fd, running, running_len));
        close(fd);
        ignore(write(STDERR_FILENO, intro, sizeof intro - 1));
        ignore(write(STDERR_FILENO, found_file, strlen(found_file)));
        ignore(write(STDERR_FILENO, "\n", 1));
    }
    running = NULL;
}

static void
handle_signal(int number)
{
    static const char slow[] = "an input hangs\n";

    if (number == SIGALRM) {
        ignore(write(STDERR_FILENO, slow, sizeof slow - 1));
        number = SIGABRT;
    }
    leave_input();
    signal(number, SIG_DFL);
    raise(number);
}

static void
watch(void)
{
    static const int numbers[] = { SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE,
                                   SIGILL };
    struct sigaction action = { .sa_handler = handle_signal };

    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(leave_input);
    }
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        bool sanitizers = (__sanitizer_set_death_callback
                           && numbers[i] != SIGABRT && numbers[i] != SIGALRM);

        if (!sanitizers) {
            sigaction(numbers[i], &action, NULL);
        }
    }
}

/* In memory of exactly that length. */
static void
run(const uint8_t *data, size_t n)
{
    uint8_t *copy = xmalloc(n ? n : 1);

    memcpy(copy, data, n);
    running = copy;
    running_len = n;
    alarm(MAX_SECONDS);
    LLVMFuzzerTestOneInput(copy, n);
    alarm(0);
    running = NULL;
    free(copy);
}

/* Files. */

static void
add_file(const char *name)
{
    struct bytes *b = &corpus[n_corpus];
    FILE *f = fopen(name, "rb");

    if (!f || n_corpus >= MAX_FILES) {
        ovs_fatal(f ? 0 : errno, "%s: %s", name,
                  f ? "too many files" : "can't be read");
    }
    b->data = xmalloc(MAX_LEN * 16);
    b->n = fread(b->data, 1, MAX_LEN * 16, f);
    fclose(f);
    n_corpus++;
}

static void
add_path(const char *path)
{
    struct dirent **entries;
    struct stat s;

    if (stat(path, &s)) {
        ovs_fatal(errno, "%s", path);
    }
    if (!S_ISDIR(s.st_mode)) {
        add_file(path);
        return;
    }

    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.') {
            char *name = xasprintf("%s/%s", path, entries[i]->d_name);

            add_file(name);
            free(name);
        }
        free(entries[i]);
    }
    if (n >= 0) {
        free(entries);
    }
}

/* The words of a dictionary as libFuzzer has it: "word" a line, with \xAB. */
static void
add_tokens(const char *name)
{
    char line[256];
    FILE *f = fopen(name, "r");

    while (f && n_tokens < MAX_TOKENS && fgets(line, sizeof line, f)) {
        char *p = strchr(line, '"'), *end = strrchr(line, '"');
        struct bytes *token = &tokens[n_tokens];

        if (line[0] == '#' || !p || p == end) {
            continue;
        }
        token->data = xmalloc(sizeof line);
        token->n = 0;
        for (p++; p < end; p++) {
            unsigned int c = (unsigned char) *p;

            if (*p == '\\' && p[1] == 'x' && end - p >= 4) {
                ignore(sscanf(p + 2, "%2x", &c));
                p += 3;
            } else if (*p == '\\') {
                c = (unsigned char) *++p;
            }
            token->data[token->n++] = c;
        }
        n_tokens++;
    }
    if (f) {
        fclose(f);
    }
}

/* Changes. */

/* Puts 'n' bytes in place of 'n_old' at 'ofs'. */
static void
replace(uint8_t *buf, size_t *len, size_t ofs, size_t n_old,
       const uint8_t *data, size_t n)
{
    n_old = MIN(n_old, *len - ofs);
    n = MIN(n, MAX_LEN - (*len - n_old));
    memmove(buf + ofs + n, buf + ofs + n_old, *len - ofs - n_old);
    if (n) {
        memcpy(buf + ofs, data, n);
    }
    *len += n - n_old;
}

static void
change(uint8_t *buf, size_t *len)
{
    static const uint8_t odd[] = { 0, 1, 0x7f, 0x80, 0xff, 0x20, '"', '\n' };
    size_t ofs = draw_range(*len);
    uint8_t bytes[64];
    size_t n = 1 + draw_range(draw() & 1 ? 4 : sizeof bytes);

    for (size_t i = 0; i < n; i++) {
        bytes[i] = draw();
    }
    switch (draw_range(n_tokens ? 10 : 8)) {
    case 0:
        replace(buf, len, ofs, n, NULL, 0);
        break;
    case 1:
        replace(buf, len, ofs, 0, bytes, n);
        break;
    case 2:                     /* Repeats a piece. */
        n = MIN(n, *len - ofs);
        memcpy(bytes, buf + ofs, n);
        replace(buf, len, draw_range(*len), 0, bytes, n);
        break;
    case 3: {                   /* A piece of another. */
        const struct bytes *other = &corpus[draw_range(n_corpus)];
        size_t from = draw_range(other->n);

        n = MIN(n, other->n - from);
        replace(buf, len, ofs, draw() & 1 ? n : 0, other->data + from, n);
        break;
    }
    case 4:
        replace(buf, len, ofs, 1, &odd[draw_range(sizeof odd)], 1);
        break;
    case 8: case 9: {
        const struct bytes *token = &tokens[draw_range(n_tokens)];

        replace(buf, len, ofs, draw() & 1 ? token->n : 0, token->data,
               token->n);
        break;
    }
    default:
        if (*len) {
            buf[ofs] = (draw() & 1 ? buf[ofs] ^ (1 << draw_range(8))
                        : buf[ofs] + draw_range(9) - 4);
        }
        break;
    }
}

static void
run_changed(unsigned int seed, long int n)
{
    static uint8_t buf[MAX_LEN];

    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (long int i = 0; i < n; i++) {
        const struct bytes *b = &corpus[draw_range(n_corpus)];
        size_t len = MIN(b->n, MAX_LEN);

        memcpy(buf, b->data, len);
        do {
            change(buf, &len);
        } while (draw() % 4);
        run(buf, len);
    }
    printf("ok - %ld changed inputs, seed %u (-seed=%u)\n", n, seed, seed);
    fflush(stdout);
}

/* Begin. */

static const char *
fuzzer_name(char *program)
{
    const char *name = basename(program);

    name += !strncmp(name, "lt-", 3) ? 3 : 0;
    return name + (!strncmp(name, "fuzz-", 5) ? 5 : 0);
}

int
main(int argc, char *argv[])
{
    const char *name = fuzzer_name(argv[0]);
    const char *top = getenv("ADP_TOP");
    const char *build = getenv("ADP_BUILD");
    long int n_runs = getenv("ADP_FUZZ_RUNS") ? atol(getenv("ADP_FUZZ_RUNS"))
                      : fuzz_runs;
    unsigned int seed = time(NULL) ^ getpid() << 16;
    bool drawn = true;

    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "-runs=", 6)) {
            n_runs = atol(argv[i] + 6);
        } else if (!strncmp(argv[i], "-seed=", 6)) {
            seed = strtoul(argv[i] + 6, NULL, 0);
            drawn = false;
        } else {
            add_path(argv[i]);
        }
    }
    bool given = n_corpus > 0;
    top = top ? top : ".";
    char *folder = xasprintf("%s/tests/fuzz/corpus/%s", top, name);
    char *dictionary = xasprintf("%s/tests/fuzz/%s.dict", top, name);
    if (!given) {
        add_path(folder);
    }
    add_tokens(dictionary);
    snprintf(found_file, sizeof found_file, "%s/%s.found",
             build ? build : ".", name);
    free(folder);
    free(dictionary);
    if (!n_corpus) {
        ovs_fatal(0, "no inputs");
    }

    if (LLVMFuzzerInitialize) {
        LLVMFuzzerInitialize(&argc, &argv);
    }
    watch();
    for (size_t i = 0; i < n_corpus; i++) {
        run(corpus[i].data, corpus[i].n);
    }
    printf("ok - %"PRIuSIZE" inputs of files\n", n_corpus);
    fflush(stdout);
    if (!given || !drawn) {
        if (drawn) {
            run_changed(1, n_runs);
        }
        run_changed(seed, n_runs);
    }
    for (size_t i = 0; i < n_corpus; i++) {
        free(corpus[i].data);
    }
    for (size_t i = 0; i < n_tokens; i++) {
        free(tokens[i].data);
    }
    return 0;
}
