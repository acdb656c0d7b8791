"""Builds the Python package for pip: `pip install .`, `pip wheel .`.

A build backend (PEP 517) of a few lines, on the standard library alone: CMake builds and installs the package into a folder,
and a wheel is that folder, zipped. So nothing has to be fetched, and an isolated build finds the libraries that the system
has (tools/setup build installs them).
"""

import base64
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
VERSION = re.search(r"project\(drover VERSION ([0-9.]+)", (TOP / "CMakeLists.txt").read_text()).group(1)
METADATA = f"""Metadata-Version: 2.1
Name: drover
Version: {VERSION}
Summary: Sampling, inference and learning in discrete graphical models
License: {(TOP / "LICENSE").read_text().splitlines()[0].strip()}
Requires-Python: >=3.9
Requires-Dist: numpy
"""


def _tag():
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_wheel


def _build_folder():
    """The release build of this folder when it is for this Python, which saves most of the work; else one of its own."""
    cache = TOP / "build" / "CMakeCache.txt"
    if cache.exists():
        built_for = re.search(r"^_?Python3_EXECUTABLE:\w+=(.*)$", cache.read_text(), re.MULTILINE)
        if built_for and os.path.realpath(built_for.group(1)) == os.path.realpath(sys.executable):
            return cache.parent
    return TOP / f"build-python{sys.version_info[0]}.{sys.version_info[1]}"


def _build(prefix):
    """Installs the package below `prefix` and returns the folder that holds it."""
    build = _build_folder()
    if not (build / "build.ninja").exists() and not (build / "Makefile").exists():  # or it was not configured to the end
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(["cmake", "-S", str(TOP), "-B", str(build), *generator, "-DCMAKE_BUILD_TYPE=Release", "-DDROVER_PYTHON=REQUIRED",
                        f"-DPython3_EXECUTABLE={sys.executable}"], check=True)
    subprocess.run(["cmake", "--build", str(build), "--target", "drover_python", "--parallel", str(os.cpu_count() or 1)], check=True)
    subprocess.run(["cmake", "--install", str(build), "--component", "python", "--prefix", str(prefix)], check=True)
    return next(Path(prefix).rglob("drover/__init__.py")).parent.parent


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = Path(metadata_directory) / f"drover-{VERSION}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    return info.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"drover-{VERSION}-{_tag()}.whl"
    info = f"drover-{VERSION}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: drover\nRoot-Is-Purelib: false\nTag: {_tag()}\n"
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        package = _build(folder)
        files = {path.relative_to(package).as_posix(): path.read_bytes() for path in sorted(package.rglob("*")) if path.is_file()}
        files |= {f"{info}/METADATA": METADATA.encode(), f"{info}/WHEEL": wheel.encode()}
        for path, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.writerow([path, f"sha256={digest}", len(content)])
            archive.writestr(path, content)
        rows.writerow([f"{info}/RECORD", "", ""])
        archive.writestr(f"{info}/RECORD", record.getvalue())
    return name


def build_sdist(sdist_directory, config_settings=None):
    name = f"drover-{VERSION}"
    listed = subprocess.run(["git", "ls-files"], cwd=TOP, check=True, capture_output=True, text=True).stdout.split("\n")
    with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for path in filter(None, listed):
            archive.add(TOP / path, f"{name}/{path}")
        info = tarfile.TarInfo(f"{name}/PKG-INFO")
        info.size = len(METADATA)
        archive.addfile(info, io.BytesIO(METADATA.encode()))
    return f"{name}.tar.gz"
