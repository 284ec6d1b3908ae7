/* How running servers by Go count their CPUs. With --ask of `advise` and `check` they are asked
 * themselves, over the loopback interface. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/model/product.h"
#include "tidbnumad/sys/http.h"
#include "tidbnumad/world/instances.h"

/* The last value of an option on a command line, "--status=10080" or "-status 10080"; NULL: it is
 * not given. */
const char *ask_argument(const char *bytes, size_t size, const char *option);

/* The address at which a server that was started with these arguments reports its metrics: by its
 * arguments, else its product's default. Of several the first; a wildcard or a host name is the
 * loopback interface, as no name is looked up. NULL, or why there is none on this host, in words.
 */
const char *ask_address_parse(Product product, const char *bytes, size_t size, HttpAddress *ret);

/* The same of an instance, or with `port` (0: none is given) that port of the loopback interface.
 * The instance itself must listen on it, in our network namespace. */
const char *ask_address_find(const Sysroot *sysroot, const Observed *o, uint16_t port,
                             HttpAddress *ret);

/* GOMAXPROCS as the running server reports it. Only TiDB and PD are queried, at
 * ask_address_find(), for at most two seconds. 0: not
 * known; `ret_port` is then the port that was queried without success, 0 if none was. */
uint32_t ask_gomaxprocs(const Sysroot *sysroot, const Observed *o, uint16_t *ret_port);

/* What is known of how a running program by Go counts its CPUs. */
typedef struct AskedGo {
        uint32_t gomaxprocs; /* 0: not known */
        bool reported;       /* by the server itself; else it is in its environment */
        GoCount count;
} AskedGo;

/* With `ask`, the answer of the server comes first: a program may have set another number than its
 * environment has. Prints a note when a server does not answer. */
AskedGo ask_go(const Sysroot *sysroot, const Observed *o, bool ask);
