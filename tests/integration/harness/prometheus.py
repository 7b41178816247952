"""Prometheus' text format, read as strictly as it allows."""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")


def is_sample_of(name, kind, sample):
    if kind == "summary":
        return sample in (name, f"{name}_sum", f"{name}_count")
    if kind != "histogram":
        return sample == name
    return sample in (f"{name}_bucket", f"{name}_sum", f"{name}_count")


def parse(text):
    """The families by name: (type, {labels: value}). https://prometheus.io/docs/instrumenting/exposition_formats/
    A sum and a count are there as if those were labels, the first ones."""
    if not text.endswith("\n"):
        raise AssertionError("the last line has no end")
    families, name = {}, None
    lines = iter(text[:-1].split("\n"))
    for line in lines:
        if line.startswith("# HELP "):
            name, _, words = line[7:].partition(" ")
            if not re.fullmatch(NAME, name) or not words or name in families:
                raise AssertionError(f"{line!r}: a bad name, no help, or the second family of this name")
            kind = re.fullmatch(rf"# TYPE {name} (counter|gauge|histogram|summary)", next(lines))
            if kind is None:
                raise AssertionError(f"no type after {line!r}")
            if kind[1] == "counter" and not name.endswith("_total"):
                raise AssertionError(f"{name} is a {kind[1]}")
            families[name] = (kind[1], {})
            continue
        sample = SAMPLE.fullmatch(line)
        if sample is None or not is_sample_of(name, families[name][0], sample[1]):
            raise AssertionError(f"{line!r} is no sample of {name}")
        labels = sample[2] or ""
        if sample[1] in (f"{name}_sum", f"{name}_count"):
            labels = f"{sample[1].removeprefix(f'{name}_')},{labels}".rstrip(",")
        names = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="', labels)
        if labels in families[name][1] or len(set(names)) != len(names):
            raise AssertionError(f"{line!r} is there twice, or one of its labels")
        value = float(sample[3])
        families[name][1][labels] = value
    return families
