"""Takes from Python what Windows lacks, and refuses what Windows refuses, in every process that has
this folder on its ``PYTHONPATH``. Libraries are told nothing: ``sys.platform`` stays Linux's.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import re
import signal
import subprocess  # before there is a msvcrt, by which it knows Windows  # noqa: F401
import sys
from pathlib import Path
from types import ModuleType

_MODULES = "fcntl grp pty pwd readline resource syslog termios tty"
_CALLS = """chown fchmod fchown fork forkpty geteuid getgid getloadavg getpgid getuid killpg lchown
    mkfifo nice openpty posix_fadvise posix_fallocate sched_getaffinity sched_setaffinity setpgid
    setsid statvfs sync"""
_FLAGS = "O_DIRECTORY O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC O_TMPFILE"
_SIGNALS = "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2"
_BINARY = 1 << 30
_in_text: set[int] = set()
"""The files that ``os.open`` was not asked to leave as they are."""
_open, _write, _close, _fsync = os.open, os.write, os.close, os.fsync
_rename, _replace, _mkdir, _unlink, _rmdir = os.rename, os.replace, os.mkdir, os.unlink, os.rmdir
_open_file = io.open


def _refuse(path, error=PermissionError, number=errno.EACCES):
    raise error(number, os.strerror(number), os.fsdecode(path))


def _check_name(path):
    if re.search(r'[<>:"|?*\\]', os.path.basename(os.fsdecode(path))):
        _refuse(path, OSError, errno.EINVAL)


def _check_free(path):
    """That this process has no file open at or below a path."""
    place = os.path.realpath(os.fsdecode(path))
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:  # the listing's own
            continue
        if target == place or target.startswith(f"{place}/"):
            _refuse(path)
    if f" {place}" in Path("/proc/self/maps").read_text(encoding="utf-8"):
        _refuse(path)


def open_descriptor(path, flags, mode=0o777, *, dir_fd=None):
    if os.path.isdir(path):
        _refuse(path)
    if flags & os.O_CREAT:
        _check_name(path)
    number = _open(path, flags & ~_BINARY, mode, dir_fd=dir_fd)
    if not flags & _BINARY:
        _in_text.add(number)
    return number


def write(file, data):
    if file not in _in_text:
        return _write(file, data)
    _write(file, bytes(data).replace(b"\n", b"\r\n"))
    return len(data)


def close(file):
    _in_text.discard(file)
    _close(file)


def fsync(file):
    number = file if isinstance(file, int) else file.fileno()
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    _fsync(number)


def open_file(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *more, **how):
    if not isinstance(file, int) and "opener" not in how:
        if os.path.isdir(file):
            _refuse(file)
        if set(mode) & set("wxa"):
            _check_name(file)
    if "b" not in mode:
        encoding = "cp1252" if encoding in (None, "locale") else encoding
        if set(mode) & set("wxa") and newline is None:
            newline = "\r\n"
    return _open_file(file, mode, buffering, encoding, errors, newline, *more, **how)


def rename(source, target):
    _check_name(target)
    _check_free(source)
    if os.path.lexists(target):
        _refuse(target, FileExistsError, errno.EEXIST)
    _rename(source, target)


def replace(source, target):
    _check_name(target)
    _check_free(source)
    _check_free(target)
    if os.path.isdir(target):
        _refuse(target)
    _replace(source, target)


def mkdir(path, mode=0o777, *, dir_fd=None):
    _check_name(path)
    _mkdir(path, mode, dir_fd=dir_fd)


def unlink(path, *, dir_fd=None):
    _check_free(path)
    if os.path.isdir(path):
        _refuse(path)
    _unlink(path, dir_fd=dir_fd)


def symlink(source, target, target_is_directory=False):
    _refuse(target, OSError, errno.EINVAL)  # "A required privilege is not held by the client"


def locking(file, mode, count):
    """Lock bytes from where the file is. Others cannot read them, so none of the content may be
    among them.
    """
    assert os.lseek(file, 0, os.SEEK_CUR) >= os.fstat(file).st_size
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None


for name in _MODULES.split():
    sys.modules[name] = None  # an ImportError
for name in (*_CALLS.split(), *_FLAGS.split()):
    delattr(os, name)
for name in _SIGNALS.split():
    delattr(signal, name)
os.O_BINARY = _BINARY
os.open, os.write, os.close, os.fsync = open_descriptor, write, close, fsync
os.rename, os.replace, os.mkdir, os.symlink = rename, replace, mkdir, symlink
os.unlink = os.remove = unlink
io.open = builtins.open = open_file
import tempfile  # noqa: E402  (which looks at the flags)

tempfile.TemporaryFile = tempfile.NamedTemporaryFile
sys.modules["msvcrt"] = msvcrt = ModuleType("msvcrt")
msvcrt.LK_NBLCK, msvcrt.locking = 2, locking
