"""Third-party JavaScript: which npm packages a site is made of, copied from node_modules with their licences."""

import gzip
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from attnviz.core.errors import AttnvizError
from attnviz.paths import app_folder


class PackageError(AttnvizError, ValueError):
    """A package of npm is not here."""


@dataclass(frozen=True)
class NpmPackage:
    """A package, and which of its files the site gives out, by their new names; `holder`: of the rights, where no file says."""

    name: str
    files: dict[str, str]
    holder: str = ""


PACKAGES = (
    NpmPackage(
        "onnxruntime-web",
        {"dist/ort.wasm.bundle.min.mjs": "ort.js", "dist/ort-wasm-simd-threaded.wasm": "ort.wasm.gz"},
        "Microsoft Corporation",
    ),
    NpmPackage("@huggingface/tokenizers", {"dist/tokenizers.min.mjs": "tokenizers.js"}),
    NpmPackage("sentencex-wasm", {"sentencex_wasm.js": "sentencex.js", "sentencex_wasm_bg.wasm": "sentencex.wasm.gz"}),
    NpmPackage("uqr", {"dist/index.mjs": "index.js"}),
)
# That of packages without a file for it.
_MIT = """
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions: The above copyright notice and
this permission notice shall be included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED
"AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT
HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def _licence(source: Path, target: Path, holder: str) -> str:
    """Copy a package's licence, and write which it is."""
    about = json.loads((source / "package.json").read_text(encoding="utf-8"))
    files = sorted(source.glob("LICEN[CS]E*"))
    for licence in files:
        shutil.copy(licence, target / licence.name)
    line = f"{about['name']} {about['version']}, licence {about['license']}, {about.get('homepage', '')}"
    return line if files else f"{line}\nCopyright (c) {holder}\n{_MIT}"


def copy_packages(folder: Path) -> None:
    """Copy what the site needs of each package into a folder of its name, and list all with their versions and licences.

    Raises:
        PackageError: one of them is not installed.
    """
    lines = ["Third-party JavaScript in this site:", ""]
    for package in PACKAGES:
        source = app_folder() / "node_modules" / package.name
        if not (source / "package.json").is_file():
            raise PackageError(f"The npm package {package.name} is not here: run `make site` in a checkout of attnviz.")
        target = folder / package.name.split("/")[-1]
        target.mkdir(parents=True)
        for path, name in package.files.items():
            content = (source / path).read_bytes()
            (target / name).write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
        lines.append(_licence(source, target, package.holder))
    (folder / "LICENCES.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
