"""What phones ask the server for: one light page at /join, and below /class what they tell it and are told.

A phone is known by a token, which it sends in a header of its own: no cookie is set, so no other site's page can answer for a
student. No route does anything that only the teacher may do.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from attnviz.core.errors import AttnvizError, BusyError, ClassError
from attnviz.lessons.classroom.codes import read_code
from attnviz.ui.classroom.hub import Hub
from attnviz.ui.classroom.limiter import WrongCodes
from attnviz.ui.classroom.phone_page import phone_page
from attnviz.ui.classroom.store import class_store

HEADER = "attnviz-student"
# Bytes of a request: an order of many words is the longest answer.
LARGEST = 50_000
STATUS = {
    "unknown": 404,
    "forbidden": 403,
    "closed": 409,
    "answered": 409,
    "ended": 410,
    "full": 503,
    "invalid": 422,
    "wait": 429,
}
# A proxy must not gather what comes piece by piece.
STREAM = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}

hub = Hub()
wrong_codes = WrongCodes()


async def join_page(request: Request) -> Response:
    """Give the page of a phone, with what its class sees now; which class that is, its address says."""
    code = read_code(request.query_params.get("code", "") or request.path_params.get("code", ""))
    return HTMLResponse(phone_page(await _first_view(request, code) if code else None), headers={"Cache-Control": "no-store"})


async def _first_view(request: Request, code: str) -> dict[str, Any] | None:
    """What a phone draws before it has joined; None: there is no such class, codes are tried, or a nickname comes first."""
    address = _address(request)
    if not wrong_codes.may_type(address):
        return None
    try:
        view = (await hub.run(class_store().overview, code)).for_phones()
    except ClassError:
        wrong_codes.count(address)
        return None
    except AttnvizError:
        return None
    return None if view["nicknames"] else view


async def join(request: Request) -> Response:
    """Join a class; where it has nicknames and none is sent, nobody joins yet, and the phone asks for one."""
    sent, code = await _body(request), request.path_params["code"]
    address = _address(request)
    if not wrong_codes.may_type(address) and not await hub.run(class_store().is_invited, code, _text(sent, "invite")):
        raise ClassError("Too many wrong codes were typed here: scan the QR code of the class, or wait five minutes.", "wait")
    try:
        view = (await hub.run(class_store().overview, code)).for_phones()
        if view["nicknames"] and "nickname" not in sent and view["state"] != "ended":
            return JSONResponse({"view": view, "wants": "nickname"})
        token = await hub.run(class_store().join, code, _text(sent, "nickname"))
    except ClassError as error:
        if error.reason == "unknown":
            wrong_codes.count(address)
        raise
    return JSONResponse({"token": token, "view": view, **await _own(code, token)})


async def state(request: Request) -> Response:
    """Tell a phone all that it may see now."""
    return JSONResponse(await _state(request))


async def answer(request: Request) -> Response:
    """Keep a student's answer."""
    sent, code, token = await _body(request), request.path_params["code"], _token(request)
    if not isinstance(sent.get("number"), int):
        raise ClassError("This is no answer to this question.")
    try:
        kept = await hub.run(class_store().answer, code, token, sent["number"], _text(sent, "answer"))
    except ClassError as error:
        raise _hidden(error) from error
    return JSONResponse({"answer": kept})


async def stream(request: Request) -> Response:
    """Tell a phone at once what it may see now, and then whenever it changes (server-sent events)."""
    if hub.is_full:
        raise BusyError("Too many phones are here: this one asks every few seconds.")
    first = await _state(request)

    async def events() -> AsyncIterator[str]:
        yield f"data: {json.dumps(first, ensure_ascii=False)}\n\n"
        view = first["view"]
        async for told in hub.listen(view["code"], first["own"]["id"], view["version"]):
            yield f"data: {told}\n\n" if told else ": here\n\n"

    return StreamingResponse(events(), media_type="text/event-stream", headers=STREAM)


async def _state(request: Request) -> dict[str, Any]:
    code, token = request.path_params["code"], _token(request)
    try:
        own = await _own(code, token)
        view = (await hub.run(class_store().overview, code)).for_phones()
    except ClassError as error:
        raise _hidden(error) from error
    hub.hear(own["own"]["id"])
    return {"view": view, **own}


async def _own(code: str, token: str) -> dict[str, Any]:
    student = await hub.run(class_store().student, code, token)
    own = {"id": student.id, "student": student.number, "nickname": student.nickname}
    return {"own": {**own, "number": student.round, "answer": student.answer}}


def _hidden(error: ClassError) -> ClassError:
    """Say the same of a class that is not there and of one that this phone is not in: codes cannot be tried here."""
    if error.reason not in ("unknown", "forbidden"):
        return error
    return ClassError("This phone has not joined the class: type its code again.", "forbidden")


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _token(request: Request) -> str:
    return request.headers.get(HEADER, "")[:100]


def _text(sent: dict[str, Any], name: str) -> str:
    value = sent.get(name, "")
    if not isinstance(value, str):
        raise ClassError("This request cannot be read: reload the page.")
    return value


async def _body(request: Request) -> dict[str, Any]:
    """Read what a page of this very app sends: JSON, and no more of it than an answer takes."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ClassError("Only the app's own page may answer.", "forbidden")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LARGEST:
            raise ClassError("This answer is too long.")
    try:
        sent = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        sent = None
    if request.headers.get("content-type", "").partition(";")[0] != "application/json" or not isinstance(sent, dict):
        raise ClassError("This request cannot be read: reload the page.")
    return sent


def _answering(function: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Turn every error of ours into one sentence, and its reason."""

    async def answered(request: Request) -> Response:
        request.path_params["code"] = read_code(request.path_params["code"])
        try:
            response = await function(request)
        except AttnvizError as error:
            reason = error.reason if isinstance(error, ClassError) else "busy"
            response = JSONResponse({"error": str(error), "reason": reason}, STATUS.get(reason, 503))
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return answered


ROUTES: list[BaseRoute] = [
    Route("/join", join_page),
    Route("/join/{code}", join_page),
    Route("/class/{code}/join", _answering(join), methods=["POST"]),
    Route("/class/{code}/state", _answering(state)),
    Route("/class/{code}/answer", _answering(answer), methods=["POST"]),
    Route("/class/{code}/stream", _answering(stream)),
]
