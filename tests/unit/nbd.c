/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network block devices against a server of our own: a thread that speaks the oldest form of the
 * protocol and answers as badly as the test wants.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/diag.h"
#include "io/dev.h"
#include "io/nbd.h"
#include "io/probe.h"
#include "tap.h"

#define SIZE       (1u << 20)
#define HELD_MAX   64u
#define REQ_MAGIC  0x25609513u
#define REPLY_MARK 0x67446698u
#define FLAGS      0x25u /* it has flags, flushes, trims */

struct held {
	uint8_t reply[16];
	uint32_t from, len; /* data of a read */
};

static struct server {
	char path[64];
	int listener, peer;
	pthread_t thread;
	uint8_t store[SIZE];
	unsigned silent_after; /* commands that are answered; 0: all */
	unsigned hold;         /* answers to collect, then sent last one first */
	unsigned fail_every;   /* the n-th command gets EIO */
	unsigned hang_up_after;
	unsigned served, flushes;
	struct held held[HELD_MAX];
	unsigned held_count;
} srv;

static struct diag diag;

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int read_all(void *buf, size_t len)
{
	for (size_t n = 0; n < len;) {
		ssize_t r = read(srv.peer, (uint8_t *)buf + n, len - n);

		if (r <= 0)
			return -1;
		n += (size_t)r;
	}
	return 0;
}

