/* Where a TiKV or PD keeps its data. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tidbnumad/base/toml.h"
#include "tidbnumad/observe/data-dir.h"
#include "tidbnumad/sys/cmdline.h"
#include "tidbnumad/sys/open-files.h"

/* --- the command line ----------------------------------------------------------------------- */

static bool looks_like_path(const char *text) {
        return text[0] == '/' || text[0] == '.';
}

/* The value behind a long option's `name`; `next` is the argument after this one, or NULL. */
static const char *long_value(const char *argument, const char *name, const char *next) {
        size_t length = strlen(name);

        if (*argument++ != '-')
                return NULL;
        argument += *argument == '-';
        if (strncmp(argument, name, length) != 0)
                return NULL;
        if (argument[length] == '=')
                return argument + length + 1;
        return argument[length] == '\0' ? next : NULL;
}

/* "-s DIR", "-s=DIR", "-sDIR". The last two only with what looks like a path: the options of Go
 * programs begin with one dash as well ("-status=10080"). */
static const char *short_value(const char *argument, char name, const char *next) {
        if (argument[0] != '-' || argument[1] != name)
                return NULL;
        argument += 2;
        if (*argument == '\0')
                return next;
        argument += *argument == '=';
        return looks_like_path(argument) ? argument : NULL;
}

static const char *data_dir_of(const char *argument, const char *next) {
        const char *value = long_value(argument, "data-dir", next);

        if (value)
                return value;
        value = long_value(argument, "store", next);
        if (value && !looks_like_path(value))
                value = NULL; /* TiDB's --store=tikv tells the kind of its store */
        return value ? value : short_value(argument, 's', next);
}

static const char *config_of(const char *argument, const char *next) {
        const char *value = long_value(argument, "config", next);

        return value ? value : short_value(argument, 'C', next);
}

static const char *unless_empty(const char *text) {
        return text && *text ? text : NULL;
}

void data_dir_parse_cmdline(const char *bytes, size_t size, const char **ret_data_dir,
                            const char **ret_config) {
        const char *data_dir = NULL, *config = NULL, *next;
        const char *argument = cmdline_next(bytes, size, NULL); /* the program's name */

        for (argument = argument ? cmdline_next(bytes, size, argument) : NULL; argument;
             argument = next) {
                const char *value;

                next = cmdline_next(bytes, size, argument);
                value = data_dir_of(argument, next);
                if (value)
                        data_dir = value;
                else {
                        value = config_of(argument, next);
                        if (!value)
                                continue;
                        config = value;
                }
                if (value == next)
                        next = cmdline_next(bytes, size, value);
        }
        *ret_data_dir = unless_empty(data_dir);
        *ret_config = unless_empty(config);
}

/* --- paths ---------------------------------------------------------------------------------- */

/* C0, DEL, and C1 as UTF-8 writes it, which some terminals obey as well. */
static bool has_control(const char *text) {
        for (const unsigned char *p = (const unsigned char *)text; *p; p++)
                if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f))
                        return true;
        return false;
}

/* Appends the parts of `path` to `out` but for "." and empty ones. ".." stays: what it means
 * depends on links. */
static int append_parts(char *out, size_t *length, const char *path) {
        while (*path) {
                size_t n = strcspn(path, "/");

                if (n > 0 && !(n == 1 && path[0] == '.')) {
                        if (*length + n + 2 > PATH_MAX)
                                return -EBADMSG;
                        out[(*length)++] = '/';
                        memcpy(out + *length, path, n);
                        *length += n;
                }
                path += n + (path[n] == '/');
        }
        return 0;
}

int data_dir_join(const char *base, const char *path, char **ret) {
        char joined[PATH_MAX];
        size_t length = 0;
        int r = 0;

        if (path[0] != '/') {
                if (!base)
                        return -ENODATA;
                if (base[0] != '/')
                        return -EBADMSG;
                r = append_parts(joined, &length, base);
        }
        if (r >= 0)
                r = append_parts(joined, &length, path);
        if (r < 0)
                return r;
        if (length == 0)
                joined[length++] = '/';
        joined[length] = '\0';
        if (has_control(joined))
                return -EBADMSG;
        *ret = strdup(joined);
        return *ret ? 0 : -ENOMEM;
}

