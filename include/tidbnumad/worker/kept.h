/* Answers that are kept for a caller that asks again; see worker.h. */
#pragma once

#include "tidbnumad/worker/worker.h"

/* Keeps a copy of the answer; without memory for it, it is asked for again. */
void kept_add(Workers *all, const WorkerRequest *request, const WorkerReply *reply);

/* The kept answer to the same question about the same process, or NULL. Owned by `all`. */
const WorkerReply *kept_find(Workers *all, const WorkerRequest *request, const ProcHandle *process);

void kept_remove(Workers *all, const WorkerRequest *request, const ProcHandle *process);

/* Those about a process that executed another program. */
void kept_forget(Workers *all, pid_t pid);

void kept_done(Workers *all);
