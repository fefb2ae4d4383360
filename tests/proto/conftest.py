"""What all protocol tests share: fixtures, the mark `slow`, how to run one alone."""

import os
import shlex
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))

from harness import direct, faultd, proxy  # noqa: E402,F401
from proto import PATIENT, mounted, proxy_with  # noqa: E402


@pytest.fixture
def c(proxy):  # noqa: F811
    """A client of the fixture `proxy`; its `root` is the handle of /exp."""
    with mounted(proxy) as client:
        yield client


@pytest.fixture
def patient(faultd):  # noqa: F811
    """(proxy, client): acked bytes stay there until something wants them."""
    with proxy_with(faultd, **PATIENT) as daemon, mounted(daemon) as client:
        yield daemon, client


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes long; run-proto --slow runs these")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.failed:
        name = os.path.join(HERE, item.nodeid.split("::", 1)[0].split("/")[-1])
        test = item.nodeid.split("::", 1)[1]
        words = [
            "BUILDDIR=" + shlex.quote(os.environ.get("BUILDDIR", ".")),
            shlex.quote(os.path.join(HERE, "run-proto")),
            shlex.quote(f"{name}::{test}"),
        ]
        report.sections.append(("to run it alone", " ".join(words)))
