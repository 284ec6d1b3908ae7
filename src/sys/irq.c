/* Interrupts: their masks in /proc/irq, their counters in /proc/interrupts, and a running
 * irqbalance. What to send to that is decided by the plan, when by the daemon. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/irq.h"

/* --- irq --- */

/* Masks of interrupts in /proc/irq. */

static int read_list(const Sysroot *sysroot, uint32_t irq, const char *name, CpuSet *ret) {
        char path[64], text[ID_SET_LIST_MAX];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "irq/%" PRIu32 "/%s", irq, name);
        n = path_read(sysroot->proc_fd, text, sizeof(text), "%s", path);
        return n < 0 ? (int)n : id_set_parse_list(text, ret);
}

/* By its mode: root may write to each file. */
static bool is_read_only(const Sysroot *sysroot, uint32_t irq) {
        char path[64];
        struct stat st;

        (void)snprintf(path, sizeof(path), "irq/%" PRIu32 "/smp_affinity_list", irq);
        return fstatat(sysroot->proc_fd, path, &st, 0) == 0 && !(st.st_mode & 0222);
}

int irq_affinity_read(const Sysroot *sysroot, uint32_t irq, IrqAffinity *ret) {
        IrqAffinity affinity = { 0 };
        int r = read_list(sysroot, irq, "smp_affinity_list", &affinity.requested);

        if (r < 0)
                return r;
        affinity.effective_known =
                read_list(sysroot, irq, "effective_affinity_list", &affinity.effective) >= 0;
        affinity.read_only = is_read_only(sysroot, irq);
        *ret = affinity;
        return 0;
}

bool irq_is_of_pci(const Sysroot *sysroot, const char *pci, uint32_t irq) {
        char path[128];

        (void)snprintf(path, sizeof(path), "bus/pci/devices/%s/msi_irqs/%" PRIu32, pci, irq);
        return faccessat(sysroot->sys_fd, path, F_OK, 0) == 0;
}

/* --- interrupts --- */

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

/* "           CPU0       CPU2", into room for every word of it. */
static int parse_head(const char *text, InterruptTable *ret) {
        size_t n_words = 0;

        for (const char *p = skip_blanks(text); *p && *p != '\n';
             p = skip_blanks(p + strcspn(p, " \t\n")))
                n_words++;
        ret->cpus = malloc((n_words + 1) * sizeof(*ret->cpus));
        if (!ret->cpus)
                return -ENOMEM;
        for (const char *p = skip_blanks(text); *p && *p != '\n'; p = skip_blanks(p)) {
                p = strncmp(p, "CPU", 3) == 0 ? take_number(p + 3, &ret->cpus[ret->n_cpus]) : NULL;
                if (!p || *p == ':')
                        return -EBADMSG;
                ret->n_cpus++;
        }
        return n_words > 0 ? 0 : -EBADMSG;
}

/* Where the number of a line ends, at its colon; NULL: the line has none. */
static const char *take_irq(const char *line, uint32_t *ret) {
        const char *p = take_number(skip_blanks(line), ret);

        return p && *p == ':' ? p : NULL;
}

static size_t count_lines(const char *text) {
        size_t n = 0;
        uint32_t irq;

        for (const char *line = text; *line; line = next_line(line))
                n += take_irq(line, &irq) != NULL;
        return n;
}

/* Behind the counters are the chip, its number and type, padded, and after two blanks the
 * handlers (kernel/irq/proc.c, show_interrupts()). What ends with padding has no handler. */
static void take_names(const char *p, InterruptLine *line) {
        const char *end = p + strcspn(p, "\n");

        line->names = end;
        if (end == p || end[-1] == ' ')
                return;
        for (const char *at = end; at > p + 1; at--)
                if (at[-1] == ' ' && at[-2] == ' ') {
                        line->names = at;
                        break;
                }
        line->names_length = (size_t)(end - line->names);
}

static int parse_line(const char *p, size_t n_cpus, uint32_t *counts, InterruptLine *line) {
        uint32_t more;

        for (size_t i = 0; i < n_cpus; i++) {
                p = take_number(skip_blanks(p), &counts[i]);
                if (!p || *p == ':')
                        return -EAGAIN;
        }
        p = skip_blanks(p);
        if (take_number(p, &more)) /* no chip is called so */
                return -EAGAIN;
        line->counts = counts;
        take_names(p, line);
        return 0;
}

