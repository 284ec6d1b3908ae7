/* The command line, and the sockets: passed by systemd, or created on hosts without it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include "config.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/exporter/listen.h"

#define SAY(format, ...) (void)fprintf(stderr, "tidbnumad-exporter: " format "\n", ##__VA_ARGS__)

static const char help[] =
        "Usage: tidbnumad-exporter [OPTION]...\n"
        "\n"
        "Serves the files of tidbnumad over HTTP: /metrics (Prometheus), /status (JSON),\n"
        "/healthz.\n"
        "Listens on the sockets that systemd passes and on those given by --listen.\n"
        "\n"
        "  -l, --listen=unix:PATH      listen on a unix socket (created with mode 0666)\n"
        "  -l, --listen=ADDRESS:PORT   listen on TCP; write an IPv6 address in brackets\n"
        "  -d, --runtime-dir=DIR       where the daemon publishes\n"
        "                              (default: " EXPORTER_RUNTIME_DIR ")\n"
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
        "    tidbnumad-exporter --listen 127.0.0.1:9797 \\\n"
        "                       --listen unix:/run/tidbnumad/metrics.sock\n"
        "\n"
        "See tidbnumad-exporter(8).\n";

static const struct option options[] = {
        { "listen", required_argument, NULL, 'l' },
        { "runtime-dir", required_argument, NULL, 'd' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        { 0 },
};

int args_parse(int argc, char **argv, Args *ret) {
        Args args = { .runtime_dir = EXPORTER_RUNTIME_DIR };
        bool print_help = false, print_version = false;
        int c;

        optind = 0; /* glibc: reset getopt for a repeated call */
        while ((c = getopt_long(argc, argv, "l:d:hV", options, NULL)) >= 0) {
                switch (c) {
                case 'l':
                        if (args.n_listen == ELEMENTSOF(args.listen)) {
                                SAY("--listen was given more than %u times", EXPORTER_SOCKETS_MAX);
                                return -EINVAL;
                        }
                        args.listen[args.n_listen++] = optarg;
                        break;
                case 'd':
                        args.runtime_dir = optarg;
                        break;
                case 'h':
                        print_help = true;
                        break;
                case 'V':
                        print_version = true;
                        break;
                default: /* getopt_long() has printed the error */
                        (void)fputs("Try 'tidbnumad-exporter --help'.\n", stderr);
                        return -EINVAL;
                }
        }
        if (optind < argc) {
                SAY("'%s' is not an option; to listen somewhere, give --listen. Try "
                    "'tidbnumad-exporter --help'.",
                    argv[optind]);
                return -EINVAL;
        }
        if (print_help || print_version) {
                (void)fputs(print_help ? help : "tidbnumad-exporter " TIDBNUMAD_VERSION "\n",
                            stdout);
                return 0;
        }
        *ret = args;
        return 1;
}

/* --- sockets: passed by systemd, or created on hosts without it --- */

/* The kernel's limit is net.core.somaxconn: 4,096, before Linux 5.4 128. Who connects without
 * waiting, as programs in Go do, gets EAGAIN while the queue is full, so it is made as long as it
 * may be, also where systemd has made it shorter. */
enum { BACKLOG = 65535 };

static int bind_unix(const char *path, int *ret_fd) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF, probe = -EBADF;
        struct stat st;
        mode_t mask;
        int r;

        if (path[0] != '/' || strlen(path) >= sizeof(address.sun_path)) {
                SAY("--listen unix:%s: the path must be absolute and shorter than %zu bytes", path,
                    sizeof(address.sun_path));
                return -EINVAL;
        }
        (void)strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
        if (lstat(path, &st) == 0) {
                if (!S_ISSOCK(st.st_mode)) {
                        SAY("%s exists and is not a socket; remove it or choose another path",
                            path);
                        return -EEXIST;
                }
                probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                if (probe < 0)
                        return -errno;
                if (connect(probe, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
                    errno != ECONNREFUSED)
                        return -EADDRINUSE;
                /* The socket file of a killed process, on which no process listens. */
                if (unlink(path) < 0)
                        return -errno;
        } else if (errno != ENOENT)
                return -errno;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        mask = umask(0111); /* 0666, as the socket unit has it */
        r = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
        (void)umask(mask);
        if (r < 0)
                return r;
        if (listen(fd, BACKLOG) < 0) {
                r = -errno;
                (void)unlink(path);
                return r;
        }
        *ret_fd = TAKE_FD(fd);
        return 0;
}

typedef union Address {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
} Address;

