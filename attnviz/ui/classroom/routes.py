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
from attnviz.lessons.classroom.codes_and_nicknames import read_code
from attnviz.ui.classroom import phone_requests
from attnviz.ui.classroom.phone_page import phone_page
from attnviz.ui.classroom.running_class import Hub

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
_TOO_MANY = "Too many phones are here: this one asks every few seconds."
# A proxy must not gather what comes piece by piece.
STREAM = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}

hub = Hub()


async def join_page(request: Request) -> Response:
    """Give the page of a phone, with what its class sees now; which class that is, its address says."""
    code = read_code(request.query_params.get("code", "") or request.path_params.get("code", ""))
    view = await hub.run(phone_requests.first_view, code, _address(request)) if code else None
    return HTMLResponse(phone_page(view), headers={"Cache-Control": "no-store"})


async def join(request: Request) -> Response:
    """Join a class."""
    sent = await _body(request)
    return JSONResponse(await hub.run(phone_requests.join, request.path_params["code"], sent, _address(request)))


async def state(request: Request) -> Response:
    """Tell a phone all that it may see now."""
    return JSONResponse(await _state(request))


async def answer(request: Request) -> Response:
    """Keep a student's answer."""
    sent = await _body(request)
    return JSONResponse(await hub.run(phone_requests.answer, request.path_params["code"], _token(request), sent))


async def stream(request: Request) -> Response:
    """Tell a phone at once what it may see now, and then whenever it changes (server-sent events)."""
    if hub.is_full:
        raise BusyError(_TOO_MANY)
    first = await _state(request)
    if hub.has_enough(first["own"]["id"]):
        raise BusyError(_TOO_MANY)

    async def events() -> AsyncIterator[str]:
        yield f"data: {json.dumps(first, ensure_ascii=False)}\n\n"
        view = first["view"]
        async for told in hub.listen(view["code"], first["own"]["id"], view["version"]):
            yield f"data: {told}\n\n" if told else ": here\n\n"

    return StreamingResponse(events(), media_type="text/event-stream", headers=STREAM)


async def _state(request: Request) -> dict[str, Any]:
    told = await hub.run(phone_requests.state, request.path_params["code"], _token(request))
    hub.hear(told["own"]["id"])
    return told


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _token(request: Request) -> str:
    return request.headers.get(HEADER, "")[:100]


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
            told = phone_requests.refusal(error)
            response = JSONResponse(told, STATUS.get(told["reason"], 503))
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
