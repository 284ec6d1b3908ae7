/* The form: a first line, and for each file the lengths of its path and of its text in one line,
 * then both: so any name and any text is kept as it is. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/policy-kept.h"

#define FIRST_LINE "tidbnumad policies 1\n"

/* The first byte of what is out of date. */
#define SPOILED '-'

/* What an earlier set says is not what was last in force. It is spoiled and not removed: on a full
 * /run the room of a removed file takes one undo record of all that are needed, and the host is
 * changed by halves. */
static void spoil(int runtime_fd) {
        _cleanup_close_ int fd =
                openat(runtime_fd, POLICY_KEPT_FILE, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0 && pwrite(fd, &(char){ SPOILED }, 1, 0) != 1)
                (void)unlinkat(runtime_fd, POLICY_KEPT_FILE, 0);
}

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
        if (r < 0)
                spoil(runtime_fd);
        return r;
}

/* "12 345\n" before `end`; NULL: it is something else. */
static const char *take_lengths(const char *p, const char *end, size_t ret[static 2]) {
        for (unsigned i = 0; i < 2; i++) {
                size_t n = 0;
                const char *start = p;

                for (; p < end && *p >= '0' && *p <= '9'; p++) {
                        n = n * 10 + (size_t)(*p - '0');
                        if (n > POLICY_KEPT_MAX_BYTES)
                                return NULL;
                }
                if (p == start || p == end || *p++ != (i == 0 ? ' ' : '\n'))
                        return NULL;
                ret[i] = n;
        }
        return p;
}

/* Only a path without NUL bytes is one. */
static int take_file(const char **p, const char *end, SourceFileList *list) {
        _cleanup_free_ char *path = NULL;
        size_t lengths[2];
        const char *at = take_lengths(*p, end, lengths);

        if (!at || lengths[0] == 0 || lengths[1] > SOURCE_FILE_MAX_BYTES ||
            lengths[0] + lengths[1] > (size_t)(end - at) || memchr(at, '\0', lengths[0]))
                return -EBADMSG;
        path = strndup(at, lengths[0]);
        if (!path)
                return -ENOMEM;
        at += lengths[0];
        *p = at + lengths[1];
        return source_file_list_add(list, path, at, lengths[1]);
}

int policy_kept_parse(const char *text, size_t size, SourceFileList *ret) {
        _cleanup_source_file_list_ SourceFileList list = { 0 };
        const char *end = text + size, *p = text + strlen(FIRST_LINE);

        if (size < strlen(FIRST_LINE) || memcmp(text, FIRST_LINE, strlen(FIRST_LINE)) != 0)
                return -EBADMSG;
        while (p < end) {
                int r = take_file(&p, end, &list);

                if (r < 0)
                        return r;
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
