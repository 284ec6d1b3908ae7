/* Which processes of a control group belong to an instance: its members, what they have started,
 * and the wrappers that started them. Each process is read once for all questions of a pass. */
#pragma once

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/proc.h"

typedef struct Kin {
        pid_t pid;
        bool ours; /* its chain of parents leads to a member */
} Kin;

typedef struct Kinship {
        const Sysroot *sysroot; /* borrowed, as the members */
        const Member *members;
        size_t n_members;
        Kin *known; /* ascending by pid; owned, as the next */
        size_t n_known, known_allocated;
        Kin *makers; /* the parents of members, and theirs; likewise */
        size_t n_makers, makers_allocated;
        bool makers_known;
        unsigned n_reads;
} Kinship;

typedef enum KinshipVerdict {
        KINSHIP_OURS,
        KINSHIP_STRANGER,
        KINSHIP_ENDED,    /* it has ended meanwhile */
        KINSHIP_TOO_MANY, /* it was not read: see KINSHIP_READS_MAX. Also: no memory */
} KinshipVerdict;

KinshipVerdict kinship_judge(Kinship *kinship, pid_t pid);
void kinship_done(Kinship *kinship);
#define _cleanup_kinship_ _cleanup_(kinship_done)
