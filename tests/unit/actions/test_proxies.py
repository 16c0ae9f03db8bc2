"""Which requests go through which proxy."""

from __future__ import annotations

import pytest

from arcfsm.actions.proxies import proxy_for, proxy_setting, reached_directly
from arcfsm.domain.exchange import ProxySetting, ServiceFailure

DIRECT = [
    ("localhost", 80, []),
    ("127.8.9.1", 80, []),
    ("::1", 80, []),
    ("ghe.corp", 443, ["*"]),
    ("ghe.corp", 443, ["ghe.corp"]),
    ("GHE.corp.", 443, [" Ghe.Corp "]),
    ("a.ghe.corp", 443, ["ghe.corp"]),
    ("a.ghe.corp", 443, [".ghe.corp"]),
    ("a.ghe.corp", 443, ["*.ghe.corp"]),
    ("ghe.corp", 8443, ["ghe.corp:8443"]),
    ("10.1.2.3", 443, ["10.0.0.0/8"]),
    ("10.1.2.3", 443, ["10.1.2.3"]),
    ("10.1.2.3", 443, ["10.1.2.3:443"]),
    ("fd00::5", 443, ["fd00::/8"]),
    ("[fd00::5]", 443, ["fd00:0::5"]),
    ("fd00::5", 443, ["[fd00::5]:443"]),
]
PROXIED = [
    ("ghe.corp", 443, []),
    ("ghe.corp", 443, ["", " "]),
    ("ghe.corp", 443, [".ghe.corp"]),
    ("ghe.corp", 443, ["*.ghe.corp"]),
    ("notghe.corp", 443, ["ghe.corp"]),
    ("ghe.corp", 443, ["ghe.corp:8443"]),
    ("ghe.corp.evil", 443, ["ghe.corp"]),
    ("11.1.2.3", 443, ["10.0.0.0/8"]),
    ("ghe.corp", 443, ["10.0.0.0/8", "no/network"]),
    ("10.1.2.3", 443, ["fd00::/8"]),
    ("10.1.2.3", 443, ["1.2.3"]),
    ("fd00::5", 80, ["[fd00::5]:443"]),
]


@pytest.mark.parametrize(
    ("host", "port", "no_proxy", "direct"),
    [(*case, True) for case in DIRECT] + [(*case, False) for case in PROXIED],
)
def test_who_is_reached_directly(host, port, no_proxy, direct):
    assert reached_directly(host, port, no_proxy) is direct


def test_each_scheme_has_its_proxy():
    setting = ProxySetting("http://a:1", "http://b:2", ("c.corp",))
    assert proxy_for(setting, "http", "x.corp", 80) == "http://a:1"
    assert proxy_for(setting, "https", "x.corp", 443) == "http://b:2"
    assert proxy_for(setting, "https", "c.corp", 443) == ""
    assert proxy_for(ProxySetting(http="http://a:1"), "https", "x.corp", 443) == ""


@pytest.mark.parametrize(
    ("setting", "environment", "expected"),
    [
        (ProxySetting(), {}, ProxySetting(no_proxy=("",))),
        (ProxySetting(), {"HTTPS_PROXY": "p:1", "NO_PROXY": "a,b"}, ProxySetting("", "http://p:1", ("a", "b"))),
        (ProxySetting(), {"http_proxy": "http://p", "HTTP_PROXY": "http://q"}, ProxySetting("http://p", "", ("",))),
        (ProxySetting("q:1"), {"HTTPS_PROXY": "p:1", "NO_PROXY": "*"}, ProxySetting("http://q:1")),
        (ProxySetting("", "https://me:pw@q:1"), {}, ProxySetting("", "https://me:pw@q:1")),
    ],
)
def test_the_environment_speaks_where_the_scale_set_is_silent(setting, environment, expected):
    assert proxy_setting(setting, environment) == expected


@pytest.mark.parametrize("url", ["ftp://h", "http://", "://", "http://h:0", "http://h:x"])
def test_a_proxy_that_is_none_is_refused(url):
    with pytest.raises(ServiceFailure):
        proxy_setting(ProxySetting(url), {})
