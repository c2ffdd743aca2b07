"""The catalogue of corpora, and fetching from a server on this machine."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pipeline.corpora.catalogue import CORPORA, Archive, Corpus, fetch, find
from pipeline.corpora.source import SourceError

CONTENT = bytes(range(256)) * 1000


class Handler(BaseHTTPRequestHandler):
    """Serves the made-up archive: complete, cut off, too long, redirected, or not at all."""

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/whole")
            self.end_headers()
            return
        if self.path not in ("/whole", "/cut", "/long"):
            self.send_error(404)
            return
        body = {"/whole": CONTENT, "/cut": CONTENT[:100_000], "/long": CONTENT * 50}[self.path]
        self.send_response(200)
        if self.path != "/long":
            self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # the reader had enough
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def corpus(url: str, content: bytes = CONTENT) -> Corpus:
    digest = hashlib.sha256(content).hexdigest()
    return Corpus(
        name="made-up",
        title="Made up",
        needs="corpus.tar.gz",
        source="made-up:DIR",
        terms="none",
        archive=Archive(url, "corpus.tar.gz", len(content), digest),
    )


def refused(wanted: Corpus, into: Path) -> str:
    """Fetch, and expect an error that says how to get the file by hand; nothing is kept."""
    with pytest.raises(SourceError) as caught:
        fetch(wanted, into)
    message = str(caught.value)
    assert wanted.url is not None
    assert wanted.url in message
    assert f"sha256 {wanted.sha256}" in message
    assert f"on another machine and put it at {into / 'corpus.tar.gz'}" in message
    assert list(into.iterdir()) == []
    return message


def test_fetches_and_reports_progress(server: str, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    into = tmp_path / "new" / "folder"
    path = fetch(corpus(f"{server}/whole"), into, lambda got, of: seen.append((got, of)))
    assert path == into / "corpus.tar.gz"
    assert path.read_bytes() == CONTENT
    assert list(into.iterdir()) == [path]
    assert seen == sorted(seen)
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_follows_a_redirect(server: str, tmp_path: Path) -> None:
    assert fetch(corpus(f"{server}/moved"), tmp_path).read_bytes() == CONTENT


def test_wrong_checksum_keeps_nothing(server: str, tmp_path: Path) -> None:
    wanted = corpus(f"{server}/whole", CONTENT[::-1])
    actual = hashlib.sha256(CONTENT).hexdigest()
    assert f"its sha256 is {actual}" in refused(wanted, tmp_path)


def test_truncated(server: str, tmp_path: Path) -> None:
    message = refused(corpus(f"{server}/cut"), tmp_path)
    assert re.search("ended after 100,000 of 256,000 bytes", message)


def test_endless_answer_is_cut_short(server: str, tmp_path: Path) -> None:
    assert "longer than the expected 256,000" in refused(corpus(f"{server}/long"), tmp_path)


def test_not_found(server: str, tmp_path: Path) -> None:
    assert "HTTP Error 404" in refused(corpus(f"{server}/missing"), tmp_path)


def test_refused_connection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: every connection is refused
        port = unused.getsockname()[1]
        assert "refused" in refused(corpus(f"http://127.0.0.1:{port}/x"), tmp_path)


def test_only_web_addresses(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    with pytest.raises(SourceError, match="expected an http or https address"):
        fetch(corpus(secret.as_uri()), tmp_path / "into")
    assert list((tmp_path / "into").iterdir()) == []


def test_archive_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    wanted = corpus("http://127.0.0.1:1/never-asked")
    target = tmp_path / "corpus.tar.gz"
    target.write_bytes(CONTENT)
    assert fetch(wanted, tmp_path) == target
    target.write_bytes(b"something else")
    with pytest.raises(SourceError, match=r"exists already, but its sha256 .* move it away"):
        fetch(wanted, tmp_path)
    assert target.read_bytes() == b"something else"


def test_interrupted_fetch_keeps_nothing(server: str, tmp_path: Path) -> None:
    def interrupt(received: int, expected: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(corpus(f"{server}/whole"), tmp_path, interrupt)
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match=r"cannot be written: .* choose another folder"):
        fetch(corpus("http://127.0.0.1:1/x"), tmp_path / "file")


def test_corpus_without_archive_says_what_it_needs(tmp_path: Path) -> None:
    by_hand = replace(corpus("http://127.0.0.1:1/x"), archive=None)
    assert (by_hand.url, by_hand.sha256, by_hand.size) == (None, None, None)
    with pytest.raises(
        SourceError, match=r"cannot be fetched automatically; it needs corpus\.tar\.gz"
    ):
        fetch(by_hand, tmp_path)


def test_catalogue_is_well_formed() -> None:
    names = [entry.name for entry in CORPORA]
    assert names == [
        "synthetic",
        "reuters21578",
        "rcv1",
        "newsgroups",
        "movielens",
        "letor",
        "trec",
        "text",
        "csv",
        "avro",
        "fasttext",
        "folders",
        "newsml-g2",
        "jsonl",
    ]
    for entry in CORPORA:
        assert entry.title
        assert entry.needs
        assert entry.source
        assert entry.terms
        if entry.archive:
            assert entry.archive.url.startswith("https://")
            assert re.fullmatch("[0-9a-f]{64}", entry.archive.sha256)
            assert entry.archive.size > 0


def test_find() -> None:
    assert find("newsgroups").name == "newsgroups"
    with pytest.raises(SourceError, match=r"there is no corpus 'x'; known corpora: synthetic, "):
        find("x")
