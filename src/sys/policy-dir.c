/* The policy files on disk, and those that were last in force.
 *
 * The daemon executes these files as root, so every check is made on the descriptor that is read
 * from, and no link is followed by the kernel. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/policy-dir.h"
#include "tidbnumad/sys/sysroot.h"

#define SUFFIX ".yaml"

typedef struct Folder {
        const char *path;
        int fd; /* -EBADF: missing or refused */
} Folder;

typedef struct Entry {
        char *name;
        size_t folder; /* the last one that has the name */
} Entry;

typedef struct Scan {
        Folder *folders;
        size_t n_folders;
        Entry *entries;
        size_t n_entries;
        size_t allocated;
        Diagnostics *errors, *warnings;
} Scan;

static void scan_done(Scan *scan) {
        for (size_t i = 0; i < scan->n_folders; i++)
                if (scan->folders[i].fd >= 0)
                        (void)close(scan->folders[i].fd);
        for (size_t i = 0; i < scan->n_entries; i++)
                free(scan->entries[i].name);
        free(scan->folders);
        free(scan->entries);
}

/* Whether root or the caller alone can change it. A POSIX ACL shows in the group bits. */
static bool scan_check_owner(Scan *scan, const char *path, const struct stat *st) {
        if (st->st_uid != 0 && st->st_uid != geteuid()) {
                diagnostics_add_path(scan->errors, path,
                                     "belongs to user %u, expected root; run `chown root %s`",
                                     (unsigned)st->st_uid, path);
                return false;
        }
        if (st->st_mode & (S_IWGRP | S_IWOTH)) {
                diagnostics_add_path(scan->errors, path,
                                     "group or others can write it (mode %04o), expected mode %s; "
                                     "run `chmod go-w %s`",
                                     (unsigned)(st->st_mode & 07777),
                                     S_ISDIR(st->st_mode) ? "0755" : "0644", path);
                return false;
        }
        return true;
}

