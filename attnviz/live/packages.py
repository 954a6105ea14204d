"""Third-party JavaScript: which npm packages a site is made of, copied from node_modules with their licences."""

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
    """A package, and which of its files the site gives out, by the names that they get."""

    name: str
    files: dict[str, str]


PACKAGES = (NpmPackage("uqr", {"dist/index.mjs": "index.js"}),)


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
        target = folder / package.name
        target.mkdir(parents=True)
        for path, name in package.files.items():
            shutil.copy(source / path, target / name)
        about = json.loads((source / "package.json").read_text(encoding="utf-8"))
        lines.append(f"{package.name} {about['version']}, licence {about.get('license', 'see its folder')}")
        for licence in sorted(source.glob("LICEN[CS]E*")):
            shutil.copy(licence, target / licence.name)
    (folder / "LICENCES.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
