/* The instances that a command is about: those that run on a machine, by a set of policies, and
 * those that --instances imagines. */
#pragma once

#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/error.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/world/instances.h"

/* Finds all processes that match a policy; to be followed by host_instances_describe(). `status`
 * (may be NULL) is what a running daemon published: it has the names, and the policy, program and
 * data directory of processes that this user may not read. Negative errno: /proc cannot be read. */
int instances_find(const Sysroot *sysroot, const PolicySet *policies, const Snapshot *status,
                   HostInstances *ret);

/* For instances whose disks this user cannot look up, those that the daemon published. To be called
 * once they are described. */
void instances_take_storage(const Snapshot *status, HostInstances *list);

/* Moves instances beyond max_instances of their policy and user to `ret_ignored`, as the daemon
 * does: instances that it published come first, then the others in their order. */
void instances_limit(const PolicySet *policies, const Snapshot *status, HostInstances *list,
                     HostInstances *ret_ignored);

/* GOMAXPROCS in the environment of its start; 0: none, or it may not be read. */
uint32_t instances_gomaxprocs(const HostInstance *o);

/* --- imagined ones --- */

/* More than any host runs. */
#define IMAGINE_INSTANCES_MAX 1024u

/* Its disk (NULL: none) and the node of that. */
void host_instance_set_disk(HostInstance *imagined, const Device *disk);

/* Checks "COUNT:POLICY[@DISK][:SIZE],…", with blanks allowed around each comma; "POLICY" alone is
 * one. -EINVAL: invalid. */
int imagine_check(const char *text, Error *error);

/* The instances of such a list. Those of a policy with `near: storage` get the machine's disks in
 * turn: the NVMe disks where it has any, else all. -EINVAL: invalid, or no such policy or disk. */
int imagine_instances(const char *text, const PolicySet *policies, const DeviceList *devices,
                      HostInstances *ret, Error *error);
