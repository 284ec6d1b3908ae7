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
                char *line = buffer, *rest = NULL;
                IdSet added = { 0 }, one;
                int r = 0;

                text = take_line(text, buffer);
                line += strspn(line, " \t");
                if (*line == '[')
                        in_service = strcmp(line, "[Service]") == 0;
                if (!in_service || strncmp(line, key, strlen(key)) != 0)
                        continue;
                line += strlen(key);
                line += strspn(line, " \t");
                if (*line != '=')
                        continue;
                /* Ranges, separated by commas or blanks, perhaps in quotes. */
                for (char *word = strtok_r(line + 1, " \t,\"'", &rest); word && r >= 0;
                     word = strtok_r(NULL, " \t,\"'", &rest)) {
                        r = id_set_parse_list(word, &one);
                        if (r >= 0)
                                id_set_union(&added, &one);
                }
                if (r < 0)
                        continue;
                changed = true;
                if (id_set_is_empty(&added))
                        *set = added;
                else
                        id_set_union(set, &added);
        }
        return changed;
}

/* --- the text of a file that a unit names --- */

/* As many links one after the other as a kernel follows, path_resolution(7). */
enum { LINKS_MAX = 40 };

static int script_read_below(int root_fd, const char *path, bool any, unsigned n_links,
                             char **ret) {
        const char *name = strrchr(path, '/');
        _cleanup_close_ int folder_fd = -EBADF, path_fd = -EBADF, fd = -EBADF;
        _cleanup_free_ char *folder = NULL, *target = NULL, *text = NULL;
        char link[PATH_MAX];
        struct stat st;
        ssize_t n;

        if (path[0] != '/' || !name[1])
                return -EINVAL;
        folder = strndup(path, name == path ? 1 : (size_t)(name - path));
        if (!folder)
                return -ENOMEM;
        folder_fd = open_below(root_fd, folder);
        if (folder_fd < 0)
                return folder_fd;
        if (path_read_link(folder_fd, link, sizeof(link), "%s", name + 1) > 0) {
                if (n_links == 0)
                        return -ELOOP;
                target = link[0] == '/' ? strdup(link) : text_new("%s/%s", folder, link);
                return target ? script_read_below(root_fd, target, any, n_links - 1, ret) : -ENOMEM;
        }
        /* O_PATH first: a device or a pipe is not opened to find out that it is one. */
        path_fd = path_open(folder_fd, O_PATH | O_NOFOLLOW, "%s", name + 1);
        if (path_fd < 0 || fstat(path_fd, &st) < 0)
                return path_fd < 0 ? path_fd : -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        fd = path_open(AT_FDCWD, O_RDONLY | O_NOCTTY | O_NONBLOCK, "/proc/self/fd/%d", path_fd);
        if (fd < 0)
                return fd;
        text = malloc(SCRIPT_BYTES_MAX + 1);
        if (!text)
                return -ENOMEM;
        /* Of a large program no more than the start is read. */
        n = read_up_to(fd, text, 2);
        if (n >= 0 && !any && (n < 2 || memcmp(text, "#!", 2) != 0))
                return -ENOEXEC;
        if (n == 2) {
                n = read_up_to(fd, text + 2, SCRIPT_BYTES_MAX + 1 - 2);
                n += n >= 0 ? 2 : 0;
        }
        if (n < 0 || n > SCRIPT_BYTES_MAX)
                return n < 0 ? (int)n : -E2BIG;
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

int script_read(const Sysroot *sysroot, const char *path, bool any, char **ret) {
        _cleanup_close_ int root_fd = path_open(sysroot->proc_fd, O_PATH | O_DIRECTORY, "1/root");

        if (root_fd < 0) /* without the right to look at PID 1: the own root */
                root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return root_fd < 0 ? -errno : script_read_below(root_fd, path, any, LINKS_MAX, ret);
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
