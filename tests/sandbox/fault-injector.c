/* Preloaded into the daemon and so into its workers: makes one call of theirs fail, or ends the
 * process at that call. Which one is said by the test in a page that both map, the file that
 * TIDBNUMAD_FAULTS names.
 *
 * Only calls from the program itself count, not those from the libraries below it; of allocations
 * all count. The errors are those of each call's manual page. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* glibc's own, below the names that it lets others replace. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);

enum { OFF, CALLS, ALLOCATIONS, KILL }; /* Page.mode; KILL: at a call */

typedef struct Page {
        _Atomic uint32_t mode;
        uint32_t variant;       /* which of a call's errors */
        _Atomic uint64_t calls; /* since the test set it to 0 */
        uint64_t fail_at;       /* counted from 1; 0: none, only count */
        _Atomic uint32_t error; /* of the one that failed; 0: none yet */
        int32_t pid;
        uint64_t caller; /* an address within the program */
        char name[32];
        uint32_t n_errors; /* of the call that failed */
} Page;

static Page unseen, *page = &unseen;
static uintptr_t program, program_end;

/* The first object is the program. */
static int find_program(struct dl_phdr_info *info, size_t size, void *userdata) {
        (void)size, (void)userdata;
        program = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *part = &info->dlpi_phdr[i];

                if (part->p_type == PT_LOAD &&
                    program + part->p_vaddr + part->p_memsz > program_end)
                        program_end = program + part->p_vaddr + part->p_memsz;
        }
        return 1;
}

__attribute__((constructor)) static void map_page(void) {
        const char *path = getenv("TIDBNUMAD_FAULTS");
        int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        void *mapped;

        (void)dl_iterate_phdr(find_program, NULL);
        if (fd < 0)
                return;
        mapped = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        (void)close(fd);
        if (mapped != MAP_FAILED)
                page = mapped;
}

static bool is_counted(uint32_t mode, bool allocation, uintptr_t caller) {
        if (mode == OFF || allocation != (mode == ALLOCATIONS))
                return false;
        return allocation || (caller >= program && caller < program_end);
}

/* The error with which this call is to fail; 0: it is not the one. */
static int inject(const char *name, const void *caller, const int *errors, size_t n) {
        const uint32_t mode = atomic_load(&page->mode);

        if (!is_counted(mode, strcmp(name, "malloc") == 0, (uintptr_t)caller) ||
            atomic_fetch_add(&page->calls, 1) + 1 != page->fail_at)
                return 0;
        page->pid = (int32_t)getpid();
        page->caller = (uintptr_t)caller - program;
        (void)snprintf(page->name, sizeof(page->name), "%s", name);
        page->n_errors = (uint32_t)n;
        atomic_store(&page->error, (uint32_t)errors[page->variant % n]);
        if (mode == KILL)
                (void)raise(SIGKILL);
        return errors[page->variant % n];
}

#define INJECT(name, ...)                                                                          \
        inject(name, __builtin_return_address(0), (const int[]){ __VA_ARGS__ },                    \
               sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* `type name parameters`, of which `arguments` go on to the real one, fails with `failure` and one
 * of the errors. The symbol is named apart, for headers declare some of these with `...`. */
#define FAILING(type, failure, name, parameters, arguments, ...)                                   \
        type replaced_##name parameters __asm__(#name);                                            \
        type replaced_##name parameters {                                                          \
                static type(*real) parameters;                                                     \
                const int error = INJECT(#name, __VA_ARGS__);                                      \
                                                                                                   \
                if (error) {                                                                       \
                        errno = error;                                                             \
                        return failure;                                                            \
                }                                                                                  \
                if (!real)                                                                         \
                        *(void **)&real = dlsym(RTLD_NEXT, #name);                                 \
                return real arguments;                                                             \
        }

FAILING(int, -1, open64, (const char *path, int flags, mode_t mode), (path, flags, mode), ENOENT,
        EACCES, EMFILE, ENOMEM, EIO)
FAILING(int, -1, openat64, (int fd, const char *path, int flags, mode_t mode),
        (fd, path, flags, mode), ENOENT, EACCES, EMFILE, ENFILE, ENOMEM, EIO)
FAILING(ssize_t, -1, read, (int fd, void *buffer, size_t size), (fd, buffer, size), EIO, EINTR,
        ESRCH, ENOMEM)
FAILING(ssize_t, -1, pread64, (int fd, void *buffer, size_t size, off64_t at),
        (fd, buffer, size, at), EIO, EINTR, ESRCH, ENOMEM)
FAILING(ssize_t, -1, write, (int fd, const void *buffer, size_t size), (fd, buffer, size), ENOSPC,
        EINTR, EIO, EINVAL, EBUSY)
FAILING(ssize_t, -1, readlinkat, (int fd, const char *path, char *buffer, size_t size),
        (fd, path, buffer, size), ENOENT, EACCES, ENOMEM)
FAILING(ssize_t, -1, readlink, (const char *path, char *buffer, size_t size), (path, buffer, size),
        ENOENT, EACCES, ENOMEM)
FAILING(int, -1, fstat64, (int fd, struct stat64 *ret), (fd, ret), ENOMEM, EIO)
FAILING(int, -1, fstatat64, (int fd, const char *path, struct stat64 *ret, int flags),
        (fd, path, ret, flags), ENOENT, EACCES, ENOMEM)
FAILING(int, -1, stat64, (const char *path, struct stat64 *ret), (path, ret), ENOENT, EACCES,
        ENOMEM)
FAILING(int, -1, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), ENOSPC, EROFS,
        EACCES)
FAILING(int, -1, mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC, EROFS, EACCES)
FAILING(int, -1, renameat, (int from, const char *old, int to, const char *new),
        (from, old, to, new), ENOSPC, EROFS, EIO)
FAILING(int, -1, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), EROFS, EIO,
        EBUSY)
