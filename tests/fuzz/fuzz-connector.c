/* Datagrams of the process connector with any content, at any alignment. */
#include "fuzz.h"
#include "tidbnumad/sys/proc-connector.h"

static void count(const ProcEvent *event, void *userdata) {
        int *n = userdata;

        check(event->kind <= PROC_KIND_COMM);
        check(event->kind == PROC_KIND_ACK ? event->error <= 0 : event->pid > 0);
        (*n)++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        for (size_t shift = 0; shift < 2; shift++) {
                char *copy = malloc(size + shift + 1);
                int n = 0, told;

                if (!copy)
                        return 0;
                if (size > 0)
                        memcpy(copy + shift, data, size);
                told = proc_connector_parse(copy + shift, size, count, &n);
                /* Each message has a header of its own. */
                check(told == n && (size_t)n <= size / 16);
                free(copy);
        }
        return 0;
}
