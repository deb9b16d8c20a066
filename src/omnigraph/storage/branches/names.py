"""Names of branches and tags: how they are written, and which ones a new branch or tag may take.

What a name means to a reader is decided in `engine/views/targets.py`; the rules here make sure that it means one thing.
"""

from __future__ import annotations

import re
from typing import Literal

from omnigraph.errors import BadRequest, Conflict
from omnigraph.ids import is_ulid
from omnigraph.storage.base.layout import is_public, normalize_branch
from omnigraph.storage.base.ref_names import is_ref_like

HEAD = "HEAD"
_MAIN = "main"
_SEGMENT = re.compile(r"[A-Za-z0-9._-]+")
# Ids of commits begin so until 2039, and six characters are enough to name one.
_LIKE_SHORT_ID = re.compile(r"01[0-9A-HJKMNP-TV-Z]{4,}")
_LONGEST = 200  # a ref is a file, named after its branch with every slash written in three characters

Kind = Literal["branch", "tag"]


def branch_name(name: str) -> str | None:
    """The branch a caller meant (None is main), after refusing names that storage could not hold."""
    branch = normalize_branch(name)
    if branch is None:
        return None
    segments = branch.split("/")
    if not all(_is_segment(segment) for segment in segments) or branch.endswith(".lock"):
        raise BadRequest(
            f"'{branch}' is not a branch name; use letters, digits, '.', '_', '-' and '/' between non-empty parts "
            "other than '.' and '..'"
        )
    if len(branch) + 2 * branch.count("/") > _LONGEST:
        raise BadRequest(f"a branch name has at most {_LONGEST} characters, and a '/' counts as three")
    if not is_public(branch) or is_ref_like(segments[-1]):
        raise BadRequest(f"the branch name '{branch}' is reserved")
    return branch


def new_name(name: str, kind: Kind) -> str:
    """The name of a branch or tag to be created; refused when it already means something else by the way it looks."""
    chosen = branch_name(name)
    if chosen is None and kind == "tag":
        raise Conflict(f"there is a branch '{_MAIN}' already; choose another name for the tag")
    if chosen is None:
        raise BadRequest(f"'{_MAIN}' always exists and cannot be created")
    if chosen.upper() == HEAD:
        raise BadRequest(f"a {kind} cannot be called '{chosen}': {HEAD} is the newest commit of the current branch")
    if chosen.lower() == _MAIN:
        raise BadRequest(f"a {kind} cannot be called '{chosen}': it would be taken for '{_MAIN}'")
    if is_ulid(chosen.upper()) or _LIKE_SHORT_ID.fullmatch(chosen.upper()):
        raise BadRequest(f"a {kind} cannot be called '{chosen}': it looks like the id of a commit")
    return chosen


def _is_segment(segment: str) -> bool:
    return _SEGMENT.fullmatch(segment) is not None and segment != "." and ".." not in segment
