/* One request, one answer, one deadline. No redirections, no names, no TLS: the servers are on this
 * host, and what they answer is not trusted. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/http.h"

enum { REQUEST_MAX = 512, HEADERS_MAX_BYTES = 16384 };

/* A server that speaks TLS answers plain text with an alert record, RFC 8446, 5.1. */
enum { TLS_ALERT = 0x15, TLS_MAJOR_VERSION = 3 };

typedef struct Answer {
        size_t header_bytes;
        char status_line[sizeof("HTTP/1.1 200")]; /* its beginning */
        size_t line_length;                       /* of the line of the headers that arrives */
        bool status_known, in_body;
        unsigned status;
} Answer;

HttpAddress http_loopback(uint16_t port) {
        return (HttpAddress){ .in = { .sin_family = AF_INET,
                                      .sin_port = htons(port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
}

uint16_t http_port(const HttpAddress *address) {
        return ntohs(address->any.sa_family == AF_INET6 ? address->in6.sin6_port
                                                        : address->in.sin_port);
}

/* "HTTP/1.1 200 OK" */
static int answer_take_status(Answer *a) {
        const char *line = a->status_line;
        char digit;

        a->status_known = true;
        if (line[0] == TLS_ALERT && line[1] == TLS_MAJOR_VERSION)
                return -EPROTO;
        if (sscanf(line, "HTTP/1.%c %3u", &digit, &a->status) != 2 ||
            (digit != '0' && digit != '1'))
                return -EBADMSG;
        return a->status == 200 ? 0 : -EREMOTEIO;
}

/* How many of the bytes are of the headers, or negative errno. */
static ssize_t answer_take_headers(Answer *a, const char *bytes, size_t size) {
        for (size_t i = 0; i < size; i++) {
                if (++a->header_bytes > HEADERS_MAX_BYTES)
                        return -EBADMSG;
                if (bytes[i] == '\n') {
                        const int r = a->status_known ? 0 : answer_take_status(a);

                        if (r < 0)
                                return r;
                        a->in_body = a->line_length == 0;
                        a->line_length = 0;
                        if (a->in_body)
                                return (ssize_t)i + 1;
                } else if (bytes[i] != '\r') {
                        if (!a->status_known && a->line_length + 1 < sizeof(a->status_line))
                                a->status_line[a->line_length] = bytes[i];
                        a->line_length++;
                }
        }
        return (ssize_t)size;
}

/* Waits until then for the socket; 0 or -errno. */
static int socket_await(int fd, short events, uint64_t end_usec) {
        struct pollfd poll_fd = { .fd = fd, .events = events };
        const uint64_t now = clock_monotonic_usec();
        const int r = now < end_usec ? poll(&poll_fd, 1, (int)((end_usec - now + 999) / 1000)) : 0;

        if (r < 0)
                return -errno;
        return r == 0 ? -ETIMEDOUT : 0;
}

static int send_request(int fd, const HttpAddress *to, const char *path) {
        char request[REQUEST_MAX], host[INET6_ADDRSTRLEN];
        const bool six = to->any.sa_family == AF_INET6;
        int n;

        if (!inet_ntop(to->any.sa_family,
                       six ? (const void *)&to->in6.sin6_addr : (const void *)&to->in.sin_addr,
                       host, sizeof(host)))
                return -errno;
        n = snprintf(request, sizeof(request),
                     "GET %s HTTP/1.0\r\n"
                     "Host: %s%s%s\r\n"
                     "Accept: */*\r\n"
                     "User-Agent: tidbnumactl\r\n"
                     "\r\n",
                     path, six ? "[" : "", host, six ? "]" : "");
        if (n < 0 || (size_t)n >= sizeof(request))
                return -ENAMETOOLONG;
        /* It fits into the empty buffer of a new socket. */
        errno = EIO;
        return send(fd, request, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -errno;
}

static int http_explain(int r, const HttpAddress *to, unsigned status, Error *error) {
        if (r == -EREMOTEIO)
                return error_set(error, r, "its port %u answers with HTTP status %u%s",
                                 http_port(to), status,
                                 status == 400       ? ": it may use TLS"
                                 : status == 401     ? ": it wants a password"
                                 : status / 100 == 3 ? ", a redirection, which is not followed"
                                                     : "");
        return error_set(error, r, "its port %u %s", http_port(to),
                         r == -EPROTO         ? "uses TLS"
                         : r == -EBADMSG      ? "does not speak HTTP"
                         : r == -ETIMEDOUT    ? "does not answer in time"
                         : r == -EFBIG        ? "answers without end"
                         : r == -ECONNREFUSED ? "refuses connections"
                                              : strerror(-r));
}

int http_get(const HttpAddress *to, const char *path, const HttpLimits *limits, HttpSink sink,
             void *userdata, Error *ret_error) {
        const uint64_t end_usec = clock_monotonic_usec() + (uint64_t)limits->timeout_msec * 1000;
        size_t body_bytes = 0;
        Answer answer = { 0 };
        _cleanup_close_ int fd =
                socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        socklen_t error_size = sizeof(int);
        int error = 0, r = fd < 0 ? -errno : 0;

        if (r >= 0 && connect(fd, &to->any,
                              to->any.sa_family == AF_INET6 ? sizeof(to->in6) : sizeof(to->in)) < 0)
                r = errno == EINPROGRESS ? socket_await(fd, POLLOUT, end_usec) : -errno;
        if (r >= 0)
                r = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size) < 0 ? -errno : -error;
        if (r >= 0)
                r = send_request(fd, to, path);
        while (r == 0) {
                char bytes[16384];
                size_t of_headers = 0, size;
                ssize_t n;

                r = socket_await(fd, POLLIN, end_usec);
                if (r < 0)
                        break;
                n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
                if (n == 0) {
                        /* An alert has no newline. */
                        if (!answer.status_known)
                                r = answer_take_status(&answer) == -EPROTO ? -EPROTO : -EBADMSG;
                        else if (!answer.in_body)
                                r = -EBADMSG;
                        break;
                }
                if (n < 0) {
                        r = errno == EAGAIN ? 0 : -errno;
                        continue;
                }
                size = (size_t)n;
                if (!answer.in_body) {
                        n = answer_take_headers(&answer, bytes, size);
                        if (n < 0) {
                                r = (int)n;
                                break;
                        }
                        of_headers = (size_t)n;
                }
                size -= of_headers;
                if (size > limits->body_max_bytes - body_bytes) {
                        r = -EFBIG;
                        break;
                }
                body_bytes += size;
                if (size > 0)
                        r = sink(bytes + of_headers, size, userdata);
        }
        return r < 0 ? http_explain(r, to, answer.status, ret_error) : r;
}
