#!/usr/bin/env python3
"""Plants one-line faults in C++ sources and counts how many the tests catch.

Lines are drawn by a seed from function bodies of the given folders. Each faulty file is compiled and linked in front of
the library, in a copy of the sources below the build folder; then tests run until one fails, those nearest to the file
first. Faults that do not compile, or whose objects equal the original's, are replaced by others. A later run with the
same arguments continues the CSV file of an earlier one.

    cmake --preset release -DADJOINT_CUDA=OFF -DADJOINT_UNITS=OFF -DADJOINT_BUILD_TESTS=ON && ninja -C build
    scripts/mutate.py models training=40 --count 20 --jobs 4
"""

import argparse
import csv
import fcntl
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAYERS = "core kernels graph data autograd nn optim models training".split()
FOLDERS = [*LAYERS, "data/loader", "data/import"]
FIELDS = "folder file line column operator original mutated result seconds".split()
DROPPED = ("not compiled", "not linked", "same object")
# These sweep for minutes, or do not use the library built here.
SKIPPED_TESTS = r"^(fuzz|docs|isa|python)/|^fake_gpu$|/large$"

# ------------------------------------------------------------------------------------------------ lines and faults


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def masked(text):
    """Without comments, directives and what stands in literals; every character stays in its place."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
        r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M)

    def replace(match):
        text = match[0]
        quoted = text[-1] in "\"'" and text[0] in "R\"'"
        return text[0] + re.sub(r"[^\n]", "_", text[1:-1]) + text[-1] if quoted else blank(text)

    return token.sub(replace, text)


def closing(code, start):
    """The position after the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i + 1
    return len(code)


def without_messages(code):
    """Blanks messages of errors and logs with their arguments, but not the conditions."""
    for call in re.finditer(r"\b(?:ADJ_CHECK|\w*fail\w*|\w*Error|log_\w+|static_assert)\(", code):
        end = closing(code, call.end() - 1) - 1
        message = re.compile(r'[(,]\s*"').search(code, call.end() - 1, end)
        if message:
            begin = message.start() + 1
            code = code[:begin] + blank(code[begin:end]) + code[end:]
    return code


def bodies(code):
    """Only what stands in bodies of functions."""
    kept, stack, head, parens, closed_body = [], [], 0, 0, False
    for i, c in enumerate(code):
        inside = bool(stack) and stack[-1][0]
        kept.append(c if inside or c == "\n" else " ")
        if c == "{":
            text = re.sub(r"template\s*<[^{}();]*>", "", code[head:i])
            function = "(" in text and not re.match(r"\s*(class|struct|union|enum|namespace|extern)\b", text)
            continued = closed_body and not text.strip()  # after a constructor's initialisers
            stack.append((inside or (parens == 0 and (function or continued)), parens))
            head, parens = i + 1, 0
        elif c == "}" and stack:
            closed_body, parens = stack.pop()
            head = i + 1
        elif c == ";" and parens == 0:
            head = i + 1
        parens += (c == "(") - (c == ")")
    return "".join(kept)


WORD = r"[\w.]+(?:->[\w.]+)*"
PAIRS = [("compare", " < ", " <= "), ("compare", " <= ", " < "), ("compare", " > ", " >= "), ("compare", " >= ", " > "),
         ("compare", " < ", " > "), ("compare", " > ", " < "), ("compare", " == ", " != "), ("compare", " != ", " == "),
         ("arithmetic", " + ", " - "), ("arithmetic", " - ", " + "), ("arithmetic", " * ", " / "),
         ("arithmetic", " / ", " * "), ("arithmetic", " % ", " / "), ("arithmetic", " += ", " -= "),
         ("arithmetic", " -= ", " += "), ("arithmetic", " *= ", " /= "), ("arithmetic", " /= ", " *= "),
         ("bits", " & ", " | "), ("bits", " | ", " & "), ("bits", " >> ", " << "), ("logic", " && ", " || "),
         ("logic", " || ", " && "), ("extreme", "std::min(", "std::max("), ("extreme", "std::max(", "std::min("),
         ("extreme", "min_element(", "max_element("), ("extreme", "max_element(", "min_element(")]
