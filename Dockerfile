# `make image` builds the binary and collects the certificates first; nothing
# is compiled or fetched here.
FROM scratch
COPY bin/image/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY bin/image/reconcel /reconcel
# A number, so that Kubernetes can tell that it is not root.
USER 65532:65532
ENTRYPOINT ["/reconcel"]
