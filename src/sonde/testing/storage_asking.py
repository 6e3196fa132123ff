"""The contract of asking: the queue, the suggester, waiting askers, and leases."""

from __future__ import annotations

import struct
import threading
import time

import pytest

from sonde.errors import IllegalTransition
from sonde.storage import Asker, Storage
from sonde.testing.storage_calls import DONE, FULL, ROW, ask, begin, drawn, finish, keys, states, tell
from sonde.trials import State, failure


class AskingContract:
    """The part of ``StorageContract`` about asking."""

    # asking

    def test_numbers_are_dense(self, storage: Storage, study: str) -> None:
        assert ask(storage, study, 3) == [0, 1, 2]
        assert storage.enqueue(study, [ROW, ROW], {}) == [3, 4]
        assert storage.add(study, [(ROW, DONE, {})]) == [5]
        assert ask(storage, study, 3) == [3, 4, 6]

    def test_a_claimed_trial_is_running_and_names_its_asker(self, storage: Storage, study: str) -> None:
        number = ask(storage, study, asker="somebody")[0]
        record = storage.record(study, number)
        assert (record.state, record.worker, record.row, record.outcome) == (State.RUNNING, "somebody", ROW, None)
        assert record.started is not None
        assert abs(record.started - storage.now()) < 5

    def test_waiting_trials_are_claimed_in_order_and_keep_attributes(self, storage: Storage, study: str) -> None:
        rows = [struct.pack("<2d", 0.0, float(i)) for i in range(3)]
        storage.enqueue(study, rows, {"why": "mine"})
        claimed = begin(storage, study, 2).claimed
        assert [record.row for record in claimed] == rows[:2]
        assert claimed[0].attributes == {"why": "mine"}
        assert states(storage, study) == [State.RUNNING, State.RUNNING, State.WAITING]

    def test_waiting_askers_get_one_batch_the_oldest_first(self, storage: Storage, study: str) -> None:
        one, two, three = drawn(1), drawn(2), drawn(1)
        assert begin(storage, study, asker="one", tokens=one).granted
        assert not begin(storage, study, asker="two", tokens=two).granted
        assert not begin(storage, study, asker="three", tokens=three, lease=60.0).granted
        storage.end_suggester_lease(study, "one")
        reply = begin(storage, study, asker="one", tokens=one)
        assert (reply.granted, reply.missing, list(reply.suggest_for)) == (True, 1, [*two, *three, *one])
        rows = [struct.pack("<2d", 0.0, float(i)) for i in range(3)]  # one too few: the youngest ask gets none
        assert storage.finish_ask(study, reply, rows, one, Asker("one", 10.0, None)) == []
        got = begin(storage, study, asker="two", tokens=two)
        assert (got.missing, [record.row for record in got.claimed]) == (0, rows[:2])
        assert [(record.worker, record.token) for record in got.claimed] == [("two", token) for token in two]
        assert [record.row for record in begin(storage, study, asker="three", tokens=three).claimed] == rows[2:]
        assert len(states(storage, study)) == 3

    def test_an_asker_may_leave_suggesting_to_others(self, storage: Storage, study: str) -> None:
        tokens, me = drawn(2), Asker("suggester", 10.0, None)
        asked = begin(storage, study, asker="one", tokens=tokens, suggests=False)
        assert (asked.granted, asked.missing, list(asked.claimed)) == (False, 2, [])
        reply = storage.begin_ask(study, [], me)
        assert (reply.granted, reply.missing, list(reply.suggest_for)) == (True, 0, tokens)
        assert storage.finish_ask(study, reply, [ROW, ROW], [], me) == []
        got = begin(storage, study, asker="one", tokens=tokens, suggests=False)
        assert [(record.worker, record.token) for record in got.claimed] == [("one", token) for token in tokens]
        assert not storage.begin_ask(study, [], me).granted  # nobody waits

    def test_suggestions_ahead_wait_in_the_queue(self, storage: Storage, study: str) -> None:
        rows = [struct.pack("<2d", 0.0, float(i)) for i in range(6)]
        tokens, me = drawn(1), Asker("suggester", 10.0, None)
        begin(storage, study, asker="one", tokens=tokens, suggests=False)
        reply = storage.begin_ask(study, [], me, ahead=3)
        assert (reply.granted, list(reply.suggest_for), reply.ahead) == (True, tokens, 3)
        storage.finish_ask(study, reply, rows[:4], [], me)
        assert states(storage, study) == [State.RUNNING, *[State.WAITING] * 3]
        assert not storage.begin_ask(study, [], me, ahead=3).granted  # the queue is full
        claimed = begin(storage, study, 2, asker="two", suggests=False).claimed
        assert [(record.number, record.row) for record in claimed] == [(1, rows[1]), (2, rows[2])]
        reply = storage.begin_ask(study, [], me, ahead=3)
        assert (list(reply.suggest_for), reply.ahead, reply.next_number) == ([], 2, 4)
        storage.finish_ask(study, reply, rows[4:], [], me)
        assert len(states(storage, study)) == 6

    def test_asks_that_came_during_a_batch_get_its_suggestions_before_the_queue(
        self, storage: Storage, study: str
    ) -> None:
        rows = [struct.pack("<2d", 0.0, float(i)) for i in range(4)]
        early, late, me = drawn(1), drawn(2), Asker("suggester", 10.0, None)
        begin(storage, study, asker="one", tokens=early, suggests=False)
        reply = storage.begin_ask(study, [], me, ahead=3)
        begin(storage, study, asker="two", tokens=late, suggests=False)
        storage.finish_ask(study, reply, rows, [], me)
        assert states(storage, study) == [*[State.RUNNING] * 3, State.WAITING]
        reply = storage.begin_ask(study, [], me, ahead=3)  # before the others look
        assert (list(reply.suggest_for), reply.ahead) == ([], 2)
        got = begin(storage, study, asker="two", tokens=late, suggests=False)
        assert [(record.row, record.token) for record in got.claimed] == [(rows[1], late[0]), (rows[2], late[1])]

    def test_a_ticket_that_was_withdrawn_gets_no_suggestion(self, storage: Storage, study: str) -> None:
        kept, given_up, me = drawn(1), drawn(1), Asker("suggester", 10.0, None)
        begin(storage, study, asker="one", tokens=given_up, suggests=False)
        begin(storage, study, asker="two", tokens=kept, suggests=False)
        reply = storage.begin_ask(study, [], me)
        storage.withdraw(study, given_up, Asker("one", 10.0, None))
        storage.finish_ask(study, reply, [ROW, ROW], [], me)
        assert states(storage, study) == [State.RUNNING]
        assert [record.token for record in begin(storage, study, asker="two", tokens=kept).claimed] == kept

    def test_a_ticket_whose_ask_was_served_from_the_queue_is_gone(self, storage: Storage, study: str) -> None:
        tokens, me = drawn(2), Asker("suggester", 10.0, None)
        begin(storage, study, asker="one", tokens=tokens, suggests=False)
        storage.enqueue(study, [ROW], {})
        reply = storage.begin_ask(study, [], me)
        assert len(begin(storage, study, asker="one", tokens=tokens, suggests=False).claimed) == 1
        storage.finish_ask(study, reply, [ROW, ROW], [], me)
        got = begin(storage, study, asker="one", tokens=tokens[::-1], suggests=False).claimed
        assert sorted(record.token or "" for record in got) == sorted(tokens)
        assert len(states(storage, study)) == 2

    def test_a_quick_asker_waits_for_the_others_of_the_last_batch(self, storage: Storage, study: str) -> None:
        one, two = drawn(1), drawn(1)
        first = begin(storage, study, asker="one", tokens=one)
        assert not begin(storage, study, asker="two", tokens=two).granted
        storage.end_suggester_lease(study, "one")
        first = begin(storage, study, asker="one", tokens=one)
        time.sleep(0.3)  # the suggestion
        storage.finish_ask(study, first, [ROW, ROW], one, Asker("one", 10.0, None))
        again = drawn(1)
        assert not begin(storage, study, asker="one", tokens=again).granted
        assert begin(storage, study, asker="two", tokens=two).claimed
        assert not begin(storage, study, asker="two", tokens=drawn(1)).granted  # the first one has the fitted model
        both = begin(storage, study, asker="one", tokens=again)
        assert (both.granted, len(both.suggest_for)) == (True, 2)

    def test_nobody_waits_long_for_an_asker_that_does_not_return(self, storage: Storage, study: str) -> None:
        one, two = drawn(1), drawn(1)
        begin(storage, study, asker="one", tokens=one)
        begin(storage, study, asker="two", tokens=two)
        storage.end_suggester_lease(study, "one")
        reply = begin(storage, study, asker="one", tokens=one)
        time.sleep(0.1)
        storage.finish_ask(study, reply, [ROW, ROW], one, Asker("one", 10.0, None))
        mine, me = drawn(1), Asker("one", 10.0, None)
        started = time.monotonic()
        while not storage.begin_ask(study, mine, me).granted:
            storage.wait(study, mine, me, 5.0)
            assert time.monotonic() - started < 5

    def test_a_waiting_asker_wakes_when_its_trial_is_there(self, storage: Storage, study: str) -> None:
        one, two = drawn(1), drawn(1)
        begin(storage, study, asker="one", tokens=one)
        begin(storage, study, asker="two", tokens=two)
        revision = storage.changes(study, 0).revision
        storage.wait(study, two, Asker("two", 10.0, None), 0.05)
        assert storage.changes(study, 0).revision == revision  # waiting only reads
        done = threading.Event()

        def wait() -> None:
            while not storage.begin_ask(study, two, Asker("two", 10.0, None)).claimed:
                storage.wait(study, two, Asker("two", 10.0, None), 30.0)
            done.set()

        thread = threading.Thread(target=wait)
        thread.start()
        storage.end_suggester_lease(study, "one")
        reply = begin(storage, study, asker="three", tokens=one)
        if reply.granted:  # else the waiting asker was quicker
            storage.finish_ask(study, reply, [ROW] * len(reply.suggest_for), one, Asker("three", 10.0, None))
        else:
            finish(storage, study, [ROW], asker="two")
            storage.enqueue(study, [ROW], {})
        assert done.wait(20)
        thread.join()

    def test_an_ask_that_fails_leaves_nothing(self, storage: Storage, study: str) -> None:
        tokens, me = drawn(2), Asker("me", 10.0, 60.0)
        storage.enqueue(study, [ROW], {})
        assert storage.begin_ask(study, tokens, me).granted
        storage.withdraw(study, tokens, me)
        storage.withdraw(study, tokens, me)
        assert states(storage, study) == [State.LOST, State.WAITING]
        reply = begin(storage, study, 2, asker="other")
        assert (len(reply.claimed), reply.granted, len(reply.suggest_for)) == (1, True, 1)

    def test_a_ticket_that_nobody_renews_expires(self, storage: Storage, study: str) -> None:
        begin(storage, study, asker="one", suggester_lease=0.3)
        begin(storage, study, asker="vanishes", suggester_lease=0.1)
        time.sleep(0.5)
        reply = begin(storage, study, asker="two")
        assert (reply.granted, len(reply.suggest_for)) == (True, 1)

    def test_tickets_respect_the_limit_of_their_askers(self, storage: Storage, study: str) -> None:
        begin(storage, study, asker="one")
        two = drawn(3)
        begin(storage, study, asker="two", tokens=two, limit=2)
        storage.end_suggester_lease(study, "one")
        reply = begin(storage, study, asker="three", limit=3)
        assert (len(reply.suggest_for), list(reply.suggest_for[:2])) == (3, two[:2])

    def test_there_is_one_suggester(self, storage: Storage, study: str) -> None:
        assert begin(storage, study, asker="one").granted
        second = begin(storage, study, asker="two")
        assert (second.granted, second.suggester, second.missing) == (False, "one", 1)
        assert finish(storage, study, [ROW], asker="two") is None
        assert begin(storage, study, asker="one").granted  # the suggester may ask again
        assert finish(storage, study, [ROW], asker="one") is not None
        assert begin(storage, study, asker="two").granted

    def test_the_suggester_lease_ends_unless_renewed(self, storage: Storage, study: str) -> None:
        begin(storage, study, asker="one", suggester_lease=0.2)
        assert storage.renew_suggester_lease(study, Asker("one", 10.0, None))
        time.sleep(0.3)
        assert not begin(storage, study, asker="two").granted
        assert storage.renew_suggester_lease(study, Asker("one", 0.01, None))
        time.sleep(0.1)
        assert begin(storage, study, asker="two").granted
        assert not storage.renew_suggester_lease(study, Asker("one", 10.0, None))
        assert finish(storage, study, [ROW], asker="one") is None
        assert states(storage, study) == []

    def test_after_an_ended_lease_another_asker_suggests(self, storage: Storage, study: str) -> None:
        begin(storage, study, asker="one")
        storage.end_suggester_lease(study, "nobody")
        assert not begin(storage, study, asker="two").granted
        storage.end_suggester_lease(study, "one")
        assert begin(storage, study, asker="two").granted

    def test_the_suggester_gets_the_next_number_and_what_changed(self, storage: Storage, study: str) -> None:
        ask(storage, study, 4)
        seen = storage.changes(study, 0).revision
        tell(storage, study, 2, DONE)
        reply = begin(storage, study, since=seen)
        assert reply.next_number == 4
        assert reply.changes == storage.changes(study, seen)
        assert [row[0] for row in storage.changes(study, seen).rows] == [2]

    def test_an_ask_that_claims_waiting_trials_does_not_suggest(self, storage: Storage, study: str) -> None:
        storage.enqueue(study, [ROW], {})
        assert len(begin(storage, study, asker="one").claimed) == 1
        assert begin(storage, study, asker="two").granted

    def test_limit_counts_what_is_running_completed_or_failed(self, storage: Storage, study: str) -> None:
        storage.add(study, [(ROW, DONE, {}), (ROW, failure("no"), {})])
        ask(storage, study)
        storage.enqueue(study, [ROW], {})
        reply = begin(storage, study, 10, limit=5)
        assert (len(reply.claimed), reply.missing) == (1, 1)
        assert begin(storage, study, 10, limit=4).missing == 0
        assert begin(storage, study, 10, limit=0).claimed == []

    # leases

    def test_a_trial_whose_lease_ended_is_lost_and_retried_once(self, storage: Storage, study: str) -> None:
        ask(storage, study, lease=0.05)
        time.sleep(0.1)
        again = begin(storage, study, lease=0.05).claimed
        assert [(record.number, record.row, record.retry_of) for record in again] == [(1, ROW, 0)]
        assert states(storage, study) == [State.LOST, State.RUNNING]
        time.sleep(0.1)
        reply = begin(storage, study)
        assert (list(reply.claimed), reply.granted, reply.next_number) == ([], True, 2)
        assert states(storage, study) == [State.LOST, State.FAILED]  # it has ended its worker twice
        assert "twice" in str(storage.record(study, 1).outcome)
        assert tell(storage, study, 1, DONE).outcome == DONE  # a late result counts

    def test_a_heartbeat_renews_the_lease(self, storage: Storage, study: str) -> None:
        ask(storage, study, 2, lease=0.2)
        storage.heartbeat(study, [str(storage.record(study, 0).token)], 60.0)
        time.sleep(0.3)
        begin(storage, study)
        assert states(storage, study) == [State.RUNNING, State.LOST, State.RUNNING]

    def test_without_a_lease_a_trial_runs_forever(self, storage: Storage, study: str) -> None:
        ask(storage, study)
        storage.heartbeat(study, [str(storage.record(study, 0).token)], 0.0)
        time.sleep(0.05)
        assert begin(storage, study).claimed == []

    def test_a_late_result_counts_and_cancels_the_waiting_retry(self, storage: Storage, study: str) -> None:
        ask(storage, study, lease=60.0)
        storage.release(study, keys(0))
        assert states(storage, study) == [State.LOST, State.WAITING]
        tell(storage, study, 0, DONE)
        assert states(storage, study) == [State.COMPLETED, State.CANCELLED]

    def test_a_late_result_leaves_a_running_retry_alone(self, storage: Storage, study: str) -> None:
        ask(storage, study)
        storage.release(study, keys(0))
        ask(storage, study)
        tell(storage, study, 0, DONE)
        tell(storage, study, 1, FULL)
        assert states(storage, study) == [State.COMPLETED, State.COMPLETED]

    def test_release_leaves_finished_trials_alone(self, storage: Storage, study: str) -> None:
        ask(storage, study, 2)
        tell(storage, study, 0, DONE)
        storage.release(study, keys(0, 1))
        assert states(storage, study) == [State.COMPLETED, State.LOST, State.WAITING]

    def test_cancel_all_or_none(self, storage: Storage, study: str) -> None:
        ask(storage, study, 2)
        storage.enqueue(study, [ROW], {})
        tell(storage, study, 0, DONE)
        with pytest.raises(IllegalTransition, match="trial 0 is completed"):
            storage.cancel(study, keys(1, 0))
        assert states(storage, study)[1] is State.RUNNING
        storage.cancel(study, keys(1, 2))
        assert states(storage, study)[1:] == [State.CANCELLED] * 2
        with pytest.raises(IllegalTransition):
            tell(storage, study, 1, DONE)
