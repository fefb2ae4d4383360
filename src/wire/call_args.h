/*
 * Argument decoders, one file per program; nfs_call_decode() is the way in.
 *
 * Each leaves faults in the cursor and looks at nothing but the arguments; that all
 * bytes were used is checked once, by the caller. `call->proc` is one that the program
 * has.
 */
#ifndef WIRE_CALL_ARGS_H
#define WIRE_CALL_ARGS_H

#include "nfsgather/call.h"
#include "wire/xdr.h"

/* NFS version 3 (nfs3_args.c), procedures 0..21. */
void nfs3_args_decode(struct nfs_call *call, struct xdr_in *in);
const struct nfs3_fh *nfs3_args_fh(const struct nfs_call *call);
/* MOUNT version 1 and 3 (mount3_args.c), procedures 0..5. */
void mount3_args_decode(struct nfs_call *call, struct xdr_in *in);
/* NFSACL version 3 (nfsacl_args.c), procedures 0..2. */
void nfsacl_args_decode(struct nfs_call *call, struct xdr_in *in);
const struct nfs3_fh *nfsacl_args_fh(const struct nfs_call *call);

/* nfs_fh3 of 1..64 bytes. */
void nfs3_args_in_fh(struct xdr_in *in, struct nfs3_fh *fh);
/* A string without a NUL inside, as C code will read it later. */
struct nfs3_bytes nfs3_args_in_text(struct xdr_in *in, uint32_t max_bytes);

#endif
