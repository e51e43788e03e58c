"""What a report was measured with: interpreter, machine, versions and commit."""

import datetime
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from harness import interpreters  # noqa: E402


def need_micropython():
    """The path of the one to measure; ends with a sentence where there is none."""
    problem = interpreters.missing()
    if problem:
        sys.exit(problem)
    return interpreters.micropython()


def _cpu_model():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _memory_mb():
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (OSError, ValueError):
        return None


def _git(*args):
    done = subprocess.run(("git",) + args, cwd=ROOT, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.strip() if done.returncode == 0 else None


def checkout():
    """Commit and day."""
    changed = _git("status", "--porcelain", "--", ".", ":!docs/results")
    return {
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(changed),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    }


def surroundings(micropython):
    """Machine, versions and commit."""
    banner = subprocess.run([micropython, "-c", "import sys; print(sys.version)"], text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout.strip()
    return {
        "machine": {"cpu": _cpu_model(), "processors": len(os.sched_getaffinity(0)),
                    "memory_mb": _memory_mb(), "system": platform.system(),
                    "kernel": platform.release(), "architecture": platform.machine()},
        "versions": {"micropython": banner.split(";")[-1].strip(),
                     "cpython": platform.python_version()},
        **checkout(),
    }


def printed(command, found):
    """The sentence on what a command printed where, given what `surroundings` found."""
    m = found["machine"]
    return "`{}` printed this on {}: {}, {} processors, {} {} {}; {}; commit {}{}.".format(
        command, found["date"], m["cpu"], m["processors"], m["system"], m["kernel"],
        m["architecture"], found["versions"]["micropython"], (found["commit"] or "unknown")[:12],
        ", with uncommitted changes" if found["uncommitted_changes"] else "")
