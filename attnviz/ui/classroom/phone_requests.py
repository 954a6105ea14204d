"""What a phone asks for, and what it is told, by whichever way: routes of the server, or Streamlit's messages.

Nothing here does what only the teacher may do.
"""

from typing import Any

from attnviz.core.errors import AttnvizError, ClassError
from attnviz.ui.classroom.running_class import Allowance, WrongCodes, class_store

# Wrong codes that a network may type at once, and the seconds after which it may type one more: some 300 a day, of 116,000.
BURST, REFILL = 30, 300.0
wrong_codes = WrongCodes(BURST, REFILL)
# Of one network: classes that are started, and phones that join. A school has one address: 30 teachers, 300 phones at once.
starts, joins = Allowance(burst=30, refill=120.0), Allowance(burst=300, refill=2.0)
TOO_MANY = "Too many wrong codes were typed here: scan the QR code of the class, or wait five minutes."


def first_view(code: str, address: str) -> dict[str, Any] | None:
    """Return what a phone draws before it joins; None: there is no such class, codes are tried, or a nickname comes first."""
    if not wrong_codes.may_type(address, code):
        return None
    try:
        view = class_store().overview(code).for_phones()
    except ClassError:
        wrong_codes.count(address)
        return None
    except AttnvizError:
        return None
    return None if view["nicknames"] else view


def join(code: str, sent: dict[str, Any], address: str) -> dict[str, Any]:
    """Join a class; where it has nicknames and none is sent, nobody joins yet, and the phone asks for one.

    Raises:
        AttnvizError: there is no such class, it takes nobody, or too many wrong codes came from this address.
    """
    store, invite = class_store(), _text(sent, "invite")
    if not wrong_codes.may_type(address, code) and not (invite and store.is_invited(code, invite)):
        raise ClassError(TOO_MANY, "wait")
    try:
        view = store.overview(code).for_phones()
        if view["nicknames"] and "nickname" not in sent and view["state"] != "ended":
            return {"view": view, "wants": "nickname"}
        if not joins.take(address):
            raise ClassError("Many phones joined from this network: try again in a minute.", "wait")
        token = store.join(code, _text(sent, "nickname"))
        wrong_codes.trust(address, code)
    except ClassError as error:
        if error.reason == "unknown":
            wrong_codes.count(address)
        raise
    return {"token": token, "view": view, "own": _own(code, token)}


def state(code: str, token: str) -> dict[str, Any]:
    """Tell a phone all that it may see now.

    Raises:
        AttnvizError: it is in no such class.
    """
    try:
        own = _own(code, token)
        return {"view": class_store().overview(code).for_phones(), "own": own}
    except ClassError as error:
        raise _hidden(error) from error


def answer(code: str, token: str, sent: dict[str, Any]) -> dict[str, Any]:
    """Keep a student's answer.

    Raises:
        AttnvizError: nobody of the class holds this token, or this is no answer to the open question.
    """
    if not isinstance(sent.get("number"), int):
        raise ClassError("This is no answer to this question.")
    try:
        return {"answer": class_store().answer(code, token, sent["number"], _text(sent, "answer"))}
    except ClassError as error:
        raise _hidden(error) from error


def refusal(error: AttnvizError) -> dict[str, str]:
    """Write an error of ours as a phone reads it: one sentence, and its reason."""
    return {"error": str(error), "reason": error.reason if isinstance(error, ClassError) else "busy"}


def _own(code: str, token: str) -> dict[str, Any]:
    student = class_store().student(code, token)
    own = {"id": student.id, "student": student.number, "nickname": student.nickname}
    return {**own, "number": student.round, "answer": student.answer}


def _hidden(error: ClassError) -> ClassError:
    """Say the same of a class that is not there and of one that this phone is not in: codes cannot be tried here."""
    if error.reason not in ("unknown", "forbidden"):
        return error
    return ClassError("This phone has not joined the class: type its code again.", "forbidden")


def _text(sent: dict[str, Any], name: str) -> str:
    value = sent.get(name, "")
    if not isinstance(value, str):
        raise ClassError("This request cannot be read: reload the page.")
    return value
