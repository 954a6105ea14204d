"""A tiny answerer's recipe, numbered questions, and questions in files, for all tests of training answerers."""

import gzip
import json

import pytest

from attnviz.nn.encoder import AnswererConfig, BlockConfig
from recipes.answer.questions import EncodedQuestion
from recipes.answer.recipe import AnswerRecipe, Diet
from recipes.schedule import Schedule

JOINT = AnswererConfig(True, 1, BlockConfig(dim=384, n_heads=12, hidden=13, norm="before", dropout=0.0))
TINY = AnswerRecipe(
    "tiny-answerer",
    "made for a test",
    "https://arxiv.org/abs/1810.04805",
    JOINT,
    (Diet(0, {"squad-1.1": 5, "qamr": 3}, (7, 11), {}), Diet(2, {"squad-1.1": 7}, (7, 11), {"elsewhere": 0.5})),
    Schedule(epochs=1, batch=127, learning_rate=1e-3, warmup=2, average=0.5, precision="float32"),
    frozen=5,
    corpora=("qa",),
    held_out={"squad-1.1": 2},
    length_penalty=0.25,
)
CITIES = {"Ann": "Rome", "Ben": "Oslo", "Eve": "Lima", "Tim": "Bonn", "Zoe": "Kyiv", "Max": "Bern", "Joe": "Nice"}


def numbered(n: int, source: str) -> list[EncodedQuestion]:
    return [
        EncodedQuestion((number,), tuple(range(100 * number, 100 * number + 40)), 17, 19, source, (15, 22))
        for number in range(n)
    ]


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Where somebody lives, told among where others live."""
    rows, folder = [], tmp_path_factory.mktemp("questions")
    for name, city in CITIES.items():
        others = [f"{other} lives in {place}." for other, place in CITIES.items() if other != name][:3]
        context = " ".join([*others[:2], f"{name} lives in {city}.", others[2]])
        row = {"source": "squad-1.1", "question": f"Where does {name} live?", "context": context, "start": context.index(city)}
        rows.append({**row, "answer": city, "answers": [city, "nowhere"]})
    shifts = [{**row, "source": "squadshifts-reddit"} for row in rows]
    for name, asked in (("qa.train", rows), ("qa.dev", rows), ("qa-shifts.dev", shifts)):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in asked)
    return folder
