#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "tidbnumad/sys/open-files.h"

typedef struct Walk {
        int dir_fd; /* not owned */
        size_t n;
        OpenFileCallback callback;
        void *userdata;
        bool stopped; /* at the bound, not by the callback */
} Walk;

static int handle_file(pid_t number, void *userdata) {
        Walk *walk = userdata;
        char name[16], target[PATH_MAX];
        ssize_t length;

        if (walk->n++ >= OPEN_FILES_MAX) {
                walk->stopped = true;
                return -ECANCELED;
        }
        (void)snprintf(name, sizeof(name), "%d", number);
        length = readlinkat(walk->dir_fd, name, target, sizeof(target));
        /* EINVAL: no link, as only a dump has it. ENAMETOOLONG: the kernel itself gave up. */
        if (length < 0)
                return errno == ENOENT || errno == EINVAL || errno == ENAMETOOLONG ? 0 : -errno;
        if ((size_t)length == sizeof(target))
                return 0;
        target[length] = '\0';
        return walk->callback((int)number, target, walk->userdata);
}

int open_files_foreach(const ProcHandle *handle, OpenFileCallback callback, void *userdata) {
        Walk walk = { .callback = callback, .userdata = userdata };
        int r;

        if (proc_held_is_in_exec(handle))
                return -EBUSY;
        walk.dir_fd = openat(handle->dir_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (walk.dir_fd < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        r = proc_foreach_number(walk.dir_fd, handle_file, &walk); /* closes it */
        if (walk.stopped)
                return 1;
        if (r < 0)
                return r;
        /* A process that has ended lists nothing. */
        return proc_is_alive(handle) ? 0 : -ESRCH;
}
