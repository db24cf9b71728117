"""reverse_proxy.py - nginx or HAProxy in front of a server, for tests."""

import contextlib
import os
import shutil
import socket
import subprocess
import time

from harness import Skip
from server_fixture import PATIENCE

PACKAGING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "packaging")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@contextlib.contextmanager
def proxy(server, program, config):
    """Runs the proxy in front of the server on a port. `config` gets the folder, the port and the port of the server. Another
    process may take the port first, so it tries again."""
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if not path:
        raise Skip(f"{program} is not installed: tools/install-deps test")
    for _ in range(10):
        port, file = free_port(), f"{server.db.dir}/{program}.conf"
        with open(file, "w") as f:
            f.write(config(server.db.dir, port, server.port))
        command = [path, "-c", file, "-e", f"{server.db.dir}/nginx.log"] if program == "nginx" else [path, "-f", file]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if is_open(port, process):
                yield port
                return
        finally:
            process.kill()
            process.wait()
    raise AssertionError(f"{program} does not start: {subprocess.run(command, text=True, capture_output=True).stderr}")


def is_open(port, process):
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        time.sleep(0.02)
    return False


# --- the example files -------------------------------------------------------------------------------

NGINX = """
daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/nginx.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {dir}/b; proxy_temp_path {dir}/p; fastcgi_temp_path {dir}/f; uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s;
    {site}
}}
"""


def replace(text, *pairs):
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def example_nginx(dir, port, server):
    """packaging/nginx-pawl.conf with the paths and ports of a test."""
    with open(f"{PACKAGING}/nginx-pawl.conf") as f:
        site = f.read()
    site = replace(
        site,
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("127.0.0.1:7295", f"127.0.0.1:{server}"),
        ("/etc/ssl/certs/pawl.pem", f"{dir}/pawl.pem"),
        ("/etc/ssl/private/pawl.key", f"{dir}/pawl.pem"),
        ("/etc/nginx/pawl.users", f"{dir}/pawl.users"),
    )
    return NGINX.format(dir=dir, site=site)


def example_haproxy(dir, port, server):
    """packaging/haproxy-pawl.cfg likewise."""
    with open(f"{PACKAGING}/haproxy-pawl.cfg") as f:
        text = f.read()
    with open(f"{dir}/pawl.users") as f:
        password = f.read().strip().split(":")[1]
    return replace(
        text,
        ("bind :443", f"bind 127.0.0.1:{port}"),
        ("server pawl 127.0.0.1:7295", f"server pawl 127.0.0.1:{server}"),
        ("/etc/haproxy/pawl.pem", f"{dir}/pawl.pem"),
        ("password REPLACE", f"password {password}"),
    )


@contextlib.contextmanager
def example(server, program):
    """The proxy with its example file and a new certificate; alice's password is "secret"."""
    dir, quiet = server.db.dir, dict(check=True, capture_output=True)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        + ["-subj", "/CN=pawl.example.org", "-addext", "subjectAltName=DNS:pawl.example.org"]
        + ["-keyout", f"{dir}/key.pem", "-out", f"{dir}/certificate.pem"],
        **quiet,
    )
    with open(f"{dir}/pawl.pem", "w") as out:
        for name in ("certificate.pem", "key.pem"):
            with open(f"{dir}/{name}") as f:
                out.write(f.read())
    password = subprocess.run(["openssl", "passwd", "-5", "secret"], text=True, **quiet).stdout.strip()
    with open(f"{dir}/pawl.users", "w") as f:
        f.write(f"alice:{password}\n")
    with proxy(server, program, example_nginx if program == "nginx" else example_haproxy) as port:
        yield port
