"""Where a lane's clone may come from: https, ssh, or a local path that the operator allowed.

The worker hands `repo` and `ref` to git as they stand, so that nothing may be taken here that git could read
as an option (`--upload-pack=…`), as a helper that runs a command (`ext::…`) or as a host that ssh reads as an
option (`ssh://-oProxyCommand=…`). Pure: paths are judged as they are written, not as they are on this host.
"""

import posixpath
import re
from collections.abc import Sequence
from typing import Final

_HOST: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
_PORT: Final = r"(?::[0-9]{1,5})?"
_USER: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_PATH: Final = r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]+"

_HTTPS: Final = re.compile(rf"https://{_HOST}{_PORT}/{_PATH}")
_SSH: Final = re.compile(rf"ssh://(?:{_USER}@)?{_HOST}{_PORT}/{_PATH}")
_SCP: Final = re.compile(rf"{_USER}@{_HOST}:(?!-){_PATH}")
_CREDENTIALS: Final = re.compile(r"(?:https://[^/]*|ssh://[^/@]*:[^/]*)@", re.IGNORECASE)

_NOT_IN_REF: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|[./]\Z|\A[-./]|\A@\Z")
"""What `git check-ref-format` refuses, and a dash in front."""


def repo_fault(repo: str, local_roots: Sequence[str]) -> str | None:
    """What is wrong with a `clone.repo`, as a sentence, or None."""
    if _CREDENTIALS.match(repo):
        return "A repo holds no credentials: whoever can read the plan could read them."
    if repo.startswith("/"):
        return _path_fault(repo, local_roots)
    if _HTTPS.fullmatch(repo) or _SSH.fullmatch(repo) or _SCP.fullmatch(repo):
        return None
    return (
        "A repo is https://host/path, ssh://user@host/path, user@host:path or a local path that the operator allowed."
    )


def _path_fault(path: str, local_roots: Sequence[str]) -> str | None:
    plain = path.removesuffix("/")
    if posixpath.normpath(path) != plain or not path.isprintable():
        return "A local repo is an absolute path without `.`, `..` or doubled slashes."
    if any(plain == root.rstrip("/") or plain.startswith(root.rstrip("/") + "/") for root in local_roots):
        return None
    return "The operator has not allowed that local path (CLONE_LOCAL_ROOTS)."


def ref_fault(ref: str) -> str | None:
    """What is wrong with a `clone.ref`, as a sentence, or None."""
    if not ref or _NOT_IN_REF.search(ref):
        return "A ref is the name of a branch or tag, or the id of a commit, as `git check-ref-format` takes it."
    return None