static int parse_lines(const char *text, InterruptTable *ret) {
        size_t n = count_lines(text);

        /* Each counter takes a digit at least: what is shorter is no table to allocate for. */
        if (n > strlen(text) / ret->n_cpus)
                return -EAGAIN;
        ret->lines = calloc(n + 1, sizeof(*ret->lines));
        ret->counts = reallocarray(NULL, n + 1, ret->n_cpus * sizeof(*ret->counts));
        if (!ret->lines || !ret->counts)
                return -ENOMEM;
        for (const char *line = text; *line; line = next_line(line)) {
                InterruptLine *to = &ret->lines[ret->n_lines];
                const char *p = take_irq(line, &to->irq);
                int r;

                if (!p)
                        continue;
                r = parse_line(p + 1, ret->n_cpus, ret->counts + ret->n_lines * ret->n_cpus, to);
                if (r < 0)
                        return r;
                ret->n_lines++;
        }
        return 0;
}

int interrupts_parse(const char *text, InterruptTable *ret) {
        _cleanup_interrupts_ InterruptTable interrupts = { 0 };
        int r = parse_head(text, &interrupts);

        if (r >= 0)
                r = parse_lines(next_line(text), &interrupts);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(interrupts);
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

/* --- irqbalance --- */

/* A running irqbalance. What to send is decided by the plan, when by the daemon. */

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

/* --- finding it --- */

/* No other user may have put a socket there. */
static int open_folder(const char *folder, int *ret_fd) {
        _cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH)))
                return -EPERM;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* 0: another file. */
