/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the frames of a pcap file round, from standard input to standard
 * output: for a test of the echo without a switch. */

#include <stdio.h>

#include "frame.h"

struct file_header {
    uint8_t bytes[24];
};

struct record_header {
    uint32_t seconds, microseconds, kept, len;
};

int
main(void)
{
    struct file_header file;
    struct record_header record;
    uint8_t frame[2048];

    if (fread(&file, sizeof file, 1, stdin) != 1) {
        return 1;
    }
    fwrite(&file, sizeof file, 1, stdout);
    while (fread(&record, sizeof record, 1, stdin) == 1) {
        if (record.kept > sizeof frame
            || fread(frame, record.kept, 1, stdin) != 1) {
            return 1;
        }
        if (net_gen_frame_turn(frame)) {
            fwrite(&record, sizeof record, 1, stdout);
            fwrite(frame, record.kept, 1, stdout);
        }
    }
    return ferror(stdout) || fflush(stdout);
}
