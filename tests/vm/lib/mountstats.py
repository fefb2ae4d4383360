"""Counts of calls per mount, from the text of /proc/self/mountstats."""
import collections
import re


def operations(text, mount_point):
    """Maps operation names to how often the client sent them on this mount."""
    counts = collections.Counter()
    inside = in_ops = False
    for line in text.splitlines():
        if line.startswith("device "):
            inside = f" mounted on {mount_point} with fstype nfs" in line
            in_ops = False
        elif inside and line.strip() == "per-op statistics":
            in_ops = True
        elif inside and in_ops:
            found = re.match(r"\s*([A-Z_]+): (\d+) ", line)
            if found:
                counts[found[1]] += int(found[2])
    return counts
