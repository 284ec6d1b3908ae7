/* Limits of what others can multiply: any user can have thousands of processes, threads, open files
 * and mappings, and the daemon's loop reads them. What is beyond a limit is left to a later pass of
 * the loop, or not read at all; beside each limit is what becomes of it. How long others are waited
 * for is in worker/worker.h. */
#pragma once

enum {
        /* A unit with many processes, such as a pool of workers, shows the same with each of them:
         * only this many are read. */
        MEMBERS_ASKED_MAX = 16,

        /* The pages of a sample are divided among the processes of an instance. An instance of more
         * is not sampled. */
        OTHERS_SAMPLED_MAX = 64,

        /* Processes that are read within one pass, some 10 us each, to find whether a control group
         * has others. Beyond it the group counts as shared. */
        KINSHIP_READS_MAX = 4096,

        /* More than any real chain of parents; a bound against races in which the chain is a
         * circle. Whoever is further away is no relative. */
        OTHERS_ANCESTORS_MAX = 64,

        /* Children of new members that are looked at in one pass of the loop, some 200 us each. A
         * scan, which takes several passes, finds the others. */
        OTHERS_CHILDREN_AT_ONCE = 128,

        /* Ignored processes that are listed; the others are only counted, because any user can
         * start processes with the name of a server. */
        IGNORED_MAX = 64,

        /* Threads that get other CPUs in one pass of the loop, some 60 us each. The next pass goes
         * on. */
        OTHERS_THREADS_AT_ONCE = 256,

        /* So many passes for one change; 50,000 threads take 200. Threads that set their CPUs
         * themselves all the time would make it endless: then all are set in one pass, some times
         * over, and what they do then counts as drift. */
        OTHERS_PASSES_MAX = 400,

        /* Threads of which a file is read, some 20 us each, to find out where a process runs that
         * has no place. The others will be on the same nodes. */
        OTHERS_THREAD_FILES_MAX = 1024,

        /* Threads of a process that are read for the CPUs that it may use, one system call each.
         * The others are taken to have these as well. */
        OTHERS_THREADS_READ_MAX = 4096,

        /* Different masks of the threads of one process: a pinned thread for each CPU of the
         * largest hosts. Anybody can make a thread for each subset of the CPUs; what is beyond is
         * given back the CPUs of its cpuset. */
        UNDO_MASKS_MAX = 512,

        /* Open files of which the name looks like that of a database file. The others are not
         * looked at. */
        OTHERS_DATA_FILES_MAX = 1024,

        /* Mappings of reserved huge pages. With more, what is needed is known in part only. */
        HUGE_MAPPINGS_MAX = 32,

        /* Control groups below one another: deeper than any manager nests them. What is deeper
         * counts as not read, and a process that is deeper counts as in the group of that depth. */
        OTHERS_GROUP_DEPTH_MAX = 16,

        /* Control groups below that of an instance, some 15 us each: who may make groups there can
         * make any number. The others count as not read. */
        OTHERS_GROUPS_MAX = 256,
};
