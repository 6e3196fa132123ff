"""Contract suites for those who write a part of their own: subclass one, give it the part, run pytest.

::

    class TestMyStorage(StorageContract):
        @pytest.fixture
        def storage(self):
            return MyStorage()
"""

from sonde.testing.storage import StorageContract

__all__ = ["StorageContract"]
