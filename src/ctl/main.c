/* tidbnumactl: what tidbnumad makes of its policies. See tidbnumactl(8). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/ctl/commands.h"

static int run(const Args *args) {
        switch (args->command) {
        case COMMAND_VALIDATE:
                return command_validate(args);
        case COMMAND_PLAN:
                return command_plan(args);
        case COMMAND_EXPLAIN:
                return command_explain(args);
        case COMMAND_ADVISE:
                return command_advise(args);
        case N_COMMANDS:
                break;
        }
        return -EINVAL;
}

int main(int argc, char *argv[]) {
        Args args;
        int r;

        (void)signal(SIGPIPE, SIG_IGN); /* a reader that has gone is told by the write */
        r = args_parse(&args, argc, argv);
        if (r <= 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        r = run(&args);
        if (r == -ENOMEM)
                (void)fputs("tidbnumactl: not enough memory\n", stderr);
        return r < 0 ? EXIT_FAILURE : r;
}
