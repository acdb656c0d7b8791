"""What faults there are: small edits made by rule, those of tools/known_faults, and how many of them live in one source.

Kept out by rule is what cannot change a result, and what any run would show:

  - memory, time, messages, sizes of tasks, addresses of numbers (a wrong one ends in a crash, which says little about a
    test): BESIDE, BESIDE_FUNCTIONS, is_address
  - tuning, which costs time and no result: constants (constexpr), and whatever is held against one or against a number of
    4 or more (from where on, how many at most): is_tuning
  - ties: < for <= where the smallest so far is kept, or where things are sorted; equals may come in any order: is_tie

All faults of a source are compiled together (`switched`): the expression around each becomes a choice between the faulty
and the sound one, or the statement where there is no such expression.
"""
import hashlib
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Not numbers: options, texts, memory, time, files that are read (fuzzing is for those), data that is made up.
NOT_NUMERICAL = re.compile(
    r"core/(error|json|option_list|details|version|keeper|chooser|plural|archive|checksum|large_memory|process_memory|run_control|"
    r"shared_library|simd|stop_check|watch_while|types|aligned|flush)|methods/(memory_need|sweep_cost|registry|names|options)|"
    r"clp_library|_file\.cpp|corpus|conll|generate_tagged|feature_templates|tokeniser|inference_options|checkpoint|"
    r"draw_journal|part_log|edit_stream|_names|_options")
# (name, pattern, replacement): every match of the pattern in a line of code is a place for a fault.
RULES = [
    ("sign", r"(?<=[\w)\]]) \+ (?=[\w(])", " - "),
    ("sign", r"(?<=[\w)\]]) - (?=[\w(])", " + "),
    ("factor", r"(?<=[\w)\]]) \* (?=[\w(])", " / "),
    ("factor", r"(?<=[\w)\]]) / (?=[\w(])", " * "),
    ("factor", r"\b0\.5\b", "0.25"),
    ("factor", r"\b2 \* ", "3 * "),
    ("off by one", r" - 1\b(?!\.)", ""),
    ("off by one", r" \+ 1\b(?!\.)", ""),
    ("off by one", r"(?<=[\w)\]]) < (?=[\w(])", " <= "),
    ("off by one", r"(?<=[\w)\]]) <= (?=[\w(])", " < "),
    ("off by one", r"(?<=[\w)\]]) >= (?=[\w(])", " > "),
    ("order", r"\bstd::max\b", "std::min"),
    ("order", r"\bstd::min\b", "std::max"),
    ("dropped term", r"(?<=[\w)\]]) \+= [^;]+;", " += 0;"),
    ("dropped term", r"(?<=[\w)\]]) -= [^;]+;", " -= 0;"),
    ("dropped term", r"(?<=[\w)\]]) \*= [^;]+;", " *= 1;"),
    ("shared stream", r"(?<![\w.])(\w+\.)*(chain|first_chain|first_row|row)(?=, (sweep|iteration|step)\b)", "0"),
    ("shared stream", r"(?<=, )(sweep|iteration)(?=[,)])", "0"),
    ("shared stream", r"\b(sweep|seed) \+ \w+(?=[,)])", r"\1"),
    ("negation", r"\bexp\(-", "exp("),
]
# Messages, progress, memory, time and the sizes of tasks are not what is tested here; nor are tolerances, which may be anything small.
BESIDE = re.compile(
    r'"|Error|progress|report|reserve|prefetch|grain|namespace|operator|check\.step|check_|static_cast<unsigned>|bytes|memory|'
    r"seconds|control|capacity|chunk|tolerance|epsilon|1e-\d\d|work\b|work_|_work|page|time_|IndexRange|concurrency|\basked|\blook|_look|hurry|"
    r"\bhash|budget|patien|updates|HWY_|offsets? ?[\[.(]|begin[\[.(]|begins|stride|resize|assign\(|subspan|memcpy|std::vector<|copy_n|fill_n|StopCheck")
BESIDE_FUNCTIONS = re.compile(r"bytes|memory|progress|describe|cost_of|predict|text|name|read|write|seconds|budget|work|why_not|plan")


def is_code(line):
    text = line.strip()
    if not text or text.startswith(("//", "///", "#", "*", "template", "constexpr", "static constexpr", "static_assert", "assert(", "class", "struct", "using", "enum")):
        return False
    return not BESIDE.search(text)


def tuning_constants(path):
    """Names of the constants of a source and of its header."""
    names = set()
    for file in (path, os.path.splitext(path)[0] + ".hpp"):
        if os.path.exists(os.path.join(TOP, file)):
            for line in re.findall(r"\bconstexpr\b[^;({]*[;={]", open(os.path.join(TOP, file), encoding="utf-8").read()):
                names |= set(re.findall(r"(\w+)(?= *[,;={])", line))
            for line in re.findall(r"\bconstexpr \w+ [^;(]*;", open(os.path.join(TOP, file), encoding="utf-8").read()):
                names |= set(re.findall(r"(\w+) = ", line))
    return names


