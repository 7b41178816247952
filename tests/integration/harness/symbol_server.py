"""A program: a symbol server that prints what it is asked for, and can be told to be a bad one."""

import argparse
import http.server
import pathlib
import time


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with files of a directory, or as it has been told."""

    options: argparse.Namespace

    def log_message(self, *_arguments):
        """What is printed is for the tests."""

    def do_GET(self):
        """One file."""
        print(self.path, self.headers.get("Authorization", "-"), flush=True)
        getattr(self, self.options.answer)()

    def begin(self, status, **fields):
        """The head of an answer."""
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def files(self):
        """What a server is for."""
        file = pathlib.Path(self.options.directory) / self.path.lstrip("/")
        if not file.is_file():
            return self.begin(404)
        content = file.read_bytes()
        self.begin(200, Content_Length=len(content))
        self.wfile.write(content)

    def moved(self):
        """The same, once redirected."""
        if self.path.startswith("/there/"):
            self.path = self.path.removeprefix("/there")
            return self.files()
        self.begin(302, Location="/there" + self.path, Content_Length=0)

    def elsewhere(self):
        """A file of whoever asks."""
        self.begin(302, Location=f"file://{self.options.directory}{self.path}", Content_Length=0)

    def round(self):
        """Redirections without end."""
        self.begin(302, Location=self.path + "x", Content_Length=0)

    def broken(self):
        """An error of its own."""
        self.begin(500, Content_Length=0)

    def garbage(self):
        """A page of words in place of every file."""
        self.begin(200, Content_Length=14)
        self.wfile.write(b"<p>Log in!</p>")

    def other(self):
        """A file of another build id."""
        content = pathlib.Path("/bin/sh").read_bytes()
        self.begin(200, Content_Length=len(content))
        self.wfile.write(content)

    def cut(self):
        """Half of what it says."""
        self.begin(200, Content_Length=1000)
        self.wfile.write(b"x" * 500)

    def silent(self):
        """Nothing at all."""
        time.sleep(600)

    def large(self):
        """A file larger than any."""
        self.begin(200, Content_Length=1 << 40)

    def endless(self):
        """A file without end."""
        self.begin(200)
        try:
            while True:
                self.wfile.write(bytes(1 << 20))
        except OSError:
            pass


def run():
    """Serves until it is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("directory")
    parser.add_argument("answer")
    Handler.options = parser.parse_args()
    with http.server.ThreadingHTTPServer(("127.0.0.1", Handler.options.port), Handler) as server:
        print("serving", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    run()
