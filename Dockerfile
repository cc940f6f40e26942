# The image of KnowledgePulse. It needs an external PostgreSQL (DATABASE_URL): docs/containers.md.
#   docker build --tag knowledgepulse .
ARG BASE=docker.io/library/node:24-bookworm-slim
ARG RUNTIME=gcr.io/distroless/cc-debian12

FROM ${BASE} AS build
WORKDIR /app
ENV NEXT_TELEMETRY_DISABLED=1
COPY package.json package-lock.json ./
RUN npm ci --include=dev --include=optional --no-audit --no-fund --loglevel=error
COPY . .
RUN NODE_ENV=production node bin/build.ts && node bin/image.ts /image/app && mkdir /image/data

# The files of the runtime image without a shell and package manager. Node comes from the stage before.
FROM ${RUNTIME}
# The data folder holds the secret, emails without a mail server, and the erasure ledger, unless settings name other places.
ENV NODE_ENV=production NEXT_TELEMETRY_DISABLED=1 HOST=0.0.0.0 PORT=3000 \
    KP_DATA_DIR=/data/var XDG_STATE_HOME=/data/state XDG_DATA_HOME=/data/share HOME=/data
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build --chown=10001:10001 /image/data /data
COPY --from=build /image/app /app
WORKDIR /app
USER 10001:10001
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Migrations alone: docker run … knowledgepulse bin/migrate.ts
ENTRYPOINT ["node"]
CMD ["bin/start.ts"]
