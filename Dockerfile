# farport's image: one static program, CA certificates and a user. No shell, and nothing to write to.
#
#   docker build --tag farport:0.1.0 .
#
# With rclone, to send what the agent keeps to stores (docs/guide/keeping.md):
#
#   docker build --target with-rclone --tag farport:0.1.0-rclone .
#
# scripts/image makes both on Debian 12 without a registry: the same files, from what is built there.
ARG BASE=debian:12
FROM $BASE AS build
COPY . /source
RUN /source/scripts/image --files /image

FROM build AS rclone
RUN /source/scripts/image --rclone --files /rclone

FROM scratch AS alone
COPY --from=build /image /
LABEL org.opencontainers.image.title="farport" \
      org.opencontainers.image.description=".NET diagnostics from another host, over mutual TLS" \
      org.opencontainers.image.licenses="MIT"
USER 1654:1654
ENTRYPOINT ["/usr/bin/farport"]
CMD ["--help"]

FROM alone AS with-rclone
COPY --from=rclone /rclone /

FROM alone
