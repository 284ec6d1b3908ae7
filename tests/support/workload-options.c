/* Takes the workload's own options and, so that start scripts written for the real servers run
 * unchanged, those that TiUP gives to them. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload-options.h"

enum {
        MAX_CHURN_HZ = 10000,
};

static const char HELP[] =
        "Usage: workload [OPTION…]\n"
        "\n"
        "Holds memory, threads and a port until SIGTERM; prints `ready` when all is in place.\n"
        "\n"
        "  --anon SIZE             anonymous memory in base pages (SIZE: 64K, 96M, 1G)\n"
        "  --huge SIZE             anonymous memory in transparent huge pages\n"
        "  --shmem SIZE            shared anonymous memory\n"
        "  --file SIZE             a mapped file, in --data-dir or else /var/tmp\n"
        "  --reserved SIZE         anonymous memory in huge pages that the host has reserved\n"
        "  --reserved-shared SIZE  shared memory in such pages\n"
        "  --reserved-touch SIZE   touch no more of each of these two; SIGUSR2 touches the rest\n"
        "  --spread                lay the memory evenly over the nodes this process may use\n"
        "  --spread=NODE:SHARE,…   lay it over these nodes in these shares\n"
        "  --grow RATE:MAX         on SIGUSR2, touch RATE more a second until MAX; the next one\n"
        "                          gives back the first three quarters, the one after begins anew\n"
        "  --threads N             threads that sleep\n"
        "  --churn HZ              threads started and ended each second\n"
        "  --port N, -P N          listen on 127.0.0.1:N; each caller gets one line\n"
        "  --data-dir DIR          keep a file in DIR open\n"
        "  --stall-report          time accesses to the memory; SIGUSR1 and the end print the "
        "longest\n"
        "                          and the sum of those over 5 ms since the last print\n"
        "  --status-first          print Pid, Cpus_allowed_list and Mems_allowed_list before "
        "anything "
        "else\n"
        "  --sizes-first           print the sizes that a TiKV takes when it starts\n"
        "\n"
        "Options of tidb-server, tikv-server and pd-server are taken and ignored, but for the port "
        "in\n"
        "--addr and --client-urls.\n"
        "\n"
        "Example: workload --anon 96M --spread=0:3,4:1 --threads 20 -P 4000 --store=tikv\n";

/* --- options -----------------------------------------------------------------------------------
 */

static uint64_t parse_number(const char *option, const char *text, uint64_t max) {
        char *end;
        uint64_t value;

        errno = 0;
        value = strtoull(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || value > max)
                errx(2, "--%s %s: expected a number up to %" PRIu64, option, text, max);
        return value;
}

/* Reads a size up to `stop` or the text's end and returns where it ended. */
static const char *parse_size(const char *option, const char *text, char stop, size_t *ret) {
        char *end;
        uint64_t value = strtoull(text, &end, 10);
        const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;

        if (unit) {
                value <<= 10 * (unsigned)(unit - units + 1);
                end++;
        }
        if (end == text || *end != stop)
                errx(2, "--%s %s: expected a size as 64K, 96M or 1G%s", option, text,
                     stop ? ", ':' and another" : "");
        *ret = value;
        return end;
}

/* The port in "0.0.0.0:20160" or "http://0.0.0.0:2379"; an explicit --port goes before it. */
static void take_address(WorkloadOptions *o, const char *option, const char *text) {
        const char *colon = strrchr(text, ':');

        if (!colon)
                errx(2, "--%s %s: expected HOST:PORT", option, text);
        if (o->port == 0)
                o->port = (uint16_t)parse_number(option, colon + 1, UINT16_MAX);
}

typedef enum Option {
        OPTION_HELP = 'h',
        OPTION_PORT = 'P',
        OPTION_ANON = 256, /* these six in the order of RegionKind */
        OPTION_HUGE,
        OPTION_SHMEM,
        OPTION_FILE,
        OPTION_RESERVED,
        OPTION_RESERVED_SHARED,
        OPTION_RESERVED_TOUCH,
        OPTION_SPREAD,
        OPTION_GROW,
        OPTION_THREADS,
        OPTION_CHURN,
        OPTION_DATA_DIR,
        OPTION_STALL_REPORT,
        OPTION_STATUS_FIRST,
        OPTION_SIZES_FIRST,
        OPTION_ADDRESS,
        OPTION_IGNORED,
} Option;

