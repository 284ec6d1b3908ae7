#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/instance-name.h"

#define SUFFIX ".service"

bool unit_is_service(const char *unit) {
        return text_ends_with(unit, SUFFIX) && strncmp(unit, "user@", 5) != 0;
}

static int render_service(const InstanceIdentity *i, unsigned rank, char **ret) {
        const int length = (int)(strlen(i->unit) - strlen(SUFFIX));

        switch (rank) {
        case 0:
                return asprintf(ret, "%.*s", length, i->unit);
        case 1:
                return asprintf(ret, "%s", i->unit);
        default:
                return asprintf(ret, "%s:%d", i->unit, i->first.pid);
        }
}

static int render_process(const InstanceIdentity *i, unsigned rank, char **ret) {
        const char *base = basename(i->exe);
        const int number = i->n_ports > 0 ? i->ports[0] : i->first.pid;

        switch (rank) {
        case 0:
                return asprintf(ret, "%s:%d", base, number);
        case 1:
                return asprintf(ret, "%s:%d:%d", base, number, i->first.pid);
        default:
                return asprintf(ret, "%s:%d:%d:%" PRIu64, base, number, i->first.pid,
                                i->first.start_ticks);
        }
}

int instance_name_render(const InstanceIdentity *identity, unsigned rank, char **ret) {
        char *name;
        int r = unit_is_service(identity->unit) ? render_service(identity, rank, &name)
                                                : render_process(identity, rank, &name);

        if (r < 0)
                return -ENOMEM;
        *ret = name;
        return 0;
}

int instance_name_choose(const InstanceIdentity *identity, NameTaken is_taken, void *userdata,
                         char **ret) {
        for (unsigned rank = 0; rank < INSTANCE_NAME_RANKS; rank++) {
                char *name;
                int r = instance_name_render(identity, rank, &name);

                if (r < 0)
                        return r;
                if (!is_taken(name, userdata)) {
                        *ret = name;
                        return 0;
                }
                free(name);
        }
        return -EEXIST;
}
