"""What an agent keeps goes by rclone into stores of S3's and Azure's protocols."""

import hashlib
import json
import re

from harness import wait
from harness.buckets import ENVIRONMENT, S3, Azure
from harness.case import main
from harness.stores import StoreCase


class RealStores(StoreCase):
    def begin_with(self, kind, **settings):
        bucket = kind(self.lab, **settings)
        self.addCleanup(bucket.stop)
        return bucket

    def start(self, environment=None):
        super().start(ENVIRONMENT if environment is None else environment)

    def wait_for_stored(self, bucket, identifier):
        """That the bucket has the whole of it."""
        wait.until(lambda: bucket.name in self.about(identifier)["sent_to"], lambda: f"{identifier}\n{self.agent.log()}")
        description = json.loads(bucket.read(identifier + ".json"))
        content = bucket.read(identifier + description["ending"])
        self.assertEqual((hashlib.sha256(content).hexdigest(), len(content)), (description["sha256"], description["size"]))
        return len(content)

    def test_dumps_and_small_things(self):
        for kind in (S3, Azure):
            with self.subTest(kind.name):
                bucket = self.begin_with(kind)
                self.begin(bucket)
                self.wait_for_stored(bucket, self.keep())
                dump = self.assert_ok(self.farport("dump", "--keep")).stdout.strip()
                self.assertGreater(self.wait_for_stored(bucket, dump), 20 << 20)
                self.agent.stop()
                bucket.stop()

    def test_what_is_kept_while_the_store_is_away_goes_later(self):
        for kind in (S3, Azure):
            with self.subTest(kind.name):
                bucket = self.begin_with(kind)
                self.begin(bucket)
                first = self.keep()
                self.wait_for_stored(bucket, first)
                bucket.stop()
                second = self.keep()
                if kind is S3:  # Azure's library goes on trying for minutes.
                    self.wait_for_log(f"{second} stays here, and is tried again in 5 s: .*connection refused")
                self.agent.process.kill()
                self.start()
                bucket.start()
                self.wait_for_stored(bucket, second)
                # Neither is there twice, or in part.
                self.assertEqual({re.sub(r"\..*", "", name) for name in bucket.sizes()}, {first, second})
                self.agent.stop()
                bucket.stop()

    def test_a_dump_for_which_there_is_no_room(self):
        for kind in (S3, Azure):
            with self.subTest(kind.name):
                bucket = self.begin_with(kind, more="stream = true\n")
                self.begin(bucket, more='size = "20MiB"\n')
                dump = self.assert_ok(self.farport("dump", "--keep", "--longest-stop", "5m")).stdout.strip()
                description = wait.until(lambda: (found := self.about(dump))["state"] != "under_way" and found, self.agent.log)
                self.assertEqual((description["state"], description["only_in"]), ("whole", bucket.name), self.agent.log())
                self.assertEqual(hashlib.sha256(bucket.read(dump + ".dmp")).hexdigest(), description["sha256"])
                self.agent.stop()
                bucket.stop()


if __name__ == "__main__":
    main()
