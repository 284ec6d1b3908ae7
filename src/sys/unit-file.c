/* What the files of a unit say: assignments, the script that it starts, its user. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/sys/unit-file.h"

/* --- unit-file --- */

/* Ranges, separated by commas or blanks, perhaps in quotes. */
static bool parse_ranges(char *value, IdSet *ret) {
        char *rest = NULL;
        IdSet set = { 0 };

        for (char *word = strtok_r(value, " \t,\"'", &rest); word;
             word = strtok_r(NULL, " \t,\"'", &rest)) {
                IdSet one;

                if (id_set_parse_list(word, &one) < 0)
                        return false;
                id_set_union(&set, &one);
        }
        *ret = set;
        return true;
}

static bool assign(char *value, IdSet *set) {
        IdSet added;

        if (!parse_ranges(value, &added))
                return false;
        if (id_set_is_empty(&added))
                *set = added;
        else
                id_set_union(set, &added);
        return true;
}

/* The next line in `buffer`, which has room for the rest of the text: joined with those that
 * continue it, without the blanks at its ends. Comments in between do not end it. */
static const char *take_line(const char *text, char *buffer) {
        char *end = buffer;
        bool continues = true;

        while (continues && *text) {
                const size_t n = strcspn(text, "\r\n"), blanks = strspn(text, " \t");
                const bool comment = text[blanks] == '#' || text[blanks] == ';';

                continues = comment ? end > buffer : n > 0 && text[n - 1] == '\\';
                if (!comment) {
                        memcpy(end, text, n);
                        end += n;
                        if (continues)
                                end[-1] = ' ';
                }
                text += n;
                text += strspn(text, "\r");
                text += *text == '\n';
        }
        while (end > buffer && isspace((unsigned char)end[-1]))
                end--;
        *end = '\0';
        return text;
}

bool unit_file_add(const char *text, const char *key, IdSet *set) {
        _cleanup_free_ char *buffer = malloc(strlen(text) + 1);
        bool in_service = false, changed = false;

        while (buffer && *text) {
                char *line = buffer;

                text = take_line(text, buffer);
                line += strspn(line, " \t");
                if (*line == '[')
                        in_service = strcmp(line, "[Service]") == 0;
                if (!in_service || strncmp(line, key, strlen(key)) != 0)
                        continue;
                line += strlen(key);
                line += strspn(line, " \t");
                if (*line == '=')
                        changed |= assign(line + 1, set);
        }
        return changed;
}

/* --- script --- */

/* As many links one after the other as a kernel follows, path_resolution(7). */
enum { LINKS_MAX = 40 };

/* Without the right to look at PID 1: the own root. */
static int open_root(const Sysroot *sysroot) {
        int fd = openat(sysroot->proc_fd, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* O_PATH first: a device or a pipe is not opened to find out that it is one. */
static int open_regular(int folder_fd, const char *name) {
        char link[sizeof("/proc/self/fd/") + 12];
        _cleanup_close_ int path_fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        int fd;

        if (path_fd < 0 || fstat(path_fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
        fd = open(link, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static int read_text(int fd, bool any, char **ret) {
        _cleanup_free_ char *text = malloc(SCRIPT_BYTES_MAX + 1);
        size_t n = 0;

        if (!text)
                return -ENOMEM;
        for (;;) {
                ssize_t r = read(fd, text + n, SCRIPT_BYTES_MAX + 1 - n);

                if (r < 0 && errno == EINTR)
                        continue;
                if (r < 0)
                        return -errno;
                n += (size_t)r;
                if (!any && n >= 2 && memcmp(text, "#!", 2) != 0)
                        return -ENOEXEC;
                if (n > SCRIPT_BYTES_MAX)
                        return -E2BIG;
                if (r == 0)
                        break;
        }
        if (!any && n < 2)
                return -ENOEXEC;
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

/* Where the last name of the path is a link: its target in `link`. */
static bool is_link(int folder_fd, const char *name, char link[PATH_MAX]) {
        ssize_t n = readlinkat(folder_fd, name, link, PATH_MAX);

        if (n <= 0 || n >= PATH_MAX)
                return false;
        link[n] = '\0';
        return true;
}

static int read_below(int root_fd, const char *path, bool any, unsigned n_links, char **ret) {
        const char *name = strrchr(path, '/');
        _cleanup_close_ int folder_fd = -EBADF, fd = -EBADF;
        _cleanup_free_ char *folder = NULL, *target = NULL;
        char link[PATH_MAX];

        if (path[0] != '/' || !name[1])
                return -EINVAL;
        folder = strndup(path, name == path ? 1 : (size_t)(name - path));
        if (!folder)
                return -ENOMEM;
        folder_fd = open_below(root_fd, folder);
        if (folder_fd < 0)
                return folder_fd;
        if (is_link(folder_fd, name + 1, link)) {
                if (n_links == 0)
                        return -ELOOP;
                target = link[0] == '/' ? strdup(link) : text_new("%s/%s", folder, link);
                return target ? read_below(root_fd, target, any, n_links - 1, ret) : -ENOMEM;
        }
        fd = open_regular(folder_fd, name + 1);
        return fd < 0 ? fd : read_text(fd, any, ret);
}

int script_read(const Sysroot *sysroot, const char *path, bool any, char **ret) {
        _cleanup_close_ int root_fd = open_root(sysroot);

        return root_fd < 0 ? root_fd : read_below(root_fd, path, any, LINKS_MAX, ret);
}

/* --- users --- */

static bool parse_number(const char *user, uint64_t *ret) {
        return parse_u64(user, ret) == 0 && *ret < UINT32_MAX;
}

bool user_is_number(const char *user) {
        uint64_t number;

        return parse_number(user, &number);
}

int user_to_uid_below(const char *root, const char *user, uid_t *ret) {
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *path = text_new("%s/etc/passwd", root);
        const struct passwd *pw;

        if (!path)
                return -ENOMEM;
        file = fopen(path, "re");
        while (file && (pw = fgetpwent(file)))
                if (strcmp(pw->pw_name, user) == 0) {
                        *ret = pw->pw_uid;
                        return 0;
                }
        return -ENOENT;
}

int user_is_local(const char *user, uid_t *ret) {
        uint64_t number;

        if (!parse_number(user, &number))
                return user_to_uid_below("", user, ret);
        *ret = (uid_t)number;
        return 0;
}

int user_to_uid(const char *user, uid_t *ret) {
        const struct passwd *pw;

        if (user_is_local(user, ret) == 0)
                return 0;
        errno = 0;
        pw = getpwnam(user);
        if (!pw)
                return errno ? -errno : -ENOENT;
        *ret = pw->pw_uid;
        return 0;
}
