/* Pressure stall information of a control group: how long its tasks had to wait
 * (Documentation/accounting/psi.rst, "some"). Of cgroup v2 alone. */
#pragma once

#include <stdint.h>

typedef struct Pressure {
        double recent;       /* share of the last ten seconds, 0..1 */
        uint64_t total_usec; /* since the group was made */
} Pressure;

/* -EBADMSG: not such a file. */
int pressure_parse(const char *text, Pressure *ret);

/* Memory and CPU together, so that `recent` may be up to 2. -EOPNOTSUPP: the kernel keeps none (v1,
 * psi=0); -ESRCH: the group is gone. */
int pressure_read(int cgroup_fd, Pressure *ret);
