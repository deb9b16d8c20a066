"""A small AWS for tests: Secrets Manager, which checks every signature, and the places that hand out credentials."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from omnigraph.policy.aws.secret import SECRET

KEYS = {"AKIDPLAIN": "plain-secret", "ASIATEMP": "temporary-secret"}
SESSION = "session-token"


@dataclass
class Amazon:
    """What the service holds, and what it was asked."""

    port: int = 0
    secrets: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def environ(self, **more: str) -> dict[str, str]:
        """The environment of a machine that is in no cloud but this one."""
        here = f"http://127.0.0.1:{self.port}"
        return {
            SECRET: "tokens",
            "AWS_REGION": "eu-north-1",
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": here,
            "AWS_ENDPOINT_URL_STS": here,
            "AWS_EC2_METADATA_DISABLED": "true",
            "HOME": "/nonexistent",
            **more,
        }

    def keyed(self, **more: str) -> dict[str, str]:
        keys = {"AWS_ACCESS_KEY_ID": "AKIDPLAIN", "AWS_SECRET_ACCESS_KEY": KEYS["AKIDPLAIN"]}
        return self.environ(**{**keys, **more})


@contextmanager
def amazon_service() -> Iterator[Amazon]:
    """Run it for the block."""
    cloud = Amazon()

    class Service(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            return

        def answer(self, status: int, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_PUT(self) -> None:
            cloud.asked.append(self.path)
            self.answer(200, "imds-token")

        def do_GET(self) -> None:
            cloud.asked.append(self.path)
            temporary = {"AccessKeyId": "ASIATEMP", "SecretAccessKey": KEYS["ASIATEMP"], "Token": SESSION}
            roles = "/latest/meta-data/iam/security-credentials/"
            wanted = {"/container": ("Authorization", "container-token")}
            name, value = wanted.get(self.path, ("X-aws-ec2-metadata-token", "imds-token"))
            if self.headers[name] != value or self.path not in (roles, f"{roles}server-role", "/container"):
                self.answer(403, "{}")
            else:
                self.answer(200, "server-role\n" if self.path == roles else json.dumps(temporary))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if b"AssumeRoleWithWebIdentity" in body:
                cloud.asked.append("sts")
                ns = "https://sts.amazonaws.com/doc/2011-06-15/"
                inner = (
                    f"<AccessKeyId>ASIATEMP</AccessKeyId><SecretAccessKey>{KEYS['ASIATEMP']}</SecretAccessKey>"
                    f"<SessionToken>{SESSION}</SessionToken>"
                )
                good = b"WebIdentityToken=web-token" in body
                self.answer(200 if good else 403, f'<R xmlns="{ns}"><Credentials>{inner}</Credentials></R>')
                return
            cloud.asked.append("secret")
            assert self.headers["X-Amz-Target"] == "secretsmanager.GetSecretValue"
            assert self.headers["Content-Type"] == "application/x-amz-json-1.1"
            if not is_signed(self.headers, body):
                # As the real one does: with everything that was signed.
                quoted = f"should have been {self.headers['X-Amz-Security-Token']}"
                self.answer(400, json.dumps({"__type": "InvalidSignatureException", "message": quoted}))
                return
            found = cloud.secrets.get(json.loads(body)["SecretId"])
            if found is None:
                self.answer(400, json.dumps({"__type": "com.amazonaws#ResourceNotFoundException", "Message": "sec-"}))
            elif isinstance(found, int):
                self.answer(found, json.dumps({"__type": "AccessDeniedException", "Message": "sec-"}))
            else:
                self.answer(200, found if isinstance(found, str) else json.dumps(found))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    cloud.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield cloud
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def is_signed(headers: Mapping[str, str], body: bytes) -> bool:
    """Signature version 4, computed once more from what arrived."""
    scheme, _, proof = headers["Authorization"].partition(" ")
    parts = dict(part.strip().split("=", 1) for part in proof.split(","))
    key_id, day, region, service, end = parts["Credential"].split("/")
    names = parts["SignedHeaders"].split(";")
    assert {"host", "x-amz-date", "x-amz-target", "content-type"} <= set(names)
    assert ("x-amz-security-token" in names) == (key_id == "ASIATEMP")
    if key_id == "ASIATEMP" and headers["X-Amz-Security-Token"] != SESSION:
        return False
    lines = "".join(f"{name}:{headers[name]}\n" for name in names)
    request = f"POST\n/\n\n{lines}\n{';'.join(names)}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{day}/{region}/{service}/{end}"
    text = f"{scheme}\n{headers['X-Amz-Date']}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = b"AWS4" + KEYS.get(key_id, "").encode()
    for part in (day, region, service, end):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), parts["Signature"])
