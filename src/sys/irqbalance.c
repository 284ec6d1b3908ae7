/* A running irqbalance. What to send is decided by the plan, when by the daemon. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/irqbalance.h"

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
