/* What stands in the daemon's place of publication, with any content. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/publish/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_status_ Snapshot status = { 0 };
        int r = status_parse((const char *)data, size, &status);

        check(r == 0 || r == -EBADMSG || r == -ENOMEM);
        for (size_t i = 0; i < status.n_instances; i++)
                check(status.instances[i].name && status.instances[i].pid > 0);
        return 0;
}
