"""Contract suites for your own implementations: subclass a suite, give it your object, run pytest.

::

    class TestMyStorage(StorageContract):
        @pytest.fixture
        def storage(self):
            return MyStorage()
"""

from sonde.testing.storage import StorageContract

__all__ = ["StorageContract"]
