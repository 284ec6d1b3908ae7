#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/report/listed.h"

/* Approximate size of an instance in metrics.prom: its series, those of each node, and its name in
 * each. */
enum { SERIES_BYTES = 2048, NODE_BYTES = 400, N_NAMES = 50 };

static size_t length_of(const char *text) {
        return text ? strlen(text) : 0;
}

/* Services first, because only root can create them; then the oldest instances. */
static int compare_rank(const void *a, const void *b) {
        const Instance *x = *(const Instance *const *)a, *y = *(const Instance *const *)b;
        const int services = instance_is_service(y) - instance_is_service(x);

        if (services != 0)
                return services;
        if (x->first_seen_usec != y->first_seen_usec)
                return x->first_seen_usec < y->first_seen_usec ? -1 : 1;
        return strcmp(x->name, y->name);
}

static int compare_name(const void *a, const void *b) {
        const Instance *x = *(const Instance *const *)a, *y = *(const Instance *const *)b;

        return strcmp(x->name, y->name);
}

int listed_choose(const Roster *roster, size_t n_nodes, const Instance ***ret, size_t *ret_n) {
        const Instance **list = calloc(roster->n_instances + 1, sizeof(*list));
        size_t n = 0, bytes = 0;

        if (!list)
                return -ENOMEM;
        for (size_t k = 0; k < roster->n_instances; k++)
                list[k] = roster->instances[k];
        qsort(list, roster->n_instances, sizeof(*list), compare_rank);
        for (; n < roster->n_instances; n++) {
                const Instance *i = list[n];

                bytes += SERIES_BYTES + n_nodes * NODE_BYTES + N_NAMES * length_of(i->name) +
                         length_of(i->exe) + length_of(i->unit) + length_of(i->data_dir);
                if (bytes > LISTED_BYTES_MAX)
                        break;
        }
        qsort(list, n, sizeof(*list), compare_name);
        *ret = list;
        *ret_n = n;
        return 0;
}
