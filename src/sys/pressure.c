/* memory.pressure and cpu.pressure of a control group. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/sys/pressure.h"
#include "tidbnumad/sys/sysroot.h"

int pressure_parse(const char *text, Pressure *ret) {
        uint64_t total;
        double recent;

        if (sscanf(text, "some avg10=%lf avg60=%*f avg300=%*f total=%" SCNu64, &recent, &total) !=
                    2 ||
            !(recent >= 0 && recent <= 100))
                return -EBADMSG;
        *ret = (Pressure){ .recent = recent / 100, .total_usec = total };
        return 0;
}

static int read_one(int cgroup_fd, const char *name, Pressure *ret) {
        char text[512];
        ssize_t n = read_file_at(cgroup_fd, name, text, sizeof(text));

        if (n == -ENODEV)
                return -ESRCH;
        return n < 0 ? -EOPNOTSUPP : pressure_parse(text, ret);
}

int pressure_read(int cgroup_fd, Pressure *ret) {
        Pressure memory, cpu;
        int r;

        r = read_one(cgroup_fd, "memory.pressure", &memory);
        if (r >= 0)
                r = read_one(cgroup_fd, "cpu.pressure", &cpu);
        if (r < 0)
                return r;
        *ret = (Pressure){ .recent = memory.recent + cpu.recent,
                           .total_usec = memory.total_usec + cpu.total_usec };
        return 0;
}
