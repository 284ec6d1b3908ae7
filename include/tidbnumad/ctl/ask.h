/* What running servers say of themselves: how many CPUs they count, their versions and settings.
 * With
 * --ask of `advise` and `check` they are asked, over the loopback interface. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/product.h"
#include "tidbnumad/model/server-report.h"
#include "tidbnumad/sys/http.h"
#include "tidbnumad/world/instances.h"

/* The address at which a server that was started with these arguments reports its metrics: by its
 * arguments, else its product's default. Of several the first; a wildcard or a host name is the
 * loopback interface, as no name is looked up. NULL, or why there is none on this host, in words.
 */
const char *ask_address_parse(Product product, const char *bytes, size_t size, HttpAddress *ret);

/* The same of an instance, or with `port` (0: none is given) that port of the loopback interface.
 * The instance itself must listen on it, in our network namespace. */
const char *ask_address_find(const Sysroot *sysroot, const HostInstance *o, uint16_t port,
                             HttpAddress *ret);

/* How a running server counts its CPUs, and with `ask` its version and settings, in its own words:
 * TiDB, TiKV and PD are asked, at ask_address_find(), for at most two seconds a question and no
 * more after one that they do not answer. Prints a note when there is no answer. Fills
 * `gomaxprocs`, `go` and `said`, which the caller owns. */
void ask_server(const Sysroot *sysroot, const HostInstance *o, bool ask, ServerInstance *server);
