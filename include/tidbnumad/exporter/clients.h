/* Who is connected, and until when: a client that sends its request or fetches its answer a byte at
 * a time is cut off, which an idle timeout alone never does. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"

typedef struct Clients Clients;
typedef struct Client Client;

/* Cut off, but not yet removed: so many places there are beside `max`. */
#define CLIENTS_LEAVING_MAX 64u

/* At most `max` are served, and at most a quarter of these for one user (unix(7), SO_PEERCRED): for
 * one more, the oldest request that is not complete gives way, else the oldest answer.
 * `request_msec` for a request, from the connection or the answer before it; `answer_msec` for an
 * answer. May be called with no thread but the caller's: one is started that cuts off. */
int clients_new(size_t max, unsigned request_msec, unsigned answer_msec, Clients **ret);
void clients_free(Clients *clients);
DEFINE_CLEANUP(Clients *, clients_free)

/* NULL where no place is left at all. The descriptor stays the caller's, and open until
 * clients_remove(). */
Client *clients_add(Clients *clients, int fd);
void clients_remove(Clients *clients, Client *client);

/* It waits for a request again; it has got its answer to fetch. */
void clients_asks(Clients *clients, Client *client);
void clients_fetches(Clients *clients, Client *client);

/* Cuts off whoever has been fetching an answer for so long. */
void clients_cut_fetching(Clients *clients, unsigned least_msec);

/* How many were cut off so far. */
uint64_t clients_n_cut(Clients *clients);
