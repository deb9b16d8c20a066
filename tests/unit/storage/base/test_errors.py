"""What clients of object stores say at length, in one sentence."""

from __future__ import annotations

import pytest

from omnigraph.storage.base.errors import brief

FAILED = "Generic S3 error: Error performing GET {url} in 2.1ms - Server returned non-2xx status code: {answer}"
ANSWERS = {
    FAILED.format(
        url="http://169.254.169.254/latest/meta-data/iam", answer="403 Forbidden: denied"
    ): "there are no credentials for the store; set its variables, or run where the machine has a role",
    "Generic MicrosoftAzure error: Account must be specified": (
        "there are no credentials for the store; set its variables, or run where the machine has a role"
    ),
    FAILED.format(
        url="http://host/b/x", answer='403 Forbidden: <?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>'
    ): "GET http://host/b/x failed: the store refuses these credentials (AccessDenied)",
    FAILED.format(
        url="http://host/b/x", answer="401 Unauthorized: "
    ): "GET http://host/b/x failed: the store refuses these credentials",
    FAILED.format(
        url="http://host/b/x", answer='404 Not Found: <?xml version="1.0"?>\n<Error><Code>NoSuchBucket</Code></Error>'
    ): "the bucket does not exist, or these credentials cannot see it; create it first",
    FAILED.format(url="http://host/b/x", answer="416 Range"): (
        "GET http://host/b/x failed: Server returned non-2xx status code: 416 Range"
    ),
}


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_of_a_store_becomes_one_sentence(text: str) -> None:
    assert brief(OSError(f"{text}\n\nDebug source:\nGeneric {{}}")) == ANSWERS[text]
