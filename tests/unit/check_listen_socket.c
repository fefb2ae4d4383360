/*
 * listen_socket: which sockets are opened, and to whom those belong that the service
 * manager hands over.
 */
#include "daemon/listen_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "daemon/config_file.h"
#include "daemon/config_value.h"
#include "unit/unit.h"

static struct config config;
static struct service_manager_sockets given;
static struct listen_socket_list list;

/* A socket bound to a free port of the address; listening, so that the port stays ours. */
static int bound_socket(const char *address, struct sockaddr_storage *addr)
{
	socklen_t addr_bytes = sizeof(*addr);
	int fd;

	ck_assert(config_value_is_numeric_address(address, addr));
	fd = socket(addr->ss_family, SOCK_STREAM, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)addr,
			      addr->ss_family == AF_INET ? sizeof(struct sockaddr_in)
							 : sizeof(struct sockaddr_in6)),
			 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)addr, &addr_bytes), 0);
	return fd;
}

static unsigned int free_port(void)
{
	struct sockaddr_storage addr;
	int fd = bound_socket("127.0.0.1", &addr);

	close(fd);
	return config_value_port_of(&addr);
}

/* Upstreams a and b, each at one port of 127.0.0.1. */
static void configure(unsigned int port_a, unsigned int port_b)
{
	struct config_fault_list faults = { 0 };
	char text[256];
	FILE *stream;

	snprintf(text, sizeof(text),
		 "[upstream a]\nserver = x\nlisten = 127.0.0.1:%u\n"
		 "[upstream b]\nserver = y\nlisten = 127.0.0.1:%u\n",
		 port_a, port_b);
	stream = fmemopen(text, strlen(text), "r");
	ck_assert_int_eq(config_file_read(stream, "f", &config, &faults), 0);
	fclose(stream);
}

static struct service_manager_socket *give(const char *name, const char *address)
{
	struct service_manager_socket *socket;

	given.socket = realloc(given.socket, (given.count + 1) * sizeof(*given.socket));
	ck_assert_ptr_nonnull(given.socket);
	socket = &given.socket[given.count++];
	socket->name = strdup(name);
	socket->fd = bound_socket(address, &socket->addr);
	return socket;
}

static unsigned int given_port(size_t index)
{
	return config_value_port_of(&given.socket[index].addr);
}

static void fini(void)
{
	listen_socket_list_fini(&list);
	service_manager_sockets_fini(&given);
	config_free(&config);
}

START_TEST(what_the_config_says_is_opened)
{
	int connecting = socket(AF_INET, SOCK_STREAM, 0);
	unsigned int port = free_port();

	configure(port, free_port());
	ck_assert_int_eq(listen_socket_open_all(&config, &given, &list), 0);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_str_eq(list.socket[0].upstream->name, "a");
	ck_assert_str_eq(list.socket[0].text,
			 TAILQ_FIRST(&config.upstreams)->listen[0].text);
	ck_assert_int_ne(fcntl(list.socket[0].fd, F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_ne(fcntl(list.socket[0].fd, F_GETFD) & FD_CLOEXEC, 0);
	/* It listens. */
	ck_assert_int_eq(
		connect(connecting,
			(const struct sockaddr *)&TAILQ_FIRST(&config.upstreams)
				->listen[0]
				.addr,
			sizeof(struct sockaddr_in)),
		0);
	close(connecting);
	fini();
}
END_TEST

START_TEST(an_address_in_use_is_an_error_and_leaves_nothing_open)
{
	struct sockaddr_storage addr;
	unsigned int port_a = free_port();
	int used = bound_socket("127.0.0.1", &addr);
	int again;

	configure(port_a, config_value_port_of(&addr));
	ck_assert_int_eq(listen_socket_open_all(&config, &given, &list), -EADDRINUSE);
	ck_assert_uint_eq(list.count, 0);
	/* The first one, which had been opened, can be opened again. */
	close(used);
	ck_assert_int_eq(listen_socket_open_all(&config, &given, &list), 0);
	again = list.socket[0].fd;
	ck_assert_int_ge(again, 0);
	fini();
}
END_TEST

START_TEST(a_given_socket_is_matched_by_address)
{
	int fd;

	fd = give("nfsgather.socket", "127.0.0.1")->fd;
	configure(free_port(), given_port(0));
	ck_assert_int_eq(listen_socket_open_all(&config, &given, &list), 0);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_int_eq(list.socket[0].fd, fd);
	ck_assert_str_eq(list.socket[0].upstream->name, "b");
	ck_assert_int_eq(given.socket[0].fd, -1);
	ck_assert_str_eq(list.socket[1].upstream->name, "a");
	fini();
}
END_TEST

START_TEST(a_given_socket_is_matched_by_name)
{
	int fd;

	fd = give("b", "127.0.0.1")->fd;
	configure(free_port(), free_port());
	ck_assert_int_eq(listen_socket_open_all(&config, &given, &list), 0);
	/* It is one more: the addresses of the config are served as well. */
	ck_assert_uint_eq(list.count, 3);
	ck_assert_int_eq(list.socket[0].fd, fd);
	ck_assert_str_eq(list.socket[0].upstream->name, "b");
	fini();
}
END_TEST

START_TEST(a_given_socket_that_contradicts_itself_is_refused)
{
	give("a", "127.0.0.1");
	configure(free_port(), given_port(0));
	ck_assert_int_eq(listen_socket_open_all(&config, &given, &list), -EINVAL);
	ck_assert_uint_eq(list.count, 0);
	fini();
}
END_TEST

START_TEST(a_given_socket_that_fits_nowhere_is_refused)
{
	give("a", "127.0.0.1");
	give("c", "127.0.0.1");
	configure(given_port(0), free_port());
	ck_assert_int_eq(listen_socket_open_all(&config, &given, &list), -EINVAL);
	ck_assert_uint_eq(list.count, 0);
	fini();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("listen_socket");
	TCase *opened = unit_case(suite, "opened");
	TCase *handed_over = unit_case(suite, "given");

	tcase_add_test(opened, what_the_config_says_is_opened);
	tcase_add_test(opened, an_address_in_use_is_an_error_and_leaves_nothing_open);
	tcase_add_test(handed_over, a_given_socket_is_matched_by_address);
	tcase_add_test(handed_over, a_given_socket_is_matched_by_name);
	tcase_add_test(handed_over, a_given_socket_that_contradicts_itself_is_refused);
	tcase_add_test(handed_over, a_given_socket_that_fits_nowhere_is_refused);
	return unit_run(suite);
}
