/* What an operator has requested, as a file that anybody may have damaged: what is read is written
 * the same, and no request that a call could not make comes in. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/model/requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_requests_ Requests requests = { 0 }, again = { 0 };
        _cleanup_text_ Text text = { 0 }, second = { 0 };
        int r = requests_parse((const char *)data, size, &requests);

        check(r == 0 || r == -EBADMSG || r == -ENOMEM);
        if (r < 0) {
                check(!requests.paused && requests.n == 0);
                return 0;
        }
        check(requests.n <= REQUESTS_MAX);
        for (size_t i = 0; i < requests.n; i++) {
                const size_t length = strlen(requests.list[i].glob);

                check(length > 0 && length <= REQUEST_NAME_MAX);
        }
        check(requests.n == 0 || requests.trial == TRIAL_REQUEST_BINDS ||
              requests_release_any(&requests));
        requests_render(&requests, &text);
        check(text.error < 0 || requests_parse(text.data, text.length, &again) == 0);
        requests_render(&again, &second);
        check(text.error < 0 || second.error < 0 || strcmp(text.data, second.data) == 0);
        return 0;
}
