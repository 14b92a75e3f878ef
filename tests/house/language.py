# SPDX-License-Identifier: Apache-2.0
"""Comments begin with a subject: no sentence begins with What, Whether, Of or That."""

import re

from source import FOLDERS, Files, Finding, comments, in_folders

# The number of such sentences that may be left; to be lowered until it is 0.
MOST_SENTENCES = 253
SENTENCE = re.compile(r"(?:^|[.:] )(What|Whether|Of|That) [^.:]*")


def sentences(files: Files) -> list[Finding]:
    findings = []
    for path, text in in_folders(files, (*FOLDERS, "CMakeLists.txt"), ""):
        for line, comment in comments(path, text):
            for found in SENTENCE.finditer(comment):
                what = f"a sentence begins with {found[1]}: \"{found[0].lstrip('.: ')[:60]}\""
                findings.append(Finding(path, line, what, "say it as subject, verb, object"))
    return findings


def check(files: Files) -> list[Finding]:
    findings = sentences(files)
    if 0 < len(findings) < MOST_SENTENCES:
        print(f"language: {len(findings)} sentences left, lower MOST_SENTENCES from {MOST_SENTENCES}")
    return findings if len(findings) > MOST_SENTENCES else []
