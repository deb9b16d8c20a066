"""`python -m tests.mutants [WORD ...]`: run the mutations whose name or file contains one of the words, or all."""

from __future__ import annotations

import argparse
import sys

from tests.mutants.mutations import MUTATIONS
from tests.mutants.run import Outcome, run, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="run only mutations whose name or file contains one of these")
    parser.add_argument("--jobs", type=int, default=2, help="mutations at a time")
    options = parser.parse_args()
    chosen = [
        mutation
        for mutation in MUTATIONS
        if not options.words or any(word in f"{mutation.name} {mutation.file}" for word in options.words)
    ]
    if not chosen:
        parser.error("no mutation matches")
    verdicts = []
    try:
        for verdict in run(chosen, jobs=options.jobs):
            verdicts.append(verdict)
            print(f"{len(verdicts)}/{len(chosen)} {verdict.outcome}: {verdict.mutation.name}", file=sys.stderr)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(table(verdicts))
    missed = [verdict for verdict in verdicts if verdict.outcome is not Outcome.KILLED]
    print(f"{len(verdicts) - len(missed)} of {len(verdicts)} mutations were caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