static pid_t pid_of_name(const char *name) {
        const size_t length = strlen(name), frame = strlen(PREFIX SUFFIX);
        char number[12];
        uint64_t pid;

        if (length <= frame || length - frame >= sizeof(number) ||
            strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !text_ends_with(name, SUFFIX))
                return 0;
        memcpy(number, name + strlen(PREFIX), length - frame);
        number[length - frame] = '\0';
        return parse_u64(number, &pid) == 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* One that was killed has left its socket behind. */
static bool is_alive(pid_t pid) {
        char path[32];

        (void)snprintf(path, sizeof(path), "/proc/%d", pid);
        return access(path, F_OK) == 0 || errno != ENOENT;
}

int irqbalance_find(const char *folder, pid_t *ret) {
        _cleanup_closedir_ DIR *dir = NULL;
        const struct dirent *entry;
        int fd = -EBADF, r = open_folder(folder, &fd);
        pid_t found = 0;

        if (r < 0)
                return r;
        dir = fdopendir(fd);
        if (!dir) {
                r = -errno;
                closep(&fd);
                return r;
        }
        while ((entry = readdir(dir))) {
                const pid_t pid = pid_of_name(entry->d_name);

                if (pid > found && is_alive(pid))
                        found = pid;
        }
        if (found == 0)
                return -ENOENT;
        *ret = found;
        return 0;
}

/* --- asking it --- */

/* The listener: the process that called listen(2), and its owner at that time. */
static int check_peer(int fd, pid_t pid) {
        socklen_t size = sizeof(struct ucred);
        struct ucred peer;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
                return -errno;
        return peer.pid == pid && (peer.uid == 0 || peer.uid == geteuid()) ? 0 : -EPERM;
}

static int connect_to(const char *folder, pid_t pid, int *ret_fd) {
        _cleanup_close_ int dir_fd = -EBADF, fd = -EBADF;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int r = open_folder(folder, &dir_fd);

        if (r < 0)
                return r;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        /* The folder that was checked, even if another one has replaced it since. */
        (void)snprintf(address.sun_path, sizeof(address.sun_path),
                       "/proc/self/fd/%d/" PREFIX "%d" SUFFIX, dir_fd, pid);
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        r = check_peer(fd, pid);
        if (r < 0)
                return r;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* With our credentials, which it wants; the NUL, for it has forgotten to add one. */
static int send_command(int fd, const char *command) {
        union {
                char bytes[CMSG_SPACE(sizeof(struct ucred))];
                struct cmsghdr align;
        } control = { 0 };
        struct iovec part = { .iov_base = (void *)command, .iov_len = strlen(command) + 1 };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        const struct ucred own = { .pid = getpid(), .uid = geteuid(), .gid = getegid() };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        ssize_t n;

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_CREDENTIALS;
        header->cmsg_len = CMSG_LEN(sizeof(own));
        memcpy(CMSG_DATA(header), &own, sizeof(own));
        n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
                return -errno;
        return (size_t)n == part.iov_len ? 0 : -EIO;
}

int irqbalance_send(const char *folder, pid_t pid, const char *command, int *ret_fd) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (strlen(command) >= IRQBALANCE_LONG_COMMAND_MAX)
                return -E2BIG;
        r = connect_to(folder, pid, &fd);
        if (r >= 0)
                r = send_command(fd, command);
        if (r < 0)
                return r;
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

/* A number that an old one would cut in two begins behind its end: spaces mean nothing. */
static size_t pad(const char *number, size_t length, char *buffer) {
        const size_t end = length + strlen(number);

        if (length >= IRQBALANCE_READS_OLD || end <= IRQBALANCE_READS_OLD)
                return length;
        memset(buffer + length, ' ', IRQBALANCE_READS_OLD - length);
        return IRQBALANCE_READS_OLD;
}

size_t irqbalance_render_irqs(const uint32_t *irqs, size_t n_irqs,
                              char buffer[static IRQBALANCE_LONG_COMMAND_MAX], size_t *ret_old) {
        const size_t size = IRQBALANCE_LONG_COMMAND_MAX;
        size_t length =
                (size_t)snprintf(buffer, size, "settings ban irqs%s", n_irqs == 0 ? " NONE" : "");
        size_t n = 0, old = 0;

        for (; n < n_irqs; n++) {
                char number[16];
                size_t begin;

                (void)snprintf(number, sizeof(number), " %u", irqs[n]);
                begin = pad(number, length, buffer);
                if (begin + strlen(number) >= size)
                        break;
                length = begin + (size_t)snprintf(buffer + begin, size - begin, "%s", number);
                old += length <= IRQBALANCE_READS_OLD;
        }
        buffer[length] = '\0';
        *ret_old = old;
        return n;
}

/* --- what it answers --- */

/* The next word, cut off from the number before it. */
static char *next_word(char **rest) {
        return strsep(rest, " ");
}

static int next_number(char **rest, uint64_t max, uint64_t *ret) {
        const char *word = next_word(rest);
        uint64_t value;

        if (!word || parse_u64(word, &value) < 0 || value > max)
                return -EBADMSG;
        *ret = value;
        return 0;
}

static int expect(char **rest, const char *wanted) {
        const char *word = next_word(rest);

        return word && strcmp(word, wanted) == 0 ? 0 : -EBADMSG;
}

/* "IRQ 24 LOAD 1234 DIFF 5 CLASS 6", behind the first word. CLASS may be negative. */
static int parse_irq(char **rest, IrqbalanceSetup *setup) {
        uint64_t irq, unused;

        if (next_number(rest, INT_MAX, &irq) < 0 || expect(rest, "LOAD") < 0 ||
            next_number(rest, UINT64_MAX, &unused) < 0 || expect(rest, "DIFF") < 0 ||
            next_number(rest, UINT64_MAX, &unused) < 0 || expect(rest, "CLASS") < 0 ||
            !next_word(rest))
                return -EBADMSG;
        if (ARRAY_RESERVE(setup->banned_irqs, setup->allocated, setup->n_banned_irqs + 1) < 0)
                return -ENOMEM;
        setup->banned_irqs[setup->n_banned_irqs++] = (uint32_t)irq;
        return 0;
}

static int parse_words(char *rest, IrqbalanceSetup *setup) {
        uint64_t seconds;

        if (expect(&rest, "SLEEP") < 0 || next_number(&rest, UINT32_MAX, &seconds) < 0)
                return -EBADMSG;
        setup->sleep_seconds = (uint32_t)seconds;
        for (;;) {
                const char *word = next_word(&rest);
                int r;

                if (!word)
                        return -EBADMSG;
                if (strcmp(word, "BANNED") == 0)
                        return rest && id_set_parse_mask(rest, &setup->banned_cpus) == 0 ? 0
                                                                                         : -EBADMSG;
                if (strcmp(word, "IRQ") != 0)
                        return -EBADMSG;
                r = parse_irq(&rest, setup);
                if (r < 0)
                        return r;
        }
}

int irqbalance_setup_parse(const char *text, size_t size, IrqbalanceSetup *ret) {
        _cleanup_irqbalance_setup_ IrqbalanceSetup setup = { 0 };
        _cleanup_free_ char *copy = NULL;
        int r;

        while (size > 0 && text[size - 1] == '\0')
                size--;
        if (memchr(text, '\0', size))
                return -EBADMSG;
        copy = malloc(size + 1); /* not strndup(3): what is behind `size` must not be read */
        if (!copy)
                return -ENOMEM;
        memcpy(copy, text, size);
        copy[size] = '\0';
        r = parse_words(copy, &setup);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(setup);
        return 0;
}
