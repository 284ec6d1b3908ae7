/* tidbnumactl: shows and controls tidbnumad. See tidbnumactl(8). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"

static int (*const commands[N_COMMANDS])(const Args *, Error *) = {
        [COMMAND_VALIDATE] = command_validate, [COMMAND_PLAN] = command_plan,
        [COMMAND_EXPLAIN] = command_explain,   [COMMAND_ADVISE] = command_advise,
        [COMMAND_CHECK] = command_check,       [COMMAND_STATUS] = command_status,
        [COMMAND_TOP] = command_top,           [COMMAND_LOCALITY] = command_locality,
        [COMMAND_GATHER] = command_gather,     [COMMAND_RELOAD] = command_reload,
        [COMMAND_PAUSE] = command_pause,       [COMMAND_RESUME] = command_resume,
        [COMMAND_RELEASE] = command_release,   [COMMAND_REPLAN] = command_replan,
        [COMMAND_TRIAL] = command_trial,
};

int main(int argc, char *argv[]) {
        _cleanup_error_ Error error = { 0 };
        Args args;
        int r;

        (void)signal(SIGPIPE, SIG_IGN); /* the failing write reports that the reader is gone */
        r = args_parse(&args, argc, argv);
        if (r <= 0)
                return r == -EINVAL ? COMMAND_EXIT_USAGE : r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        r = commands[args.command](&args, &error);
        output_error(&error);
        if (must(r) == -EACCES || r == -EPERM)
                return COMMAND_EXIT_NOT_ALLOWED;
        return r < 0 ? EXIT_FAILURE : r;
}
