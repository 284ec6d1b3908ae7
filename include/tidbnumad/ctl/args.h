/* The command line of tidbnumactl(8). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/policy.h"

enum { ARGS_POLICY_DIRS_MAX = 8, ARGS_POLICY_FILES_MAX = 64, ARGS_NAMES_MAX = 64 };

typedef enum Command {
        COMMAND_VALIDATE,
        COMMAND_PLAN,
        COMMAND_EXPLAIN,
        COMMAND_ADVISE,
        COMMAND_CHECK,
        COMMAND_STATUS,
        COMMAND_TOP,
        COMMAND_LOCALITY,
        COMMAND_GATHER,
        COMMAND_RELOAD,
        COMMAND_PAUSE,
        COMMAND_RESUME,
        COMMAND_RELEASE,
        COMMAND_REPLAN,
        COMMAND_TRIAL,
        N_COMMANDS,
} Command;

typedef struct Args {
        Command command;
        const char *policy_dirs[ARGS_POLICY_DIRS_MAX]; /* files of later folders replace those of
                                                          the same name in earlier ones */
        size_t n_policy_dirs;
        bool policy_is_set;                              /* --policy or --policy-dir was given */
        const char *policy_files[ARGS_POLICY_FILES_MAX]; /* instead of the folders */
        size_t n_policy_files;
        const char *sysroot;     /* NULL: not given, as for all strings */
        const char *topology;    /* an XML file, or hwloc's synthetic description */
        const char *instances;   /* --instances: the imagined ones */
        const char *against;     /* --against: the policies to compare with */
        const char *export_path; /* --export: file for hwloc XML */
        const char *output;      /* of gather: the archive; of plan: a folder */
        const char *tiup_file;   /* of plan: a topology file of TiUP */
        const char *hosts;       /* of plan: a folder with its machines; NULL: all are alike */
        const char *runtime_dir;
        const char *subject; /* of explain and locality */
        bool help, version;
        bool json;
        bool explain;
        bool tiup;
        bool afresh;          /* of plan: without what the topology file of TiUP binds */
        bool ask;             /* of advise: running servers */
        WordList names;       /* globs, of status, release and replan; borrowed */
        bool exact;           /* of locality: read numa_maps */
        bool all;             /* of release: "*"; of status: all that is published */
        bool quiet;           /* of status: print nothing */
        bool undo;            /* of release: bind them again */
        bool dry_run;         /* only print what would be written */
        bool no_wait;         /* do not wait for the daemon's status to show the change */
        bool watch;           /* of status: refresh the output */
        bool yes;             /* of replan: do not ask */
        const char *duration; /* of trial; NULL: the default */
        bool revert_if_worse; /* of trial */
} Args;

/* 1: continue; 0: --help or --version was printed; -EINVAL: invalid; another
 * negative errno: standard output cannot be written. Each with a message on stderr. The
 * strings point into `argv`. */
int args_parse(Args *args, int argc, char *argv[]);
