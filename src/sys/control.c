/* As systemd's private socket, core/dbus.c: sd-bus at both ends of a connection. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/control.h"

/* Connections that wait until the loop takes them. */
enum { BACKLOG = 64 };

/* A path below a folder, whatever the length of the folder's: sun_path has 108 bytes. */
static struct sockaddr_un address_below(int dir_fd, const char *name) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd,
                       name);
        return address;
}

int control_listen(const char *runtime_dir, int runtime_fd, int *ret_fd, ino_t *ret_inode) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct stat st;
        mode_t mask;
        int n, r;

        if (fd < 0)
                return -errno;
        /* By its path where that fits: ss(8) and lsof(8) show what was bound. */
        n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/" CONTROL_SOCKET, runtime_dir);
        if (n <= 0 || (size_t)n >= sizeof(address.sun_path))
                address = address_below(runtime_fd, CONTROL_SOCKET);
        (void)unlinkat(runtime_fd, CONTROL_SOCKET, 0);
        mask = umask(0177); /* it is never there with another mode */
        r = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
        (void)umask(mask);
        if (r < 0)
                return r;
        if (listen(fd, BACKLOG) < 0 ||
            fstatat(runtime_fd, CONTROL_SOCKET, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno; /* another folder has come to the path: tried again later */
        *ret_inode = st.st_ino;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

bool control_is_named(int runtime_fd, ino_t inode) {
        struct stat st;

        return fstatat(runtime_fd, CONTROL_SOCKET, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               st.st_ino == inode;
}

static int control_start(sd_bus *bus, int *fd, bool server) {
        sd_id128_t id;
        int r = sd_bus_set_fd(bus, *fd, *fd);

        if (r < 0)
                return r;
        *fd = -EBADF;                         /* it is the connection's */
        r = sd_bus_negotiate_fds(bus, false); /* no call has any */
        if (r < 0)
                return r;
        if (server) {
                r = sd_id128_randomize(&id);
                if (r >= 0)
                        r = sd_bus_set_server(bus, true, id);
                if (r >= 0)
                        r = sd_bus_set_connected_signal(bus, true);
        }
        return r < 0 ? r : sd_bus_start(bus);
}

int control_accept(int listen_fd, sd_event *event, sd_bus **ret) {
        _cleanup_(control_closep) sd_bus *bus = NULL;
        _cleanup_close_ int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct ucred peer;
        socklen_t size = sizeof(peer);
        int r;

        if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
                return -errno;
        r = peer.uid == 0 || peer.uid == geteuid() ? sd_bus_new(&bus) : -EPERM;
        if (r >= 0)
                r = control_start(bus, &fd, true);
        if (r >= 0)
                r = sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

sd_bus *control_close(sd_bus *bus) {
        return bus_units_close(bus);
}

int control_connect(const char *runtime_dir, sd_bus **ret) {
        _cleanup_(control_closep) sd_bus *bus = NULL;
        _cleanup_close_ int dir_fd = open(runtime_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un address;
        int r;

        if (dir_fd < 0 || fd < 0)
                return -errno;
        address = address_below(dir_fd, CONTROL_SOCKET);
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        r = sd_bus_new(&bus);
        if (r >= 0)
                r = control_start(bus, &fd, false);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}
