/* Nodes and their readings, for tests of what a guard makes of them. */
#pragma once

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/plan/guard.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)
#define SEC(n) ((uint64_t)((n)*1e6))

static inline GuardOutlook predict(const GuardNode *node) {
        const NodeSet all = node_set("0-7");

        return guard_predict(node, 1, &all);
}

static inline GuardVerdict judge(const GuardNode *node) {
        const GuardOutlook o = predict(node);

        return guard_judge(&o);
}
