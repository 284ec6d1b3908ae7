/* The command line of the daemon. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "config.h"
#include "tidbnumad/daemon/host/host.h"

static const char help[] =
        "tidbnumad [OPTION…]\n"
        "\n"
        "Binds database processes and their memory to the NUMA nodes that the policies in\n"
        "/etc/tidbnumad.d define. Normally started by systemd:\n"
        "systemctl enable --now tidbnumad\n"
        "\n"
        "  -n, --dry-run          find, plan and report; change nothing\n"
        "      --once             do what has to be done, publish, and exit\n"
        "      --sysroot DIR      read DIR/proc and DIR/sys, the dump of another machine\n"
        "                         (implies --dry-run)\n"
        "      --policy-dir DIR   read policies here instead of the default folders;\n"
        "                         may be given several times, later ones override\n"
        "      --runtime-dir DIR  publish here (default: /run/tidbnumad; with --dry-run:\n"
        "                         nothing is published)\n"
        "      --debug            log each decision and its reason\n"
        "  -h, --help             show this help\n"
        "      --version          show the version\n"
        "\n"
        "Examples:\n"
        "  What would be done on this host now:\n"
        "    tidbnumad --once --dry-run\n"
        "  The same for the dump of another host:\n"
        "    tidbnumad --once --sysroot /tmp/host7 --policy-dir ./policies \\\n"
        "              --runtime-dir ./out\n"
        "  What the running daemon publishes:\n"
        "    curl --unix-socket /run/tidbnumad/metrics.sock http://localhost/metrics\n"
        "\n"
        "See tidbnumad(8) and tidbnumad.d(5).";

enum { ARG_VERSION = 0x100, ARG_ONCE, ARG_SYSROOT, ARG_POLICY_DIR, ARG_RUNTIME_DIR, ARG_DEBUG };

int args_parse(Args *args, int argc, char *argv[]) {
        static const char *const default_dirs[] = { "/usr/lib/tidbnumad.d",
                                                    TIDBNUMAD_SYSCONFDIR "/tidbnumad.d",
                                                    "/run/tidbnumad.d" };
        static const struct option options[] = {
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, ARG_VERSION },
                { "dry-run", no_argument, NULL, 'n' },
                { "once", no_argument, NULL, ARG_ONCE },
                { "debug", no_argument, NULL, ARG_DEBUG },
                { "sysroot", required_argument, NULL, ARG_SYSROOT },
                { "policy-dir", required_argument, NULL, ARG_POLICY_DIR },
                { "runtime-dir", required_argument, NULL, ARG_RUNTIME_DIR },
                { 0 },
        };
        int option;

        *args = (Args){ 0 };
        while ((option = getopt_long(argc, argv, "hn", options, NULL)) >= 0)
                switch (option) {
                case 'h':
                        puts(help);
                        return 0;
                case ARG_VERSION:
                        puts("tidbnumad " TIDBNUMAD_VERSION);
                        return 0;
                case 'n':
                        args->dry_run = true;
                        break;
                case ARG_ONCE:
                        args->once = true;
                        break;
                case ARG_DEBUG:
                        args->debug = true;
                        break;
                case ARG_SYSROOT:
                        args->sysroot = optarg;
                        args->dry_run = true;
                        break;
                case ARG_POLICY_DIR:
                        if (args->n_policy_dirs == ARGS_POLICY_DIRS_MAX) {
                                (void)fprintf(stderr, "tidbnumad: more than %d --policy-dir\n",
                                              ARGS_POLICY_DIRS_MAX);
                                return -EINVAL;
                        }
                        args->policy_dirs[args->n_policy_dirs++] = optarg;
                        break;
                case ARG_RUNTIME_DIR:
                        args->runtime_dir = optarg;
                        break;
                default: /* getopt_long() has printed what was wrong */
                        (void)fprintf(stderr, "Try 'tidbnumad --help'.\n");
                        return -EINVAL;
                }
        if (optind < argc) {
                (void)fprintf(stderr,
                              "tidbnumad: '%s' is not an option; this program takes no other "
                              "arguments.\nTry 'tidbnumad --help'.\n",
                              argv[optind]);
                return -EINVAL;
        }
        if (!args->runtime_dir && !args->dry_run)
                args->runtime_dir = "/run/tidbnumad";
        args->policy_dirs_named = args->n_policy_dirs > 0;
        if (!args->policy_dirs_named)
                for (size_t i = 0; i < ELEMENTSOF(default_dirs); i++)
                        args->policy_dirs[args->n_policy_dirs++] = default_dirs[i];
        return 1;
}
