"""Packages for mip: descriptions in the repository, and an index for any static web server.

A description (package.json) in the repository names the sources, relative to itself, those of the
packages it needs among them: mip resolves no dependency relative to a description, nor does every
server resolve "..". So the same file serves from a folder, a web server and a git host.

In an index, packages have .mpy files or sources and name what they need:

    package/6/uapycsp/latest.json     and 0.1.0.json, the same; package/py/... for sources
    file/5f/5f2b8a01                  contents, by the beginning of their SHA-256
    index.json                        what there is
"""

import hashlib
import json
import re
import subprocess

from firmware_mpy import NEEDS, PACKAGES, ROOT, Failed, compiled, sources

ALL = "csp"  # the package of both libraries, and all they need
DESCRIBED = {
    ALL: "CSP for MicroPython: uapycsp on asyncio and upycsp on threads",
    "cspcore": "pairing and choice, shared by uapycsp and upycsp",
    "uthreading": "CPython's threading for _thread",
    "ufuture": "futures, gather and time limits for asyncio",
    "upycsp": "CSP for MicroPython on threads",
    "uapycsp": "CSP for MicroPython on asyncio",
    "benchmarks": "benchmarks of uapycsp and upycsp, run by main.py as config.py says",
}
SHORT = 8  # characters of a hash


def version():
    """The version of all packages, from pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'(?m)^version = "(\d+\.\d+\.\d+)"$', text)
    if not found:
        raise Failed("pyproject.toml has no version")
    return found[1]


def needs(name):
    """The packages that one of the index depends on."""
    if name == ALL:
        return ("upycsp", "uapycsp")
    return (ALL,) if name == "benchmarks" else NEEDS[name]


def closure(name):
    """The packages with files that come with one of the index, itself among them, sorted."""
    found = {name} if name != ALL else set()
    for needed in needs(name):
        found.update(closure(needed))
    return sorted(found)


def descriptions():
    """The text of each description in the repository, by its name there."""
    found = {}
    for name in (ALL, *PACKAGES):
        urls = ["    " + json.dumps([path, path]) for path in sources(closure(name))]
        # The one that mip takes where only a repository is named.
        file = "package.json" if name == ALL else name + ".json"
        found[file] = '{{\n  "version": "{}",\n  "deps": [],\n  "urls": [\n{}\n  ]\n}}\n'.format(
            version(), ",\n".join(urls))
    return found


def index(folder, scratch):
    """Write the index into a folder; scratch: another folder."""
    compiled(scratch, (*PACKAGES, "benchmarks"))
    listed = []
    for name, description in DESCRIBED.items():
        own = () if name == ALL else (name,)
        paths = sources(own) + (["config.py"] if name == "benchmarks" else [])
        files = {path: (ROOT / path).read_bytes() for path in paths}
        binaries = {}
        for path, data in files.items():
            compiled_path = path[:-3] + ".mpy"
            if (scratch / compiled_path).exists():
                binaries[compiled_path] = (scratch / compiled_path).read_bytes()
            else:
                binaries[path] = data  # config.py is there to be edited
        for kind, contents in (("6", binaries), ("py", files)):
            _package(folder, kind, name, contents)
        listed.append({
            "name": name, "version": version(), "author": "", "description": description,
            "license": "MIT", "versions": {"6": [version()], "py": [version()]}, "path": ""})
    listed.sort(key=lambda package: package["name"])
    _write(folder / "index.json", {"v": 2, "updated": committed(), "packages": listed})


def _package(folder, kind, name, contents):
    hashes = []
    for path, data in sorted(contents.items()):
        short = hashlib.sha256(data).hexdigest()[:SHORT]
        file = folder / "file" / short[:2] / short
        if file.exists() and file.read_bytes() != data:
            raise Failed("two files have the same {} characters of hash: raise SHORT in "
                         "tools/firmware_mip.py".format(SHORT))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        hashes.append([path, short])
    described = {"v": 1, "hashes": hashes, "version": version(),
                 "deps": [[needed, version()] for needed in needs(name)]}
    for release in ("latest", version()):
        _write(folder / "package" / kind / name / (release + ".json"), described)


def _write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, separators=(",", ":")) + "\n", encoding="utf-8")


def committed():
    """When the last change was committed, in seconds since 1970; 0 if nothing tells."""
    try:
        done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return int(done.stdout) if done.stdout.strip().isdigit() else 0
