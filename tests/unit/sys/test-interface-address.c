/* The address of an interface of this host. */
#include <errno.h>
#include <string.h>

#include "../../support/test.h"

#include "tidbnumad/sys/network.h"

TEST(of_the_loopback) {
        char address[INET6_ADDRSTRLEN] = "";
        int r = interface_address_read("lo", address);

        if (r == -ENODATA)
                skip(); /* a network namespace whose loopback is down */
        assert_int_equal(r, 0);
        assert_true(strcmp(address, "127.0.0.1") == 0 || strcmp(address, "::1") == 0);
}

TEST(of_none) {
        char address[INET6_ADDRSTRLEN] = "as it was";

        assert_int_equal(interface_address_read("no-such-card", address), -ENODATA);
        assert_string_equal(address, "as it was");
}
