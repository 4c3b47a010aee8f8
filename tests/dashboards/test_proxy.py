"""Pages behind a reverse proxy, in a browser."""

from urllib.parse import urlsplit

import pytest
from support.proxy import proxy
from support.shown import PATIENCE, Shown


def port_of(served) -> int:
    return urlsplit(served.address).port


@pytest.fixture
def page(browser):
    page = browser.new_page()
    yield page
    page.close(run_before_unload=True)


def test_a_page_under_a_prefix_is_whole_and_its_links_keep_the_prefix(serve, hostile, page):
    served = serve(hostile, "--base-url", "/nmtlab/")
    with proxy(port_of(served)) as port:
        missing = []
        page.on("response", lambda response: missing.append(response.url) if response.status >= 400 else None)
        shown = Shown(page, f"http://127.0.0.1:{port}/nmtlab")
        page.goto(f"http://127.0.0.1:{port}/nmtlab/", timeout=1000 * PATIENCE)
        page.locator(".figure .main-svg").last.wait_for(timeout=1000 * PATIENCE)
        links = [
            urlsplit(link).path for link in page.locator("a").evaluate_all("links => links.map((link) => link.href)")
        ]
        assert links
        assert all(link.startswith("/nmtlab/voila/") for link in links)
        page.locator(".messages").get_by_role("link", name="Depth and g").click()
        shown.drawn()
        assert page.title().startswith("Depth")
    assert [path for path in missing if not path.endswith("/favicon.ico")] == []


def test_a_page_says_that_a_proxy_refuses_its_websocket(served, page):
    with proxy(port_of(served), (b"Upgrade: websocket\r\n", b"")) as port:
        page.goto(f"http://127.0.0.1:{port}/voila/render/depth.ipynb", timeout=1000 * PATIENCE)
        alert = page.get_by_role("alert")
        alert.wait_for(timeout=1000 * PATIENCE)
        assert "a proxy refuses WebSockets" in alert.inner_text()


def test_a_page_says_that_its_scripts_are_not_at_their_address(served, page):
    with proxy(port_of(served), (b" /voila/static/", b" /elsewhere/")) as port:
        page.goto(f"http://127.0.0.1:{port}/voila/render/depth.ipynb", timeout=1000 * PATIENCE)
        alert = page.get_by_role("alert")
        alert.wait_for(timeout=1000 * PATIENCE)
        assert "--base-url" in alert.inner_text()
