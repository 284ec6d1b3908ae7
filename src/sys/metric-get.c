#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/metric-get.h"

/* The request of a scraper; with HTTP/1.0 the answer is not encoded in chunks, and ends with the
 * connection. */
static const char REQUEST[] = "GET /metrics HTTP/1.0\r\n"
                              "Host: localhost\r\n"
                              "Accept: text/plain\r\n"
                              "User-Agent: tidbnumactl\r\n"
                              "\r\n";

/* "HTTP/1.1 200 OK" */
static bool is_good_status(const char *line) {
        return strncmp(line, "HTTP/1.", 7) == 0 && strncmp(line + 8, " 200", 4) == 0;
}

/* NAME VALUE; some write 8 as 8.0 or 8e+00, which no number of threads needs. */
static bool is_metric(const char *line, const char *name, uint32_t *ret) {
        const size_t length = strlen(name);
        uint64_t n;

        if (strncmp(line, name, length) != 0 || line[length] != ' ' ||
            parse_u64(line + length + 1, &n) < 0 || n == 0 || n > UINT32_MAX)
                return false;
        *ret = (uint32_t)n;
        return true;
}

static void end_line(MetricReader *reader) {
        const bool first = !reader->begun;

        reader->begun = true;
        if (reader->length > 0 && reader->line[reader->length - 1] == '\r')
                reader->length--;
        reader->line[reader->length] = '\0';
        if (!reader->body) {
                if (first && !is_good_status(reader->line))
                        reader->result = -EBADMSG;
                reader->body = reader->length == 0;
        } else if (!reader->cut)
                for (size_t i = 0; reader->names[i] && reader->result == 0; i++)
                        reader->result = is_metric(reader->line, reader->names[i], &reader->value);
        reader->length = 0;
        reader->cut = false;
}

int metric_reader_add(MetricReader *reader, const char *bytes, size_t size) {
        for (size_t i = 0; i < size && reader->result == 0; i++)
                if (bytes[i] == '\n')
                        end_line(reader);
                else if (reader->length + 1 < sizeof(reader->line))
                        reader->line[reader->length++] = bytes[i];
                else
                        reader->cut = true;
        return reader->result;
}

/* Waits until then for the socket; 0 or -errno. */
static int await(int fd, short events, uint64_t end_usec) {
        struct pollfd poll_fd = { .fd = fd, .events = events };
        const uint64_t now = clock_monotonic_usec();
        int r = now < end_usec ? poll(&poll_fd, 1, (int)((end_usec - now + 999) / 1000)) : 0;

        if (r < 0)
                return -errno;
        return r == 0 ? -ETIMEDOUT : 0;
}

/* A connected socket, or -errno. */
static int open_connection(uint16_t port, uint64_t end_usec) {
        const struct sockaddr_in to = { .sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        socklen_t size = sizeof(int);
        int error = 0, r = 0;

        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
                r = errno == EINPROGRESS ? await(fd, POLLOUT, end_usec) : -errno;
        if (r == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
                r = -errno;
        if (r < 0 || error != 0)
                return r < 0 ? r : -error;
        return TAKE_FD(fd);
}

/* Until something is found, or the answer ends. */
static int read_answer(int fd, MetricReader *reader, uint64_t end_usec) {
        char bytes[4096];
        ssize_t n = 1;
        int r = 0;

        while (r == 0 && n != 0) {
                r = await(fd, POLLIN, end_usec);
                if (r < 0)
                        return r;
                n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
                if (n < 0 && errno != EAGAIN)
                        return -errno;
                if (n > 0)
                        r = metric_reader_add(reader, bytes, (size_t)n);
        }
        return r;
}

int metric_get(uint16_t port, const char *const *names, uint32_t timeout_msec, uint32_t *ret) {
        const uint64_t end_usec = clock_monotonic_usec() + (uint64_t)timeout_msec * 1000;
        _cleanup_close_ int fd = open_connection(port, end_usec);
        MetricReader reader = { .names = names };
        int r;

        if (fd < 0)
                return fd;
        /* The request fits into the empty buffer of a new socket. */
        if (send(fd, REQUEST, sizeof(REQUEST) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(REQUEST) - 1)
                return errno ? -errno : -EIO;
        r = read_answer(fd, &reader, end_usec);
        if (r < 0)
                return r;
        if (r == 0)
                return reader.body ? -ENODATA : -EBADMSG;
        *ret = reader.value;
        return 0;
}
