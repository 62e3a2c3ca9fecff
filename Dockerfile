# The course in a container; INSTALL.md says how to start it. .devcontainer and Binder build it, too:
# Binder asks for an image with a tag, user 1000, the files in the home folder, and JupyterLab on PATH.
FROM python:3.13-slim-trixie
# Notebooks compile C and C++.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 reader
# PyTorch's own index has builds without GPU libraries, which are much smaller.
ENV HOME=/home/reader \
    D2LHYBRID_VENV=/home/reader/.venv \
    PATH=/home/reader/.venv/bin:$PATH \
    PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu \
    PIP_NO_CACHE_DIR=1
WORKDIR /home/reader
COPY --chown=reader . .
USER reader
# This only installs what most notebooks need, since `--version` asks pytest for nothing else. A server
# that listens to the container alone could not be reached; who may reach that, `docker run` says.
RUN python3 course.py check --version notebooks/00_start_here.ipynb \
    && mkdir -p work .venv/etc/jupyter \
    && echo 'c.ServerApp.ip = "0.0.0.0"' > .venv/etc/jupyter/jupyter_server_config.py
EXPOSE 8888
CMD ["python3", "course.py", "read"]
