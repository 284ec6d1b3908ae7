/* Loads policies at the start and on SIGHUP. */
#pragma once

#include "tidbnumad/daemon/host/host.h"

/* Reads the policy files. 1: `ret` has the new policies, which the caller puts in force. 0: the set
 * was rejected as a whole, and each error was logged; the policies in force stay. Returns only
 * errors such as -ENOMEM.
 *
 * Rejected while none are in force yet: `ret` has those that were last in force, by the runtime
 * folder, and the result is 1 as well (`policy_load_success` tells the difference). Where these
 * cannot be used either it is 0. */
int load_policies(Host *host, PolicySet *ret);

/* Puts `fresh`, the result of load_policies(), in force; afterwards `fresh` contains the former
 * policies, to which instances may still refer. Keeps it for a start at which the files are
 * refused. 0 or -ENOMEM. */
int load_take_over(Host *host, PolicySet *fresh);

/* Where no policies are in force: `fresh` holds on to what an earlier run has bound, and nothing
 * new is bound. 0 or -ENOMEM. Afterwards as above. */
int load_adopt(Host *host, PolicySet *fresh);

/* Appends the built-in policies, which only watch. 0 or -ENOMEM. */
int load_add_watched(PolicySet *set);
