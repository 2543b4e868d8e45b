"""Run a session on workers: from opening its backend to leaving the study ready to resume."""

from __future__ import annotations

from collections.abc import Callable

from rungwise.backends.base import PreparedBackend, Workplace
from rungwise.session.interrupts import graceful, make_interrupt
from rungwise.session.session import StudySession
from rungwise.storage.study_file import shown


def run_session(
    session: StudySession,
    prepared: PreparedBackend,
    *,
    drops: bool = True,
    hint: Callable[[], str] | None = None,
) -> None:
    """Run a study to its end or to the first interrupt.

    Args:
        session: the study.
        prepared: the backend that trains.
        drops: whether a trial that fails more often than the options allow is given up.
        hint: what to say after an interrupt; by default how to resume the study.

    Raises:
        StudyInterrupted: after Ctrl-C or SIGTERM; everything reported is kept.
    """
    session.open()
    try:
        if session.is_over:
            # What callbacks have missed, they are given now.
            session.begin()
            session.end()
            return
        try:
            with graceful(session.interrupt):
                _work(session, prepared, drops=drops)
        except KeyboardInterrupt:
            interrupted = True
        else:
            interrupted = not session.is_over
        if interrupted:
            text = _describe_interrupt(session) if hint is None else hint()
            raise make_interrupt(text) from None
    finally:
        session.close()


def _work(session: StudySession, prepared: PreparedBackend, *, drops: bool) -> None:
    """Open the backend, train on it, close it."""
    opened = session.opened
    backend = prepared.open(
        Workplace(
            store=opened.store,
            since=opened.since,
            grace=opened.options.grace,
            locks=opened.file.held_open,
            temporary=() if opened.kept else (str(opened.file.path.parent),),
        )
    )
    raised: BaseException | None = None
    try:
        session.start(backend, prepared.workers, drops=drops)
        if not session.interrupted:  # while workers were being started
            session.begin()
            session.run()
    except BaseException as error:
        raised = error
        raise
    finally:
        try:
            session.end(raised)
        finally:
            backend.close()


def _describe_interrupt(session: StudySession) -> str:
    opened, engine = session.opened, session.engine
    had = f"{engine.reports} reports of {len(engine.trials)} trials"
    if not opened.kept:
        return f"Interrupted: {had} are gone. Give study='name.db' to be able to go on."
    way = session.view(running=False).way_on
    return f"Interrupted: {had} are kept in {shown(opened.file.path)}. Go on with: {way}"
