"""Names, URLs and what follows from them (M4, M9, X1)."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys, names
from arcfsm.domain.github_url import InvalidConfigUrl, api_base, parse_config_url, url_labels


@pytest.mark.parametrize(
    ("namespace", "scale_set", "group", "url", "expected"),
    [
        ("arc-runners", "demo", "", "https://github.com/acme/repo", "demo-5f5c4d65-listener"),
        ("arc-runners", "demo", "default", "https://github.com/acme/repo", "demo-6c54f496-listener"),
        ("ns", "rs", "g", "https://github.com/org", "rs-56ccbbd6-listener"),
        # Made by the Go controller on a real cluster; its recordings show another URL, which was put in later.
        ("ci-runners", "ci-linux", "", "http://127.0.0.1:38080/example-org", "ci-linux-84d89b74-listener"),
        (
            "platform-runners",
            "arm-builders",
            "",
            "http://127.0.0.1:38080/example-org",
            "arm-builders-7f7fc564-listener",
        ),
    ],
)
def test_T413_listener_names(namespace, scale_set, group, url, expected):
    assert names.listener_name(namespace, scale_set, group, url) == expected


def test_T413_runner_proxy_secret_name():
    assert names.runner_proxy_secret_name("arc-runners", "demo") == "demo-754b578d-runner-proxy"


def test_M9_names_of_the_listeners_secrets():
    assert names.listener_config_secret_name("x-listener") == "x-listener-config"
    assert names.listener_proxy_secret_name("x-listener") == "x-listener-proxy"


def test_M9_digits_in_the_alphabet():
    assert names.safe_encode("0123456789") == "456789bcdf"


def test_runner_names_are_the_same_on_every_machine():
    assert names.runner_name("demo", 41, 0, 9) == names.runner_name("demo", 41, 0, 9)
    assert names.runner_name("demo", 41, 0, 9)[:-5] == "demo-runner-"
    assert names.runner_name("demo", 0, 0, 0) == "demo-runner-bbbbb"
    assert names.runner_name("demo", 1234, 7, 0) == "demo-runner-nfljg"


def test_a_fresh_journal_does_not_meet_the_names_of_an_earlier_one():
    first = names.runner_salt("u-1", 1_000_000)
    assert first == names.runner_salt("u-1", 1_000_000)
    others = (names.runner_salt("u-1", 2_000_000), names.runner_salt("u-2", 1_000_000))
    for other in others:
        assert names.runner_name("demo", 41, 0, first) != names.runner_name("demo", 41, 0, other)


def test_T414_a_long_organization_is_cut_and_marked():
    labels = url_labels(parse_config_url("https://github.com/" + "o" * 70))
    assert labels == {keys.ORGANIZATION: "o" * 58 + "-trim"}


def test_T415_an_enterprise_of_a_server():
    url = parse_config_url("https://ghe.corp/enterprises/e1")
    assert url_labels(url) == {keys.ENTERPRISE: "e1"}
    assert api_base(url) == "https://ghe.corp/api/v3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://github.com/acme", {keys.ORGANIZATION: "acme"}),
        ("https://github.com/acme/", {keys.ORGANIZATION: "acme"}),
        ("/https://github.com/acme/repo/", {keys.ORGANIZATION: "acme", keys.REPOSITORY: "repo"}),
        ("https://github.com/Enterprises/E1", {keys.ENTERPRISE: "E1"}),
        ("https://github.com/-_acme._/.repo", {keys.ORGANIZATION: "acme", keys.REPOSITORY: "repo"}),
        ("https://github.com/" + "o" * 63, {keys.ORGANIZATION: "o" * 63}),
    ],
)
def test_M4_labels_of_a_url(text, expected):
    assert url_labels(parse_config_url(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "github.com/acme",
        "https://",
        "https://github.com",
        "https://github.com/",
        "https://github.com/enterprises/",
        "https://github.com/a/b/c",
        "https://github.com/a//c",
        "ftp://github.com/acme",
        "https://[::1",
    ],
)
def test_M4_a_url_that_names_nothing(text):
    if text == "https://github.com/enterprises/":
        assert parse_config_url(text).organization == "enterprises"
        return
    with pytest.raises(InvalidConfigUrl):
        parse_config_url(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://github.com/acme", "https://api.github.com"),
        ("https://www.github.com/acme", "https://api.github.com"),
        ("http://github.localhost/acme", "http://api.github.localhost"),
        ("https://acme.ghe.com/acme", "https://api.acme.ghe.com"),
        ("https://ghe.corp:8443/acme", "https://ghe.corp:8443/api/v3"),
        ("https://user:secret@ghe.corp/acme", "https://ghe.corp/api/v3"),
        ("https://notghe.com/acme", "https://notghe.com/api/v3"),
    ],
)
def test_X1_the_api_base(text, expected):
    assert api_base(parse_config_url(text)) == expected


def test_X1_an_enterprise_server_can_be_forced():
    url = parse_config_url("https://github.com/acme")
    assert api_base(url, force_enterprise_server=True) == "https://github.com/api/v3"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("https://github.com/acme", "/orgs/acme/actions/runners/registration-token"),
        ("https://github.com/acme/repo", "/repos/acme/repo/actions/runners/registration-token"),
        ("https://github.com/enterprises/e", "/enterprises/e/actions/runners/registration-token"),
    ],
)
def test_X2_where_runners_are_registered(text, path):
    assert parse_config_url(text).registration_path == path
