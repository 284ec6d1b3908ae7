/* The kernel's events of network interfaces that come, go, or are switched on and off
 * (rtnetlink(7), RTNLGRP_LINK): many drivers ask for their interrupts only then, and udev hears
 * nothing of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A socket that becomes readable then. */
int link_events_open(int *ret_fd);

/* Is a message about a network card? Links that are made by software have a kind
 * (IFLA_INFO_KIND): those of containers come and go all day. What cannot be read counts. */
bool link_event_counts(const void *message, size_t size);

/* Reads all that waits, and throws it away: what there is now, others look up. True: something of
 * it counts, or something was lost. */
bool link_events_drain(int fd);
