"""People in a browser: join by a link, sign in with a password, and see the clients of one's roles."""

from __future__ import annotations

import json
import re
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.auth.oidc_server import CLIENT_ID, OidcServer
from tests.cli.test_serve import Server
from tests.console.conftest import DRAWN, NARROW, WIDE, Console, axe_faults, escape, first_key, look_faults, press, settle

pytestmark = pytest.mark.slow
PASSWORD = "correct horse battery"


def invite(console: Console, admin: dict[str, str], email: str, **rights: Any) -> str:
    """Invite somebody; return the path of the link below the console's address."""
    _, made = console.server.post("/team/v1/invitations", {"email": email, **rights}, **admin)
    return str(made["link"]).removeprefix(f"{console.origin}/console")


def email_field(page: Any) -> Any:
    """The field of the form to sign in, not what the overview says of e-mails, which stays until the person is signed out."""
    return page.get_by_role("textbox", name="Email")


def visit(page: Any, name: str) -> None:
    """Follow a link of the navigation, also below the dialog to sign in again: a request of the page may have brought it before."""
    page.get_by_role("navigation").get_by_text(name).dispatch_event("click")


def test_invited_person__joins_signs_out_and_signs_in_with_the_password(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    for client_id, name in (("ours", "Ours"), ("yours", "Yours"), ("theirs", "Theirs")):
        console.server.post("/admin/v1/clients", {"client_id": client_id, "name": name}, **admin)
        console.server.post("/public/v2/contacts", {"email": f"jane@{client_id}.example"}, **admin, **{"X-Client-Id": client_id})
    grants = [{"client_id": "ours", "role": "admin"}, {"client_id": "yours", "role": "viewer"}]
    path = invite(console, admin, "mira@example.com", grants=grants)

    page = console.open(path, size=NARROW, dark=True)
    page.get_by_label("Your name").fill("Mira Sandoval")
    page.get_by_label("Password").fill(PASSWORD)
    assert axe_faults(page) == []
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    page.get_by_role("button", name="Save password").click()
    page.get_by_label("Sign out (Mira Sandoval)").click()

    email_field(page).fill("mira@example.com")
    page.get_by_label("Password").fill("wrong wrong wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("the e-mail address or the password is wrong")
    assert axe_faults(page) == []
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Sign out (Mira Sandoval)").wait_for()
    assert "#" not in page.url

    console.go(page, "/contacts")
    page.get_by_text("These belong to one client.").wait_for()
    page.locator("#main").get_by_role("button", name="Ours", exact=True).click()
    page.get_by_text("jane@ours.example").first.wait_for()
    page.get_by_label("Client: Ours").click()
    page.get_by_role("button", name="Yours").wait_for()
    assert page.get_by_role("button", name="Theirs").count() == 0
    page.get_by_role("button", name="Yours").click()
    page.get_by_text("jane@yours.example").first.wait_for()
    page.get_by_text("Read only: your role has no scope to write.").wait_for()
    console.go(page, "/webhooks")
    page.get_by_text("Webhooks need an administrator").wait_for()


def test_ended_session__is_renewed_with_the_password_over_the_page(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    page = console.open(invite(console, admin, "mira@example.com", role="operator"))
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_label("Sign out (mira@example.com)").wait_for()
    user = json.loads(console.server.get("/team/v1/users", **admin)[1])["data"][0]
    page.get_by_role("navigation").get_by_text("Contacts").click()
    page.locator("h1", has_text="Contacts").wait_for()
    assert console.server.get(f"/team/v1/sessions?user_id={user['id']}", "DELETE", **admin)[0] == 204

    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Password").fill(PASSWORD)
    assert axe_faults(page) == []
    dialog.get_by_role("button", name="Sign in").click()

    dialog.wait_for(state="detached")
    page.locator("h1", has_text="Contacts").wait_for()


def test_administrator__invites_changes_roles_and_suspends(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    for client_id, name in (("ours", "Ours"), ("yours", "Yours")):
        console.server.post("/admin/v1/clients", {"client_id": client_id, "name": name}, **admin)
    page = console.open(invite(console, admin, "mira@example.com", role="admin"))
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("navigation").get_by_text("Settings").click()
    page.get_by_role("link", name="Team").click()

    page.get_by_role("button", name="Invite").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Email").fill("ben@example.com")
    dialog.get_by_label("Add a client").select_option("ours")
    assert axe_faults(page) == []
    dialog.get_by_role("button", name="Invite").click()
    link = page.locator(".once code").first.inner_text()
    escape(page)
    page.get_by_text("Operator of Ours").wait_for()
    assert axe_faults(page) == []
    ben = console.open(link.removeprefix(f"{console.origin}/console"))
    ben.get_by_label("Password").fill(PASSWORD)
    ben.keyboard.press("Enter")
    ben.get_by_label("Sign out (ben@example.com)").wait_for()
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in ben.context.cookies())
    of_ben = {"X-Touchbase-Console": "1", "Sec-Fetch-Site": "same-origin", "Cookie": cookie}
    _, personal = console.server.post("/team/v1/keys", {"name": "laptop"}, **of_ben)
    key = {"Authorization": f"Bearer {personal['key']}"}
    assert console.server.get("/team/v1/me", **key)[0] == 200

    page.get_by_label("Change the roles of ben@example.com").click()
    dialog.get_by_label("Role for Ours").select_option("")
    dialog.get_by_label("Add a client").select_option("yours")
    dialog.get_by_label("Role for Yours").select_option("viewer")
    dialog.get_by_role("button", name="Save").click()
    page.get_by_text("Viewer of Yours").wait_for()
    page.get_by_label("Suspend ben@example.com").click()
    dialog.get_by_role("button", name="Suspend").click()
    page.get_by_label("Resume ben@example.com").wait_for()

    assert console.server.get("/team/v1/me", **key)[0] == console.server.get("/team/v1/me", **of_ben)[0] == 401
    visit(ben, "Contacts")
    ben.get_by_role("dialog").get_by_role("heading", name="Sign in again").wait_for()


def test_restart_of_the_server__signs_nobody_out(start: Callable[..., Console]) -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = str(place.getsockname()[1])
    console = start("--auth", "api-key", "--port", port)
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    page = console.open(invite(console, admin, "mira@example.com", name="Mira", role="viewer"))
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Enter")
    page.get_by_label("Sign out (Mira)").wait_for()

    console.server.stop()
    start("--auth", "api-key", "--port", port)
    console.go(page, "/contacts")

    page.get_by_label("Sign out (Mira)").wait_for()


def test_invited_person__joins_by_the_provider_and_signs_in_again_beside_the_page(start: Callable[..., Console]) -> None:
    provider = OidcServer("", lambda: int(time.time() * 1_000_000))
    provider.secret = ""
    with provider.listening(), socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = str(place.getsockname()[1])
        place.close()
        named = ("--oidc-issuer", provider.issuer, "--oidc-client-id", CLIENT_ID, "--oidc-name", "Example ID")
        console = start("--auth", "api-key", "--port", port, "--public-url", f"http://127.0.0.1:{port}", *named)
        admin = {"Authorization": f"Bearer {first_key(console.server)}"}
        console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
        path = invite(console, admin, "mira@example.com", role="operator")

        page = console.open("/contacts")
        assert axe_faults(page) == []
        provider.claims["email"] = "eve@example.com"
        page.get_by_role("button", name="Sign in with Example ID").click()
        page.get_by_text("Nobody has invited the address of your account.").wait_for()
        assert axe_faults(page) == []
        provider.claims["email_verified"] = False
        console.go(page, path)
        page.get_by_role("button", name="Join with Example ID").click()
        page.get_by_label("Sign out (Mira Sandoval)").wait_for()

        visit(page, "Contacts")
        settle(page)
        user = json.loads(console.server.get("/team/v1/users", **admin)[1])["data"][0]
        console.server.get(f"/team/v1/sessions?user_id={user['id']}", "DELETE", **admin)
        visit(page, "Companies")
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Sign in with Example ID").wait_for()
        assert axe_faults(page) == []
        with page.expect_popup() as opened:
            dialog.get_by_role("button", name="Sign in with Example ID").click()
        opened.value.get_by_label("Sign out (Mira Sandoval)").wait_for()
        opened.value.close()
        page.evaluate("dispatchEvent(new Event('focus'))")  # no window has the focus in a browser without a screen
        dialog.wait_for(state="detached")
        console.wrong[:] = [line for line in console.wrong if not line.startswith(provider.issuer)]


def test_invited_person__is_offered_no_password_where_the_provider_is_the_only_way(start: Callable[..., Console]) -> None:
    provider = OidcServer("", lambda: int(time.time() * 1_000_000))
    provider.secret = ""
    with provider.listening(), socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = str(place.getsockname()[1])
        place.close()
        named = ("--oidc-issuer", provider.issuer, "--oidc-client-id", CLIENT_ID, "--oidc-name", "Example ID", "--oidc-only")
        console = start("--auth", "api-key", "--port", port, "--public-url", f"http://127.0.0.1:{port}", *named)
        admin = {"Authorization": f"Bearer {first_key(console.server)}"}

        page = console.open(invite(console, admin, "mira@example.com", role="admin"), dark=True)
        page.get_by_role("button", name="Join with Example ID").wait_for()
        assert page.locator("input").count() == 0
        assert axe_faults(page) == []
        page.get_by_role("button", name="Join with Example ID").click()
        page.get_by_label("Sign out (Mira Sandoval)").wait_for()

        visit(page, "Settings")
        page.get_by_role("link", name="Sign-in", exact=True).click()
        page.get_by_text("Example ID, the only way").wait_for()
        expect(page.get_by_role("region", name="Provider")).to_contain_text(f"AnswersIssuer{provider.issuer}")
        assert look_faults(page) == []
        console.wrong[:] = [line for line in console.wrong if not line.startswith(provider.issuer)]


class MailServer(socketserver.StreamRequestHandler):
    """A mail server that accepts everything, and stores the text."""

    def handle(self) -> None:
        mails: list[str] = self.server.mails  # type: ignore[attr-defined]
        self.wfile.write(b"220 here\r\n")
        for line in self.rfile:
            word = line[:4].upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                mails.append("".join(text.decode() for text in iter(self.rfile.readline, b".\r\n")))
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")
            if word == b"QUIT":
                return


def test_link_by_mail__signs_in_once(engine_url: str, tmp_path: Path, chromium: Any) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailServer) as mail, socket.socket() as place:
        mail.mails = []  # type: ignore[attr-defined]
        threading.Thread(target=mail.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        place.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{place.getsockname()[1]}"
        place.close()
        program = ("env", f"TOUCHBASE_SMTP_URL=smtp://127.0.0.1:{mail.server_address[1]}?tls=off", sys.executable, "-m", "touchbase")
        mailing = ("--smtp-from", "touchbase@example.com", "--public-url", origin, "--port", origin.rpartition(":")[2])
        server = Server(tmp_path, ("--database", engine_url, "--auth", "api-key", *mailing), program)
        console = Console(server, chromium)
        try:
            admin = {"Authorization": f"Bearer {first_key(server)}"}
            page = console.open(invite(console, admin, "mira@example.com", role="viewer"))
            page.get_by_label("Password").fill(PASSWORD)
            page.keyboard.press("Enter")
            page.get_by_label("Sign out (mira@example.com)").click()

            email_field(page).fill("mira@example.com")
            page.get_by_role("button", name="Email me a link").click()
            page.get_by_text("a link to sign in is on its way").wait_for()
            link = wait_for_link(mail.mails, origin)  # type: ignore[attr-defined]
            console.go(page, link)
            assert axe_faults(page) == []
            page.get_by_role("button", name="Sign in").click()
            page.get_by_label("Sign out (mira@example.com)").wait_for()
            assert "#" not in page.url

            again = console.open(link)
            again.get_by_role("button", name="Sign in").click()
            expect(again.get_by_role("alert")).to_contain_text("this link was used or has expired")
            assert console.wrong == []
        finally:
            console.close()
            server.clean_up()
            mail.shutdown()


def wait_for_link(mails: list[str], origin: str) -> str:
    """Return the path of the link to sign in, below the console's address; the invitation's mail may come before and after it."""
    for _ in range(600):
        if found := re.search(rf"{origin}/console(/sign-in#\w+)", "".join(mails)):
            return found[1]
        time.sleep(0.05)
    raise AssertionError("no mail came")


def test_profile__has_name_password_sessions_and_keys(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    for client_id, name in (("ours", "Ours"), ("yours", "Yours")):
        console.server.post("/admin/v1/clients", {"client_id": client_id, "name": name}, **admin)
    page = console.open(invite(console, admin, "mira@example.com", role="admin"))
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Profile").click()

    page.get_by_label("Name", exact=True).fill("Mira Sandoval")
    page.get_by_role("button", name="Save name").click()
    page.get_by_label("Sign out (Mira Sandoval)").wait_for()
    page.get_by_role("button", name="Change password").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Present password").fill("wrong wrong wrong")
    dialog.get_by_label("New password").fill("another password")
    dialog.get_by_role("button", name="Change password").click()
    dialog.get_by_text("is not your password").wait_for()
    assert axe_faults(page) == []
    dialog.get_by_label("Present password").fill(PASSWORD)
    dialog.get_by_role("button", name="Change password").click()
    dialog.wait_for(state="detached")

    page.get_by_role("button", name="New personal key").click()
    dialog.get_by_label("Name", exact=True).fill("Agent")
    dialog.get_by_label("Client", exact=True).select_option("ours")
    assert axe_faults(page) == []
    dialog.get_by_role("button", name="Create key").click()
    key = {"Authorization": f"Bearer {page.locator('.once code').first.inner_text()}"}
    escape(page)
    page.get_by_label("Personal keys").get_by_text("Agent").wait_for()
    assert [console.server.get("/public/v2/contacts", **key, **{"X-Client-Id": each})[0] for each in ("ours", "yours")] == [200, 404]
    assert look_faults(page) == []
    page.get_by_label("Revoke Agent").click()
    page.get_by_text("No key yet.").wait_for()
    assert console.server.get("/public/v2/contacts", **key, **{"X-Client-Id": "ours"})[0] == 401

    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="Sign out (Mira Sandoval)").click()
    email_field(page).wait_for()


def test_administrator__sees_and_ends_sessions_of_others(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    pages = [console.open(invite(console, admin, f"{name}@example.com", role="admin")) for name in ("mira", "ben")]
    for page in pages:
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.get_by_label("Sign out", exact=False).wait_for()
    mira, ben = pages

    console.go(mira, "/team")
    mira.get_by_label("Sessions and keys of ben@example.com").click()
    dialog = mira.get_by_role("dialog")
    dialog.get_by_text("No personal key.").wait_for()
    assert axe_faults(mira) == []
    dialog.get_by_role("button", name="Sign out everywhere").click()
    dialog.get_by_text("Signed in nowhere.").wait_for()

    visit(ben, "Contacts")
    ben.get_by_role("dialog").get_by_role("heading", name="Sign in again").wait_for()


def test_sign_out__asks_for_no_other_sign_in_by_a_read_that_is_refused_meanwhile(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    page = console.open(invite(console, admin, "mira@example.com", role="admin"))
    reads: list[Any] = []
    ways: list[Any] = []
    page.route("**/team/v1/audit-events**", lambda route, _: reads.append(route))
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Settings").click()
    with page.expect_request("**/team/v1/audit-events**"):
        page.get_by_role("link", name="Audit log").click()

    page.route("**/console/session", lambda route: ways.append(route) if route.request.method == "GET" else route.continue_())
    with page.expect_request(lambda request: request.url.endswith("/console/session") and request.method == "GET"):
        page.get_by_label("Sign out (mira@example.com)").click()
    with page.expect_response(lambda response: response.status == 401):
        reads[0].continue_()
    page.evaluate(DRAWN)
    expect(page.get_by_role("dialog")).to_have_count(0)
    ways[0].continue_()
    email_field(page).wait_for()


def test_sign_in_page__takes_a_key_too(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    key = first_key(console.server)
    admin = {"Authorization": f"Bearer {key}"}
    page = console.open(invite(console, admin, "mira@example.com", role="admin"))
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_label("Sign out", exact=False).click()

    page.get_by_role("button", name="Use an API key").click()
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()

    page.get_by_label("Sign out (key first)").wait_for()


def test_person__takes_a_conversation_and_gives_it_back(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    ours = {**admin, "X-Client-Id": "ours"}
    for name in ("Ada", "Bo"):
        console.server.post("/public/v2/contacts", {"email": f"{name.lower()}@people.example", "first_name": name}, **ours)
        message = {"direction": "received", "contact_email": f"{name.lower()}@people.example", "text": f"{name} writes"}
        console.server.post("/public/v2/messages", message, **ours)
    page = console.open(invite(console, admin, "mira@example.com", name="Mira", grants=[{"client_id": "ours", "role": "operator"}]))
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_label("Sign out (Mira)").wait_for()

    console.go(page, "/replies?state=unassigned")
    page.locator(".reply", has_text="Ada").locator("button").click()
    page.locator(".pane .assign").wait_for()
    press(page, "i")
    page.get_by_text("Ada: assigned to you.").wait_for()
    page.get_by_role("link", name="Mine 1").click()
    expect(page.locator(".reply")).to_have_count(1)
    page.locator(".reply", has_text="Ada").wait_for()
    assert axe_faults(page) == []

    press(page, "j", "a")
    page.locator(":popover-open").get_by_text("Nobody").click()
    page.get_by_text("Ada: assigned to Nobody.").wait_for()
    page.get_by_role("link", name="Unassigned 2").wait_for()


def test_operator__sees_custom_fields_and_changes_no_definition(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    console.server.post("/public/v2/custom-fields/contacts", {"name": "Seats"}, **admin, **{"X-Client-Id": "ours"})
    for role, buttons in (("operator", 0), ("admin", 1)):
        page = console.open(invite(console, admin, f"{role}@example.com", name=role, role=role))
        page.get_by_label("Password").fill(PASSWORD)
        press(page, "Enter")
        page.get_by_label(f"Sign out ({role})").wait_for()
        console.go(page, "/settings?client=ours&tab=fields")
        field = page.get_by_role("list", name="Custom fields").get_by_role("listitem").filter(has_text="Seats")
        expect(field).to_be_visible()
        expect(page.get_by_role("button", name="Define a field")).to_have_count(buttons)
        expect(field.get_by_role("button")).to_have_count(buttons)
        page.context.close()
