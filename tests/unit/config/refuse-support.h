/* Texts that tests of refused policies share. */
#pragma once

#include "load-support.h"

#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-yaml.h"

/* The start of a valid policy; the next key is in line 5. */
#define P V "policies:\n- name: a\n  match: {unit: a.scope}\n"

#define UNIT_EXPECTED                                                                              \
        "expected a service or scope such as tidb-4000.service, or a glob such as tidb-*.service"
#define EXE_EXPECTED                                                                               \
        "expected a base name such as tidb-server, or an absolute path, which may contain globs"
#define RATE_EXPECTED "expected a size above zero with its unit, per second, such as 256MiB/s"
#define TIME_EXPECTED "expected a time from 1s to 1h with its unit, such as 10s"
#define NODES_EXPECTED "expected node numbers such as 1, 2-3 or 0,4, or a list such as [0, 4]"
#define CPUS_EXPECTED "expected all, one-per-core, or CPU numbers such as 8-15 or 8,10"
