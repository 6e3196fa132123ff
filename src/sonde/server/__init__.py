"""The service: studies over HTTP, for workers that cannot or should not reach the database.

It is an edge: requests become calls of the storage, in threads; suggestions are computed in child processes, one for
each study, which fill a queue of waiting trials. All state is in the database, so that the server may die at any
moment.

::

    request -> guard (token, limits, log) -> routes -> hosted study -> storage
                                                          |   ^
                                    wakes, when asked for |   | changes
                                                          v   |
                                                       suggesting -> child process: sonde.study.suggester
"""
