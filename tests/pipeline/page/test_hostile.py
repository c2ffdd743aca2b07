"""What a document brings is text, whatever it looks like."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from pipeline.events.event import Event
from pipeline.page.server import PageServer
from tests.pipeline.page.conftest import Viewer
from tests.support.page_stream import Stream
from tests.support.page_texts import wait_for_documents

HOSTILE = (
    "<script>window.hit=1</script>",
    '"><img src=x onerror="window.hit=1">',
    "<svg/onload=window.hit=1>",
    "<a href='javascript:window.hit=1'>click</a>",
    "&lt;b&gt;&amp;<b>bold</b>${window.hit=1}%{window.hit=1}",
)


def test_what_a_document_brings_is_shown_as_text_and_never_run(view: Viewer) -> None:
    """Ids, topics, times, names of features and lanes: everything that is not ours."""
    names = list(HOSTILE)
    stream = Stream([f"mmp:loss=1,name={name}" for name in names], source=HOSTILE[0])
    for repeat in range(2):
        stream.process(
            [
                Event(f"{text} {repeat}", dict.fromkeys(HOSTILE, 1.0), (text,), None, text)
                for text in HOSTILE
            ],
            seconds=9,
        )
    with PageServer(stream.feed) as server:
        page = view(server.address)
        wait_for_documents(page, 10)
        documents = page.locator("#documents")
        ids = documents.locator(".id").all_inner_texts()
        assert ids == [f"{text} 1" for text in reversed(HOSTILE)] + [f"{HOSTILE[-1]} 0"]
        topics = documents.locator("li").first.locator(".name").all_inner_texts()
        assert set(topics) == set(HOSTILE)
        terms = documents.locator("li").first.locator(".why").first.inner_text()
        assert any(text in terms for text in HOSTILE)
        assert page.locator("#source").inner_text() == HOSTILE[0]
        assert page.locator("#switches label").all_inner_texts() == names
        assert page.locator("#lanes tbody th").all_inner_texts() == names
        expect(page.locator("#chart .scatterlayer .trace")).to_have_count(len(names))
        page.locator("#chart").hover(position={"x": 600, "y": 150})
        for name in names:
            expect(page.locator("#chart .hoverlayer")).to_contain_text(name)
        page.select_option("#ranked-by", names[1])
        page.get_by_text("The curves as a table").click()
        expect(page.locator("#values-table thead th")).to_have_text(["round", *names])
        assert page.evaluate("window.hit") is None
        inside = "main img, main script, main svg[onload], main a, main b b, [onerror], [onload]"
        assert page.locator(inside).count() == 0


def test_the_browser_would_run_no_script_from_within_the_page(
    browser: Browser, server: PageServer
) -> None:
    """Were something to slip through, the policy still stops it."""
    page = browser.new_page()
    page.goto(server.address)
    blocked = page.evaluate(
        """async () => {
          const seen = new Promise((done) =>
            document.addEventListener("securitypolicyviolation", (e) => done(e.violatedDirective)));
          const image = document.createElement("div");
          image.setAttribute("onclick", "window.hit = 1");
          document.body.append(image);
          image.click();
          return [await seen, window.hit ?? null];
        }"""
    )
    assert blocked == ["script-src-attr", None]
    page.close()
