/* Where a server reports its queries, by its arguments. */
#include <arpa/inet.h>

#include "../../support/test.h"

#include "tidbnumad/ctl/trial-source.h"

TEST(status_ports) {
        static const struct {
                const char *exe, *args; /* words that end with "|" */
                const char *address;    /* NULL: there is none */
        } rows[] = {
                { "/b/tidb-server", "tidb-server|-P|4000|", "127.0.0.1:10080" },
                { "tidb-server", "tidb-server|--status=10081|--status-host=0.0.0.0|",
                  "127.0.0.1:10081" },
                { "tidb-server", "tidb-server|-status|10082|", "127.0.0.1:10082" },
                { "tidb-server", "tidb-server|--status=0|", NULL },
                { "tidb-server", "tidb-server|--status=off|", NULL },
                { "tikv-server", "tikv-server|--addr|0.0.0.0:20160|", "127.0.0.1:20180" },
                { "tikv-server", "tikv-server|--status-addr|0.0.0.0:20181|", "127.0.0.1:20181" },
                { "tikv-server", "tikv-server|--status-addr=[::]:20182|", "127.0.0.1:20182" },
                { "tikv-server",
                  "tikv-server|--advertise-status-addr|127.0.0.1:20183|--status-addr=:20184|",
                  "127.0.0.1:20184" },
                { "tikv-server", "tikv-server|--advertise-status-addr|127.0.0.1:20183|",
                  "127.0.0.1:20183" },
                { "tikv-server", "tikv-server|--status-addr=db7.example.com:20180|",
                  "127.0.0.1:20180" },
                { "tikv-server", "tikv-server|--status-addr=192.0.2.7:20180|",
                  NULL }, /* not here */
                { "tikv-server", "tikv-server|--status-addr=[2001:db8::7]:20180|", NULL },
                { "tikv-server", "tikv-server|--status-addr=|", "127.0.0.1:20180" },
                { "pd-server", "pd-server|--name=pd|", "127.0.0.1:2379" },
                { "pd-server", "pd-server|--client-urls=http://0.0.0.0:12379,http://h:1|",
                  "127.0.0.1:12379" },
                { "pd-server", "pd-server|--client-urls=https://0.0.0.0:2379|", NULL },
                { "haproxy", "haproxy|-f|x.cfg|", NULL },
                { "tidb-server", "", "127.0.0.1:10080" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const size_t size = strlen(rows[i].args);
                char *args = malloc(size + 1), shown[INET_ADDRSTRLEN + 8] = "";
                TrialPort port = { 0 };
                const char *why;

                print_message("row %zu: %s\n", i, rows[i].args);
                memcpy(args, rows[i].args, size + 1);
                for (size_t k = 0; k < size; k++)
                        args[k] = (char)(args[k] == '|' ? '\0' : args[k]);
                why = trial_port_parse(rows[i].exe, args, size, &port);
                free(args);
                assert_int_equal(why != NULL, rows[i].address == NULL);
                if (why)
                        continue;
                assert_non_null(
                        inet_ntop(AF_INET, &port.address.in.sin_addr, shown, sizeof(shown)));
                (void)snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), ":%u",
                               ntohs(port.address.in.sin_port));
                assert_string_equal(shown, rows[i].address);
                assert_non_null(port.duration);
        }
}
