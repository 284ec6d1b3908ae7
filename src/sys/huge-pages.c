#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/huge-pages.h"
#include "tidbnumad/sys/mountinfo.h"
#include "tidbnumad/sys/node.h"

/* linux/memfd.h: the size of a file's pages as a power of two. */
#define SIZE_SHIFT 26

static int read_count(const Sysroot *sysroot, uint64_t page_bytes, const char *name,
                      uint64_t *ret) {
        char path[96], text[32];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "kernel/mm/hugepages/hugepages-%" PRIu64 "kB/%s",
                       page_bytes >> 10, name);
        n = read_file_at(sysroot->sys_fd, path, text, sizeof(text));
        return n < 0 ? (int)n : parse_u64(text, ret);
}

/* "hugepages-2048kB" */
static bool parse_folder(const char *name, uint64_t *ret_bytes) {
        uint64_t kib;
        int length = 0;

        if (sscanf(name, "hugepages-%" SCNu64 "kB%n", &kib, &length) != 1 || length == 0 ||
            name[length] != '\0' || kib == 0 || kib > UINT64_MAX >> 10)
                return false;
        *ret_bytes = kib << 10;
        return true;
}

size_t huge_sizes_read(const Sysroot *sysroot, HugeSize *ret, size_t n_max) {
        int fd = openat(sysroot->sys_fd, "kernel/mm/hugepages", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
        const struct dirent *entry;
        size_t n = 0;

        if (!dir) {
                closep(&fd);
                return 0;
        }
        while (n < n_max && (entry = readdir(dir))) {
                HugeSize size = { 0 };

                if (!parse_folder(entry->d_name, &size.page_bytes) ||
                    read_count(sysroot, size.page_bytes, "nr_hugepages", &size.n_pages) < 0)
                        continue;
                /* Missing in a dump. The guard reads this each second: no more than it needs. */
                if (size.n_pages > 0)
                        (void)read_count(sysroot, size.page_bytes, "resv_hugepages",
                                         &size.n_reserved);
                ret[n++] = size;
        }
        (void)closedir(dir);
        return n;
}

static int read_node_count(const Sysroot *sysroot, uint32_t node, uint64_t page_bytes,
                           const char *name, uint64_t *ret) {
        char path[64], text[32];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "hugepages/hugepages-%" PRIu64 "kB/%s", page_bytes >> 10,
                       name);
        n = node_read_file(sysroot, node, path, text, sizeof(text));
        return n < 0 ? (int)n : parse_u64(text, ret);
}

int huge_node_read(const Sysroot *sysroot, uint32_t node, uint64_t page_bytes, uint64_t *ret_pages,
                   uint64_t *ret_free) {
        uint64_t pages, unused;
        int r = read_node_count(sysroot, node, page_bytes, "nr_hugepages", &pages);

        if (r >= 0)
                r = read_node_count(sysroot, node, page_bytes, "free_hugepages", &unused);
        if (r < 0)
                return r;
        *ret_pages = pages;
        *ret_free = unused;
        return 0;
}

/* --- devices --- */

static void add_device(HugeDevices *devices, dev_t device, uint64_t page_bytes) {
        if (devices->n < HUGE_DEVICES_MAX && huge_devices_find(devices, device) == 0) {
                devices->list[devices->n].device = device;
                devices->list[devices->n++].page_bytes = page_bytes;
        }
}

/* An empty file takes no page. */
static void add_internal(HugeDevices *devices, uint64_t page_bytes) {
        const unsigned shift = (unsigned)__builtin_ctzll(page_bytes);
        _cleanup_close_ int fd =
                memfd_create("tidbnumad", MFD_CLOEXEC | MFD_HUGETLB | shift << SIZE_SHIFT);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0)
                add_device(devices, st.st_dev, page_bytes);
}

/* "rw,relatime,pagesize=2M": K or M (hugetlbfs_show_options()). 0: none. */
static uint64_t parse_page_size(const char *options) {
        const char *value = strstr(options, "pagesize=");
        uint64_t size;
        char unit;

        if (!value || sscanf(value, "pagesize=%" SCNu64 "%c", &size, &unit) != 2 ||
            size > UINT64_MAX >> 20)
                return 0;
        return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : 0;
}

static void add_mounts(HugeDevices *devices, const MountTable *table) {
        for (size_t i = 0; i < table->n_mounts; i++) {
                const Mount *m = &table->mounts[i];
                const uint64_t page_bytes =
                        strcmp(m->type, "hugetlbfs") == 0 ? parse_page_size(m->options) : 0;

                if (page_bytes > 0)
                        add_device(devices, makedev(m->major, m->minor), page_bytes);
        }
}

void huge_devices_add_mounts(HugeDevices *devices, const char *mountinfo) {
        _cleanup_mount_table_ MountTable table = { 0 };

        if (mountinfo_parse(mountinfo, &table) >= 0)
                add_mounts(devices, &table);
}

int huge_devices_read(const Sysroot *sysroot, const ProcHandle *handle, HugeDevices *ret) {
        HugeSize sizes[HUGE_DEVICES_MAX / 2];
        const size_t n = huge_sizes_read(sysroot, sizes, ELEMENTSOF(sizes));
        _cleanup_free_ char *text = NULL;
        int r;

        *ret = (HugeDevices){ 0 };
        for (size_t i = 0; i < n; i++)
                add_internal(ret, sizes[i].page_bytes);
        r = read_file_alloc_at(handle->dir_fd, "mountinfo", &text, NULL);
        if (r < 0)
                return mountinfo_error(r);
        huge_devices_add_mounts(ret, text);
        return 0;
}

uint64_t huge_devices_find(const HugeDevices *devices, dev_t device) {
        for (size_t i = 0; i < devices->n; i++)
                if (devices->list[i].device == device)
                        return devices->list[i].page_bytes;
        return 0;
}
