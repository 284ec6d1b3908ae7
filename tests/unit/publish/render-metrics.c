/* Prints the example's metrics, once with a hostile instance, for `promtool check metrics`. */
#include <stdio.h>

#include "tidbnumad/publish/metrics.h"

#include "example.h"

int main(void) {
        _cleanup_text_ Text text = { 0 };
        Example e;

        example_init(&e);
        e.instances[1].name = (char *)"a\\b\"c\nd\xff\xe2\x82{}=,#";
        if (metrics_render(&e.snapshot, &text) < 0)
                return 1;
        (void)fputs(text.data, stdout);
        return 0;
}
