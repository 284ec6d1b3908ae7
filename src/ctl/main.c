/* tidbnumactl: shows and controls tidbnumad. See tidbnumactl(8). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"

static int run(const Args *args) {
        switch (args->command) {
        case COMMAND_VALIDATE:
                return command_validate(args);
        case COMMAND_PLAN:
                return args->tiup_file ? command_plan_fleet(args) : command_plan(args);
        case COMMAND_EXPLAIN:
                return command_explain(args);
        case COMMAND_ADVISE:
                return command_advise(args);
        case COMMAND_CHECK:
                return command_check(args);
        case COMMAND_STATUS:
                return args->watch ? command_top(args) : command_status(args);
        case COMMAND_TOP:
                return command_top(args);
        case COMMAND_LOCALITY:
                return command_locality(args);
        case COMMAND_GATHER:
                return command_gather(args);
        case COMMAND_PAUSE:
                return command_pause(args);
        case COMMAND_RESUME:
                return command_resume(args);
        case COMMAND_RELEASE:
                return command_release(args);
        case COMMAND_REPLAN:
                return command_replan(args);
        case N_COMMANDS:
                break;
        }
        return -EINVAL;
}

int main(int argc, char *argv[]) {
        Args args;
        int r;

        (void)signal(SIGPIPE, SIG_IGN); /* the failing write reports that the reader is gone */
        r = args_parse(&args, argc, argv);
        if (r <= 0)
                return r < 0 ? COMMAND_EXIT_USAGE : EXIT_SUCCESS;
        r = run(&args);
        if (r == -ENOMEM)
                output_line(stderr, "tidbnumactl: not enough memory");
        if (r == -EACCES || r == -EPERM)
                return COMMAND_EXIT_NOT_ALLOWED;
        return r < 0 ? EXIT_FAILURE : r;
}
