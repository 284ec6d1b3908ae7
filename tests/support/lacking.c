/* tests-lacking NAMES PROGRAM [ARGUMENT…]: executes the program, as if the kernel lacked these
 * system calls: a filter of seccomp(2) has them answer as an older kernel does. `all`: all of them.
 * Without arguments it prints the names. */

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LACKING_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define LACKING_ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH_ is this?"
#endif

typedef struct Lacking {
        const char *name;
        uint32_t number;
        uint32_t command; /* of ioctl(2); 0: any */
        uint32_t error;
} Lacking;

/* What the daemon uses of kernels after 4.18, and what a host may forbid it. The numbers are those
 * of asm-generic/unistd.h, the same on all architectures since 5.1. */
static const Lacking LACKING[] = {
        { "pidfd_send_signal", 424, 0, ENOSYS },
        { "pidfd_open", 434, 0, ENOSYS },
        { "close_range", 436, 0, ENOSYS },
        { "openat2", 437, 0, ENOSYS },
        { "pagemap_scan", __NR_ioctl, 0xc0606610, ENOTTY }, /* PAGEMAP_SCAN */
        { "kcmp", __NR_kcmp, 0, ENOSYS },
        { "process_vm_readv", __NR_process_vm_readv, 0, EPERM },
        { "perf_event_open", __NR_perf_event_open, 0, EACCES },
        /* A list of allowed system calls that is older than the call (SystemCallFilter=). */
        { "pidfd_open-refused", 434, 0, EPERM },
        { "openat2-refused", 437, 0, EPERM },
};

enum { LACKING_ROWS = sizeof(LACKING) / sizeof(LACKING[0]) };

/* A rule for one: the last instruction answers. */
static size_t lacking_rule(const Lacking *row, struct sock_filter *at) {
        size_t n = 0;

        at[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                               offsetof(struct seccomp_data, nr));
        at[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, row->number, 0,
                                               row->command ? 3 : 1);
        if (row->command) {
                at[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                       offsetof(struct seccomp_data, args[1]));
                at[n++] =
                        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, row->command, 0, 1);
        }
        at[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | row->error);
        return n;
}

/* Returns how many instructions that makes; 0: such a name is not known. */
static size_t lacking_named(const char *name, struct sock_filter *at) {
        const bool all = strcmp(name, "all") == 0;
        size_t n = 0;

        for (size_t i = 0; i < LACKING_ROWS; i++)
                if (strcmp(LACKING[i].name, name) == 0 || (all && LACKING[i].error != EPERM))
                        n += lacking_rule(&LACKING[i], at + n);
        return n;
}

static int install(struct sock_fprog *program) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) == 0)
                return 0;
        /* Who is not root gives up setuid programs for it. */
        if (errno != EACCES || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) < 0)
                return -errno;
        return 0;
}

/* `names` with commas between. From now on, and for all children. */
static int lacking_install(char *names) {
        struct sock_filter filter[512] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LACKING_ARCH, 1, 0),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { .filter = filter };
        size_t n = 3;

        for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
                const size_t more = lacking_named(name, filter + n);

                if (more == 0)
                        return -EINVAL;
                n += more;
        }
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        program.len = (unsigned short)n;
        return install(&program);
}

int main(int argc, char **argv) {
        int r;

        for (size_t i = 0; argc == 1 && i < LACKING_ROWS; i++)
                puts(LACKING[i].name);
        if (argc == 1)
                return EXIT_SUCCESS;
        r = argc < 3 ? -EINVAL : lacking_install(argv[1]);
        if (r >= 0) {
                (void)execvp(argv[2], argv + 2);
                r = -errno;
        }
        (void)fprintf(stderr, "lacking: %s\n", strerror(-r));
        return EXIT_FAILURE;
}
