"""The studio's files and sign-in over HTTP: headers, caching, the one-time code, names of the machine; permissions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from graph_api import Api
from served_people import create_people

from omnigraph.server.studio import files
from server_process import ServerProcess, running

BUILT = Path(files.__file__).parent / "built"


@pytest.fixture(scope="module")
def built(request: pytest.FixtureRequest) -> Iterator[None]:
    """Files as the build leaves them; written by hand where nothing was built."""
    if files.is_built():
        yield
        return
    made = BUILT / "assets" / "index-test.js"
    made.parent.mkdir(parents=True)
    made.write_text("console.log(1)")
    (BUILT / "index.html").write_text(
        '<meta property="csp-nonce" nonce="__CSP_NONCE__"><script src="./assets/index-test.js">'
    )
    yield
    made.unlink()
    (BUILT / "index.html").unlink()
    made.parent.rmdir()
    BUILT.rmdir()


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory, built: None) -> Iterator[tuple[ServerProcess, str]]:
    """`omnigraph studio`, and the code of the address that it prints."""
    graph = create_people(tmp_path_factory.mktemp("studio") / "people.omni")
    with running(["-m", "omnigraph.cli", "studio", str(graph), "--no-open"]) as server:
        code = next(value for value in server.extra.values() if re.fullmatch(r"[\w-]{32}", value))
        yield server, code


def test_the_page_has_a_strict_policy_and_a_nonce_of_its_own(open_server: ServerProcess, built: None) -> None:
    first, second = open_server.get("/studio/"), open_server.get("/studio/")
    policy = first.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    nonce = re.search(r"'nonce-([\w-]+)'", policy)
    assert nonce is not None
    assert f'nonce="{nonce[1]}"' in first.text
    assert nonce[1] not in second.headers["content-security-policy"]
    assert (first.headers["x-content-type-options"], first.headers["x-frame-options"]) == ("nosniff", "DENY")
    assert first.headers["cache-control"] == "no-store"


def test_the_page_has_no_inline_script(open_server: ServerProcess, built: None) -> None:
    text = open_server.get("/studio/").text
    assert re.findall(r"<script[^>]*>", text)
    assert [tag for tag in re.findall(r"<script[^>]*>", text) if "src=" not in tag] == []
    assert re.findall(r"\son\w+=", text) == []


def test_built_files_are_kept_by_browsers_and_sent_compressed(open_server: ServerProcess, built: None) -> None:
    name = next(BUILT.glob("assets/index-*.js")).name
    found = open_server.get(f"/studio/assets/{name}")
    assert found.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in found.headers["cache-control"]
    assert found.headers["content-encoding"] == "gzip"
    plain = open_server.get(f"/studio/assets/{name}", headers={"Accept-Encoding": "identity"})
    assert plain.content == found.content == (BUILT / "assets" / name).read_bytes()


@pytest.mark.parametrize(
    "name",
    ["missing.js", "..%2F..%2Ffiles.py", "%2e%2e%2f%2e%2e%2ffiles.py", "..%2Findex.html", "%00.js", "a%2Fb.js", ".js"],
)
def test_nothing_but_built_files_is_served(open_server: ServerProcess, built: None, name: str) -> None:
    assert open_server.get(f"/studio/assets/{name}").status_code in (400, 404)


def test_the_address_without_a_slash_leads_to_the_page(open_server: ServerProcess) -> None:
    found = open_server.get("/studio")
    assert (found.status_code, found.headers["location"]) == (308, "/studio/")


def test_a_server_without_one_time_codes_has_none_to_redeem(open_server: ServerProcess) -> None:
    answer = httpx.post(f"{open_server.url}/studio/session", json={"code": "x"})
    assert answer.status_code == 404


def test_the_code_of_the_printed_address_works_once(launched: tuple[ServerProcess, str]) -> None:
    server, code = launched
    exchange = f"{server.url}/studio/session"
    foreign = {"Origin": "https://evil.example"}
    assert httpx.post(exchange, json={"code": code}, headers=foreign).status_code == 403
    assert httpx.post(exchange, json={"code": "wrong"}).status_code == 403
    assert httpx.post(exchange, data={"code": code}).status_code == 415
    first = httpx.post(exchange, json={"code": code}, headers={"Origin": server.url})
    assert first.status_code == 200
    assert first.headers["cache-control"] == "no-store"
    again = httpx.post(exchange, json={"code": code})
    assert again.status_code == 403
    assert "omnigraph studio" in again.json()["error"]
    token = first.json()["token"]
    with server.client(token) as client:
        assert client.get("/graphs/default/snapshot").status_code == 200
    assert server.get("/graphs/default/snapshot").status_code == 401
    logged = server.log.read_text()
    assert token not in logged
    assert code not in logged


@pytest.mark.parametrize("path", ["/studio/", "/graphs", "/healthz"])
def test_the_studio_of_this_machine_answers_to_its_own_names_only(
    launched: tuple[ServerProcess, str], path: str
) -> None:
    server, _ = launched
    refused = server.get(path, headers={"Host": "evil.example"})
    assert refused.status_code == 403
    assert "OMNIGRAPH_ALLOWED_HOSTS" in refused.json()["error"]
    assert server.get(path).status_code in (200, 401)


def test_the_studio_is_served_only_where_it_is_wanted(tmp_path: Path) -> None:
    graph = create_people(tmp_path / "people.omni")
    command = ["-m", "omnigraph.cli", "serve", str(graph), "--bind", "127.0.0.1:0"]
    with running(command, {"OMNIGRAPH_STUDIO": "off"}) as server:
        assert server.get("/studio/").status_code == 404
        assert server.get("/healthz").status_code == 200


def test_a_checkout_without_the_built_studio_says_how_to_build_it(tmp_path: Path) -> None:
    """In a process whose package has no built files, as a checkout has before `make studio`."""
    program = """
