"""Studies of a service, over HTTP: ``sonde.connect`` and ``sonde worker``.

``client`` sends requests until they are answered; ``storage`` is the storage interface over it. Every call names its
trials by tokens that were drawn here, so a repeated one changes nothing, and a service that was away for a while is
only a delay. The service suggests; nothing is suggested here.
"""

from sonde.remote.storage import RemoteStorage

__all__ = ["RemoteStorage"]
