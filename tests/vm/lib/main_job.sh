# shellcheck shell=bash
# The steps of the main job, run inside the guest: this file, then one call of a
# function. W is a folder on the mount, SRC the guest's own copy of the source tree, TIER
# is quick or full. manifest() also runs on the host, over the upstream's files.
set -euo pipefail
export LC_ALL=C

# A line per file with everything that must arrive unchanged, then its checksum.
manifest() {
	cd "$1"
	find . \( -type f -printf '%s ' -o -printf '- ' \) , \
		-printf '%p %y %m %n %U %G %T@ %l\n' | sort
	sums .
}

sums() {
	cd "$1"
	find . -type f -print0 | sort -z | xargs -0 sha256sum
}

# Checksums of what step_copy and step_tar must have brought over.
sums_due() {
	(sums "$SRC/" | sed 's,  \./,  ./tree/,')
	cd "$SRC/"
	xargs sha256sum </src/part | sed 's,  \./,  ./untar/,'
}

check() {
	local what=$1
	shift
	"$@" || { echo "check failed: $what: $*"; return 1; }
}

refused() {
	! "$@" 2>/dev/null
}

# The quick tier works on a part of the tree.
source_prepare() {
	if [[ $TIER == full ]]; then
		ln -sfn /src/tree "$SRC"
	else
		mkdir -p "$SRC"
		tar -C /src/tree -cf - -T /src/part | tar -C "$SRC" -xf -
	fi
	find "$SRC/" -type f | wc -l
}

step_copy() {
	mkdir -p "$W"
	cp -a "$SRC/." "$W/tree"
}

# All of it goes in, a part comes out.
step_tar() {
	tar -C "$SRC/" -cf "$W/tree.tar" .
	mkdir "$W/untar"
	tar -C "$W/untar" -xf "$W/tree.tar" -T /src/part
}

step_git() {
	git clone -q --no-hardlinks /src/repo.git "$W/clone"
	cd "$W/clone"
	echo "/* changed */" >>asm-generic/errno.h
	git mv asm-generic/ioctl.h asm-generic/ioctl2.h
	git rm -q asm-generic/types.h
	git commit -q -a -m "Change, rename, remove"
	check "clean tree" test -z "$(git status --porcelain)"
	check "commits" test "$(git rev-list --count HEAD)" -gt 1
	git gc -q --prune=now
	git fsck --full --strict
}

# The short tier checks out a part only; the whole pack is written in both.
step_git_quick() {
	git clone -q --no-hardlinks --no-checkout /src/repo.git "$W/clone"
	cd "$W/clone"
	git sparse-checkout set asm-generic
	git checkout -q main
	echo "/* changed */" >>asm-generic/errno.h
	git commit -q -a -m "Change"
	git fsck
	check "clean tree" test -z "$(git status --porcelain)"
}

fio_run() {
	fio --directory="$W/fio" --ioengine=psync --verify=crc32c --verify_fatal=1 \
		--verify_dump=0 --do_verify=1 --output-format=terse --terse-version=3 \
		--invalidate=1 --thread "$@" >/tmp/fio.out 2>&1 ||
		{ cat /tmp/fio.out; return 1; }
}

step_fio() {
	local size=4m
	[[ $TIER == full ]] && size=24m
	mkdir -p "$W/fio"
	fio_run --name=seq --rw=write --bs=64k --size="$size" --numjobs=2 --end_fsync=1
	fio_run --name=random --rw=randwrite --bs=4k-64k --bs_unaligned --size="$size" \
		--fsync=64
	fio_run --name=stable --rw=randwrite --bs=8k --size=1m --fdatasync=1
	fio_run --name=direct --rw=write --bs=64k --size=4m --direct=1
}

