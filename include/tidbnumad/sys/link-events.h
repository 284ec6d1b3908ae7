/* The kernel's events of network interfaces that come, go, or are switched on and off
 * (rtnetlink(7), RTNLGRP_LINK): many drivers ask for their interrupts only then, and udev hears
 * nothing of it. */
#pragma once

#include <stdbool.h>

/* A socket that becomes readable then. */
int link_events_open(int *ret_fd);

/* Reads all that waits, and throws it away: what there is now, others look up. True: there was
 * something, or something was lost. */
bool link_events_drain(int fd);