def is_tuning(code, match, constants):
    """Whether what is compared, or the larger or smaller of two, is a tuning constant or a number of 4 or more."""
    if match.group(0).startswith("std::m"):
        around = code[match.end():]
    elif re.search("[<>]", match.group(0)):
        around = re.split(r"&&|\|\||\?|:(?!:)|;", code[match.end():])[0] + " " + re.split(r"&&|\|\||\?|;", code[: match.start()])[-1]
    else:
        return False
    numbers = [float(n.replace("'", "")) for n in re.findall(r"(?<![\w.])\d[\d']*(?:\.\d+)?(?:[eE]\d+)?(?!\w)", around)]
    return any(n >= 4 for n in numbers) or any(word in constants for word in re.findall(r"\w+", around))


def is_tie(code, match, next_lines):
    """Whether < or <= decides between equals only: the smallest or largest so far is kept, or things are put in order or swapped."""
    if not re.search("[<>]", match.group(0)):
        return False
    operands = [re.search(r"[\w.\->\[\]()]*$", code[: match.start()]).group(0).split("(")[-1],
                re.match(r"[\w.\->\[\]]*", code[match.end():]).group(0)]
    operands += re.findall(r"\(\*?(\w+)\)", code)  # of what is called
    after = code[match.end():] + "\n" + "\n".join(next_lines)
    kept = any(operand and re.search(r"(?<![\w.])" + re.escape(operand) + r" = ", after) for operand in operands)
    return kept or "std::swap" in after or re.search(r"std::tie|\]\([^)]*, [^)]*\)[^;]* return|\breturn (a|x|left|first|one)\b.* <", code) is not None


def is_address(code, at):
    """Whether the place is in brackets, or added to the start of an array."""
    depth = code[:at].count("[") - code[:at].count("]")
    return depth > 0 or re.search(r"(data\(\)|begin\(\)|end\(\)|(Load|Store)\w*\([^()]*|, d, [\w.]+|&[\w.\->]+)$", code[:at]) is not None


def faults_of(path):
    """All faults of a file: (line number, column, rule, old line, new line)."""
    found = []
    function = ""
    constants = tuning_constants(path)
    lines = [line.split("//")[0].rstrip() for line in open(os.path.join(TOP, path), encoding="utf-8")]
    for number, code in enumerate(lines):
        opening = re.match(r"(?: {0,2})\w[\w:<>,&*\s~]*?\b([\w~]+)\(", code)
        if opening and not re.match(r"\s*(if|for|while|return|else|switch|do)\b", code) and not code.endswith(";"):
            function = opening.group(1)
        if not is_code(code) or BESIDE_FUNCTIONS.search(function):
            continue
        for name, pattern, replacement in RULES:
            for match in re.finditer(pattern, code):
                # No loop of plain counting, whose end any run would show; a minimum over <= and < is the same.
                if re.search(r"for \(.*;", code) and name == "off by one" and "<" in match.group(0):
                    continue
                # Real numbers that are equal by chance only.
                if re.search(r"[<>]", match.group(0)) and re.search(r"[^\w]\d+\.\d|uniform|sort|\) / \(", code):
                    continue
                # A draw by cumulated weights, where rounding alone leads past the last.
                if name == "off by one" and re.search(r"\(u -= ", code):
                    continue
                # A piece of work that is larger or smaller than planned is the same work; what is read past an array's end is
                # for sanitizers.
                if re.search(r"\bend = std::min\(", code) or re.search(r"\b(\w+) < ([\w.]+)\.size\(\) && \2\[\1\]", code):
                    continue
                if is_address(code, match.start()) or is_tuning(code, match, constants) or is_tie(code, match, lines[number + 1: number + 3]):
                    continue
                changed = code[: match.start()] + match.expand(replacement) + code[match.end():]
                if changed != code and changed.count("(") - changed.count(")") == code.count("(") - code.count(")"):
                    found.append((number, match.start(), name, code, changed))
    return found


def name_of(path, fault):
    return hashlib.sha256(f"{path} {fault[2]} {fault[3].strip()} {fault[4].strip()}".encode()).hexdigest()[:8]


def chosen(path, count):
    """The first `count` faults of a file, on different lines and, while there are some, of different rules."""
    faults = sorted(faults_of(path), key=lambda fault: name_of(path, fault))
    picked, lines, rules = [], set(), set()
    for fresh in (True, False):
        for fault in faults:
            if len(picked) < count and fault[0] not in lines and (not fresh or fault[2] not in rules):
                picked.append(fault)
                lines.add(fault[0])
                rules.add(fault[2])
    return picked


def known_faults():
    """Those of tools/known_faults: (path, fault). A paragraph each: what it is, path, "- " old code, "+ " new code."""
    found = []
    for paragraph in open(os.path.join(TOP, "tools", "known_faults"), encoding="utf-8").read().split("\n\n"):
        lines = [line for line in paragraph.strip().split("\n") if line and not line.startswith("#")]
        if not lines:
            continue
        title, (path, *which), old, new = lines[0], lines[1].split(), lines[2][2:], lines[3][2:]
        text = open(os.path.join(TOP, path), encoding="utf-8").read().split("\n")
        places = [number for number, line in enumerate(text) if old in line]
        if which:
            places = places[int(which[0]) - 1: int(which[0])]
        if len(places) != 1:
            sys.exit(f"mutate: known fault \"{title}\": {len(places)} lines of {path} have {old}")
        line = text[places[0]]
        found.append((path, (places[0], line.index(old), title, line, line.replace(old, new, 1))))
    return found


