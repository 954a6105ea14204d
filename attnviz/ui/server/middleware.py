"""All that `app.py` puts before Streamlit, the outermost first."""

from pathlib import Path

from starlette.middleware import Middleware

from attnviz.ui.frame.style import STYLE
from attnviz.ui.server.first_paint import FirstPaint
from attnviz.ui.server.host_check import HostCheck
from attnviz.ui.server.message_filter import MessageFilter
from attnviz.ui.server.moved_pages import MovedPages
from attnviz.ui.server.security_headers import SecurityHeaders

# What Streamlit runs.
SCRIPT = Path(__file__).parents[1] / "frame" / "router.py"
MIDDLEWARE = [
    Middleware(SecurityHeaders),
    Middleware(FirstPaint, style=STYLE),
    Middleware(HostCheck),
    Middleware(MovedPages),
    Middleware(MessageFilter),
]
