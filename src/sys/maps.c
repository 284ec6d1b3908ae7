/* /proc/PID/maps in a window of one page: what the kernel gives at a time. Between two windows it
 * lets go of the process's memory map. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tidbnumad/sys/maps.h"

/* What cannot be found out stays 0, which no mapping of a file has. */
static ShmemDevices read_shmem_devices(void) {
        _cleanup_close_ int fd = memfd_create("tidbnumad", MFD_CLOEXEC);
        ShmemDevices devices = { 0 };
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0)
                devices.kernel = st.st_dev;
        if (stat("/dev/shm", &st) == 0)
                devices.dev_shm = st.st_dev;
        return devices;
}

/* On the kernel's own mount, where no user chooses the names:
 * Documentation/filesystems/proc.rst. */
static bool is_shared_anonymous(const char *name) {
        return strncmp(name, "/dev/zero (deleted)", 19) == 0 ||
               strncmp(name, "[anon_shmem:", 12) == 0;
}

static MappingKind kind_of(const char *permissions, const char *name, bool is_kernel_shmem) {
        /* PROT_NONE is address space that an allocator (Go, jemalloc) reserves: it has no pages. */
        if (permissions[0] != 'r' && permissions[1] != 'w')
                return MAPPING_OTHER;
        /* Of the kernel's own; [vsyscall] is not even in the user's range. */
        if (strncmp(name, "[v", 2) == 0)
                return MAPPING_OTHER;
        if (permissions[3] == 'p')
                return MAPPING_PRIVATE;
        if (is_kernel_shmem && is_shared_anonymous(name))
                return MAPPING_SHARED_ANON;
        /* A device's memory is where the device has it; /dev/shm is no device, hugetlbfs neither.
         */
        if (strncmp(name, "/dev/", 5) == 0 && strncmp(name, "/dev/shm/", 9) != 0 &&
            strncmp(name, "/dev/hugepages/", 15) != 0)
                return MAPPING_OTHER;
        return *name == '/' ? MAPPING_FILE : MAPPING_OTHER;
}

int maps_parse_line(const char *line, const ShmemDevices *shmem, Mapping *ret) {
        unsigned major, minor;
        char permissions[5];
        uint64_t start, end;
        dev_t device;
        int name = 0;

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %*u%n", &start, &end, permissions,
                   &major, &minor, &name) != 5 ||
            strlen(permissions) != 4 || start >= end || name == 0)
                return -EBADMSG;
        line += name + (int)strspn(line + name, " ");
        device = makedev(major, minor);
        *ret = (Mapping){ .start = start,
                          .end = end,
                          .kind = kind_of(permissions, line,
                                          device != 0 && device == shmem->kernel),
                          .has_file = *line == '/',
                          .on_disk = *line == '/' && major != 0,
                          .is_shmem = permissions[3] != 'p' && device != 0 &&
                                      (device == shmem->kernel || device == shmem->dev_shm) };
        return 0;
}

int maps_open(const ProcHandle *handle, MapsReader **ret) {
        MapsReader *reader = calloc(1, sizeof(*reader));

        if (!reader)
                return -ENOMEM;
        reader->fd = openat(handle->dir_fd, "maps", O_RDONLY | O_CLOEXEC);
        if (reader->fd < 0) {
                int r = errno == ENOENT ? -ESRCH : -errno;

                free(reader);
                return r;
        }
        reader->shmem = read_shmem_devices();
        *ret = reader;
        return 0;
}

MapsReader *maps_close(MapsReader *reader) {
        if (reader)
                closep(&reader->fd);
        free(reader);
        return NULL;
}

int maps_rewind(MapsReader *reader) {
        reader->begin = reader->end = 0;
        reader->cut = false;
        return lseek(reader->fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* Puts more of the file behind what is not yet read. Returns the bytes that came. */
static ssize_t refill(MapsReader *reader) {
        const size_t room = sizeof(reader->window) - 1;
        ssize_t n;

        memmove(reader->window, reader->window + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
        n = read(reader->fd, reader->window + reader->end, room - reader->end);
        if (n > 0)
                reader->end += (size_t)n;
        return n < 0 ? -errno : n;
}

/* The next line, without its newline; of one that is longer than the window the beginning. */
static int next_line(MapsReader *reader, char **ret) {
        for (;;) {
                char *line = reader->window + reader->begin;
                char *newline = memchr(line, '\n', reader->end - reader->begin);
                bool full = !newline && reader->end - reader->begin == sizeof(reader->window) - 1;
                bool cut = reader->cut;
                ssize_t n;

                if (newline || full) {
                        reader->window[newline ? (size_t)(newline - reader->window) : reader->end] =
                                '\0';
                        reader->begin =
                                newline ? (size_t)(newline - reader->window) + 1 : reader->end;
                        reader->cut = full;
                        if (cut)
                                continue;
                        *ret = line;
                        return 1;
                }
                n = refill(reader);
                if (n <= 0)
                        return (int)n;
        }
}

int maps_next(MapsReader *reader, Mapping *ret) {
        char *line;
        int r;

        do {
                r = next_line(reader, &line);
                if (r <= 0)
                        return r;
        } while (maps_parse_line(line, &reader->shmem, ret) < 0);
        return 1;
}
