#!/bin/bash
# Starts and stops one nfs-ganesha (VFS) on loopback, as the upstream of a test.
#
#   ganesha.sh start DIR EXPORT_DIR PORT MPORT
#   ganesha.sh stop  DIR EXPORT_DIR PORT MPORT
#
# DIR takes configuration, log, pid file and state of this instance. EXPORT_DIR is
# exported read-write as ${GANESHA_PSEUDO:-/exp} on 127.0.0.1:PORT, MOUNT on MPORT.
# "start" returns when both ports answer NULL calls; it fails, with the end of the log,
# when that takes longer than ${GANESHA_DEADLINE:-40} seconds.
#
# The hard cases: ganesha needs a file system with real file handles (where EXPORT_DIR
# has none, an ext4 image is loop-mounted there), and a running rpcbind: one is started,
# on loopback only, if there is none, and stopped by the last instance that leaves.
#
# Not promised: that two instances may share one DIR, or that a stop from another user
# works. Must run as root.
set -euo pipefail

readonly RPCBIND_MARK=/run/nfsgather-test-rpcbind.pid
readonly RPCBIND_LOCK=/run/nfsgather-test-rpcbind.lock

usage() {
	sed -n '4,5s/^#  *//p' "$0" >&2
	exit 2
}

die() {
	echo "ganesha.sh: $*" >&2
	exit 1
}

# True once PROGRAM VERSION answers a NULL call on 127.0.0.1:PORT; rpcbind is not asked.
answers() {
	local port=$1 program=$2 version=$3
	timeout 5 rpcinfo -a "127.0.0.1.$((port / 256)).$((port % 256))" -T tcp \
		"$program" "$version" >/dev/null 2>&1
}

is_process() {
	local pid=$1 name=$2 comm
	[[ $pid =~ ^[0-9]+$ ]] || return 1
	comm=$(cat "/proc/$pid/comm" 2>/dev/null) || return 1
	[[ $comm == "$name"* ]] || return 1
	[[ $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null) != Z* ]]
}

# rpcbind would bind the wildcard address for TCP whatever it is told, so it is handed
# bound sockets the way a service manager does it.
rpcbind_spawn() {
	mkdir -p /run/rpcbind
	# The Python process becomes rpcbind, so $! is its pid.
	/usr/bin/python3 - >/dev/null 2>&1 <<-'PY' &
		import os
		import socket
		names = [(socket.AF_UNIX, socket.SOCK_STREAM, "/run/rpcbind.sock")]
		for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
		    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
		        names.append((family, kind, (host, 111)))
		fd = 3
		for family, kind, name in names:
		    if family == socket.AF_UNIX and os.path.exists(name):
		        os.unlink(name)
		    try:
		        sock = socket.socket(family, kind)
		        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
		        if family == socket.AF_INET6:
		            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
		        sock.bind(name)
		    except OSError:
		        if family == socket.AF_INET6:
		            continue
		        raise
		    if kind == socket.SOCK_STREAM:
		        sock.listen(64)
		    raw = sock.detach()
		    if raw != fd:
		        os.dup2(raw, fd)
		        os.close(raw)
		    os.set_inheritable(fd, True)
		    fd += 1
		os.chmod("/run/rpcbind.sock", 0o666)
		os.environ.update(LISTEN_FDS=str(fd - 3), LISTEN_PID=str(os.getpid()))
		os.setsid()
		os.execvp("rpcbind", ["rpcbind", "-f", "-w"])
	PY
	echo $! >"$RPCBIND_MARK"
}

rpcbind_start() {
	local tries
	(
		flock -w 30 9 || die "cannot lock $RPCBIND_LOCK"
		answers 111 100000 2 && exit 0
		rpcbind_spawn 9>&-
		for ((tries = 0; tries < 100; tries++)); do
			answers 111 100000 2 && exit 0
			sleep 0.1
		done
		die "rpcbind does not answer on 127.0.0.1:111"
	) 9>"$RPCBIND_LOCK"
}

# Stops the rpcbind that this script started, once no ganesha needs it any more. Those of
# another network namespace have an rpcbind of their own.
rpcbind_stop() {
	local pid other
	(
		flock -w 30 9 || die "cannot lock $RPCBIND_LOCK"
		pid=$(cat "$RPCBIND_MARK" 2>/dev/null) || exit 0
		if ! is_process "$pid" rpcbind; then
			rm -f "$RPCBIND_MARK"
			exit 0
		fi
		for other in $(pgrep -x ganesha.nfsd); do
			[[ /proc/$other/ns/net -ef /proc/self/ns/net ]] || continue
			is_process "$other" ganesha.nfsd && exit 0
		done
		kill "$pid"
		wait_gone "$pid" rpcbind 10 || kill -9 "$pid"
		rm -f "$RPCBIND_MARK" /run/rpcbind.sock
	) 9>"$RPCBIND_LOCK"
}