/* A link of /proc/PID. -ENODATA: it is too long, or its target is gone. */
static int read_link(const ProcHandle *handle, const char *name, char *buffer) {
        static const char deleted[] = " (deleted)";
        ssize_t n = readlinkat(handle->dir_fd, name, buffer, PATH_MAX);

        if (n < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        if (n == PATH_MAX)
                return -ENODATA;
        buffer[n] = '\0';
        if ((size_t)n > strlen(deleted) && strcmp(buffer + n - strlen(deleted), deleted) == 0)
                return -ENODATA;
        return 0;
}

/* The process's view of a path out of a link of /proc, which tells it from the root of its mount
 * namespace, though the process may live in a chroot. NULL: outside of that. */
static const char *below_root(const char *root, const char *path) {
        size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

        if (path[0] != '/' || strncmp(path, root, length) != 0)
                return NULL;
        if (path[length] == '\0')
                return "/";
        return path[length] == '/' ? path + length : NULL;
}

/* The process whose folder is looked for. */
typedef struct Search {
        const Sysroot *sysroot;
        const ProcHandle *handle;
        uid_t uid;
        char root[PATH_MAX];
        char cwd[PATH_MAX]; /* in its view; empty where there is none */
        char *found;
} Search;

static int load_root(Search *search) {
        if (search->sysroot->live)
                return read_link(search->handle, "root", search->root);
        (void)strcpy(search->root, "/");
        return 0;
}

static int load_cwd(Search *search) {
        char link[PATH_MAX];
        int r = read_link(search->handle, "cwd", link);
        const char *cwd;

        search->cwd[0] = '\0';
        if (r < 0) /* a dump may lack it; of a process that is gone, the end tells */
                return r == -ENODATA || r == -ESRCH ? 0 : r;
        cwd = below_root(search->root, link);
        if (cwd)
                (void)strcpy(search->cwd, cwd);
        return 0;
}

static const char *cwd_of(const Search *search) {
        return search->cwd[0] ? search->cwd : NULL;
}

/* --- the configuration ---------------------------------------------------------------------- */

/* What the process sees as "/". */
static int open_root(const Search *search) {
        int fd = search->sysroot->live
                         ? openat(search->handle->dir_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC)
                         : open(search->sysroot->path, O_PATH | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

/* Links are followed, but not out of the root, and not the magic ones of /proc, which lead
 * anywhere. O_PATH opens nothing: a device or FIFO does not notice. */
static int locate_config(const Search *search, const char *path) {
        const struct open_how how = {
                .flags = O_PATH | O_CLOEXEC,
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
        };
        _cleanup_close_ int root = open_root(search);
        int fd;

        if (root < 0)
                return root;
        fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        return fd < 0 ? -errno : fd;
}

static bool may_be_config(const Search *search, const struct stat *st) {
        return S_ISREG(st->st_mode) && st->st_size >= 0 &&
               (size_t)st->st_size <= DATA_DIR_CONFIG_MAX_BYTES &&
               (!search->sysroot->live || st->st_uid == 0 || st->st_uid == search->uid);
}

static int read_config(const Search *search, const char *path, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = locate_config(search, path);
        _cleanup_free_ char *text = NULL;
        char again[64];
        struct stat st;
        ssize_t n;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!may_be_config(search, &st))
                return -EPERM;
        text = malloc((size_t)st.st_size + 2);
        if (!text)
                return -ENOMEM;
        /* The very file that was looked at, whatever its name means by now. */
        (void)snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
        n = read_file_at(AT_FDCWD, again, text, (size_t)st.st_size + 2);
        if (n < 0)
                return (int)n; /* also when it grew meanwhile */
        *ret = TAKE_PTR(text);
        *ret_size = (size_t)n;
        return 0;
}

static int parse_config(const char *text, size_t size, char **ret) {
        int r = toml_find_string(text, size, "storage", "data-dir", ret);

        return r == -ENOENT ? toml_find_string(text, size, NULL, "data-dir", ret) : r;
}

/* A file that cannot be read, or says nothing of it, is no obstacle: there is a third source. */
static int search_config(Search *search, const char *config) {
        _cleanup_free_ char *path = NULL, *text = NULL, *data_dir = NULL;
        size_t size = 0;
        int r = data_dir_join(cwd_of(search), config, &path);

        if (r >= 0)
                r = read_config(search, path, &text, &size);
        if (r >= 0)
                r = parse_config(text, size, &data_dir);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || !*data_dir)
                return -ENODATA;
        return data_dir_join(cwd_of(search), data_dir, &search->found);
}

static int search_cmdline(Search *search) {
        _cleanup_free_ char *bytes = NULL;
        const char *data_dir, *config;
        size_t size;
        int r = cmdline_read(search->handle, &bytes, &size);

        if (r < 0)
                return r;
        data_dir_parse_cmdline(bytes, size, &data_dir, &config);
        if (data_dir)
                return data_dir_join(cwd_of(search), data_dir, &search->found);
        return config ? search_config(search, config) : -ENODATA;
}

/* --- the open files ------------------------------------------------------------------------- */

static int take_lock_folder(int fd, const char *target, void *userdata) {
        Search *search = userdata;
        const char *slash = strrchr(target, '/'), *path;
        char folder[PATH_MAX];
        int r;

        (void)fd;
        if (!slash || strcmp(slash, "/LOCK") != 0)
                return 0;
        (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - target), target);
        path = below_root(search->root, slash == target ? "/" : folder);
        if (!path)
                return 0;
        r = data_dir_join(NULL, path, &search->found);
        return r < 0 ? r : -ECANCELED;
}

static int search_open_files(Search *search) {
        int r = open_files_foreach(search->handle, take_lock_folder, search);

        if (search->found)
                return 0;
        return r < 0 ? r : -ENODATA;
}

int data_dir_read(const Sysroot *sysroot, const ProcHandle *handle, uid_t uid, char **ret) {
        Search search = { .sysroot = sysroot, .handle = handle, .uid = uid };
        int r = load_root(&search);

        if (r >= 0)
                r = load_cwd(&search);
        if (r >= 0)
                r = search_cmdline(&search);
        if (r == -ENODATA)
                r = search_open_files(&search);
        if (!proc_is_alive(handle))
                r = -ESRCH;
        if (r < 0) {
                free(search.found);
                return r;
        }
        *ret = search.found;
        return 0;
}