class Source:
    """A text without its comments, and how deep in brackets each of its characters is (a bracket belongs to what is around it)."""

    def __init__(self, text):
        def blank(match):
            found = match.group(0)
            if found[0] == "/":
                return re.sub(r"[^\n]", " ", found)
            return found
        tokens = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
        self.text = text
        self.plain = re.sub(tokens, blank, text, flags=re.S)
        self.code = re.sub(tokens, lambda m: m.group(0)[0] + "_" * (len(m.group(0)) - 2) + m.group(0)[-1], self.plain, flags=re.S)
        self.code = re.sub(r"(?<=\w)<[\w:, *]+>", lambda m: m.group(0).replace(",", "_"), self.code)  # of templates
        self.depth, level = [], 0
        for letter in self.code:
            level -= letter in ")]}"
            self.depth.append(level)
            level += letter in "([{"
        self.starts = [0] + [match.end() for match in re.finditer("\n", text)]

    def around(self, begin, end):
        """What stands between the nearest brackets, commas or semicolons around a place: (begin, end, level)."""
        level = min(self.depth[begin:end], default=self.depth[begin])
        while any(self.depth[i] == level and self.code[i] in ",;" for i in range(begin, end)):
            level -= 1
        first, last = begin, end
        while first > 0 and not self.ends(first - 1, level, "{}"):
            first -= 1
        while last < len(self.code) and not self.ends(last, level, "{"):
            last += 1
        while self.code[first].isspace():
            first += 1
        while self.code[last - 1].isspace():
            last -= 1
        return first, last, level

    def ends(self, at, level, braces):
        """Whether an expression of this level ends here. A brace is one of a block where its line ends."""
        if self.depth[at] != level:
            return self.depth[at] < level
        letter = self.code[at]
        return letter in ",;" or letter == "\n" and self.code[at + 1: at + 2] == "#" or (
            letter in braces and self.code[at + 1: self.code.index("\n", at)].strip() == "")

    def is_statement(self, first, last, level):
        """Whether what stands here is a whole statement: it ends with a semicolon, and braces are around it."""
        at = first
        while at > 0 and self.depth[at - 1] >= level:
            at -= 1
        return self.code[last: last + 1] == ";" and self.code[at - 1] == "{"

    def choice(self, number, begin, end, faulty):
        """(begin, end, faulty text, whether it is a statement) of what becomes a choice for this edit; None where there is no way."""
        first, last, level = self.around(begin, end)
        given = [m.end() for m in re.finditer(r"\breturn | (?:[-+*/%&|^]|<<|>>)?=\s", self.code[first:begin])
                 if self.depth[first + m.start()] == level]
        statement = not given and self.is_statement(first, last, level)
        if given:
            first += given[-1]
        changed = re.sub(r"\s+", " ", self.plain[first:begin] + faulty + self.plain[end:last])
        if first >= last or changed.strip() == "" and not statement or "\n#" in self.code[first:last]:
            return None
        return first, last + statement, changed, statement


def switched(text, faults):
    """The text in which every fault of `faults` (number -> fault) is a choice, and the places of those that became one:
    number -> (first line, last line). A fault around another has the other in its sound half."""
    source, choices = Source(text), []
    for number, (line, _, _, old, new) in faults.items():
        same = len(os.path.commonprefix([old, new]))
        after = len(os.path.commonprefix([old[same:][::-1], new[same:][::-1]]))
        begin, end = source.starts[line] + same, source.starts[line] + len(old) - after
        choice = source.choice(number, begin, end, new[same: len(new) - after])
        if choice and all(choice[1] <= a or b <= choice[0] or (choice[0] <= a and b <= choice[1]) or (a <= choice[0] and choice[1] <= b)
                          for _, (a, b, _, _) in choices):
            choices.append((number, choice))
    choices.sort(key=lambda one: (one[1][0], -one[1][1], one[0]))

    def put(first, last, inner):
        """text[first:last] with these choices, which are inside of it."""
        made, at = "", first
        while inner:
            number, (begin, end, faulty, statement) = inner[0]
            within = [one for one in inner[1:] if one[1][1] <= end]
            inner = inner[1 + len(within):]
            sound = put(begin, end, within)
            made += text[at:begin]
            if statement:
                made += f"{{ if (::drover_is({number})) {{ {faulty}; }} else {{ {sound} }} }}"
            else:
                kind = f"std::decay_t<decltype({re.sub(chr(10), ' ', source.plain[begin:end])})>"
                made += f"(::drover_is({number}) ? {kind}({faulty}) : ({sound}))"
            at = end
        return made + text[at:last]

    places = {number: (text.count("\n", 0, begin) + 1, text.count("\n", 0, end) + 1) for number, (begin, end, _, _) in choices}
    return put(0, len(text), choices), places
