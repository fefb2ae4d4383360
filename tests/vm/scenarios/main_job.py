"""real programs on a client's mount, every file compared with the upstream's"""
from lib import main_job


def run(bench):
    upstream = bench.ganesha()
    front = bench.front(upstream)
    guest = bench.client()
    main_job.run(bench, guest, front, upstream.directory)
