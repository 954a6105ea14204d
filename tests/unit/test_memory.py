"""The memory that there is: read as the system writes it, and told before it ends."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from attnviz import memory
from attnviz.memory import Memory

PAGE = Path(__file__).parents[2] / "pages" / "encode.py"
STATUS = "Name:\tpython\nVmHWM:\t  900 kB\nVmRSS:\t  700 kB\n"
MACHINE = "MemTotal:        2000 kB\nMemFree:  10 kB\n"


@pytest.mark.parametrize(
    ("container", "limit"),
    [
        ({"memory.max": "1024000\n"}, 1_024_000),
        ({"memory.max": "max\n"}, 2_048_000),
        ({"memory/memory.limit_in_bytes": "512000\n"}, 512_000),
        ({"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 2_048_000),
        ({}, 2_048_000),
    ],
)
def test_the_limit_is_the_containers_or_the_machines(
    container: dict[str, str], limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ATTNVIZ_MEMORY_MB", raising=False)
    groups = {f"sys/fs/cgroup/{name}": text for name, text in container.items()}
    for name, text in {"proc/self/status": STATUS, "proc/meminfo": MACHINE, **groups}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory.read(tmp_path) == Memory(716_800, limit)
    monkeypatch.setenv("ATTNVIZ_MEMORY_MB", "3")
    assert memory.read(tmp_path) == Memory(716_800, 3 * 2**20)


def test_a_system_that_does_not_tell_has_no_limit(tmp_path: Path) -> None:
    assert memory.read(tmp_path) is None


def test_the_page_says_so_and_loads_no_further_model(monkeypatch: pytest.MonkeyPatch) -> None:
    st.cache_resource.clear()
    monkeypatch.setattr(memory, "read", lambda: Memory(100 * 2**20, 1_500 * 2**20))
    app = AppTest.from_file(str(PAGE), default_timeout=60).run()
    # The first picture needs no model; a text that is typed does.
    app.text_area(key="typed").set_value("It sat.")
    app.button[0].click().run()
    assert not [each.value for each in app.error]
    assert not app.warning
    monkeypatch.setattr(memory, "read", lambda: Memory(1_400 * 2**20, 1_500 * 2**20))
    app.text_area(key="typed").set_value("The cat sat.")
    app.button[0].click().run()
    assert app.warning[0].value.startswith("Memory is nearly full here, 1,400 of 1,500 MB")
    assert not [each.value for each in app.error]
    assert any("sends" in each.proto.body for each in app.get("html"))
    app.selectbox(key="model").set_value("gpt2").run()
    assert [each.value for each in app.error] == [
        "There is no memory left for gpt2: choose a model that travels with attnviz, or come back later."
    ]
    assert not app.exception
    st.cache_resource.clear()


# Eight threads ask for memory at once, and 16 large blocks come after a larger one that was freed; then the C library tells.
HEAPS = """
import ctypes, sys, threading
from attnviz import memory
if sys.argv[1] == "shared":
    memory.bound_heaps()
libc, gate = ctypes.CDLL(None), threading.Barrier(8)
libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
libc.fdopen.argtypes, libc.fdopen.restype = [ctypes.c_int, ctypes.c_char_p], ctypes.c_void_p
libc.malloc_info.argtypes, libc.fflush.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
threads = [threading.Thread(target=lambda: (libc.malloc(1000), gate.wait())) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.free.argtypes = [ctypes.c_void_p]
libc.free(libc.malloc(24 * 2**20))
for _ in range(16):
    libc.malloc(8 * 2**20)
out = libc.fdopen(1, b"w")
libc.malloc_info(0, out)
libc.fflush(out)
"""


def heaps(way: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", HEAPS, way]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.gate
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives every thread a heap and tells of it")
def test_threads_share_two_heaps_and_what_is_large_stands_in_none() -> None:
    bounded, free = heaps("shared"), heaps("each")
    assert bounded.count("<heap ") == 2
    assert free.count("<heap ") > 2
    large = re.compile(r'<total type="mmap" count="(\d+)"')
    # How many blocks Python itself holds there differs by a few from one process to the next.
    assert int(large.findall(bounded)[0]) > int(large.findall(free)[0]) + 8


LEFT = """
import gc, weakref
import numpy
from attnviz import memory

class Circle:
    def __init__(self, size):
        self.me, self.held = self, numpy.ones(size, dtype=numpy.uint8)

gc.disable()
many = [bytes(1000) for _ in range(100_000)]
circle, last = weakref.ref(Circle(2**20)), many[-1]
del many
before = memory.read().used
memory.give_back()
print(circle() is None, before - memory.read().used)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what lies between")
def test_circles_and_what_is_free_between_what_is_used_are_given_back() -> None:
    output = subprocess.run([sys.executable, "-c", LEFT], capture_output=True, text=True, check=True).stdout
    is_gone, nbytes = output.split()
    assert is_gone == "True"
    assert int(nbytes) > 50 * 2**20
