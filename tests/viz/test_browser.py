"""A browser without a network opens the report, asks for nothing and has nothing to complain of."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from made_rows import make_table

from routelens.viz import FIGURES, report, write_report

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium to open the report with")


def visit(file: Path, folder: Path) -> tuple[str, str, list[str]]:
    """The page's DOM, what the browser logged about it, and the addresses the page asked for."""
    log = folder / "net.json"
    done = subprocess.run(
        [
            str(BROWSER),
            *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            *("--enable-logging=stderr", "--v=0", f"--log-net-log={log}", "--dump-dom"),
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    console = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    return done.stdout, console, requests(log)


def requests(log: Path) -> list[str]:
    """Addresses asked for on behalf of a page (not of the browser itself), from the network log."""
    content = log.read_text(encoding="utf-8").rstrip().rstrip(",")
    try:
        events = json.loads(content)["events"]
    except json.JSONDecodeError:  # cut off when the browser ended
        events = json.loads(content + "]}")["events"]
    params = [event.get("params", {}) for event in events]
    pages = ("file://", "null")
    return [
        p["url"]
        for p in params
        if "url" in p
        and str(p.get("initiator", "")).startswith(pages)
        and p["url"].startswith("http")
    ]


def test_the_report_opens_offline_without_errors_or_requests(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FIGURES", FIGURES[:2])
    table = make_table(n_passages=2)
    table["prediction"] = (
        "</td></table><script>document.title='broken'</script><img src=https://example.org/x.png>"
    )
    done = write_report(table, tmp_path / "report", n_resamples=20)
    dom, console, asked = visit(done.html, tmp_path)
    assert console == "" and asked == []
    assert dom.count("<figure") == 2 and "under KV-cache compression</title>" in dom
    assert "<script" not in dom and "example.org/x.png&gt;" in dom


def test_the_check_itself_sees_errors_and_requests(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<script>console.error('seen')</script><img src='http://example.org/x.png'>")
    _, console, asked = visit(page, tmp_path)
    assert "seen" in console and asked == ["http://example.org/x.png"]
