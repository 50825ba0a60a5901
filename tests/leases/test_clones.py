"""Clones: whole or not there, at the ref, from nowhere that a plan should not point to."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from leases import clones
from leases.clones import CloneFailed
from leases.grants import Clone

NAME = "api-01M8ZZZZZZZZZZZZZZZZZZZZZZ.1"


def git(where: Path, *words: str) -> str:
    who = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
    return subprocess.run(["git", *who, *words], cwd=where, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a branch, a tag, and a commit that neither names."""
    repo = tmp_path / "origin"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    for number in ("one", "two", "three"):
        (repo / "file").write_text(number)
        git(repo, "add", "file")
        git(repo, "commit", "-q", "-m", number)
    git(repo, "tag", "first", "HEAD~2")
    git(repo, "branch", "side/line", "HEAD~1")
    return repo


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "not yet there" / "clones"


@pytest.mark.parametrize(
    ("ref", "content", "head"),
    [(None, "three", "main"), ("main", "three", "main"), ("side/line", "two", "side/line"), ("first", "one", "HEAD")],
)
def test_a_clone_stands_at_its_ref(repo: Path, root: Path, ref: str | None, content: str, head: str) -> None:
    place = clones.make(root, Clone(str(repo), ref, NAME))
    assert place == root / NAME
    assert (place / "file").read_text() == content
    assert git(place, "rev-parse", "--abbrev-ref", "HEAD") == head
    assert git(place, "status", "--porcelain") == ""
    assert [path.name for path in root.iterdir()] == [NAME]


def test_a_commit_is_a_ref_too(repo: Path, root: Path) -> None:
    commit = git(repo, "rev-parse", "HEAD~1")
    assert (clones.make(root, Clone(str(repo), commit, NAME)) / "file").read_text() == "two"


def test_a_branch_can_be_pushed_back(repo: Path, root: Path) -> None:
    place = clones.make(root, Clone(str(repo), "side/line", NAME))
    git(place, "commit", "-q", "--allow-empty", "-m", "four")
    git(place, "push", "-q")
    assert git(repo, "log", "-1", "--format=%s", "side/line") == "four"


def test_without_a_repository_it_starts_empty(root: Path) -> None:
    assert list(clones.make(root, Clone(None, None, NAME)).iterdir()) == []


def test_what_is_there_is_used_as_it_stands(repo: Path, root: Path) -> None:
    place = clones.make(root, Clone(str(repo), "main", NAME))
    (place / "file").write_text("half of my work")
    assert clones.make(root, Clone(str(repo), "main", NAME)) == place
    assert (place / "file").read_text() == "half of my work"


def test_a_new_generation_starts_from_the_repository(repo: Path, root: Path) -> None:
    (clones.make(root, Clone(str(repo), "main", NAME)) / "file").write_text("spoilt")
    assert (clones.make(root, Clone(str(repo), "main", NAME[:-1] + "2")) / "file").read_text() == "three"


@pytest.mark.parametrize(
    "name", ["..", ".", "", "a/b", "../a", "/etc", ".hidden", "-rf", "a\nb", "a b", "ü", "a" * 256]
)
def test_a_name_is_one_plain_word(root: Path, name: str) -> None:
    with pytest.raises(CloneFailed, match="not a name"):
        clones.make(root, Clone(None, None, name))
    assert not root.exists()


def test_no_such_ref(repo: Path, root: Path) -> None:
    with pytest.raises(CloneFailed, match="nowhere"):
        clones.make(root, Clone(str(repo), "nowhere", NAME))
    assert list(root.iterdir()) == [], "something was left behind"


def test_no_such_repository(root: Path, tmp_path: Path) -> None:
    with pytest.raises(CloneFailed, match="does not exist"):
        clones.make(root, Clone(str(tmp_path / "nothing"), "main", NAME))
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("ref", ["main", None])
@pytest.mark.parametrize(
    "repo",
    [
        "ext::sh -c touch% {mark}",
        "http://127.0.0.1:1/x.git",
        "git://127.0.0.1:1/x.git",
        "fd::7",
        "--upload-pack=touch {mark}",
    ],
)
def test_no_helper_and_no_option_runs(root: Path, tmp_path: Path, repo: str, ref: str | None) -> None:
    mark = tmp_path / "mark"
    with pytest.raises(CloneFailed, match=r"not allowed|an option"):
        clones.make(root, Clone(repo.format(mark=mark), ref, NAME))
    assert not mark.exists()


@pytest.mark.parametrize("ref", ["--orphan=x", "-f", "--detach"])
def test_a_ref_is_no_option(repo: Path, root: Path, ref: str) -> None:
    with pytest.raises(CloneFailed, match="an option"):
        clones.make(root, Clone(str(repo), ref, NAME))
    assert list(root.iterdir()) == []


def test_a_ref_is_no_path(repo: Path, root: Path) -> None:
    with pytest.raises(CloneFailed):
        clones.make(root, Clone(str(repo), "file", NAME))


def test_killed_in_between_it_is_not_there(repo: Path, root: Path) -> None:
    """And the half of it is swept away when the lane is cloned again."""

    def dies(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        if "checkout" in argv:
            os._exit(9)
        clones.run_plainly(argv, cwd, env)

    child = os.fork()
    if not child:
        clones.make(root, Clone(str(repo), "main", NAME), dies)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    (half,) = root.iterdir()
    assert half.name.startswith(f".{NAME}.")

    place = clones.make(root, Clone(str(repo), "main", NAME))
    assert (place / "file").read_text() == "three"
    assert [path.name for path in root.iterdir()] == [NAME]


def test_interrupted_in_between_nothing_is_left(repo: Path, root: Path) -> None:
    def interrupted(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        clones.run_plainly(argv, cwd, env)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clones.make(root, Clone(str(repo), "main", NAME), interrupted)
    assert list(root.iterdir()) == []


def test_another_lane_s_rest_is_let_alone(repo: Path, root: Path) -> None:
    other = root / ".web-01M8.1.abcd"
    other.mkdir(parents=True)
    clones.make(root, Clone(str(repo), "main", NAME))
    assert other.exists()


def test_a_git_around_us_does_not_lead_astray(repo: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is started from a git hook has GIT_DIR set."""
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repo))
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo / ".git" / "index"))
    place = clones.make(root, Clone(str(repo), "first", NAME))
    assert (place / ".git").is_dir() and (place / "file").read_text() == "one"
    assert (repo / "file").read_text() == "three"
