"""How tasks reach object stores: with the variables of the process that has sent them.

A graph travels with its options. Inputs and scratch files are named by URIs, so what reaches these travels as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from omnigraph.storage.base.clouds import receive_variables, store_variables

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def reaching_stores(work: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """A function for tasks elsewhere that reach there what this process reaches."""
    variables = store_variables(os.environ)
    if not variables:
        return work

    def reaching(*args: Given.args, **named: Given.kwargs) -> Answer:
        receive_variables(variables)
        return work(*args, **named)

    return reaching