static const struct option OPTIONS[] = {
        { "help", no_argument, NULL, OPTION_HELP },
        { "port", required_argument, NULL, OPTION_PORT },
        { "anon", required_argument, NULL, OPTION_ANON },
        { "huge", required_argument, NULL, OPTION_HUGE },
        { "shmem", required_argument, NULL, OPTION_SHMEM },
        { "file", required_argument, NULL, OPTION_FILE },
        { "reserved", required_argument, NULL, OPTION_RESERVED },
        { "reserved-shared", required_argument, NULL, OPTION_RESERVED_SHARED },
        { "reserved-touch", required_argument, NULL, OPTION_RESERVED_TOUCH },
        { "spread", optional_argument, NULL, OPTION_SPREAD },
        { "grow", required_argument, NULL, OPTION_GROW },
        { "threads", required_argument, NULL, OPTION_THREADS },
        { "churn", required_argument, NULL, OPTION_CHURN },
        { "data-dir", required_argument, NULL, OPTION_DATA_DIR },
        { "stall-report", no_argument, NULL, OPTION_STALL_REPORT },
        { "status-first", no_argument, NULL, OPTION_STATUS_FIRST },
        { "sizes-first", no_argument, NULL, OPTION_SIZES_FIRST },
        { "addr", required_argument, NULL, OPTION_ADDRESS },
        { "client-urls", required_argument, NULL, OPTION_ADDRESS },
        /* What TiUP's start scripts give beside these. */
        { "advertise-addr", required_argument, NULL, OPTION_IGNORED },
        { "advertise-address", required_argument, NULL, OPTION_IGNORED },
        { "advertise-client-urls", required_argument, NULL, OPTION_IGNORED },
        { "advertise-peer-urls", required_argument, NULL, OPTION_IGNORED },
        { "advertise-status-addr", required_argument, NULL, OPTION_IGNORED },
        { "config", required_argument, NULL, OPTION_IGNORED },
        { "host", required_argument, NULL, OPTION_IGNORED },
        { "initial-cluster", required_argument, NULL, OPTION_IGNORED },
        { "log-file", required_argument, NULL, OPTION_IGNORED },
        { "log-slow-query", required_argument, NULL, OPTION_IGNORED },
        { "name", required_argument, NULL, OPTION_IGNORED },
        { "path", required_argument, NULL, OPTION_IGNORED },
        { "pd", required_argument, NULL, OPTION_IGNORED },
        { "peer-urls", required_argument, NULL, OPTION_IGNORED },
        { "status", required_argument, NULL, OPTION_IGNORED },
        { "status-addr", required_argument, NULL, OPTION_IGNORED },
        { "store", required_argument, NULL, OPTION_IGNORED },
        { 0 },
};

static void take_option(WorkloadOptions *o, Option option, const char *name, const char *value) {
        switch (option) {
        case OPTION_ANON:
        case OPTION_HUGE:
        case OPTION_SHMEM:
        case OPTION_FILE:
        case OPTION_RESERVED:
        case OPTION_RESERVED_SHARED:
                (void)parse_size(name, value, '\0', &o->hold_bytes[option - OPTION_ANON]);
                break;
        case OPTION_RESERVED_TOUCH:
                (void)parse_size(name, value, '\0', &o->reserved_touch);
                break;
        case OPTION_GROW:
                value = parse_size(name, value, ':', &o->grow_bytes_per_sec);
                (void)parse_size(name, value + 1, '\0', &o->grow_max);
                break;
        case OPTION_SPREAD:
                spread_parse(value, &o->spread);
                break;
        case OPTION_THREADS:
                o->threads = (unsigned)parse_number(name, value, UINT16_MAX);
                break;
        case OPTION_CHURN:
                o->churn_hz = (unsigned)parse_number(name, value, MAX_CHURN_HZ);
                break;
        case OPTION_PORT:
                o->port = (uint16_t)parse_number(name, value, UINT16_MAX);
                break;
        case OPTION_ADDRESS:
                take_address(o, name, value);
                break;
        case OPTION_DATA_DIR:
                o->data_dir = value;
                break;
        case OPTION_STALL_REPORT:
                o->stall_report = true;
                break;
        case OPTION_STATUS_FIRST:
                o->status_first = true;
                break;
        case OPTION_SIZES_FIRST:
                o->sizes_first = true;
                break;
        case OPTION_IGNORED:
                break;
        case OPTION_HELP:
                (void)fputs(HELP, stdout);
                exit(0);
        }
}

WorkloadOptions workload_options_parse(int argc, char **argv) {
        WorkloadOptions o = { 0 };
        int c, index = 1;

        while ((c = getopt_long(argc, argv, "hP:", OPTIONS, &index)) != -1) {
                if (c == '?')
                        errx(2, "see --help");
                take_option(&o, (Option)c, OPTIONS[index].name, optarg);
                index = 1;
        }
        if (optind < argc)
                errx(2, "unexpected argument '%s', see --help", argv[optind]);
        return o;
}
