/* Answers of sock_diag and rows of /proc/net/tcp with any content, at any alignment. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/sys/ports.h"

static void count(const ListenSocket *socket, void *userdata) {
        size_t *n = userdata;

        check(socket->inode != 0);
        (*n)++;
}

static void check_diag(const uint8_t *data, size_t size) {
        for (size_t shift = 0; shift < 2; shift++) {
                char *copy = malloc(size + shift + 1);
                size_t n = 0;
                int r;

                if (!copy)
                        return;
                if (size > 0)
                        memcpy(copy + shift, data, size);
                r = listen_diag_parse(copy + shift, size, count, &n);
                check(r >= -4095 && r <= 1 && n <= size / 16);
                free(copy);
        }
}

static void check_rows(char *text) {
        char *save = NULL;

        for (char *row = strtok_r(text, "\n", &save); row; row = strtok_r(NULL, "\n", &save)) {
                ListenSocket found = { 0 };
                int r = listen_row_parse(row, &found);

                check(r == 1 ? found.inode != 0
                             : (r == 0 || r == -EBADMSG) && found.inode == 0 && found.port == 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = fuzz_text(data, size);

        if (!text)
                return 0;
        check_diag(data, size);
        check_rows(text);
        free(text);
        return 0;
}
