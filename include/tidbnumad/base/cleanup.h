/* Scope-bound release of resources, as systemd and the kernel's cleanup.h do it.
 *
 * `_cleanup_(f) T x` calls f(&x) when x leaves its scope. TAKE_PTR/TAKE_FD hand the
 * value on and leave the variable empty, so that the cleanup does nothing.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _unused_ __attribute__((unused))

#define DEFINE_CLEANUP(type, func)                                                                 \
        static inline void func##p(type *p) {                                                      \
                if (*p)                                                                            \
                        func(*p);                                                                  \
        }

#define TAKE_PTR(p)                                                                                \
        ({                                                                                         \
                __typeof__(p) *_pp = &(p);                                                         \
                __typeof__(p) _taken = *_pp;                                                       \
                *_pp = NULL;                                                                       \
                _taken;                                                                            \
        })

#define TAKE_FD(fd)                                                                                \
        ({                                                                                         \
                int *_fdp = &(fd);                                                                 \
                int _taken = *_fdp;                                                                \
                *_fdp = -EBADF;                                                                    \
                _taken;                                                                            \
        })

/* Leaves zeros behind. */
#define TAKE_STRUCT(s)                                                                             \
        ({                                                                                         \
                __typeof__(s) *_sp = &(s);                                                         \
                __typeof__(s) _taken = *_sp;                                                       \
                *_sp = (__typeof__(s)){ 0 };                                                       \
                _taken;                                                                            \
        })

#define ELEMENTSOF(array) (sizeof(array) / sizeof((array)[0]))

/* Defines `const char *func(type value)`, which returns the string of a value from `table`. */
#define DEFINE_STRING_TABLE(func, type, table)                                                     \
        const char *func(type value) {                                                             \
                return (table)[value];                                                             \
        }

static inline void freep(void *p) {
        free(*(void **)p);
}

/* Keeps errno, so that it can be called between a failing call and `return -errno`. Leaves no
 * number behind that could be closed once more, by then another file's. */
static inline void closep(int *fd) {
        int saved = errno;

        if (*fd >= 0)
                (void)close(*fd);
        *fd = -EBADF;
        errno = saved;
}

static inline void fclosep(FILE **f) {
        if (*f)
                (void)fclose(*f);
}

static inline void closedirp(DIR **d) {
        if (*d)
                (void)closedir(*d);
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_closedir_ _cleanup_(closedirp)
