/* Interrupts: their masks in /proc/irq, their counters in /proc/interrupts, and a running
 * irqbalance. What to send to that is decided by the plan, when by the daemon. */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/irq.h"

/* --- masks of interrupts in /proc/irq --- */

int irq_affinity_read(const Sysroot *sysroot, uint32_t irq, IrqAffinity *ret) {
        const int fd = sysroot->proc_fd;
        IrqAffinity affinity = { 0 };
        char path[64];
        struct stat st;
        int r;

        (void)snprintf(path, sizeof(path), "irq/%" PRIu32 "/smp_affinity_list", irq);
        r = path_read_list(fd, &affinity.requested, "%s", path);
        if (r < 0)
                return r;
        affinity.effective_known =
                path_read_list(fd, &affinity.effective, "irq/%" PRIu32 "/effective_affinity_list",
                               irq) >= 0;
        /* By its mode: root may write to each file. */
        affinity.read_only = fstatat(fd, path, &st, 0) == 0 && !(st.st_mode & 0222);
        *ret = affinity;
        return 0;
}

bool irq_is_of_pci(const Sysroot *sysroot, const char *pci, uint32_t irq) {
        return path_exists(sysroot->sys_fd, "bus/pci/devices/%s/msi_irqs/%" PRIu32, pci, irq);
}

/* --- counters --- */

/* The table of /proc/interrupts. On a machine of 256 CPUs it has megabytes, so it is walked once,
 * byte by byte, and allocated for once. */

enum { READ_ATTEMPTS = 3 };

void interrupts_done(InterruptTable *interrupts) {
        free(interrupts->cpus);
        free(interrupts->lines);
        free(interrupts->counts);
        free(interrupts->text);
        *interrupts = (InterruptTable){ 0 };
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *p) {
        while (*p == ' ' || *p == '\t')
                p++;
        return p;
}

static const char *next_line(const char *p) {
        const char *end = strchr(p, '\n');

        return end ? end + 1 : p + strlen(p);
}

/* A number of 32 bits, and a blank, a colon or the end of the line behind it. NULL: none. */
static const char *take_number(const char *p, uint32_t *ret) {
        uint64_t value = 0;

        if (!is_digit(*p))
                return NULL;
        for (; is_digit(*p); p++) {
                value = value * 10 + (uint64_t)(*p - '0');
                if (value > UINT32_MAX)
                        return NULL;
        }
        if (*p != ' ' && *p != '\n' && *p != ':' && *p != '\t' && *p != '\0')
                return NULL;
        *ret = (uint32_t)value;
        return p;
}

/* Where the number of a line ends, at its colon; NULL: the line has none. */
static const char *take_irq(const char *line, uint32_t *ret) {
        const char *p = take_number(skip_blanks(line), ret);

        return p && *p == ':' ? p : NULL;
}

/* Of a line, from behind its number on. */
static int interrupt_line_parse(const char *p, size_t n_cpus, uint32_t *counts,
                                InterruptLine *line) {
        const char *end, *at;
        uint32_t more;

        for (size_t i = 0; i < n_cpus; i++) {
                p = take_number(skip_blanks(p), &counts[i]);
                if (!p || *p == ':')
                        return -EAGAIN;
        }
        p = skip_blanks(p);
        if (take_number(p, &more)) /* no chip is called so */
                return -EAGAIN;
        /* Behind the counters are the chip, its number and type, padded, and after two blanks the
         * handlers (kernel/irq/proc.c, show_interrupts()). What ends with padding has no handler.
         */
        end = p + strcspn(p, "\n");
        line->counts = counts;
        line->names = end;
        if (end == p || end[-1] == ' ')
                return 0;
        for (at = end; at > p + 1; at--)
                if (at[-1] == ' ' && at[-2] == ' ') {
                        line->names = at;
                        break;
                }
        line->names_length = (size_t)(end - line->names);
        return 0;
}

int interrupts_parse(const char *text, InterruptTable *ret) {
        _cleanup_interrupts_ InterruptTable table = { 0 };
        const char *lines = next_line(text);
        size_t n = 0, n_words = 0;
        uint32_t irq;

        /* "           CPU0       CPU2", into room for every word of it. */
        for (const char *p = skip_blanks(text); *p && *p != '\n';
             p = skip_blanks(p + strcspn(p, " \t\n")))
                n_words++;
        table.cpus = malloc((n_words + 1) * sizeof(*table.cpus));
        if (!table.cpus)
                return -ENOMEM;
        for (const char *p = skip_blanks(text); *p && *p != '\n'; p = skip_blanks(p)) {
                p = strncmp(p, "CPU", 3) == 0 ? take_number(p + 3, &table.cpus[table.n_cpus])
                                              : NULL;
                if (!p || *p == ':')
                        return -EBADMSG;
                table.n_cpus++;
        }
        if (n_words == 0)
                return -EBADMSG;
        for (const char *line = lines; *line; line = next_line(line))
                n += take_irq(line, &irq) != NULL;
        /* Each counter takes a digit at least: what is shorter is no table to allocate for. */
        if (n > strlen(lines) / table.n_cpus)
                return -EAGAIN;
        table.lines = calloc(n + 1, sizeof(*table.lines));
        table.counts = reallocarray(NULL, n + 1, table.n_cpus * sizeof(*table.counts));
        if (!table.lines || !table.counts)
                return -ENOMEM;
        for (const char *line = lines; *line; line = next_line(line)) {
                InterruptLine *to = &table.lines[table.n_lines];
                const char *p = take_irq(line, &to->irq);
                int r;

                if (!p)
                        continue;
                r = interrupt_line_parse(p + 1, table.n_cpus,
                                         table.counts + table.n_lines * table.n_cpus, to);
                if (r < 0)
                        return r;
                table.n_lines++;
        }
        *ret = TAKE_STRUCT(table);
        return 0;
}