/* "1.2.3.4:80" or "[::1]:80". Numbers only, because the addresses of a name may change. */
static int parse_tcp(const char *text, Address *ret, socklen_t *ret_size) {
        char host[INET6_ADDRSTRLEN + 2];
        const char *colon = strrchr(text, ':');
        size_t length = colon ? (size_t)(colon - text) : 0;
        Address address = { 0 };
        uint64_t port;

        if (length == 0 || length >= sizeof(host))
                return -EINVAL;
        if (parse_u64(colon + 1, &port) < 0 || port < 1 || port > UINT16_MAX)
                return -EINVAL;
        memcpy(host, text, length);
        host[length] = '\0';
        if (inet_pton(AF_INET, host, &address.in.sin_addr) == 1) {
                address.in.sin_family = AF_INET;
                address.in.sin_port = htons((uint16_t)port);
                *ret_size = sizeof(address.in);
        } else {
                if (host[0] != '[' || host[length - 1] != ']')
                        return -EINVAL;
                host[length - 1] = '\0';
                if (inet_pton(AF_INET6, host + 1, &address.in6.sin6_addr) != 1)
                        return -EINVAL;
                address.in6.sin6_family = AF_INET6;
                address.in6.sin6_port = htons((uint16_t)port);
                *ret_size = sizeof(address.in6);
        }
        *ret = address;
        return 0;
}

static int bind_tcp(const char *text, int *ret_fd) {
        _cleanup_close_ int fd = -EBADF;
        Address address;
        socklen_t size;
        int one = 1;

        if (parse_tcp(text, &address, &size) < 0) {
                SAY("--listen %s: neither unix:PATH nor ADDRESS:PORT (127.0.0.1:9797, [::1]:9797; "
                    "0.0.0.0 or [::] for all addresses)",
                    text);
                return -EINVAL;
        }
        fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
                return -errno;
        /* Allows both 0.0.0.0 and [::], independent of net.ipv6.bindv6only. */
        if (address.any.sa_family == AF_INET6 &&
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
                return -errno;
        if (bind(fd, &address.any, size) < 0 || listen(fd, BACKLOG) < 0)
                return -errno;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int listeners_open(const Args *args, Listeners *ret) {
        static const char prefix[] = "unix:";
        _cleanup_listeners_ Listeners listeners = { 0 };
        int r, n = sd_listen_fds(1);

        if (n < 0) {
                SAY("cannot use the sockets that systemd passed: %s", strerror(-n));
                return n;
        }
        if ((size_t)n > ELEMENTSOF(listeners.sockets)) {
                SAY("systemd passed %d sockets, more than %u; remove some ListenStream= lines", n,
                    EXPORTER_SOCKETS_MAX);
                return -EINVAL;
        }
        for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + n; fd++) {
                if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0) {
                        SAY("descriptor %d, passed by systemd, is not a listening stream socket; "
                            "the socket unit needs ListenStream= and Accept=no",
                            fd);
                        return -EINVAL;
                }
                if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || listen(fd, BACKLOG) < 0)
                        return -errno;
                listeners.sockets[listeners.n++] = (Listener){ .fd = fd };
        }
        if (listeners.n + args->n_listen > ELEMENTSOF(listeners.sockets)) {
                SAY("more than %u sockets in all", EXPORTER_SOCKETS_MAX);
                return -EINVAL;
        }
        for (size_t i = 0; i < args->n_listen; i++) {
                const char *where = args->listen[i];
                const bool is_unix = strncmp(where, prefix, sizeof(prefix) - 1) == 0;
                const char *path = is_unix ? where + sizeof(prefix) - 1 : NULL;
                int fd = -EBADF;

                r = is_unix ? bind_unix(path, &fd) : bind_tcp(where, &fd);
                if (r == -EADDRINUSE)
                        SAY("cannot listen on %s: another process listens there. If "
                            "tidbnumad-exporter%s.socket is active, --listen is not needed",
                            where, is_unix ? "" : "-tcp");
                else if (r < 0 && r != -EINVAL && r != -EEXIST)
                        SAY("cannot listen on %s: %s", where, strerror(-r));
                if (r < 0)
                        return r;
                listeners.sockets[listeners.n++] = (Listener){ .fd = fd, .path = path };
        }
        if (listeners.n == 0) {
                SAY("nothing to listen on: systemd passed no socket and --listen was not given. "
                    "Start tidbnumad-exporter.socket (systemctl enable --now "
                    "tidbnumad-exporter.socket) or give --listen 127.0.0.1:9797");
                return -EINVAL;
        }
        *ret = listeners;
        listeners.n = 0;
        return 0;
}

void listeners_close(Listeners *listeners) {
        for (size_t i = 0; i < listeners->n; i++) {
                if (listeners->sockets[i].path)
                        (void)unlink(listeners->sockets[i].path);
                closep(&listeners->sockets[i].fd);
        }
        listeners->n = 0;
}