static int scan_list_folder(Scan *scan, size_t folder) {
        /* A description of its own: a dup(2) would share the position in the folder. */
        _cleanup_closedir_ DIR *dir = dir_from_fd(
                openat(scan->folders[folder].fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

        for (;;) {
                _cleanup_free_ char *path = NULL;
                const struct dirent *entry;
                size_t i = 0;

                errno = dir ? 0 : errno;
                entry = dir ? readdir(dir) : NULL;
                if (!entry && errno != 0)
                        diagnostics_add_path(scan->errors, scan->folders[folder].path,
                                             "cannot be listed: %m, expected a folder");
                if (!entry)
                        return 0;
                if (entry->d_name[0] == '.')
                        continue;
                if (!text_ends_with(entry->d_name, SUFFIX)) {
                        if (entry->d_type == DT_DIR)
                                continue;
                        path = text_new("%s/%s", scan->folders[folder].path, entry->d_name);
                        if (!path)
                                return -ENOMEM;
                        diagnostics_add_path(scan->warnings, path,
                                             "is not read, because its name does not end in " SUFFIX
                                             "; rename it, or move it out of the policy folder");
                        continue;
                }
                while (i < scan->n_entries && strcmp(scan->entries[i].name, entry->d_name) != 0)
                        i++;
                if (i == scan->n_entries) {
                        if (ARRAY_RESERVE(scan->entries, scan->allocated, i + 1) < 0 ||
                            !(scan->entries[i].name = strdup(entry->d_name)))
                                return -ENOMEM;
                        scan->n_entries++;
                }
                scan->entries[i].folder = folder;
        }
}

static int scan_refuse_link(Scan *scan, const char *path, const char *target) {
        diagnostics_add_path(scan->errors, path,
                             "a link to %s, expected a file, or a link to a file in a policy "
                             "folder or to /dev/null; replace it with a copy",
                             target);
        return -EBADMSG;
}

/* A link is resolved here, by its text and for one step, so that it cannot lead elsewhere by the
 * time it is opened. Returns a descriptor, -ECANCELED for a mask, -EBADMSG when refused. */
static int scan_open_link(Scan *scan, const Folder *folder, const char *name, const char *path) {
        char target[PATH_MAX];
        const char *slash;
        int fd;
        ssize_t n = path_read_link(folder->fd, target, sizeof(target), "%s", name);

        if (n < 0)
                return n == -EINVAL ? -ESTALE : (int)n; /* no longer a link */
        if (strcmp(target, "/dev/null") == 0)
                return -ECANCELED;
        slash = strrchr(target, '/');
        if (slash) { /* an absolute target without detours is directly in one of the folders */
                folder = NULL;
                for (size_t i = 0; i < scan->n_folders && !folder; i++) {
                        const char *other = scan->folders[i].path;
                        size_t length = strlen(other);

                        while (length > 1 && other[length - 1] == '/')
                                length--;
                        if (length == (size_t)(slash - target) &&
                            memcmp(other, target, length) == 0)
                                folder = &scan->folders[i];
                }
                if (!folder || folder->fd < 0)
                        return scan_refuse_link(scan, path, target);
        }
        fd = path_open(folder->fd, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, "%s",
                       slash ? slash + 1 : target);
        return fd == -ELOOP ? scan_refuse_link(scan, path, target) : fd;
}

/* -EBADMSG from below: already reported. */
static int scan_read_entry(Scan *scan, const Entry *entry, SourceFileList *list) {
        const Folder *folder = &scan->folders[entry->folder];
        _cleanup_free_ char *path = text_new("%s/%s", folder->path, entry->name), *text = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        ssize_t n;

        if (!path)
                return -ENOMEM;
        /* O_NONBLOCK: a FIFO must not block the daemon until a writer opens it. */
        fd = path_open(folder->fd, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, "%s",
                       entry->name);
        if (fd == -ELOOP)
                fd = scan_open_link(scan, folder, entry->name, path);
        if (fd == -ECANCELED || fd == -EBADMSG)
                return 0;
        n = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
        if (n == 0 && !S_ISREG(st.st_mode)) {
                diagnostics_add_path(scan->errors, path,
                                     "not a regular file, expected one; remove it or rename it so "
                                     "that it does not end with " SUFFIX);
                return 0;
        }
        if (n == 0 && !scan_check_owner(scan, path, &st))
                return 0;
        /* One byte above the limit detects a file that is too large. */
        text = malloc(SOURCE_FILE_MAX_BYTES + 1);
        if (!text)
                return -ENOMEM;
        if (n == 0)
                n = read_up_to(fd, text, SOURCE_FILE_MAX_BYTES + 1);
        if (n < 0) {
                errno = (int)-n;
                diagnostics_add_path(scan->errors, path,
                                     "cannot be read: %m, expected a regular file");
                return 0;
        }
        if ((size_t)n <= SOURCE_FILE_MAX_BYTES)
                return source_file_list_add(list, path, text, (size_t)n);
        diagnostics_add_path(scan->errors, path,
                             "larger than %zu bytes, expected at most that; split it into several "
                             "files",
                             SOURCE_FILE_MAX_BYTES);
        return 0;
}

static int compare_entries(const void *a, const void *b) {
        return strcmp(((const Entry *)a)->name, ((const Entry *)b)->name);
}

int policy_dir_read(const char *const *dirs, size_t n_dirs, bool named, SourceFileList *ret,
                    Diagnostics *errors, Diagnostics *warnings) {
        _cleanup_source_file_list_ SourceFileList list = { 0 };
        _cleanup_(scan_done) Scan scan = { .folders = calloc(n_dirs + 1, sizeof(*scan.folders)),
                                           .errors = errors,
                                           .warnings = warnings };
        size_t before = errors->n_added;
        int r = scan.folders ? 0 : -ENOMEM;

        while (r == 0 && scan.n_folders < n_dirs) {
                const char *path = dirs[scan.n_folders];
                _cleanup_close_ int fd =
                        open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                Folder *folder = &scan.folders[scan.n_folders++];
                struct stat st;

                *folder = (Folder){ path, -EBADF };
                if (fd < 0 && errno == ENOENT && !named)
                        continue;
                if (fd < 0 && errno == ENOENT)
                        diagnostics_add_path(scan.errors, path,
                                             "%m, expected a folder of policy files");
                else if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
                        diagnostics_add_path(scan.errors, path,
                                             "not a folder, expected a folder of policy files and "
                                             "not a link; replace it with a folder");
                else if (fd < 0 || fstat(fd, &st) < 0)
                        diagnostics_add_path(scan.errors, path,
                                             "cannot be opened: %m, expected a folder");
                else if (scan_check_owner(&scan, path, &st))
                        folder->fd = TAKE_FD(fd);
        }
        for (size_t i = 0; r == 0 && i < n_dirs; i++)
                if (scan.folders[i].fd >= 0)
                        r = scan_list_folder(&scan, i);
        if (scan.n_entries > 0)
                qsort(scan.entries, scan.n_entries, sizeof(*scan.entries), compare_entries);
        for (size_t i = 0; i < scan.n_entries && r == 0; i++)
                r = scan_read_entry(&scan, &scan.entries[i], &list);
        if (r == 0 && (errors->error < 0 || warnings->error < 0))
                r = -ENOMEM;
        if (r == 0 && errors->n_added > before)
                r = -EINVAL;
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(list);
        return 0;
}

char *policy_dir_find_beside(const char *path) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
        const char *name = slash ? slash + 1 : path;
        _cleanup_closedir_ DIR *dir = folder ? opendir(*folder ? folder : "/") : NULL;
        _cleanup_free_ char *found = NULL;
        struct dirent *entry;

        if (!dir && slash && errno == ENOENT)
                return policy_dir_find_beside(folder);
        while (dir && (entry = readdir(dir))) {
                if (strcmp(entry->d_name, name) == 0)
                        return NULL;
                if (!found && strstr(entry->d_name, name))
                        found = strdup(entry->d_name);
        }
        return TAKE_PTR(found);
}

/* --- the policies that were last in force --- */

/* The form: a first line, and for each file the lengths of its path and of its text in one line,
 * then both: so any name and any text is kept as it is. */

#define FIRST_LINE "tidbnumad policies 1\n"

/* The first byte of what is out of date. */
#define SPOILED '-'

int policy_kept_write(int runtime_fd, const SourceFileList *files) {
        _cleanup_text_ Text text = { 0 };
        int r;

        text_append(&text, FIRST_LINE);
        for (size_t i = 0; i < files->n_files; i++) {
                const SourceFile *f = &files->files[i];

                text_appendf(&text, "%zu %zu\n", strlen(f->path), f->size);
                text_append(&text, f->path);
                text_append_bytes(&text, f->text, f->size);
        }
        if (text.error < 0)
                return text.error;
        r = text.length > POLICY_KEPT_MAX_BYTES
                    ? -EFBIG
                    : atomic_file_write(runtime_fd, POLICY_KEPT_FILE, text.data, text.length, 0600);
        if (r < 0) {
                /* What an earlier set says is not what was last in force. It is spoiled and not
                 * removed: on a full /run the room of a removed file takes one undo record of all
                 * that are needed, and the host is changed by halves. */
                _cleanup_close_ int fd =
                        openat(runtime_fd, POLICY_KEPT_FILE, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

                if (fd >= 0 && pwrite(fd, &(char){ SPOILED }, 1, 0) != 1)
                        (void)unlinkat(runtime_fd, POLICY_KEPT_FILE, 0);
        }
        return r;
}

int policy_kept_parse(const char *text, size_t size, SourceFileList *ret) {
        _cleanup_source_file_list_ SourceFileList list = { 0 };
        const char *end = text + size, *p = text + strlen(FIRST_LINE);

        if (size < strlen(FIRST_LINE) || memcmp(text, FIRST_LINE, strlen(FIRST_LINE)) != 0)
                return -EBADMSG;
        while (p < end) {
                _cleanup_free_ char *path = NULL;
                size_t lengths[2] = { 0 };
                int r;

                for (unsigned i = 0; i < 2; i++) { /* "12 345\n" */
                        const char *start = p;

                        for (; p < end && *p >= '0' && *p <= '9'; p++) {
                                lengths[i] = lengths[i] * 10 + (size_t)(*p - '0');
                                if (lengths[i] > POLICY_KEPT_MAX_BYTES)
                                        return -EBADMSG;
                        }
                        if (p == start || p == end || *p++ != (i == 0 ? ' ' : '\n'))
                                return -EBADMSG;
                }
                /* Only a path without NUL bytes is one. */
                if (lengths[0] == 0 || lengths[1] > SOURCE_FILE_MAX_BYTES ||
                    lengths[0] + lengths[1] > (size_t)(end - p) || memchr(p, '\0', lengths[0]))
                        return -EBADMSG;
                path = strndup(p, lengths[0]);
                if (!path)
                        return -ENOMEM;
                r = source_file_list_add(&list, path, p + lengths[0], lengths[1]);
                if (r < 0)
                        return r;
                p += lengths[0] + lengths[1];
        }
        *ret = TAKE_STRUCT(list);
        return 0;
}

int policy_kept_read(int runtime_fd, SourceFileList *ret) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r = private_file_read(runtime_fd, POLICY_KEPT_FILE, POLICY_KEPT_MAX_BYTES, &text,
                                  &size);

        if (r == -ENOENT || (r >= 0 && size > 0 && *text == SPOILED))
                return 0;
        if (r >= 0)
                r = policy_kept_parse(text, size, ret);
        return r < 0 ? r : 1;
}
