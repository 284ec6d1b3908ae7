/* Prints the tests' report as a TiUP fragment, for test-advice-merge. */
#include <stdio.h>

#include "tidbnumad/publish/advice.h"

#include "advice-example.h"

int main(int argc, char **argv) {
        _cleanup_text_ Text text = { 0 };
        AdviceExample e;

        advice_example_init(&e);
        if (advice_render_tiup(&e.report, argc > 1 ? argv[1] : "10.0.1.1", &text) < 0)
                return 1;
        return fputs(text.data, stdout) == EOF;
}
