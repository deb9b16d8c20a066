"""What a pin records about the version file it points at."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class VersionEvidence:
    """What proves which version file a pin meant; never used to open anything."""

    manifest_path: str
    manifest_size: int | None = None
    e_tag: str | None = None
    naming_scheme: str | None = "V2"
    # Of the file's bytes on a disk; earlier releases did not note it, and a version without it is still the same one.
    crc32: int | None = field(default=None, compare=False)
