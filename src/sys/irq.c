/* Masks of interrupts in /proc/irq. */
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/sys/irq.h"

static int read_list(const Sysroot *sysroot, uint32_t irq, const char *name, CpuSet *ret) {
        char path[64], text[ID_SET_LIST_MAX];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "irq/%" PRIu32 "/%s", irq, name);
        n = read_file_at(sysroot->proc_fd, path, text, sizeof(text));
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
