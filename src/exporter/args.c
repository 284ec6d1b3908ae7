/* The command line; what the words after --listen mean is left to listen.c. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "tidbnumad/exporter/args.h"

static const char help[] =
        "Usage: tidbnumad-exporter [OPTION]...\n"
        "\n"
        "Serves the files of tidbnumad over HTTP: /metrics (Prometheus), /status (JSON),\n"
        "/healthz.\n"
        "Listens on the sockets that systemd passes and on those given by --listen.\n"
        "\n"
        "  -l, --listen=unix:PATH      listen on a unix socket (created with mode 0666)\n"
        "  -l, --listen=ADDRESS:PORT   listen on TCP; write an IPv6 address in brackets\n"
        "  -d, --runtime-dir=DIR       where the daemon publishes (default: " EXPORTER_RUNTIME_DIR
        ")\n"
        "  -h, --help                  print this help\n"
        "  -V, --version               print the version\n"
        "\n"
        "--listen can be given more than once.\n"
        "\n"
        "Examples:\n"
        "  On a host with systemd, for a scraper on the same host:\n"
        "    systemctl enable --now tidbnumad-exporter.socket\n"
        "    curl --unix-socket /run/tidbnumad/metrics.sock http://localhost/metrics\n"
        "  The same on TCP, 127.0.0.1:9797:\n"
        "    systemctl enable --now tidbnumad-exporter-tcp.socket\n"
        "  Without systemd:\n"
        "    tidbnumad-exporter --listen 127.0.0.1:9797 --listen unix:/run/tidbnumad/metrics.sock\n"
        "\n"
        "See tidbnumad-exporter(8).\n";

static const struct option options[] = {
        { "listen", required_argument, NULL, 'l' },
        { "runtime-dir", required_argument, NULL, 'd' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        { 0 },
};

static int add_listen(Args *args, const char *value) {
        if (args->n_listen == ELEMENTSOF(args->listen)) {
                (void)fprintf(stderr, "tidbnumad-exporter: --listen was given more than %u times\n",
                              EXPORTER_SOCKETS_MAX);
                return -EINVAL;
        }
        args->listen[args->n_listen++] = value;
        return 0;
}

static int take_option(Args *args, int c) {
        switch (c) {
        case 'l':
                return add_listen(args, optarg);
        case 'd':
                args->runtime_dir = optarg;
                return 0;
        case 'h':
                args->help = true;
                return 0;
        case 'V':
                args->version = true;
                return 0;
        default: /* getopt_long() has printed the error */
                (void)fputs("Try 'tidbnumad-exporter --help'.\n", stderr);
                return -EINVAL;
        }
}

int args_parse(int argc, char **argv, Args *ret) {
        Args args = { .runtime_dir = EXPORTER_RUNTIME_DIR };
        int c, r;

        optind = 0; /* glibc: reset getopt for a repeated call */
        while ((c = getopt_long(argc, argv, "l:d:hV", options, NULL)) >= 0) {
                r = take_option(&args, c);
                if (r < 0)
                        return r;
        }
        if (optind < argc) {
                (void)fprintf(
                        stderr,
                        "tidbnumad-exporter: '%s' is not an option; to listen somewhere, give "
                        "--listen. Try 'tidbnumad-exporter --help'.\n",
                        argv[optind]);
                return -EINVAL;
        }
        *ret = args;
        return 0;
}

void args_print_help(FILE *file) {
        (void)fputs(help, file);
}