int interrupts_read(const Sysroot *sysroot, InterruptTable *ret) {
        int r = -EAGAIN;

        for (unsigned i = 0; r == -EAGAIN && i < READ_ATTEMPTS; i++) {
                _cleanup_free_ char *text = NULL;

                r = path_read_alloc(sysroot->proc_fd, &text, NULL, "interrupts");
                if (r >= 0)
                        r = interrupts_parse(text, ret);
                if (r >= 0)
                        ret->text = TAKE_PTR(text);
        }
        return r;
}

const InterruptLine *interrupts_find(const InterruptTable *interrupts, uint32_t irq) {
        const size_t at = ARRAY_LOWER_BOUND(interrupts->n_lines, i, interrupts->lines[i].irq < irq);

        return at < interrupts->n_lines && interrupts->lines[at].irq == irq ? &interrupts->lines[at]
                                                                            : NULL;
}

/* --- a running irqbalance --- */

#define PREFIX "irqbalance"
#define SUFFIX ".sock"

void irqbalance_setup_done(IrqbalanceSetup *setup) {
        free(setup->banned_irqs);
        *setup = (IrqbalanceSetup){ 0 };
}

bool irqbalance_setup_has(const IrqbalanceSetup *setup, uint32_t irq) {
        for (size_t i = 0; i < setup->n_banned_irqs; i++)
                if (setup->banned_irqs[i] == irq)
                        return true;
        return false;
}

bool irqbalance_setup_equal(const IrqbalanceSetup *a, const IrqbalanceSetup *b) {
        if (!id_set_equal(&a->banned_cpus, &b->banned_cpus) || a->n_banned_irqs != b->n_banned_irqs)
                return false;
        for (size_t i = 0; i < a->n_banned_irqs; i++)
                if (!irqbalance_setup_has(b, a->banned_irqs[i]))
                        return false;
        return true;
}

/* No other user may have put a socket there. */
static int irqbalance_open_folder(const char *folder, int *ret_fd) {
        _cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH)))
                return -EPERM;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int irqbalance_find(const Sysroot *sysroot, const char *folder, pid_t *ret) {
        _cleanup_closedir_ DIR *dir = NULL;
        const struct dirent *entry;
        int fd = -EBADF, r = irqbalance_open_folder(folder, &fd);
        pid_t found = 0;

        if (r < 0)
                return r;
        dir = dir_from_fd(fd);
        if (!dir)
                return -errno;
        while ((entry = readdir(dir))) {
                char comm[32];
                int pid, length = 0;

                if (sscanf(entry->d_name, PREFIX "%9d" SUFFIX "%n", &pid, &length) != 1 ||
                    length == 0 || entry->d_name[length] != '\0' ||
                    !isdigit((unsigned char)entry->d_name[strlen(PREFIX)]) || pid <= found)
                        continue;
                /* One that was killed has left its socket behind, and its number may be another
                 * process's by now. */
                r = (int)path_read_record(sysroot->proc_fd, comm, sizeof(comm), "%d/comm", pid);
                if (r == -EMFILE || r == -ENFILE)
                        return r;
                if (r >= 0 && strcmp(comm, "irqbalance") == 0)
                        found = pid;
        }
        if (found == 0)
                return -ENOENT;
        *ret = found;
        return 0;
}

int irqbalance_send(const char *folder, pid_t pid, const char *command, int *ret_fd) {
        union {
                char bytes[CMSG_SPACE(sizeof(struct ucred))];
                struct cmsghdr align;
        } control = { 0 };
        /* With its NUL, for irqbalance has forgotten to add one. */
        struct iovec part = { .iov_base = (void *)command, .iov_len = strlen(command) + 1 };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        const struct ucred own = { .pid = getpid(), .uid = geteuid(), .gid = getegid() };
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        _cleanup_close_ int dir_fd = -EBADF, fd = -EBADF;
        socklen_t size = sizeof(struct ucred);
        struct ucred peer;
        ssize_t n;
        int r;

        if (part.iov_len > IRQBALANCE_LONG_COMMAND_MAX)
                return -E2BIG;
        r = irqbalance_open_folder(folder, &dir_fd);
        if (r < 0)
                return r;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        /* The folder that was checked, even if another one has replaced it since. */
        (void)snprintf(address.sun_path, sizeof(address.sun_path),
                       "/proc/self/fd/%d/" PREFIX "%d" SUFFIX, dir_fd, pid);
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
                return -errno;
        /* The listener: the process that called listen(2), and its owner at that time. */
        if (peer.pid != pid || (peer.uid != 0 && peer.uid != geteuid()))
                return -EPERM;
        /* With our credentials, which it wants. */
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_CREDENTIALS;
        header->cmsg_len = CMSG_LEN(sizeof(own));
        memcpy(CMSG_DATA(header), &own, sizeof(own));
        n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
                return -errno;
        if ((size_t)n != part.iov_len)
                return -EIO;
        if (ret_fd)
                *ret_fd = TAKE_FD(fd);
        return 0;
}

