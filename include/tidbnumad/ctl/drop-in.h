/* The drop-in by which the operator speaks: a policy file in the last of the policy folders, which
 * is gone after a reboot. It holds keys of `enforcement` only, and goes before the other files, for
 * it is the last by name; so `release` in it repeats what these ask for. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/source-file.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/brakes.h"
#include "tidbnumad/model/policy.h"

typedef struct DropIn {
        SourceFileList others; /* all other policy files, in order */
        PolicySet base;        /* what they come to */
        bool refused;   /* they are wrong: `base` is not known, and the daemon refuses them */
        bool is_there;  /* there is a drop-in */
        bool observe;   /* it says mode: observe */
        char **release; /* of what is released with it; owned */
        size_t n_release, release_allocated;
        bool had_replan; /* a replan was interrupted: the daemon still has its names */
        WordList replan; /* to be placed anew */
        Diagnostics errors;
} DropIn;

/* What the files come to, and what of it is the drop-in's. That the others are wrong is no error:
 * pause and release work on the policies that the daemon has in force. -EINVAL: the drop-in itself
 * is wrong; -ENOMEM. `errors` has what is wrong with any. `ret` is to be freed in each case. */
int drop_in_load(const SourceFileList *files, const char *path, DropIn *ret);
void drop_in_done(DropIn *drop_in);
#define _cleanup_drop_in_ _cleanup_(drop_in_done)

/* Adds a glob, or takes one out. 1: done; 0: it was, or was not, there; -ENOMEM. */
int drop_in_add(DropIn *drop_in, const char *glob);
int drop_in_remove(DropIn *drop_in, const char *glob);

/* Do the other files ask for it? */
bool drop_in_base_releases(const DropIn *drop_in, const char *glob);

/* As a file; nothing at all when the others say the same. */
void drop_in_render(const DropIn *drop_in, Text *text);

/* Would the policies with this text be right, and say what the drop-in says? -EINVAL: no, `errors`
 * tells why; -ENOMEM. */
int drop_in_check(DropIn *drop_in, const char *path, const Text *text);
