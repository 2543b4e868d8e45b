import dashboard_stories as stories
import pytest
from dashboard_client import Client, serving


@pytest.fixture(scope="session")
def studies(tmp_path_factory):
    """A folder with a finished, an interrupted, a failed and a hostile study."""
    folder = tmp_path_factory.mktemp("studies")
    stories.make_finished(folder)
    stories.make_interrupted(folder)
    stories.make_failed(folder)
    stories.make_hostile(folder)
    return folder


@pytest.fixture(scope="session")
def server(studies):
    with serving(studies) as found:
        yield found


@pytest.fixture(scope="session")
def client(server):
    return Client(server)
