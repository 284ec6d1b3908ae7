/* Imagined instances: what --instances describes. */
#pragma once

#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/model/instance.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"

/* More than any host runs. */
#define IMAGINE_INSTANCES_MAX 1024u

/* One word of the list: "2:tikv@nvme0n1:32GiB". */
typedef struct ImagineEntry {
        uint32_t count;
        char *policy;        /* owned */
        char *disk;          /* NULL: none was named; owned */
        uint64_t need_bytes; /* memory of each of them; 0: not given */
} ImagineEntry;

typedef struct ImagineList {
        ImagineEntry *entries; /* owned */
        size_t n_entries, allocated;
} ImagineList;

void imagine_list_done(ImagineList *list);
#define _cleanup_imagine_list_ _cleanup_(imagine_list_done)

/* Parses "COUNT:POLICY[@DISK][:SIZE],…", with blanks allowed around each comma; "POLICY" alone is
 * one. -EINVAL: invalid, and *ret_message is a sentence about the error, which the caller frees;
 * -ENOMEM. */
int imagine_parse(const char *text, ImagineList *ret, char **ret_message);

typedef struct Imagined {
        INSTANCE_FACTS;     /* "tikv-2", numbered within its policy; what it needs is its limit */
        const Device *disk; /* disk of its data; NULL: its policy needs none, or there is none */
        bool in_turn;       /* the disk was assigned in turn, not named */
        NodeSet in_force;   /* the nodes to which it is bound now */
} Imagined;

typedef struct ImaginedList {
        Imagined *instances; /* in the order of the list; owned */
        size_t n_instances;
} ImaginedList;

/* Its disk, and the node of that. */
void imagined_set_disk(Imagined *imagined, const Device *disk);

void imagined_list_done(ImaginedList *list);
#define _cleanup_imagined_list_ _cleanup_(imagined_list_done)

/* Instances of a policy with `near: storage` get the machine's disks in turn: the NVMe disks where
 * it has any, else all. -EINVAL: no such policy or disk, with a message as above; -ENOMEM. */
int imagine_instances(const ImagineList *list, const PolicySet *policies, const DeviceList *devices,
                      ImaginedList *ret, char **ret_message);
