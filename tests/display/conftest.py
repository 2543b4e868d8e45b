"""What the tests of displays share."""

import pytest
from extras import needs


@pytest.fixture
def shell():
    """A real IPython, in this process, without a history on disk."""
    module = needs("notebook", "IPython.core.interactiveshell")
    config = needs("notebook", "traitlets.config").Config()
    config.HistoryManager.enabled = False
    module.InteractiveShell.clear_instance()
    yield module.InteractiveShell.instance(config=config)
    module.InteractiveShell.clear_instance()