FAILING(int, -1, fchmod, (int fd, mode_t mode), (fd, mode), EPERM, EROFS)
FAILING(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol), EMFILE,
        ENOMEM, EACCES)
FAILING(int, -1, socketpair, (int domain, int type, int protocol, int fds[2]),
        (domain, type, protocol, fds), EMFILE, ENOMEM)
FAILING(int, -1, bind, (int fd, const struct sockaddr *address, socklen_t size),
        (fd, address, size), EACCES, EADDRINUSE)
FAILING(int, -1, connect, (int fd, const struct sockaddr *address, socklen_t size),
        (fd, address, size), ECONNREFUSED, ENOENT, EAGAIN)
FAILING(int, -1, setsockopt, (int fd, int level, int name, const void *value, socklen_t size),
        (fd, level, name, value, size), EPERM, ENOBUFS)
FAILING(ssize_t, -1, send, (int fd, const void *buffer, size_t size, int flags),
        (fd, buffer, size, flags), ENOBUFS, EAGAIN, EPIPE)
FAILING(ssize_t, -1, sendmsg, (int fd, const struct msghdr *message, int flags),
        (fd, message, flags), ENOBUFS, EAGAIN, EPIPE)
FAILING(ssize_t, -1, recv, (int fd, void *buffer, size_t size, int flags),
        (fd, buffer, size, flags), EINTR, ENOMEM, EAGAIN)
FAILING(ssize_t, -1, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags),
        EINTR, ENOMEM, ENOBUFS)
FAILING(int, -1, recvmmsg,
        (int fd, struct mmsghdr *messages, unsigned n, int flags, struct timespec *timeout),
        (fd, messages, n, flags, timeout), EINTR, ENOBUFS, ENOMEM)
FAILING(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags), EMFILE, ENOMEM)
FAILING(int, -1, pipe2, (int fds[2], int flags), (fds, flags), EMFILE, ENFILE)
FAILING(pid_t, -1, fork, (void), (), EAGAIN, ENOMEM)
FAILING(int, error, posix_spawn,
        (pid_t *restrict pid, const char *restrict path,
         const posix_spawn_file_actions_t *restrict actions,
         const posix_spawnattr_t *restrict attributes, char *const *restrict argv,
         char *const *restrict env),
        (pid, path, actions, attributes, argv, env), EAGAIN, ENOMEM)
FAILING(int, -1, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask),
        ENOSPC, ENOMEM, ENOENT)
FAILING(int, -1, inotify_init1, (int flags), (flags), EMFILE, ENOMEM)
FAILING(int, -1, poll, (struct pollfd * fds, nfds_t n, int msec), (fds, n, msec), EINTR, ENOMEM)
FAILING(ssize_t, -1, process_vm_readv,
        (pid_t pid, const struct iovec *to, unsigned long n_to, const struct iovec *from,
         unsigned long n_from, unsigned long flags),
        (pid, to, n_to, from, n_from, flags), ESRCH, EPERM, EFAULT)
FAILING(int, -1, numa_move_pages,
        (int pid, unsigned long n, void **pages, const int *nodes, int *status, int flags),
        (pid, n, pages, nodes, status, flags), ESRCH, EPERM, ENOMEM)

long replaced_syscall(long number, ...) __asm__("syscall");
long replaced_syscall(long number, ...) {
        static long (*real)(long number, ...);
        const int error = INJECT("syscall", ESRCH, EPERM, EMFILE, ENOMEM, EINVAL, ENOSYS);
        long a[6];
        va_list list;

        va_start(list, number);
        for (size_t i = 0; i < 6; i++)
                a[i] = va_arg(list, long);
        va_end(list);
        if (error) {
                errno = error;
                return -1;
        }
        if (!real)
                *(void **)&real = dlsym(RTLD_NEXT, "syscall");
        return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void *malloc(size_t size) {
        if (INJECT("malloc", ENOMEM)) {
                errno = ENOMEM;
                return NULL;
        }
        return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
        if (INJECT("malloc", ENOMEM)) {
                errno = ENOMEM;
                return NULL;
        }
        return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size) {
        if (INJECT("malloc", ENOMEM)) {
                errno = ENOMEM;
                return NULL;
        }
        return __libc_realloc(block, size);
}
