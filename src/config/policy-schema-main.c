/* Writes policy.schema.json at build time. */
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/config/policy-schema.h"

int main(void) {
        _cleanup_text_ Text text = { 0 };

        policy_schema_render(&text);
        if (text.error < 0 || fputs(text.data, stdout) < 0 || fflush(stdout) != 0)
                return EXIT_FAILURE;
        return EXIT_SUCCESS;
}