wait_gone() {
	local pid=$1 name=$2 seconds=$3 tries
	for ((tries = 0; tries < seconds * 10; tries++)); do
		is_process "$pid" "$name" || return 0
		sleep 0.1
	done
	return 1
}

export_prepare() {
	local dir=$1 export_dir=$2
	mkdir -p "$export_dir"
	case $(stat -f -c %T "$export_dir") in
	ext2/ext3 | ext4 | xfs | btrfs) return 0 ;;
	esac
	if ! [[ -e $dir/export.img ]]; then
		truncate -s "${GANESHA_IMAGE_SIZE:-4G}" "$dir/export.img"
		mkfs.ext4 -q -F "$dir/export.img"
	fi
	mount -o loop "$dir/export.img" "$export_dir"
	touch "$dir/export.mounted"
}

config_write() {
	local dir=$1 export_dir=$2 port=$3 mport=$4
	cat >"$dir/ganesha.conf" <<-CONF
		NFS_CORE_PARAM {
			Bind_addr = 127.0.0.1;
			NFS_Port = $port;
			MNT_Port = $mport;
			Enable_NLM = false;
			Enable_RQUOTA = false;
			Protocols = 3, 4;
			mount_path_pseudo = true;
		}
		NFSv4 { Graceless = true; RecoveryRoot = "$dir/recovery"; }
		EXPORT_DEFAULTS { Transports = TCP; SecType = sys; Squash = No_Root_Squash; }
		EXPORT {
			Export_Id = 1;
			Path = "$export_dir";
			Pseudo = "${GANESHA_PSEUDO:-/exp}";
			Access_Type = RW;
			FSAL { Name = VFS; }
		}
		LOG { Default_Log_Level = ${GANESHA_LOG_LEVEL:-EVENT}; }
	CONF
}

ganesha_start() {
	local dir=$1 export_dir=$2 port=$3 mport=$4 pid end
	mkdir -p "$dir" /var/run/ganesha
	dir=$(cd "$dir" && pwd)
	pid=$(cat "$dir/ganesha.pid" 2>/dev/null || true)
	is_process "$pid" ganesha.nfsd && die "already running in $dir (pid $pid)"
	rm -f "$dir/ganesha.pid"
	export_prepare "$dir" "$export_dir"
	export_dir=$(cd "$export_dir" && pwd)
	mkdir -p "$dir/recovery"
	config_write "$dir" "$export_dir" "$port" "$mport"
	# ganesha looks for the export's file system here; a root made by debootstrap has none.
	[[ -e /etc/mtab ]] || ln -s ../proc/self/mounts /etc/mtab
	rpcbind_start
	# The default of 1024 descriptors runs out after some thousand files.
	ulimit -n "$(ulimit -H -n)" 2>/dev/null || true
	ganesha.nfsd -f "$dir/ganesha.conf" -L "$dir/ganesha.log" -p "$dir/ganesha.pid" \
		</dev/null >"$dir/ganesha.out" 2>&1 || die "$(cat "$dir/ganesha.out")"
	end=$((SECONDS + ${GANESHA_DEADLINE:-40}))
	until answers "$port" 100003 3 && answers "$mport" 100005 3; do
		pid=$(cat "$dir/ganesha.pid" 2>/dev/null || true)
		if ((SECONDS >= end)) ||
			{ [[ $pid ]] && ! is_process "$pid" ganesha.nfsd; }; then
			tail -n 30 "$dir/ganesha.log" >&2 || true
			ganesha_stop "$dir" "$export_dir"
			die "not ready on 127.0.0.1:$port; log: $dir/ganesha.log"
		fi
		sleep 0.1
	done
	if grep -q 'Could not create export' "$dir/ganesha.log"; then
		grep CRIT "$dir/ganesha.log" | tail -n 8 >&2
		ganesha_stop "$dir" "$export_dir"
		die "cannot export $export_dir; log: $dir/ganesha.log"
	fi
}

ganesha_stop() {
	local dir=$1 export_dir=$2 pid
	pid=$(cat "$dir/ganesha.pid" 2>/dev/null || true)
	if is_process "$pid" ganesha.nfsd; then
		kill "$pid"
		# Its shutdown may hang on its own threads; nothing it holds is needed.
		wait_gone "$pid" ganesha.nfsd 10 || kill -9 "$pid" 2>/dev/null || true
		wait_gone "$pid" ganesha.nfsd 10 || die "pid $pid does not end"
	fi
	rm -f "$dir/ganesha.pid"
	if [[ -e $dir/export.mounted ]]; then
		umount "$export_dir"
		rm -f "$dir/export.mounted"
	fi
	rpcbind_stop
}

[[ $# -eq 5 ]] || usage
case $1 in
start | stop) action=$1 ;;
*) usage ;;
esac
shift
for tool in ganesha.nfsd rpcbind rpcinfo flock; do
	command -v "$tool" >/dev/null ||
		die "missing: $tool (nfs-ganesha, rpcbind, util-linux)"
done
"ganesha_$action" "$@"
