/*
 * An engine between clients and an upstream that a test plays. What the engine does is
 * written down as text, in order:
 *
 *   W0+10   WRITE of 10 bytes at 0 sent (W0+10d DATA_SYNC, W0+10f FILE_SYNC); C COMMIT
 *   w3 c3   op[3] answered (w3!28 with NFS3ERR_NOSPC, w3?7 refused with 7); p3 passed
 *
 * with "b:" before what is sent for file_b. The payload of op[i] is the letter 'A' +
 * i, so that disk_is() can say whose bytes lie where. Every step ends with
 * books_check().
 */
#ifndef UNIT_ENGINE_FIXTURE_H
#define UNIT_ENGINE_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "nfsgather/engine.h"
#include "unit/unit.h"

enum {
	OPS_MAX = 64,
	OUT_MAX = 64,
	DISK_BYTES = 1 << 16,
	DISK_FILES = 16,
	PROBE_OFFSET = 60000, /* where grant_to() writes */
	WTMAX_BYTES = 8192,
};

/* What the engine did and said. */
struct seen {
	char log[16384];
	struct engine_write_result write; /* the last answer */
	struct engine_commit_result commit;
	unsigned int rotations;
	unsigned int losses;
	uint64_t lost_bytes;
	uint32_t lost_status;
};

/* Something sent and not yet answered, with the payload as it was. */
struct out {
	struct engine_io *io;
	bool is_commit;
	uint8_t *copy;
};

extern struct seen seen;
extern struct stats stats;
extern struct engine *engine;
extern struct engine_op op[OPS_MAX];
extern struct out out[OUT_MAX];
extern unsigned int out_count;
extern uint64_t now_us;
extern struct credential *alice; /* uid 1000 */
extern struct credential *bob;	 /* uid 1001 */
extern struct nfs3_fh file_a;
extern struct nfs3_fh file_b;
/* What the upstream says: its verifier, and the attributes of file_a. */
extern struct nfs3_verifier upstream_verifier;
extern struct nfs3_attr attr;
/* Called at the end of answer_write(), answer_commit() and pass(); may be NULL. */
extern void (*on_answer)(struct engine_op *op);
/* No memory for making one piece of payload out of several. */
extern bool no_memory;

extern const struct nfs3_verifier first_v;
extern const struct nfs3_verifier u1;
extern const struct nfs3_verifier u2;

void engine_setup(void);
void engine_teardown(void);
/* An engine with another configuration, the limits set. */
void use_config(const struct engine_config *config);

/* What was written down since the last call. */
const char *take_log(void);
#define expect(text) ck_assert_str_eq(take_log(), text)

/*
 * Calls in. What is not given: file_a, client 1, alice, UNSTABLE:
 *	write_with(3, .client_id = 2, .offset = 10, .count = 5);
 */
#define write_with(i, ...) write_in_as(i, &(struct engine_op){ __VA_ARGS__ })
#define commit_with(i, ...) commit_in_as(i, &(struct engine_op){ __VA_ARGS__ })
#define barrier_with(i, ...) barrier_in_as(i, &(struct engine_op){ __VA_ARGS__ })
void write_in_as(unsigned int i, const struct engine_op *given);
void commit_in_as(unsigned int i, const struct engine_op *given);
void barrier_in_as(unsigned int i, const struct engine_op *given);
void write_in(unsigned int i, uint64_t offset, uint32_t count);
void commit_in(unsigned int i);
void barrier_in(unsigned int i, enum engine_barrier barrier);
void barrier_done(unsigned int i, bool ok);
/* A stable WRITE that gives the credential its grant; leaves nothing but that. */
void grant_to(struct credential *credential);
/* After a grant: op[i] is acked early, written UNSTABLE, and forgotten by the log. */
void retain(unsigned int i, uint64_t offset, uint32_t count);

/* The upstream answers the WRITE at this offset: all of it, as stable as asked. */
void written(uint64_t offset);
void written_as(uint64_t offset, enum nfs3_stable committed);
void written_short(uint64_t offset, uint32_t count, enum nfs3_stable committed);
void write_failed(uint64_t offset, uint32_t status);
void write_refused(uint64_t offset, int refusal);
/* Every WRITE that is out, in order of sending, and what is sent because of it. */
void all_written(void);
/* And every COMMIT, until nothing is out. */
void all_answered(void);
/* It answers the COMMIT that was sent first. */
void committed(void);
void committed_resent(void);
void commit_failed(uint32_t status);
void commit_refused(int refusal, bool resent);

void disconnect(void);
void tick_at(uint64_t us);
void tick_after(uint64_t us);

/* The bytes of file_a at the upstream. */
#define disk_is(offset, text)                                                          \
	ck_assert_str_eq(disk_text(offset, (uint32_t)strlen(text)), text)
const char *disk_text(uint64_t offset, uint32_t count);
/* `count` times the letter of op[i], at most 255. */
const char *letters(unsigned int i, unsigned int count);

bool same(struct nfs3_verifier a, struct nfs3_verifier b);
struct credential *credential_of(uint32_t uid);

/* engine_books.c */
/* The engine's books against a recount of everything it holds, and its trees. */
void books_check(void);
/* Only what extents count for: in the middle of a step. */
void books_check_extents(void);

#endif
