/* HTTP without TLS, as a client: what a server of this host reports about itself. */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/error.h"

typedef union HttpAddress {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
} HttpAddress;

HttpAddress http_loopback(uint16_t port); /* 127.0.0.1 */
uint16_t http_port(const HttpAddress *address);

/* The next bytes of the body. 0: go on; positive: that is enough; negative errno. */
typedef int (*HttpSink)(const char *bytes, size_t size, void *userdata);

typedef struct HttpLimits {
        uint32_t timeout_msec; /* for all of it: a server that sends slowly gains nothing */
        size_t body_max_bytes;
} HttpLimits;

/* GET of a path, by HTTP/1.0: the body ends with the connection, and is neither compressed nor in
 * chunks. Follows no redirection. Memory: a buffer on the stack.
 *
 * 0: the body is complete; positive: what the sink has returned; -ETIMEDOUT; -EFBIG: the body is
 * larger; -EPROTO: the server speaks TLS; -EBADMSG: it does not speak HTTP, or its headers are too
 * long; -EREMOTEIO: another status than 200; -ECONNREFUSED and what else connect(2) gives; what the
 * sink returns. The sentence is of the server: "its port 20180 uses TLS". */
int http_get(const HttpAddress *to, const char *path, const HttpLimits *limits, HttpSink sink,
             void *userdata, Error *ret_error);
