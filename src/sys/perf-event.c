/* Groups of events, one group a thread.
 *
 * Not by inheritance (`inherit`): a thread that appears could have been born of a counted one,
 * and be counted already, or of one that was not yet; the two cannot be distinguished, and
 * counting it twice is worse than missing what it did before it was seen. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tidbnumad/sys/perf-event.h"

/* Many a reason why it cannot be counted here, and one answer: ENOENT: no such event, as in a
 * virtual machine without counters; EINVAL, EOPNOTSUPP, ENODEV: the PMU refuses it; ENOSYS: a
 * kernel without; ENOSPC: no counter has room for the event. */
static int open_error(int error) {
        switch (error) {
        case ESRCH:
        case EACCES:
                return -error;
        case EPERM:
                return -EACCES;
        case EMFILE:
        case ENFILE:
                return -EMFILE;
        case ENOMEM:
        case EINTR:
        case EBUSY:
                return -ENOMEM; /* of this moment */
        default:
                return -EOPNOTSUPP;
        }
}

int perf_group_open(pid_t tid, const PerfCode *codes, size_t n_codes, PerfGroup *ret) {
        PerfGroup group = { .n_fds = 0 };

        if (n_codes == 0 || n_codes > PERF_GROUP_MAX)
                return -EINVAL;
        for (size_t i = 0; i < n_codes; i++) {
                struct perf_event_attr attr = {
                        .size = sizeof(attr),
                        .type = codes[i].type,
                        .config = codes[i].config,
                        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                       PERF_FORMAT_TOTAL_TIME_RUNNING,
                        .disabled = i == 0, /* until the group is whole */
                };
                long fd = syscall(SYS_perf_event_open, &attr, tid, -1, i == 0 ? -1 : group.fds[0],
                                  PERF_FLAG_FD_CLOEXEC);

                if (fd < 0) {
                        int r = open_error(errno);

                        perf_group_close(&group);
                        return r;
                }
                group.fds[group.n_fds++] = (int)fd;
        }
        if (ioctl(group.fds[0], PERF_EVENT_IOC_ENABLE, 0) < 0) {
                int r = open_error(errno);

                perf_group_close(&group);
                return r;
        }
        *ret = group;
        return 0;
}

int perf_group_read(const PerfGroup *group, PerfReading *ret) {
        struct {
                uint64_t n, enabled, running;
                uint64_t values[PERF_GROUP_MAX];
        } answer = { 0 };
        const size_t size = sizeof(answer) - (PERF_GROUP_MAX - group->n_fds) * sizeof(uint64_t);
        ssize_t n;

        if (group->n_fds == 0)
                return -EBADF;
        n = read(group->fds[0], &answer, sizeof(answer));
        if (n < 0)
                return -errno;
        /* Nothing at all: the group was pinned and had no counter, which ours are not. */
        if ((size_t)n != size || answer.n != group->n_fds)
                return -EBADMSG;
        *ret = (PerfReading){ .enabled_nsec = answer.enabled, .running_nsec = answer.running };
        memcpy(ret->values, answer.values, group->n_fds * sizeof(uint64_t));
        return 0;
}

void perf_group_close(PerfGroup *group) {
        while (group->n_fds > 0)
                (void)close(group->fds[--group->n_fds]);
}

uint64_t perf_scale(uint64_t value, uint64_t enabled_nsec, uint64_t running_nsec) {
        unsigned __int128 scaled;

        if (running_nsec == 0)
                return 0;
        if (running_nsec >= enabled_nsec)
                return value;
        scaled = ((unsigned __int128)value * enabled_nsec + running_nsec / 2) / running_nsec;
        return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

size_t perf_descriptors_max(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 0;
        return limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : (size_t)limit.rlim_cur / 2;
}
