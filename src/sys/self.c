/* This process: what it costs, and what it may do. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/self.h"

/* By so much less two readings differ, and by so much more they do when the clock was set. */
#define CLOCK_SET_SECONDS 0.5

int self_read(double *ret_cpu_seconds, uint64_t *ret_resident_bytes, uint64_t *ret_open_fds,
              double *start_seconds) {
        _cleanup_numbers_ Numbers fds = { .dir_fd = -EBADF };
        uint64_t pages, n_fds = 0;
        struct rusage usage;
        char text[1024];
        ProcStat stat;
        double start;
        pid_t fd;
        int r = (int)path_read(AT_FDCWD, text, sizeof(text), "/proc/self/stat");

        if (r >= 0)
                r = proc_stat_parse(text, &stat);
        if (r >= 0)
                r = (int)path_read(AT_FDCWD, text, sizeof(text), "/proc/self/statm");
        if (r < 0)
                return r;
        if (sscanf(text, "%*u %" SCNu64, &pages) != 1)
                return -EBADMSG;
        numbers_begin(path_open(AT_FDCWD, O_RDONLY | O_DIRECTORY, "/proc/self/fd"), &fds);
        while ((r = numbers_next(&fds, &fd)) > 0)
                n_fds++;
        if (r < 0)
                return r;
        *ret_resident_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
        *ret_open_fds = n_fds > 0 ? n_fds - 1 : 0; /* not the one that reads */
        /* Made of two clocks, which are read one after the other: it would be another time by a
         * microsecond at each reading, and a reader that detects restarts by its changes would find
         * many. */
        start = clock_realtime_seconds() - clock_boottime_seconds() +
                (double)stat.start_ticks / (double)sysconf(_SC_CLK_TCK);
        if (fabs(start - *start_seconds) > CLOCK_SET_SECONDS)
                *start_seconds = start;
        (void)getrusage(RUSAGE_SELF, &usage);
        *ret_cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
        return 0;
}

int self_lock_memory(void) {
        const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
        struct rlimit limit;

        if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
                return -errno;
        if (limit.rlim_cur != RLIM_INFINITY && setrlimit(RLIMIT_MEMLOCK, &unlimited) < 0)
                return -errno;
        return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0 ? -errno : 0;
}

/* --- capabilities --- */

typedef struct __user_cap_header_struct Header;
typedef struct __user_cap_data_struct Data;

bool capability_is_effective(unsigned capability) {
        Header header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        Data data[_LINUX_CAPABILITY_U32S_3];

        return syscall(SYS_capget, &header, data) == 0 &&
               data[capability / 32].effective & UINT32_C(1) << (capability % 32);
}

int capability_set_effective(unsigned capability, bool on) {
        Header header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        Data data[_LINUX_CAPABILITY_U32S_3];
        const uint32_t bit = UINT32_C(1) << (capability % 32);
        uint32_t *effective = &data[capability / 32].effective;

        if (syscall(SYS_capget, &header, data) < 0)
                return -errno;
        if (!(*effective & bit) == !on)
                return 0;
        *effective ^= bit;
        return syscall(SYS_capset, &header, data) < 0 ? -errno : 1;
}

int capability_keep(uint64_t mask) {
        Header header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        Data data[_LINUX_CAPABILITY_U32S_3];

        if (syscall(SYS_capget, &header, data) < 0)
                return -errno;
        for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
                data[i].permitted &= (uint32_t)(mask >> (32 * i));
                data[i].effective &= data[i].permitted;
                data[i].inheritable = 0;
        }
        return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}