static int send_all(const void *buf, size_t len)
{
	return send(srv.peer, buf, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

static int send_held(void)
{
	while (srv.held_count != 0) {
		struct held *h = &srv.held[--srv.held_count];

		if (send_all(h->reply, 16) < 0 || send_all(srv.store + h->from, h->len) < 0)
			return -1;
	}
	return 0;
}

/* One command; negative ends the connection. */
static int serve(void)
{
	uint8_t req[28];
	struct held *h = &srv.held[srv.held_count];
	uint32_t off, len, type, error = 0;

	if (read_all(req, sizeof(req)) < 0 || get32(req) != REQ_MAGIC)
		return -1;
	type = req[7];
	off = get32(req + 20);
	len = get32(req + 24);
	if (type == 2 || len > SIZE || off > SIZE - len)
		return -1;
	if (type == 1 && read_all(srv.store + off, len) < 0)
		return -1;
	srv.served++;
	srv.flushes += type == 3;
	if (srv.hang_up_after != 0 && srv.served >= srv.hang_up_after)
		return -1;
	if (srv.silent_after != 0 && srv.served > srv.silent_after)
		return 0;
	if (srv.fail_every != 0 && srv.served % srv.fail_every == 0)
		error = 5; /* EIO */
	put32(h->reply, REPLY_MARK);
	put32(h->reply + 4, error);
	memcpy(h->reply + 8, req + 8, 8);
	h->from = off;
	h->len = type == 0 && error == 0 ? len : 0;
	srv.held_count++;
	return srv.held_count >= srv.hold || type == 3 ? send_held() : 0;
}

static void *run_server(void *arg)
{
	uint8_t hello[152] = "NBDMAGIC\x00\x00\x42\x02\x81\x86\x12\x53";

	(void)arg;
	srv.peer = accept(srv.listener, NULL, NULL);
	if (srv.peer < 0)
		return NULL;
	put32(hello + 20, SIZE);
	put32(hello + 24, FLAGS);
	if (send_all(hello, sizeof(hello)) == 0) {
		while (serve() == 0)
			;
	}
	close(srv.peer);
	return NULL;
}

static void listen_only(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	memset(&srv, 0, sizeof(srv));
	memset(&diag, 0, sizeof(diag));
	snprintf(srv.path, sizeof(srv.path), "/tmp/nbd-unit.%d", (int)getpid());
	memcpy(a.sun_path, srv.path, sizeof(srv.path));
	unlink(srv.path);
	srv.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(srv.listener >= 0);
	CHECK_INT(bind(srv.listener, (struct sockaddr *)&a, sizeof(a)), 0);
	CHECK_INT(listen(srv.listener, 1), 0);
}

static void stop_listening(void)
{
	close(srv.listener);
	unlink(srv.path);
}

/* Connects; what the server does wrong is set before. */
static struct dev *start(void)
{
	struct dev *dev;

	CHECK_INT(pthread_create(&srv.thread, NULL, run_server, NULL), 0);
	dev = NULL;
	if (nbd_open_socket(srv.path, "here", DEV_WRITE, 500, &diag, &dev) == -EOPNOTSUPP) {
		shutdown(srv.listener, SHUT_RDWR);
		pthread_join(srv.thread, NULL);
		stop_listening();
		SKIP("libnbd is not installed");
	}
	CHECK(dev != NULL);
	return dev;
}

static void stop(struct dev *dev)
{
	dev_close(dev);
	pthread_join(srv.thread, NULL);
	stop_listening();
}

static void pattern(uint8_t *p, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 7 + seed + i / 251);
}

/* ---- names ---- */

TEST(uris_are_known_by_their_scheme_alone)
{
	CHECK(nbd_is_uri("nbd://host/export"));
	CHECK(nbd_is_uri("nbds://host"));
	CHECK(nbd_is_uri("nbd+unix:///x?socket=/tmp/s"));
	CHECK(nbd_is_uri("nbds+unix:///"));
	CHECK(!nbd_is_uri("nbd:/x"));
	CHECK(!nbd_is_uri("nbd+vsock://2"));
	CHECK(!nbd_is_uri("disk.img"));
	CHECK(!nbd_is_uri("./nbd://x"));
	CHECK(dev_exists("nbd://host") && dev_is_remote("nbd://host"));
	CHECK(dev_exists("/") && !dev_is_remote("/"));
	CHECK(!dev_exists("/no/such/file"));
}

TEST(nobody_who_listens_is_an_error_of_the_host)
{
	struct dev *dev = NULL;
	int r;

	memset(&diag, 0, sizeof(diag));
	r = dev_open("nbd+unix:///?socket=/no/such/socket", 0, &diag, &dev);
	if (r == -EOPNOTSUPP)
		SKIP("libnbd is not installed");
	CHECK_INT(r, -ENOENT);
	CHECK(diag.host && dev == NULL);
	CHECK(strstr(diag.text, "nbd: cannot connect to nbd+unix:///?socket=/no/such/socket") !=
	      NULL);
}

TEST(a_uri_cannot_name_files_with_keys)
{
	struct dev *dev = NULL;
	int r;

	memset(&diag, 0, sizeof(diag));
	r = dev_open("nbds+unix:///?socket=/no/such/socket&tls-psk-file=/etc/passwd", 0, &diag,
		     &dev);
	if (r == -EOPNOTSUPP)
		SKIP("libnbd is not installed");
	CHECK(r < 0 && r != -ENOENT);
}

/* ---- bad servers ---- */

TEST(a_server_that_never_says_hello_is_given_up)
{
	struct dev *dev = NULL;
	int r;

	listen_only();
	r = nbd_open_socket(srv.path, "here", 0, 200, &diag, &dev);
	stop_listening();
	if (r == -EOPNOTSUPP)
		SKIP("libnbd is not installed");
	CHECK_INT(r, -ETIMEDOUT);
	CHECK_STR(diag.text, "nbd: cannot connect to here: Connection timed out");
}

TEST(a_server_that_stops_answering_is_given_up)
{
	uint8_t buf[512] = {1};
	struct dev *dev;

	listen_only();
	srv.silent_after = 1;
	dev = start();
	CHECK_INT(dev_write(dev, 0, buf, sizeof(buf)), 0);
	CHECK_INT(dev_read(dev, 0, buf, sizeof(buf)), -ETIMEDOUT);
	CHECK_INT(dev_write(dev, 0, buf, sizeof(buf)), -ETIMEDOUT);
	stop(dev);
}

TEST(a_server_that_hangs_up_fails_all_that_follows)
{
	uint8_t buf[512] = {1};
	struct dev *dev;

	listen_only();
	srv.hang_up_after = 2;
	dev = start();
	CHECK_INT(dev_write(dev, 0, buf, sizeof(buf)), 0);
	CHECK_INT(dev_write(dev, 0, buf, sizeof(buf)), -ENOTCONN);
	CHECK_INT(dev_read(dev, 0, buf, sizeof(buf)), -ENOTCONN);
	CHECK_INT(dev_flush(dev), -ENOTCONN);
	stop(dev);
}

/* ---- transfers ---- */

TEST(vectors_of_all_sizes_come_back_as_they_were)
{
	static uint8_t a[200000], b[200000];
	struct iovec out[] = {
	    {a, 3}, {a + 3, 100000}, {a + 100003, 1}, {a + 100004, 4096}, {a + 104100, 95900}};
	struct iovec in[] = {{b, 60000}, {b + 60000, 60000}, {b + 120000, 80000}};
	struct dev *dev;

	pattern(a, sizeof(a), 1);
	memset(b, 0, sizeof(b));
	listen_only();
	dev = start();
	CHECK_INT(dev->size, SIZE);
	CHECK_INT(dev_writev(dev, 1001, out, 5), 0);
	CHECK(memcmp(srv.store + 1001, a, sizeof(a)) == 0);
	CHECK_INT(dev_readv(dev, 1001, in, 3), 0);
	CHECK(memcmp(a, b, sizeof(a)) == 0);
	CHECK_INT(dev_write(dev, SIZE - 1, a, 2), -EINVAL);
	stop(dev);
}

struct turn {
	struct dev_req req;
	struct iovec iov;
	unsigned *next, at;
};

static void ended(struct dev_req *req)
{
	struct turn *t = req->ctx;

	t->at = (*t->next)++;
}

static void queue_turns(struct dev *dev, struct turn *t, unsigned n, uint8_t *data, unsigned *next)
{
	struct dev_req *reqs[HELD_MAX];

	for (unsigned i = 0; i < n; i++) {
		t[i].iov = (struct iovec){data + 4096 * i, 4096};
		t[i].next = next;
		t[i].at = UINT32_MAX;
		t[i].req = (struct dev_req){.off = 4096 * i,
					    .iov = &t[i].iov,
					    .iovcnt = 1,
					    .write = true,
					    .result = 1,
					    .done = ended,
					    .ctx = &t[i]};
		reqs[i] = &t[i].req;
	}
	CHECK_INT(dev_submit(dev, reqs, n), 0);
}

TEST(answers_may_come_in_any_order)
{
	static uint8_t a[8 * 4096];
	static struct turn t[8];
	unsigned next = 0;
	struct dev *dev;

	pattern(a, sizeof(a), 2);
	listen_only();
	srv.hold = 8;
	dev = start();
	queue_turns(dev, t, 8, a, &next);
	CHECK_INT(dev_reap(dev, 8), 8);
	for (unsigned i = 0; i < 8; i++) {
		CHECK_INT(t[i].req.result, 0);
		CHECK_INT(t[i].at, 7 - i);
	}
	CHECK(memcmp(srv.store, a, sizeof(a)) == 0);
	CHECK_INT(dev_reap(dev, 1), 0);
	stop(dev);
}

TEST(each_failure_reaches_its_own_request)
{
	static uint8_t a[9 * 4096];
	static struct turn t[9];
	unsigned next = 0;
	struct dev *dev;

	listen_only();
	srv.fail_every = 3;
	dev = start();
	queue_turns(dev, t, 9, a, &next);
	CHECK_INT(dev_reap(dev, 9), 9);
	for (unsigned i = 0; i < 9; i++)
		CHECK_INT(t[i].req.result, i % 3 == 2 ? -EIO : 0);
	CHECK_INT(dev->stats.failures, 3);
	stop(dev);
}

/* The server keeps the answers of writes until it hears of a flush: it must not, so it is sent only
 * after they were given up on. */
TEST(a_flush_is_not_sent_before_older_writes_are_answered)
{
	static uint8_t a[4 * 4096];
	static struct turn t[4];
	unsigned next = 0;
	struct dev *dev;

	listen_only();
	srv.hold = 5;
	dev = start();
	queue_turns(dev, t, 4, a, &next);
	CHECK_INT(dev_flush(dev), -ETIMEDOUT);
	CHECK_INT(dev_reap(dev, 4), 4);
	CHECK_INT(t[0].req.result, -ETIMEDOUT);
	stop(dev);
	CHECK_INT(srv.flushes, 0);
}

TEST(zeroing_falls_back_to_writes_and_trims_pass)
{
	uint8_t a[3000], zero[3000] = {0};
	struct dev *dev;

	pattern(a, sizeof(a), 9);
	listen_only();
	dev = start();
	CHECK_INT(dev_write(dev, 77, a, sizeof(a)), 0);
	CHECK_INT(dev_zero(dev, 77, 2999), 0);
	CHECK(memcmp(srv.store + 77, zero, 2999) == 0);
	CHECK(srv.store[77 + 2999] == a[2999]);
	CHECK_INT(dev_discard(dev, 0, 4096), 0);
	CHECK_INT(dev_flush(dev), 0);
	stop(dev);
	CHECK_INT(srv.flushes, 1);
}

/* ---- several threads ---- */

static void *hammer(void *arg)
{
	struct dev *dev = ((void **)arg)[0];
	unsigned who = (unsigned)(uintptr_t)((void **)arg)[1];
	uint8_t a[4096], b[4096];

	for (unsigned i = 0; i < 60; i++) {
		uint64_t off = (uint64_t)who * 65536 + i % 16 * 4096;

		pattern(a, sizeof(a), who * 100 + i);
		if (dev_write(dev, off, a, sizeof(a)) < 0 || dev_read(dev, off, b, sizeof(b)) < 0 ||
		    memcmp(a, b, sizeof(a)) != 0)
			return dev;
	}
	return NULL;
}

TEST(threads_share_one_connection)
{
	pthread_t threads[4];
	void *args[4][2], *bad = NULL, *one;
	struct dev *dev;

	listen_only();
	dev = start();
	for (uintptr_t i = 0; i < 4; i++) {
		args[i][0] = dev;
		args[i][1] = (void *)i;
		CHECK_INT(pthread_create(&threads[i], NULL, hammer, args[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &one);
		bad = one != NULL ? one : bad;
	}
	stop(dev);
	CHECK(bad == NULL);
}

TEST(signatures_on_a_device_without_a_descriptor_are_found)
{
	uint8_t head[16] = {1, [5] = 1};
	struct probe p;
	struct dev *dev;

	listen_only();
	dev = start();
	CHECK_INT(probe_read(dev, &p), 0);
	CHECK(!p.found);
	CHECK_INT(dev_write(dev, 1024, head, sizeof(head)), 0);
	CHECK_INT(dev_write(dev, 4086, "SWAPSPACE2", 10), 0);
	CHECK_INT(probe_read(dev, &p), 0);
	CHECK(p.found);
	CHECK_STR(p.type, "swap");
	stop(dev);
}

int main(void)
{
	return tap_main();
}
