"""Three-valued `and` and `or` of the naive evaluator, where an answer may also be a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from omnigraph.compiler.functions import Failure


def all_true(questions: Iterable[Callable[[], bool | None]]) -> bool | None:
    """Whether every answer is yes; one that is not settles it, also where another one overflows."""
    answers = [_answer(question) for question in questions]
    if False in answers or None in answers:
        return False if False in answers else None
    for answer in answers:
        if isinstance(answer, Failure):
            raise answer
    return True


def any_true(questions: Iterable[Callable[[], bool | None]]) -> bool | None:
    """Whether some answer is yes, which settles it, also where another one overflows."""
    answers = [_answer(question) for question in questions]
    if True in answers:
        return True
    for answer in answers:
        if isinstance(answer, Failure):
            raise answer
    return None if None in answers else False


def _answer(question: Callable[[], bool | None]) -> bool | Failure | None:
    try:
        return question()
    except Failure as error:
        return error
