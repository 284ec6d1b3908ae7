/* The first CPUs of a process that has just done its exec: before it is identified in full,
 * entered, named, planned for and recorded, which takes many times as long.
 *
 * That is possible if the policy names only executable, user and nodes: its CPUs are then known
 * beforehand, and one descriptor of /proc/PID identifies the process. Full identification and the
 * undo record follow as for any other process. If these show that the process does not belong to
 * the policy, or cannot be bound, its former CPUs are restored. */
#pragma once

#include "tidbnumad/daemon/registry/registry.h"

/* What a process was given, until it is entered. */
typedef struct Start {
        ProcHandle handle; /* only its folder is open */
        const Policy *policy;
        StartCpus cpus;
} Start;

#define START_NONE                                                                                 \
        (Start) {                                                                                  \
                .handle = PROC_HANDLE_NONE                                                         \
        }

/* From now on these are given, by index of the policies in force. Takes over the list; NULL: none
 * are. */
void start_announce(Registry *registry, CpuSet *cpus, size_t n);

/* Gives the process its CPUs, if its policy has CPUs for new processes. `exe` was read by pid
 * alone. Not done here, but in the steps that follow: a process that is already a member of an
 * instance, and one in another mount namespace, where the path does not identify the program. */
void start_bind(const Registry *registry, pid_t pid, const char *exe, Start *ret);

/* To be called when the process is identified: returns the CPUs that it was given before, if it is
 * still the same process and of that policy. The caller must then restore them with
 * start_take_back() or drop them with start_forget(). */
void start_take_over(const Registry *registry, const Policy *policy, const Process *process,
                     Start *start, StartCpus *ret);

/* What was not taken over, or was put back into `start`, is taken back. */
void start_end(const Registry *registry, Start *start);

/* For a process that is older than this daemon: reads which CPUs an earlier run of the daemon gave
 * it. Not by the first scan alone: a worker that did not answer in time leaves a process to a later
 * one. */
void start_recall(const Registry *registry, const Process *process, const ProcHandle *handle,
                  StartCpus *ret);

/* To be called when the undo record of the instance is written: the record has the former CPUs. */
void start_forget(Instance *instance);

/* Restores the former CPUs of an instance that is not bound after all, or whose record cannot be
 * written. */
void start_take_back(const Registry *registry, Instance *instance);
