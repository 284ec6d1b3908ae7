/* The processor's vendor and model. Each architecture has lines of its own: x86
 * (arch/x86/kernel/cpu/proc.c), Arm as fields of its identification register
 * (arch/arm64/kernel/cpuinfo.c). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/cpuinfo.h"

/* Of the first processor: servers have no others. */
int cpuinfo_parse(const char *text, CpuInfo *ret) {
        unsigned n_x86 = 0, n_arm = 0;
        CpuInfo info = { 0 };

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (*line == '\n' && n_x86 + n_arm > 0)
                        break;
                n_x86 += sscanf(line, "vendor_id : %15s", info.vendor) == 1;
                n_x86 += sscanf(line, "cpu family : %" SCNu32, &info.family) == 1;
                n_x86 += sscanf(line, "model : %" SCNu32, &info.model) == 1;
                n_arm += sscanf(line, "CPU implementer : %" SCNx32, &info.implementer) == 1;
                n_arm += sscanf(line, "CPU part : %" SCNx32, &info.part) == 1;
        }
        if (n_x86 != 3 && n_arm != 2)
                return -EBADMSG;
        *ret = info;
        return 0;
}

/* The lines wanted are within the first page. The whole has some megabytes on a large machine. */
int cpuinfo_read(const Sysroot *sysroot, CpuInfo *ret) {
        _cleanup_close_ int fd = openat(sysroot->proc_fd, "cpuinfo", O_RDONLY | O_CLOEXEC);
        char text[4096];
        ssize_t n;

        if (fd < 0)
                return -errno;
        n = read_up_to(fd, text, sizeof(text) - 1);
        if (n < 0)
                return (int)n;
        text[n] = '\0';
        return cpuinfo_parse(text, ret);
}
