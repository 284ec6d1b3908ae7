#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/base/utf8.h"
#include "tidbnumad/sys/cmdline.h"
#include "tidbnumad/sys/open-files.h"
#include "tidbnumad/world/data-dir.h"

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

/* "-s DIR", "-s=DIR", "-sDIR". The last two only with a value that begins like a path: the options
 * of Go programs begin with one dash as well ("-status=10080"). */
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
                value = NULL; /* TiDB's --store=tikv is the kind of its store */
        return value ? value : short_value(argument, 's', next);
}

const char *data_dir_parse_cmdline(const char *bytes, size_t size) {
        const char *data_dir = NULL, *next;
        const char *argument = cmdline_next(bytes, size, NULL); /* the program's name */

        for (argument = argument ? cmdline_next(bytes, size, argument) : NULL; argument;
             argument = next) {
                const char *value;

                next = cmdline_next(bytes, size, argument);
                value = data_dir_of(argument, next);
                if (!value)
                        continue;
                data_dir = value;
                if (value == next)
                        next = cmdline_next(bytes, size, value);
        }
        return data_dir && *data_dir ? data_dir : NULL;
}

/* --- paths ---------------------------------------------------------------------------------- */

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
        if (utf8_has_control(joined))
                return -EBADMSG;
        *ret = strdup(joined);
        return *ret ? 0 : -ENOMEM;
}

/* A link of /proc/PID. -ENODATA: it is too long, or its target is gone. */
static int read_link(const ProcHandle *handle, const char *name, char *buffer) {
        ssize_t n = readlinkat(handle->dir_fd, name, buffer, PATH_MAX);

        if (n < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        if (n == PATH_MAX)
                return -ENODATA;
        buffer[n] = '\0';
        return text_ends_with(buffer, " (deleted)") ? -ENODATA : 0;
}

/* The process's view of a path from a link in /proc, which begins at the root of its mount
 * namespace, though the process may live in a chroot. NULL: outside of that. */
static const char *below_root(const char *root, const char *path) {
        size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

        if (path[0] != '/' || strncmp(path, root, length) != 0)
                return NULL;
        if (path[length] == '\0')
                return "/";
        return path[length] == '/' ? path + length : NULL;
}

/* The process whose directory is wanted. */
typedef struct Search {
        const Sysroot *sysroot;
        const ProcHandle *handle;
        char root[PATH_MAX];
        char cwd[PATH_MAX]; /* working directory as the process sees it; empty: not known */
        size_t n_checked;   /* of its open files, at how they are open */
        char *found;        /* owned */
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
        if (r < 0) /* a dump may lack it; a process that is gone is noticed at the end */
                return r == -ENODATA || r == -ESRCH ? 0 : r;
        cwd = below_root(search->root, link);
        if (cwd)
                (void)strcpy(search->cwd, cwd);
        return 0;
}

static int search_cmdline(Search *search) {
        _cleanup_free_ char *bytes = NULL;
        const char *data_dir;
        size_t size;
        int r = cmdline_read(search->handle, &bytes, &size);

        if (r < 0)
                return r;
        data_dir = data_dir_parse_cmdline(bytes, size);
        return data_dir ? data_dir_join(search->cwd[0] ? search->cwd : NULL, data_dir,
                                        &search->found)
                        : -ENODATA;
}

/* --- the open files ------------------------------------------------------------------------- */

/* "000123.log", "000123.sst": RocksDB's names. A program's own log has a name of letters. */
static bool is_numbered(const char *name) {
        size_t digits = strspn(name, "0123456789");

        return digits > 0 &&
               (strcmp(name + digits, ".log") == 0 || strcmp(name + digits, ".sst") == 0);
}

/* "flags:\t0100002" of /proc/PID/fdinfo/FD, proc(5), in octal. A dump has no such file. */
static bool is_open_for_writing(const Search *search, int fd) {
        static const char key[] = "flags:";
        char name[32], text[1024];
        const char *flags;
        ssize_t n;

        (void)snprintf(name, sizeof(name), "fdinfo/%d", fd);
        n = read_file_at(search->handle->dir_fd, name, text, sizeof(text));
        if (n < 0)
                return !search->sysroot->live;
        flags = strstr(text, key);
        return flags && (strtoul(flags + strlen(key), NULL, 8) & O_ACCMODE) != O_RDONLY;
}

static int note_folder(Search *search, const char *target, const char *slash) {
        char folder[PATH_MAX];
        const char *path;

        (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - target), target);
        path = below_root(search->root, slash == target ? "/" : folder);
        if (!path)
                return 0;
        free(search->found);
        search->found = NULL;
        return data_dir_join(NULL, path, &search->found);
}

static int check_file(int fd, const char *target, void *userdata) {
        Search *search = userdata;
        const char *slash = strrchr(target, '/');
        bool is_lock = slash && strcmp(slash, "/LOCK") == 0;
        int r;

        if (!is_lock && (search->found || !slash || !is_numbered(slash + 1)))
                return 0;
        if (search->n_checked++ >= OTHERS_DATA_FILES_MAX)
                return -ECANCELED;
        if (!is_open_for_writing(search, fd))
                return 0;
        r = note_folder(search, target, slash);
        return r < 0 || !is_lock || !search->found ? r : -ECANCELED;
}

static int search_open_files(Search *search) {
        int r = open_files_foreach(search->handle, check_file, search);

        if (search->found)
                return 0;
        return r < 0 && r != -ECANCELED ? r : -ENODATA;
}

int data_dir_read(const Sysroot *sysroot, const ProcHandle *handle, char **ret) {
        Search search = { .sysroot = sysroot, .handle = handle };
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
