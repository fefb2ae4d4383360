"""Counts of calls and bytes per mount, from the text of /proc/self/mountstats."""
import collections
import re


def _lines(text, mount_point):
    """The lines about this mount."""
    inside = False
    for line in text.splitlines():
        if line.startswith("device "):
            inside = f" mounted on {mount_point} with fstype nfs" in line
        elif inside:
            yield line.strip()


def _per_operation(text, mount_point, column):
    counts = collections.Counter()
    in_ops = False
    for line in _lines(text, mount_point):
        if line == "per-op statistics":
            in_ops = True
        elif in_ops and (found := re.match(r"([A-Z_]+): ([\d ]+)", line)):
            counts[found[1]] += int(found[2].split()[column])
    return counts


def operations(text, mount_point):
    """Maps operation names to how often the client sent them on this mount."""
    return _per_operation(text, mount_point, 0)


def transmitted_again(text, mount_point):
    """Maps operation names to how many of them went out more than once, counting each
    time after the first: the connection broke under them or took too long."""
    again = _per_operation(text, mount_point, 1)
    again.subtract(operations(text, mount_point))
    return again


def written_again(text, mount_point):
    """Bytes that WRITEs took to the server beyond those that programs wrote. With
    everything flushed and no page written twice between two flushes, that is what the
    client wrote again because a write verifier had changed."""
    for line in _lines(text, mount_point):
        if line.startswith("bytes:"):
            _read, wrote, _direct_read, direct_wrote, _from_server, to_server = map(
                int, line.split()[1:7]
            )
            return to_server - wrote - direct_wrote
    raise ValueError(f"nothing about {mount_point}")
