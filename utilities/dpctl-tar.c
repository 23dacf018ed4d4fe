/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-tar.h"

#include <string.h>

#include "util.h"

enum { BLOCK = 512 };

struct tar_header {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6];
    char version[2];
    char user[32];
    char group[32];
    char device[16];
    char prefix[155];
    char pad[12];
};
BUILD_ASSERT_DECL(sizeof(struct tar_header) == BLOCK);

/* Octal digits, with a null behind them. */
static void
put_octal(char *field, size_t size, unsigned long long int value)
{
    field[--size] = '\0';
    while (size) {
        field[--size] = '0' + value % 8;
        value /= 8;
    }
}

void
dpctl_tar_put(FILE *stream, const char *name, const char *data, size_t len,
              time_t when)
{
    struct tar_header h = { .type = '0', .magic = "ustar" };
    const unsigned char *bytes = (const unsigned char *) &h;
    static const char zeros[BLOCK];
    unsigned int sum = 0;

    ovs_strlcpy(h.name, name, sizeof h.name);
    put_octal(h.mode, sizeof h.mode, 0600);
    put_octal(h.uid, sizeof h.uid, 0);
    put_octal(h.gid, sizeof h.gid, 0);
    put_octal(h.size, sizeof h.size, len);
    put_octal(h.mtime, sizeof h.mtime, when);
    memcpy(h.version, "00", sizeof h.version);

    /* The sum is that of a header whose own sum is blanks. */
    memset(h.checksum, ' ', sizeof h.checksum);
    for (size_t i = 0; i < sizeof h; i++) {
        sum += bytes[i];
    }
    put_octal(h.checksum, sizeof h.checksum - 1, sum);

    fwrite(&h, 1, sizeof h, stream);
    fwrite(data, 1, len, stream);
    fwrite(zeros, 1, ROUND_UP(len, BLOCK) - len, stream);
}

void
dpctl_tar_end(FILE *stream)
{
    static const char zeros[2 * BLOCK];

    fwrite(zeros, 1, sizeof zeros, stream);
}