STATEMENT = re.compile(r"\s*(?:(?:if|for|while) \(.*\) |else )?([\w.:<>*()\[\]-]+(?:\(.*\)| [-+*/|&]?= .*)|continue|break);\s*$")
NO_EFFECT = re.compile(r"\breturn\b|\bthrow\b|\bdelete\b|\blog_|fail")  # if it is dropped


def faults(code, text):
    """(operator, begin, end, replacement) for every fault of a line, which `code` has in masked form."""
    found = []

    def add(operator, match, replacement, group=0):
        found.append((operator, *match.span(group), replacement))

    for operator, old, new in PAIRS:
        for m in re.finditer(re.escape(old), code):
            if '"' not in code[max(0, m.start() - 1):m.end() + 1]:  # a text's + has no inverse
                add(operator, m, new)
    for m in re.finditer(r"\b(true|false)\b", code):
        add("boolean", m, "false" if m[0] == "true" else "true")
    for m in re.finditer(r"(?<![\w.'])\d+(?![\w.'])", "" if "parallel_for(" in code else code):
        add("constant", m, str(int(m[0]) + 1))
        if int(m[0]) > 0:
            add("constant", m, str(int(m[0]) - 1))
    for m in re.finditer(r"(?<![\w.])(\d+\.\d*)(f?)\b", code):
        add("constant", m, f"{float(m[1]) * 2 or 1.0}{m[2]}")
    for m in re.finditer(r"\b(?:if|while) (?:constexpr )?\(", code):
        end = closing(code, m.end() - 1) - 1
        if code[end] == ")" and not re.search(r";|^[^=(]* = ", code[m.end():end]):
            found.append(("negate", m.end(), end, f"!({text[m.end():end]})"))
    for m in re.finditer(rf"(?:(?<=[(,=] )|(?<=\()|(?<=return )){WORD}(?:\([\w., ]*\))?(?= \? )", code):
        add("negate", m, f"!({text[slice(*m.span())]})")
    for m in re.finditer(rf"(?:(?<=\()|(?<=, ))({WORD}), ({WORD})(?=[,)])", code):
        if m[1][0].isdigit() == m[2][0].isdigit() and m[1] != m[2]:
            add("swap", m, f"{m[2]}, {m[1]}")
    if (m := STATEMENT.match(code)) and not NO_EFFECT.search(m[1]) and m[1].count("(") == m[1].count(")"):
        add("drop", m, "", 1)
    if m := re.match(r"\s*return ([^;{]+);", code):
        add("return", m, "{}", 1)
        if re.search(r" [-+*/] |\d|size\(|count|num", m[1]):
            add("return", m, f"({text[slice(*m.span(1))]}) + 1", 1)
    return found


# Declarations; names for messages; what sets speed alone: sizes of chunks, reserved memory; and copies to a GPU, which
# a CPU build never makes.
NOT_DRAWN = re.compile(r"\b(constexpr|using|static_assert|OpScope)\b|[gG]rain\b|\breserve\(|prefetch|->to\(|\.to\(device\);|[cC]arr(y|ied|ier)|cuda")


def lines_with_faults(path):
    """(number, masked, text) of the executable lines that have faults."""
    text = path.read_text()
    code = bodies(without_messages(masked(text)))
    for number, (line, original) in enumerate(zip(code.split("\n"), text.split("\n")), 1):
        if line.strip() and not NOT_DRAWN.search(line.replace("if constexpr", "if")) and faults(line, original):
            yield number, line, original