step_iozone() {
	local size=4m
	[[ $TIER == full ]] && size=16m
	mkdir -p "$W/iozone"
	cd "$W/iozone"
	iozone -t 4 -s "$size" -r 128k -i0 -i1 >/tmp/iozone.out 2>&1 ||
		{ cat /tmp/iozone.out; return 1; }
	check "no errors" refused grep -iE 'error|can.t|fail' /tmp/iozone.out
	# It exits with 0 in some failures; these lines come only from finished passes.
	check "all passes" test "$(grep -c 'Children see throughput' /tmp/iozone.out)" -ge 4
}

# Many small files, each with fsync: fs_mark checks nothing but its own errors.
step_fs_mark() {
	local count=30
	[[ $TIER == full ]] && count=100
	mkdir -p "$W/fs_mark"
	fs_mark -d "$W/fs_mark" -n "$count" -s 10240 -t 2 -S 1 -k -l /tmp/fs_mark.log \
		>/tmp/fs_mark.out 2>&1 || { cat /tmp/fs_mark.out; return 1; }
	check "files" test "$(find "$W/fs_mark" -type f | wc -l)" -eq $((2 * count))
}

names_links() {
	echo one >a
	mv a b
	check "renamed away" refused test -e a
	echo two >c
	mv c b
	check "renamed over" test "$(cat b)" = two
	ln b hard
	check "link count" test "$(stat -c %h b)" -eq 2
	check "same inode" test "$(stat -c %i b)" = "$(stat -c %i hard)"
	ln -s ../names/b soft
	check "symlink text" test "$(readlink soft)" = ../names/b
	check "through symlink" test "$(cat soft)" = two
	check "link over existing" refused ln b hard
	mkdir -p d1/d2
	mv d1/d2 d3
	check "folder moved" test -d d3
	check "rmdir of non-empty" refused rmdir ../names
	rmdir d1
	mkfifo fifo
	check "fifo" test -p fifo
}

names_attributes() {
	local mode
	for mode in 0600 0444 4755 1777 0000; do
		chmod "$mode" b
		check "mode $mode" test "$((8#$(stat -c %a b)))" -eq "$((8#$mode))"
	done
	chmod 0640 b
	chown 1000:1000 b
	check "owner" test "$(stat -c %u:%g b)" = 1000:1000
	touch -d '2001-02-03 04:05:06 UTC' b
	check "mtime" test "$(stat -c %Y b)" -eq 981173106
	echo kept >locked
	chmod 0444 locked
	cp -p locked locked2
	check "copy of 0444" test "$(cat locked2)" = kept
}

names_sizes() {
	head -c 1000000 /dev/urandom >data
	cp data want
	truncate -s 12345 data
	check "shrunk" test "$(stat -c %s data)" -eq 12345
	cmp -n 12345 data want
	truncate -s 50000 data
	check "grown" test "$(stat -c %s data)" -eq 50000
	check "zeroes" test "$(tail -c 37655 data | tr -d '\0' | wc -c)" -eq 0
	dd if=want of=data bs=1000 skip=3 seek=40 count=5 conv=notrunc,fsync status=none
	cmp <(dd if=want bs=1000 skip=3 count=5 status=none) \
		<(dd if=data bs=1000 skip=40 count=5 status=none)
	truncate -s $((3 * 1024 * 1024 * 1024)) sparse
	echo end >>sparse
	check "large offset" test "$(tail -c 4 sparse)" = end
	truncate -s 8192 sparse
	echo x >>data
	check "append" test "$(stat -c %s data)" -eq 50002
	: >data
	check "emptied" test "$(stat -c %s data)" -eq 0
}

# A file that is removed while open stays readable; the client renames it meanwhile.
names_open() {
	echo alive >open
	exec 5<open
	rm open
	check "removed" refused test -e open
	check "readable" test "$(cat <&5)" = alive
	exec 5<&-
	check "nothing left" test -z "$(find . -name '.nfs*')"
	touch excl
	check "noclobber" refused bash -c 'set -C; : >excl'
}

step_names() {
	mkdir -p "$W/names"
	cd "$W/names"
	names_links
	names_attributes
	names_sizes
	names_open
}
