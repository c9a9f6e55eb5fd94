# gitops-ds with git and ssh, as a user without rights.
# Build it from the top of the repository: docker build --tag gitops-ds:VERSION .
FROM python:3.12-slim AS build
WORKDIR /src
COPY LICENSE README.md pyproject.toml ./
COPY gitops_ds/ gitops_ds/
COPY hooks/ hooks/
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
 && python -m venv /opt/gitops-ds \
 && /opt/gitops-ds/bin/pip install --no-cache-dir /wheels/*.whl

FROM python:3.12-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git openssh-client \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 65532 gitops-ds \
 && useradd --uid 65532 --gid 65532 --create-home --shell /usr/sbin/nologin gitops-ds
COPY --from=build /opt/gitops-ds /opt/gitops-ds
ENV PATH=/opt/gitops-ds/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /home/gitops-ds
# By number, so that Kubernetes can tell that it is not root.
USER 65532:65532
ENTRYPOINT ["gitops-ds"]
CMD ["--help"]
