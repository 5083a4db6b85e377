"""The save areas that tests and the fuzzer read are those that their script makes."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent


class MakeSavedWaves(unittest.TestCase):
    def test_makes_the_corpus(self):
        corpus = TESTS / 'fuzz/corpus/amd_saved_waves'
        script = TESTS / 'drivers/amd/hw/data/make_saved_waves.py'
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, script, folder], check=True)
            made = {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}
        self.assertEqual(sorted(made), ['gfx1030', 'gfx1100', 'gfx1201', 'gfx942'])
        for name, area in made.items():
            self.assertEqual(area, (corpus / name).read_bytes(), name)


if __name__ == '__main__':
    unittest.main()
