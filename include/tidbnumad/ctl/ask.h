/* How running servers by Go count their CPUs. With --ask of `advise` and `check` they are asked
 * themselves, over the loopback interface. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/model/product.h"
#include "tidbnumad/world/instances.h"

/* The last value of an option on a command line, "--status=10080" or "-status 10080"; NULL: it is
 * not given. */
const char *ask_argument(const char *bytes, size_t size, const char *option);

/* The port with the metrics of a server that was started with these arguments, by its command line
 * or its product's default: TiDB's --status, PD's first of --client-urls. 0: of no such product. */
uint16_t ask_port_of(Product product, const char *bytes, size_t size);

/* GOMAXPROCS as the running server reports it. Only TiDB and PD are queried, at that port, if the
 * process itself listens on the port in our network namespace, for at most two seconds. 0: not
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
