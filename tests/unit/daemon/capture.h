/* What is written to standard output or standard error between two calls. */
#pragma once

typedef struct Capture {
        int fd, saved;
        FILE *file;
        char text[8192];
} Capture;

static inline void capture_begin(Capture *c, int fd) {
        (void)fflush(NULL);
        c->fd = fd;
        c->saved = dup(fd);
        c->file = tmpfile();
        assert_true(c->saved >= 0 && c->file);
        assert_int_equal(dup2(fileno(c->file), fd), fd);
}

static inline void capture_end(Capture *c) {
        size_t n;

        (void)fflush(NULL);
        assert_int_equal(dup2(c->saved, c->fd), c->fd);
        (void)close(c->saved);
        rewind(c->file);
        n = fread(c->text, 1, sizeof(c->text) - 1, c->file);
        c->text[n] = '\0';
        (void)fclose(c->file);
}

/* What the statement logs. */
#define CAPTURE_STDERR(c, statement)                                                               \
        do {                                                                                       \
                capture_begin(c, STDERR_FILENO);                                                   \
                statement;                                                                         \
                capture_end(c);                                                                    \
        } while (0)

static inline void assert_contains(const char *text, const char *part) {
        if (!strstr(text, part))
                fail_msg("'%s' does not contain '%s'", text, part);
}