def sources(folder):
    """Sources and headers of a folder, without those that only a GPU or another program runs."""
    for path in sorted((ROOT / folder).rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.suffix in (".cpp", ".h") and not re.search(r"/(cuda|no_cuda|hdf5_child)/", name):
            if not name.startswith("kernels/") or "/cpu/" in name:
                yield name


def owner(name, folders):
    """The longest of these folders that has the file."""
    return max((f for f in folders if name.startswith(f + "/")), key=len, default=None)


class Fault:
    def __init__(self, folder, file, line, column, operator, original, mutated):
        self.folder, self.file, self.operator = folder, file, operator
        self.line, self.column, self.original, self.mutated = int(line), int(column), original, mutated
        self.key = (file, self.line, self.column, operator, mutated)


def draw(folder, folders, seed):
    """All lines of a folder in random order, each with one fault."""
    dice = random.Random(f"{seed} {folder}")
    lines = [(name, *line) for name in sources(folder) if owner(name, folders) == folder
             for line in lines_with_faults(ROOT / name)]
    dice.shuffle(lines)
    for name, number, code, text in lines:
        choice = dice.choice(sorted({f[0] for f in faults(code, text)}))
        operator, begin, end, new = dice.choice([f for f in faults(code, text) if f[0] == choice])
        yield Fault(folder, name, number, begin + 1, operator, text.strip(), (text[:begin] + new + text[end:]).strip())


def listed(path, folders):
    """Faults of an earlier CSV file, whose lines may have moved since."""
    for row in csv.DictReader(open(path, newline=""), fieldnames=FIELDS):
        if row["folder"] == "folder" or row["result"] in DROPPED:
            continue
        lines = [line.strip() for line in (ROOT / row["file"]).read_text().split("\n")]
        places = [i + 1 for i, line in enumerate(lines) if line == row["original"]]
        if not places:
            print(f"{row['file']}:{row['line']}: the line is gone: {row['original']}")
            continue
        row["line"] = min(places, key=lambda place: abs(place - int(row["line"])))
        yield Fault(*(row[f] for f in FIELDS[:7]))


# ------------------------------------------------------------------------------------------------ building


def include_names(text):
    return re.findall(r'#include [<"](?:adjoint/)?([^>"]+)[>"]', text)


class Build:
    """What the finished build folder says about objects, programs and tests."""

    def __init__(self, folder, skipped):
        self.folder = folder
        self.commands = defaultdict(list)  # source: entries of its objects in the library
        self.entries = {}
        for entry in json.loads((folder / "compile_commands.json").read_text()):
            entry["output"] = re.search(r" -o (\S+)", entry["command"])[1]  # some versions of CMake name it otherwise
            self.entries[entry["output"]] = entry
            if "/adjoint_" in entry["output"] and "hdf5_child" not in entry["output"]:
                self.commands[os.path.relpath(entry["file"], ROOT)].append(entry)
        self.users, self.precompiled = self.included()
        tests = json.loads(self.output("ctest", "--test-dir", folder, "--show-only=json-v1"))["tests"]
        self.tests = [t for t in tests if not re.search(skipped, t["name"]) and "command" in t]
        names = re.findall(r"^bin/(\w+): \S+EXECUTABLE", self.output("ninja", "-C", folder, "-t", "targets", "all"), re.M)
        missing = [name for name in names if not (folder / "bin" / name).exists()]
        self.programs = [name for name in names if name not in missing]
        self.links = {name: self.output("ninja", "-C", folder, "-t", "commands", "-s", f"bin/{name}") for name in self.programs}
        self.needs = {t["name"]: self.needed(t) for t in self.tests}
        lacking = [t["name"] for t in self.tests if not self.needs[t["name"]]]
        if missing:
            print(f"left out with the tests that run them alone, for they are not built: {', '.join(missing)}")
        self.tests = [t for t in self.tests if t["name"] not in lacking]
        self.members = {}

    def output(self, *command):
        return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout

    def included(self):
        """{header: objects that include it}, and the headers in precompiled ones, as `ninja -t deps` has them."""
        users, precompiled, real, object_name = defaultdict(set), defaultdict(set), {}, ""
        for line in self.output("ninja", "-C", self.folder, "-t", "deps").split("\n"):
            if line and not line.startswith(" "):
                object_name = line.split(":")[0]
            elif line and (name := line.strip()).endswith((".h", ".gch")):
                if name not in real:
                    real[name] = os.path.relpath(os.path.realpath(self.folder / name), ROOT)
                (precompiled if object_name.endswith(".gch") else users)[real[name]].add(object_name)
        return users, precompiled

    def objects(self, name):
        """Compile commands of the objects that a change of this file makes anew."""
        if name.endswith(".cpp"):
            return self.commands.get(name, [])
        found = [self.entries[o] for o in sorted(self.users[name]) if o in self.entries and "hdf5_child" not in o]
        # All users of a precompiled header seem to include what it does.
        return [e for e in found if not self.precompiled_for(e) & self.precompiled[name] or self.names_header(e["file"], name)]

    def precompiled_for(self, entry):
        header = re.search(r"-include (\S+/cmake_pch\.hxx)", entry["command"])
        return {os.path.relpath(header[1], self.folder) + ".gch"} if header else set()

    def names_header(self, source, header):
        return any(header.endswith(n) for n in include_names(Path(source).read_text()) if "/" in n)

    def texts(self, test):
        """The source of a test and of the headers beside it."""
        waiting = [ROOT / word.removeprefix("--source-file=*").removeprefix(str(ROOT) + "/")
                   for word in test["command"] if word.endswith((".cpp", ".py"))]
        seen = set()
        while waiting:
            path = waiting.pop()
            if path in seen or not path.exists():
                continue
            seen.add(path)
            text = path.read_text()
            yield text
            waiting += [path.parent / name for name in re.findall(r'#include "([^"]+)"', text)]
            waiting += [path.parent / f"{name}.py" for name in re.findall(r"^(?:from|import) (\w+)", text, re.M)]

    def needed(self, test):
        """The programs that a test runs."""
        first = Path(test["command"][0])
        programs = {first.name} & set(self.programs) if first.parent == self.folder / "bin" else set()
        if first.parent == self.folder / "bin" and not programs:
            return set()
        if "/apps/" in " ".join(test["command"]) or not programs:
            for text in self.texts(test):
                words = set(re.findall(r"\w+", text))
                programs |= {p for p in self.programs if p in words or (p.startswith("train_") and "train_" in words)}
        return programs

    def link(self, program, objects, output, *flags):
        """The command that links a program with new objects: in the place of old ones, or before the libraries."""
        command = self.links[program].replace(f" -o bin/{program} ", f" -o {output} ")
        for old, new in objects.items():
            if f" {old} " in command:
                command = command.replace(f" {old} ", f" {new} ")
            elif "/adjoint_" in old and "/adjoint_tests.dir/" not in old:
                command = command.replace(f" -o {output} ", f" -o {output} {new} ")
        return command.replace(f" -o {output} ", f" {' '.join(flags)} -o {output} ")

    def fastest_linker(self):
        """A flag for the first linker that links a program."""
        for flag in ("-fuse-ld=mold", "-fuse-ld=lld", "-fuse-ld=gold", ""):
            command = self.link("adjoint_tests", {}, self.folder / "mutants/linked", flag)
            done = subprocess.run(command, shell=True, cwd=self.folder, capture_output=True, text=True)
            if done.returncode == 0:
                return flag
        sys.exit(f"{self.folder}: adjoint_tests does not link:\n{done.stdout}{done.stderr}")

    def contains(self, program, objects):
        """Whether the program has one of these objects, by the linker's own word for the objects it takes."""
        if program not in self.members:
            done = subprocess.run(self.link(program, {}, "/dev/null", "-Wl,-t", "-Wl,-t"), shell=True, cwd=self.folder,
                                  capture_output=True, text=True)
            self.members[program] = set(re.findall(r"([\w.]+\.o)\b", done.stdout + done.stderr))
        return any(Path(o).name in self.members[program] for o in objects)


# Of a faulty program: no core file, files to 2 GB, a quarter of the memory.
LIMITED = ("sh", "-c", 'ulimit -c 0; ulimit -f 4194304; ulimit -v "$0"; exec "$@"',
           str(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4096))


class Worker:
    """A copy of the sources, with a folder of programs that are links to the built ones until they are linked anew."""

    def __init__(self, build, number, cores, linker):
        self.build, self.linker = build, linker
        self.pinned = ("taskset", "-c", ",".join(map(str, cores)))
        self.home = build.folder / "mutants" / str(number)
        shutil.rmtree(self.home, ignore_errors=True)
        self.source, self.include, self.bin, self.objects = (self.home / n for n in ("source", "include", "bin", "objects"))
        for folder in [*LAYERS, "apps", "bench", "tests"]:
            shutil.copytree(ROOT / folder, self.source / folder, symlinks=True)
        for path in sorted((build.folder / "include").rglob("*")):
            copy = self.include / path.relative_to(build.folder / "include")
            copy.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():
                copy.symlink_to(self.source / path.resolve().relative_to(ROOT))
            elif path.is_file():
                shutil.copy2(path, copy)
        self.clear()

    def clear(self):
        for folder in (self.bin, self.objects, self.home / "tmp"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for path in (self.build.folder / "bin").iterdir():
            (self.bin / path.name).symlink_to(path)

    def run(self, command, seconds=600, **options):
        """Status and output; None if it took longer."""
        process = subprocess.Popen([*self.pinned, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True, text=True, errors="replace", **options)
        try:
            text, _ = process.communicate(timeout=seconds)
            return process.returncode, text
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def compile(self, entry, plain):
        """The object of one compile command on this copy, None if it does not compile. `plain`: no precompiled header."""
        build = str(self.build.folder)
        output = self.objects / f"{len(list(self.objects.iterdir()))}.o"
        command = re.sub(r" -M[DP]\b| -M[FT] \S+", "", entry["command"]).replace(f" -o {entry['output']} ", f" -o {output} ")
        command = command.replace(f"{build}/include", str(self.include))
        if plain and (header := re.search(r"-include (\S+cmake_pch\.hxx)", command)):
            copy = self.home / "plain" / str(abs(hash(header[1]))) / "cmake_pch.hxx"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(Path(header[1]).read_text().replace(f"{build}/include", str(self.include)))
            command = command.replace(header[1], str(copy)).replace("-Winvalid-pch", "")
        command = re.sub(rf"{re.escape(str(ROOT))}/(?!{re.escape(os.path.relpath(build, ROOT))}/)", f"{self.source}/", command)
        status, _ = self.run(shlex.split(command), cwd=entry["directory"])
        return output if status == 0 else None

    def test(self, test, seconds, programs=None):
        """True if it passes within that time, False if it fails, None if it takes longer. `programs`: another folder."""
        programs = programs or self.bin
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        environment = {**os.environ, **environment, "ADJOINT_BIN_DIR": str(programs), "TMPDIR": str(self.home / "tmp")}
        command = [w.replace(f"{self.build.folder}/bin/", f"{programs}/") for w in test["command"]]
        if Path(command[0]).name == "adjoint_tests":
            command.append("--abort-after=1")
        status, text = self.run([*LIMITED, *command], seconds, cwd=properties.get("WORKING_DIRECTORY", ROOT), env=environment)
        if status is None:
            return None
        return status == 0 and not any(re.search(r, text) for r in properties.get("FAIL_REGULAR_EXPRESSION", []))

    def replace(self, fault, text):
        path = self.source / fault.file
        path.unlink()
        path.write_text(text)

    def judge(self, fault, tests, times):
        """What became of a fault: a word of DROPPED, the test that caught it, or SURVIVED."""
        original = (ROOT / fault.file).read_text()
        lines = original.split("\n")
        line = lines[fault.line - 1]
        lines[fault.line - 1] = line[:len(line) - len(line.lstrip())] + fault.mutated
        entries = self.build.objects(fault.file)
        self.clear()
        try:
            plain = fault.file.endswith(".h")
            self.replace(fault, "\n".join(lines))
            changed = {}
            for entry in entries:
                changed[entry["output"]] = self.compile(entry, plain)
                if changed[entry["output"]] is None:
                    return "not compiled"
            self.replace(fault, original)
            same = [e["output"] for e in entries
                    if (old := self.compile(e, plain)) and old.read_bytes() == changed[e["output"]].read_bytes()]
            changed = {output: new for output, new in changed.items() if output not in same}
            if not changed:
                return "same object"
            return self.first_failure(changed, tests, times)
        finally:
            self.replace(fault, original)

    def first_failure(self, changed, tests, times):
        linked = {}
        for test in tests:
            for program in sorted(self.build.needs[test["name"]] - linked.keys()):
                linked[program] = self.build.contains(program, changed)
                if linked[program]:
                    (self.bin / program).unlink()
                    command = self.build.link(program, changed, self.bin / program, self.linker)
                    if self.run(("sh", "-c", command), cwd=self.build.folder)[0] != 0:
                        return "not linked"
            if not any(linked[program] for program in self.build.needs[test["name"]]):
                continue
            seconds = 10 + 5 * times[test["name"]]
            while (passed := self.test(test, seconds)) is None and self.test(test, seconds, self.build.folder / "bin") is None:
                seconds *= 2  # the machine is busy: it takes as long without the fault
            if not passed:
                return test["name"] + (" (time)" if passed is None else "")
        return "SURVIVED"


# ------------------------------------------------------------------------------------------------ running


def nearest(build, fault, times):
    """Tests that can see a fault: of the same name, of the same folder, of folders that use it, then of programs."""
    layer = fault.file.split("/")[0]
    words = set(re.findall(r"[a-z0-9]+", fault.file.rsplit(".", 1)[0])) - {"cpu", "detail"}
    stem = fault.file.rsplit(".", 1)[0].replace("/cpu/", "/")

    def rank(test):
        folder, name = test["name"].split("/", 1)
        includes = any(header.rsplit(".", 1)[0] == stem for header in build.headers[test["name"]])
        same = Path(stem).name == name
        shared = len(words & set(name.split("_")))
        return (folder in ("apps", "python"), not (same or includes), folder != layer, -shared, times[test["name"]])

    def reaches(test):
        folder = test["name"].split("/")[0]
        return folder not in LAYERS or LAYERS.index(folder) >= LAYERS.index(layer)

    return sorted((t for t in build.tests if t["name"] in times and reaches(t)), key=rank)


class Campaign:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.build = Build(Path(options.build).resolve(), options.skip)
        self.build.headers = {t["name"]: [n for text in self.build.texts(t) for n in include_names(text)] for t in self.build.tests}
        if options.tests:
            self.build.tests = [t for t in self.build.tests if re.search(options.tests, t["name"])]
        self.quotas = {}
        for word in options.folders or FOLDERS:
            folder, _, count = word.rstrip("/").partition("=")
            self.quotas[folder.rstrip("/")] = int(count or options.count)
        self.done, self.busy, self.faults = {}, Counter(), {}
        (self.build.folder / "mutants").mkdir(exist_ok=True)
        self.only = open(self.build.folder / "mutants/lock", "w")  # workers remove what another run left
        try:
            fcntl.flock(self.only, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"{self.build.folder}: another run uses this build")
        self.begin = time.monotonic()

    def in_pool(self, work):
        """work(worker) on every worker at once."""
        failures = []

        def guarded(worker):
            try:
                work(worker)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(w,)) for w in self.workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def late(self):
        return self.options.minutes and time.monotonic() - self.begin > 60 * self.options.minutes

    def measure(self):
        """Seconds of each test without a fault; those that fail are left out. Kept for later runs on this build."""
        path = self.build.folder / "mutants/times.json"
        stamp = str((self.build.folder / "bin/adjoint_tests").stat().st_mtime_ns)
        kept = json.loads(path.read_text()) if path.exists() else {}
        times = kept.get("times", {}) if kept.get("stamp") == stamp else {}
        waiting = [t for t in self.build.tests if t["name"] not in times]
        waiting.sort(key=lambda t: t["name"].startswith("apps/"))

        def work(worker):
            while not self.late():
                with self.lock:
                    if not waiting:
                        return
                    test = waiting.pop()
                start = time.monotonic()
                passed = worker.test(test, 600)
                with self.lock:
                    times[test["name"]] = time.monotonic() - start if passed else None

        self.in_pool(work)
        path.write_text(json.dumps({"stamp": stamp, "times": times}))
        chosen = {t["name"]: times[t["name"]] for t in self.build.tests if t["name"] in times}
        failing = sorted(name for name, seconds in chosen.items() if seconds is None)
        slow = sorted(name for name, seconds in chosen.items() if seconds is not None and seconds > self.options.longest)
        for names, reason in ((failing, "fail without a fault"), (slow, f"take more than {self.options.longest:g} s")):
            if names:
                print(f"left out, for they {reason}: {', '.join(names)}")
        return {name: seconds for name, seconds in chosen.items() if name not in failing + slow}

    def next_fault(self):
        """The next fault of the folder that lacks most, None if none is left to begin."""
        with self.lock:
            kept = Counter(row["folder"] for row in self.done.values() if row["result"] not in DROPPED)
            for folder in sorted(self.quotas, key=lambda f: (kept[f] + self.busy[f]) / max(1, self.quotas[f])):
                while kept[folder] + self.busy[folder] < self.quotas[folder]:
                    fault = next(self.faults[folder], None)
                    if fault is None:
                        break
                    if fault.key in self.done:
                        continue
                    if not 0 < len(self.build.objects(fault.file)) <= self.options.objects:
                        continue
                    self.busy[folder] += 1
                    return fault
        return None

    def run(self):
        options = self.options
        cores = sorted(os.sched_getaffinity(0))
        share = max(1, len(cores) // options.jobs)
        linker = self.build.fastest_linker()
        self.workers = [Worker(self.build, i, {cores[(i * share + k) % len(cores)] for k in range(share)}, linker)
                        for i in range(options.jobs)]
        times = self.measure()
        output = Path(options.output)
        if output.exists():
            for row in csv.DictReader(open(output, newline="")):
                self.done[(row["file"], int(row["line"]), int(row["column"]), row["operator"], row["mutated"])] = row
        faults = list(listed(options.list, self.quotas)) if options.list else []
        if faults:
            self.quotas = Counter(fault.folder for fault in faults)
        self.faults = {folder: iter([f for f in faults if f.folder == folder]) if faults else draw(folder, self.quotas, options.seed)
                       for folder in self.quotas}
        file = open(output, "a", newline="")
        writer = csv.DictWriter(file, FIELDS)
        if not self.done:
            writer.writeheader()

        def work(worker):
            while not self.late():
                fault = self.next_fault()
                if fault is None:
                    return
                start = time.monotonic()
                result = worker.judge(fault, nearest(self.build, fault, times), times)
                row = {f: getattr(fault, f) for f in FIELDS[:7]}
                row |= {"result": result, "seconds": round(time.monotonic() - start, 1)}
                with self.lock:
                    self.busy[fault.folder] -= 1
                    self.done[fault.key] = row
                    writer.writerow(row)
                    file.flush()
                    if result not in DROPPED:
                        print(f"{result:28} {row['seconds']:5} s  {fault.file}:{fault.line}: {fault.mutated}", flush=True)

        self.in_pool(work)
        for worker in self.workers:
            shutil.rmtree(worker.home)
        self.report()

    def report(self):
        rows = [row for row in self.done.values() if row["result"] not in DROPPED and row["folder"] in self.quotas]
        survivors = [row for row in rows if row["result"] == "SURVIVED"]
        print(f"\n{'folder':14} faults  caught       %")
        for folder in [*self.quotas, "all"]:
            count, lost = (sum(folder in (r["folder"], "all") for r in some) for some in (rows, survivors))
            if count:
                print(f"{folder:14} {count:6}  {count - lost:6}  {100 * (count - lost) / count:6.1f}")
        for row in survivors:
            print(f"SURVIVED {row['file']}:{row['line']} ({row['operator']})\n    {row['original']}\n    {row['mutated']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="FOLDER[=COUNT]", help=f"default: {' '.join(FOLDERS)}")
    parser.add_argument("--count", type=int, default=14, help="faults in each folder (default 14)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="faults at once, each on its share of the cores")
    parser.add_argument("--minutes", type=float, help="start no fault after that; run again to continue")
    parser.add_argument("--tests", help="only tests whose names match, such as '^(models|apps)/'")
    parser.add_argument("--skip", default=SKIPPED_TESTS, help="leave out tests whose names match (default %(default)s)")
    parser.add_argument("--longest", type=float, default=60, help="leave out tests that take more seconds (default 60)")
    parser.add_argument("--list", metavar="CSV", help="the faults of this file instead of drawn ones")
    parser.add_argument("--objects", type=int, default=6, help="no lines of headers that more objects include (default 6)")
    parser.add_argument("--build", default=ROOT / "build", help="folder of a finished build with tests")
    parser.add_argument("--output", default=ROOT / "build/mutants.csv", help="default build/mutants.csv")
    Campaign(parser.parse_args()).run()


if __name__ == "__main__":
    main()