from pathlib import Path
from omnigraph.server.studio import files
files._folder = lambda: Path("nothing/here")
text, headers = files.page()
assert "make studio" in text and "Content-Security-Policy" in headers, text
assert files.asset("index.js") is None
from omnigraph.cli.main import main
raise SystemExit(main(["studio", "graph.omni", "--no-open"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=False
    )
    assert done.returncode == 1
    assert "make studio" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_studio_listens_on_this_machine_only(tmp_path: Path, built: None) -> None:
    command = [sys.executable, "-m", "omnigraph.cli", "studio", "graph.omni", "--no-open", "--bind", "0.0.0.0:0"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "loopback" in done.stderr


def permitted(server: ServerProcess, token: str, branch: str = "main") -> dict[str, object]:
    with server.client(token) as client:
        found: dict[str, object] = Api(client, "default").get("/permissions", params={"branch": branch}).json()
    return found


def test_permissions_are_those_of_the_policy(guarded_server: ServerProcess) -> None:
    ada, root = permitted(guarded_server, "token-of-ada"), permitted(guarded_server, "token-of-root")
    assert (ada["actor_id"], ada["actions"], ada["restricted"]) == ("ada", ["read"], False)
    assert set(root["actions"]) >= {"read", "export", "change", "schema_apply", "invoke_query"}  # type: ignore[call-overload]
    assert permitted(guarded_server, "token-of-ada", "draft")["actions"] == ["read", "change"]
    assert permitted(guarded_server, "token-of-eve")["actions"] == []


def test_permissions_need_a_token_where_there_are_tokens(guarded_server: ServerProcess) -> None:
    assert guarded_server.get("/graphs/default/permissions").status_code == 401


def test_an_open_server_permits_everything(open_server: ServerProcess) -> None:
    found = open_server.get("/graphs/default/permissions").json()
    assert found["actor_id"] is None
    assert {"read", "change", "branch_merge", "admin"} <= set(found["actions"])