int irqbalance_render_cpus(const CpuSet *cpus, char buffer[static IRQBALANCE_COMMAND_MAX]) {
        const size_t prefix = (size_t)snprintf(buffer, IRQBALANCE_COMMAND_MAX, "settings cpus ");
        const size_t room = IRQBALANCE_COMMAND_MAX - prefix;
        int n = id_set_render_list(cpus, buffer + prefix, room);

        if (n < 0)
                return -E2BIG;
        if (n == 0)
                (void)snprintf(buffer + prefix, room, "NULL");
        return 0;
}

size_t irqbalance_render_irqs(const uint32_t *irqs, size_t n_irqs,
                              char buffer[static IRQBALANCE_LONG_COMMAND_MAX], size_t *ret_old) {
        const size_t size = IRQBALANCE_LONG_COMMAND_MAX;
        size_t length =
                (size_t)snprintf(buffer, size, "settings ban irqs%s", n_irqs == 0 ? " NONE" : "");
        size_t n = 0, old = 0;

        for (; n < n_irqs; n++) {
                char number[16];
                const size_t digits = (size_t)snprintf(number, sizeof(number), " %u", irqs[n]);
                size_t begin = length;

                /* A number that an old one would cut in two begins behind its end: spaces mean
                 * nothing. */
                if (length < IRQBALANCE_READS_OLD && length + digits > IRQBALANCE_READS_OLD)
                        begin = IRQBALANCE_READS_OLD;
                if (begin + digits >= size)
                        break;
                memset(buffer + length, ' ', begin - length);
                memcpy(buffer + begin, number, digits);
                length = begin + digits;
                old += length <= IRQBALANCE_READS_OLD;
        }
        buffer[length] = '\0';
        *ret_old = old;
        return n;
}

static int next_number(char **rest, uint64_t max, uint64_t *ret) {
        const char *word = strsep(rest, " ");
        uint64_t value;

        if (!word || parse_u64(word, &value) < 0 || value > max)
                return -EBADMSG;
        *ret = value;
        return 0;
}

static int setup_expect(char **rest, const char *wanted) {
        const char *word = strsep(rest, " ");

        return word && strcmp(word, wanted) == 0 ? 0 : -EBADMSG;
}

int irqbalance_setup_parse(const char *text, size_t size, IrqbalanceSetup *ret) {
        _cleanup_irqbalance_setup_ IrqbalanceSetup setup = { 0 };
        _cleanup_free_ char *copy = NULL;
        uint64_t seconds, irq, unused;
        const char *word;
        char *rest;

        while (size > 0 && text[size - 1] == '\0')
                size--;
        if (memchr(text, '\0', size))
                return -EBADMSG;
        rest = copy = malloc(size + 1); /* not strndup(3): what is behind `size` must not be read */
        if (!copy)
                return -ENOMEM;
        memcpy(copy, text, size);
        copy[size] = '\0';
        if (setup_expect(&rest, "SLEEP") < 0 || next_number(&rest, UINT32_MAX, &seconds) < 0)
                return -EBADMSG;
        setup.sleep_seconds = (uint32_t)seconds;
        while ((word = strsep(&rest, " ")) && strcmp(word, "IRQ") == 0) {
                /* "IRQ 24 LOAD 1234 DIFF 5 CLASS 6". CLASS may be negative. */
                if (next_number(&rest, INT_MAX, &irq) < 0 || setup_expect(&rest, "LOAD") < 0 ||
                    next_number(&rest, UINT64_MAX, &unused) < 0 ||
                    setup_expect(&rest, "DIFF") < 0 ||
                    next_number(&rest, UINT64_MAX, &unused) < 0 ||
                    setup_expect(&rest, "CLASS") < 0 || !strsep(&rest, " "))
                        return -EBADMSG;
                if (ARRAY_RESERVE(setup.banned_irqs, setup.allocated, setup.n_banned_irqs + 1) < 0)
                        return -ENOMEM;
                setup.banned_irqs[setup.n_banned_irqs++] = (uint32_t)irq;
        }
        if (!word || strcmp(word, "BANNED") != 0 || !rest ||
            id_set_parse_mask(rest, &setup.banned_cpus) != 0)
                return -EBADMSG;
        *ret = TAKE_STRUCT(setup);
        return 0;
}
